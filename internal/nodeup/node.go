package nodeup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// nodeAfter is how long a kubelet has to create its Node before it is restarted. A working kubelet
// creates it within seconds of the API's first response.
const nodeAfter = 15 * time.Second

// ownNode makes sure that the Node of the machine's name belongs to this machine.
//
// A slot keeps its address, and so its successive instances have one node name. A kubelet takes
// over the Node that it finds, with the providerID of the former instance, which cannot be changed:
// to other components it remains the Node of a terminated instance, and the node lifecycle
// controllers delete it. A kubelet that has registered once does not register again. This happens
// when the former Node was not deleted in time, as in a cluster that is restored from a backup. The
// documentation recommends to delete such a Node by hand:
// https://kubernetes.io/docs/concepts/architecture/nodes/#node-name-uniqueness
func (b *boot) ownNode(ctx context.Context) (string, error) {
	if b.done() {
		return "nothing, it was done before", nil
	}
	if b.nodeAwaited.IsZero() {
		b.nodeAwaited = b.Clock.Now()
	}
	node, err := b.nodeOfName(ctx)
	switch {
	case err != nil:
		return "", err
	case node != nil && strings.HasSuffix(node.Spec.ProviderID, "/"+b.machine.InstanceID):
		return b.machine.NodeName, nil
	case node != nil:
		if err := b.deleteNode(ctx, node); err != nil {
			return "", err
		}
		err = fmt.Errorf(
			"the Node %s belonged to %s; it is deleted, and the kubelet creates another",
			b.machine.NodeName,
			node.Spec.ProviderID,
		)
	case b.Clock.Since(b.nodeAwaited) < nodeAfter:
		return "", errors.New("the kubelet has not created the Node yet")
	default:
		err = fmt.Errorf("the kubelet has not created the Node %s, or the Node was deleted; restarting the kubelet", b.machine.NodeName)
	}
	if _, problem := b.command(ctx, "systemctl", "restart", "kubelet"); problem != nil {
		return "", problem
	}
	b.nodeAwaited = b.Clock.Now()
	return "", err
}

// nodeOfName returns the Node of the machine's name, nil if there is none.
func (b *boot) nodeOfName(ctx context.Context) (*listed, error) {
	body, err := b.askAsAdmin(ctx, http.MethodGet, "/api/v1/nodes?fieldSelector="+url.QueryEscape("metadata.name="+b.machine.NodeName), nil)
	if err != nil {
		return nil, fmt.Errorf("get the machine's Node: %w", err)
	}
	var list struct {
		Items []listed `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("read the machine's Node: %w", err)
	}
	if len(list.Items) == 0 {
		return nil, nil
	}
	return &list.Items[0], nil
}

// deleteNode deletes a Node, unless another Node has its name by now.
func (b *boot) deleteNode(ctx context.Context, node *listed) error {
	options, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": map[string]string{"uid": node.Metadata.UID},
	})
	if err != nil {
		return fmt.Errorf("encode the delete options: %w", err)
	}
	if _, err := b.askAsAdmin(ctx, http.MethodDelete, "/api/v1/nodes/"+b.machine.NodeName, options); err != nil {
		return fmt.Errorf("delete the Node of a terminated machine: %w", err)
	}
	return nil
}
