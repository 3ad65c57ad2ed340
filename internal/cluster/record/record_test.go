package record

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
)

// recorded is the record of an existing object, with all fields set.
//
//go:embed testdata/record.json
var recorded []byte

// existing returns the status of an existing object's stack, whose record is a text.
func existing(t *testing.T) *v1alpha1.StackStatus {
	t.Helper()
	text, err := json.Marshal(string(bytes.TrimSpace(recorded)))
	if err != nil {
		t.Fatal(err)
	}
	status := existingObject()
	status.Record.Raw = text
	return status
}

// existingObject returns the status as earlier operators stored it, with the record as an object.
func existingObject() *v1alpha1.StackStatus {
	return &v1alpha1.StackStatus{
		Name: "demo", Status: "UPDATE_IN_PROGRESS", Reason: "because", Bundle: "bundle",
		Record: &runtime.RawExtension{Raw: bytes.TrimSpace(recorded)},
	}
}

func TestRecordOfAnExistingObjectIsDecoded(t *testing.T) {
	at := time.Date(2026, 1, 2, 12, 0, 0, 123456789, time.UTC)
	second := metav1.NewTime(at.Truncate(time.Second).Local())
	machines := func(number string) *Machines {
		return &Machines{
			Stack: "sha256:" + number, Bundle: "bundle-" + number, Nodeup: "nodeup-" + number, Shape: "shape-" + number,
			DiskTags: map[string]string{"team": number}, Release: "k8s-1.36." + number, Version: "v1.36." + number,
			Parts: map[string]string{"labels": number}, Roll: "roll-" + number,
			Pause: metav1.Duration{Duration: time.Minute}, Ready: metav1.Duration{Duration: 15 * time.Minute},
			Engine: v1alpha1.RollOperator, Autoscaled: true,
		}
	}
	want := Stack{
		Record: stack.Record{
			StackID: "arn:aws:cloudformation:eu-central-1:123456789012:stack/demo/1", Status: "UPDATE_IN_PROGRESS", StatusReason: "because",
			Digest: "d", PendingDigest: "p", FailedDigest: "f", OutputsDigest: "o", Changed: "c", Token: "operation",
			PreviousStatus: "CREATE_COMPLETE", StartedAt: &at, LookedAt: &at, Attempts: 1, DeleteAttempts: 2, RollbackAttempts: 3,
			RollbackFor: "rf", NextAttempt: &at, TerminationProtection: true, Deleting: true, ChangeSet: "cs", ProposedFrom: "pf",
			Proposal: "pr", Superseded: "s", Retries: 4, RetryAt: &at, Away: true, Revision: 7,
		},
		Stored: "stored", Token: "abcdef", TokenRenewal: &at, Restored: "snap-1", Nodeup: "nodeup",
		Machines: &History{
			Now: machines("1"), Next: machines("2"), Prior: machines("3"), RolloutToken: "rollout", Since: &second, Last: []string{"i-1"},
			Missing: []string{"i-2"}, Asked: &second, Cause: "cause", Kept: true, AutoscalerHeld: true,
		},
		Bundle: "bundle",
	}
	for _, status := range []*v1alpha1.StackStatus{existing(t), existingObject()} {
		got, err := Decode(status)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	}
}

func TestRecordOfAnExistingObjectIsEncodedByteForByte(t *testing.T) {
	known, err := Decode(existing(t))
	if err != nil {
		t.Fatal(err)
	}
	again := &v1alpha1.StackStatus{Name: "demo", Bundle: "bundle"}
	if err := Encode(again, known); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(existing(t), again); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestEmptyRecordIsOmitted(t *testing.T) {
	status := &v1alpha1.StackStatus{Name: "demo", Record: &runtime.RawExtension{Raw: []byte(`{"digest":"d"}`)}}
	if err := Encode(status, Stack{Record: stack.Record{Status: "CREATE_COMPLETE"}}); err != nil {
		t.Fatal(err)
	}
	if status.Record != nil || status.Status != "CREATE_COMPLETE" {
		t.Errorf("got %+v", status)
	}
}

func TestMissingRecordsAreEmpty(t *testing.T) {
	for name, status := range map[string]*v1alpha1.StackStatus{
		"no status": nil, "no record": {Name: "demo"}, "no content": {Name: "demo", Record: &runtime.RawExtension{}},
	} {
		if known, err := Decode(status); err != nil || known.StackID != "" || known.Machines != nil {
			t.Errorf("%s: got %+v, %v", name, known, err)
		}
	}
}

func TestBrokenRecordIsAnErrorThatNamesTheStack(t *testing.T) {
	for _, raw := range []string{"{", `{"stackID":5}`, `[]`, `{"machines":"none"}`, `"{"`} {
		_, err := Decode(&v1alpha1.StackStatus{Name: "demo", Record: &runtime.RawExtension{Raw: []byte(raw)}})
		if err == nil || !strings.HasPrefix(err.Error(), "decode the record of stack demo: ") {
			t.Errorf("%s: got %v", raw, err)
		}
	}
}

func TestFieldsOfANewerOperatorAreIgnored(t *testing.T) {
	known, err := Decode(&v1alpha1.StackStatus{Name: "demo", Record: &runtime.RawExtension{Raw: []byte(`{"digest":"d","later":{"a":1}}`)}})
	if err != nil || known.Digest != "d" {
		t.Errorf("got %+v, %v", known, err)
	}
}
