package approver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

const (
	nodes = "/api/v1/nodes"
	// workerRole is the label by which kubectl shows the role of a worker. A kubelet must not set
	// it: https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction
	workerRole = "node-role.kubernetes.io/worker"
	// confirmed is the reason of approvals.
	confirmed = "InstanceConfirmed"
)

// joined returns the name of the Node that an approved request is for, "" for other requests.
func joined(object json.RawMessage) string {
	var request signingRequest
	if err := json.Unmarshal(object, &request); err != nil {
		return ""
	}
	for _, text := range request.Status.Conditions {
		var condition struct{ Type, Reason string }
		if err := json.Unmarshal(text, &condition); err == nil && condition.Type == "Approved" && condition.Reason == confirmed {
			node, _, _ := asked(&request)
			return node
		}
	}
	return ""
}

// label gives the Nodes of approved requests the role of a worker, unless they have a role. An
// operator does the same; a cluster that Terraform made has none. Requests are deleted an hour
// after their approval.
func (a *Approver) label(ctx context.Context, requested []json.RawMessage) error {
	answer, err := a.call(ctx, http.MethodGet, nodes+"?labelSelector="+url.QueryEscape("!"+workerRole), nil)
	if err != nil {
		return fmt.Errorf("list nodes without a role: %w", err)
	}
	var list struct {
		Items []struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		} `json:"items"`
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return fmt.Errorf("read the list of nodes: %w", err)
	}
	workers := map[string]bool{}
	for _, object := range requested {
		workers[joined(object)] = true
	}
	var failed []error
	for i := range list.Items {
		name := list.Items[i].Metadata.Name
		if !workers[name] {
			continue
		}
		change := []byte(`{"metadata":{"labels":{"` + workerRole + `":""}}}`)
		if _, err := a.send(ctx, http.MethodPatch, nodes+"/"+url.PathEscape(name), "application/merge-patch+json", change); err != nil {
			failed = append(failed, fmt.Errorf("label node %s: %w", name, err))
		}
	}
	return errors.Join(failed...)
}
