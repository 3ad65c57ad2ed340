package workload

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// healthTimeout bounds a health request. An API server's check of etcd takes two seconds at most
// (DefaultReadinessTimeout in
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/apiserver/pkg/storage/storagebackend/config.go).
const healthTimeout = 4 * time.Second

// SlotHealth is the health of the API server and the etcd member of a control-plane node.
type SlotHealth struct {
	// Slot and Node identify the node; Instance is its EC2 instance.
	Slot           int
	Node, Instance string
	// Problem describes what is wrong, for example "etcd failed"; empty if healthy.
	Problem string
}

// OK reports whether the slot is healthy.
func (h *SlotHealth) OK() bool { return h.Problem == "" }

// SlotsHealth queries the readiness of the API server of every control-plane node concurrently,
// within a few seconds, by slot and node name. It uses the pod proxy of whichever API server
// responds, so that the operator need not reach the instances.
//
// An API server that is ready has read from etcd with quorum within the last seconds: its checks
// etcd and etcd-readiness get a key
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/apiserver/pkg/storage/storagebackend/factory/etcd3.go,
// etcd3ProberMonitor.Probe) and etcd's reads are linearizable unless asked otherwise
// (https://etcd.io/docs/v3.6/learning/api_guarantees/). kubeadm has each API server talk to the
// member on its own machine only
// (https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/ha-topology/), so when all
// are ready, every member is part of the quorum.
//
// The request reaches the API server as anonymous, which may read its readiness:
// https://kubernetes.io/docs/reference/access-authn-authz/rbac/#discovery-roles.
func (c *Cluster) SlotsHealth(ctx context.Context) []SlotHealth {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	var found []SlotHealth
	for _, node := range c.Nodes() {
		if node.Slot != NoSlot {
			found = append(found, SlotHealth{Slot: node.Slot, Node: node.Name, Instance: node.InstanceID})
		}
	}
	slices.SortStableFunc(found, func(a, b SlotHealth) int { return a.Slot - b.Slot })
	var group sync.WaitGroup
	for i := range found {
		group.Go(func() { found[i].Problem = c.readiness(ctx, found[i].Node) })
	}
	group.Wait()
	return found
}

// readiness returns the problem of a node's API server, "" if it is ready.
func (c *Cluster) readiness(ctx context.Context, node string) string {
	path := "/api/v1/namespaces/kube-system/pods/https:kube-apiserver-" + node + ":6443/proxy/readyz"
	body, err := c.core.RESTClient().Get().AbsPath(path).MaxRetries(0).DoRaw(ctx)
	switch failed := failedChecks(string(body)); {
	case err == nil:
		return ""
	case failed != "":
		return failed + " failed"
	case apierrors.IsNotFound(err):
		return "the node has no API server pod"
	case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err):
		return "its API server denies readiness requests: anonymous users must be able to read /readyz"
	case ctx.Err() != nil:
		return "it does not respond"
	default:
		return fmt.Sprintf("it does not respond: %s", problem(err))
	}
}

// failedChecks returns the names of failed checks in a response of readyz, in lines like "[-]etcd
// failed: reason withheld".
func failedChecks(answer string) string {
	var names []string
	for line := range strings.Lines(answer) {
		if rest, ok := strings.CutPrefix(line, "[-]"); ok {
			name, _, _ := strings.Cut(rest, " ")
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
