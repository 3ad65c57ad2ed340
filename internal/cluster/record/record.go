package record

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
)

// Stack is the record that the status holds with each stack.
type Stack struct {
	stack.Record

	// Stored is the digest of the bucket's content; with the base stack only.
	Stored string `json:"stored,omitempty"`
	// Token is the ID of the bootstrap token, TokenRenewal the time to replace it; with the base
	// stack only.
	Token        string     `json:"bootstrapToken,omitempty"`
	TokenRenewal *time.Time `json:"bootstrapTokenRenewal,omitempty"`
	// Restored is the snapshot that etcd's volumes were created from, if any; with the base stack
	// only.
	Restored string `json:"restored,omitempty"`
	// Nodeup is the hash of the nodeup that the stack's instances boot with.
	Nodeup string `json:"nodeup,omitempty"`
	// Planned is what the instances of the next change boot with. It is in the status before the change is
	// sent: an operator that has another nodeup, and finds the change but no record of it, does not change the
	// stack again. With the stacks of instance groups and slots only.
	Planned *Boot `json:"planned,omitempty"`
	// Machines is the history of the configuration of the stack's instances; with the stacks of
	// instance groups and slots only.
	Machines *History `json:"machines,omitempty"`

	// Bundle is the hash of the last bundle stored in the bucket. The status has a field of its own
	// for it: [Decode] reads it, and [Encode] does not write it.
	Bundle string `json:"-"`
}

// Decode decodes the record in a stack's status; a nil status has an empty one.
func Decode(status *v1alpha1.StackStatus) (Stack, error) {
	var r Stack
	if status == nil {
		return r, nil
	}
	if status.Record != nil && len(status.Record.Raw) > 0 {
		if err := json.Unmarshal(document(status.Record.Raw), &r); err != nil {
			return r, fmt.Errorf("decode the record of stack %s: %w", status.Name, err)
		}
	}
	r.Status, r.StatusReason, r.Bundle = status.Status, status.Reason, status.Bundle
	return r, nil
}

// Encode encodes the record into a stack's status.
func Encode(status *v1alpha1.StackStatus, r Stack) error {
	status.Status, status.Reason = r.Status, r.StatusReason
	r.Status, r.StatusReason = "", ""
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode the record of stack %s: %w", status.Name, err)
	}
	status.Record = nil
	if string(data) == "{}" {
		return nil
	}
	if data, err = json.Marshal(string(data)); err != nil {
		return fmt.Errorf("encode the record of stack %s: %w", status.Name, err)
	}
	status.Record = &runtime.RawExtension{Raw: data}
	return nil
}

// document returns the record's JSON. It is a text in the status, so that "kubectl describe" shows
// it on one line; earlier versions stored it as an object.
func document(raw []byte) []byte {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return raw
	}
	return []byte(text)
}

// History returns the history of the configuration of the stack's instances. It is never nil.
func (r *Stack) History() *History {
	if r.Machines == nil {
		r.Machines = &History{}
	}
	return r.Machines
}
