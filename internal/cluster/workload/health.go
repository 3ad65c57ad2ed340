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

// healthTimeout bounds one question for health. An API server's check of etcd takes two seconds at most (DefaultReadinessTimeout in
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/apiserver/pkg/storage/storagebackend/config.go).
const healthTimeout = 4 * time.Second

// SlotHealth says how the API server and the etcd member of a control-plane node are.
type SlotHealth struct {
	// Slot and Node say whose health it is; Instance is the EC2 instance.
	Slot           int
	Node, Instance string
	// Problem says in a few words what is wrong, as "etcd failed"; empty when all is well.
	Problem string
}

// OK reports whether all is well.
func (h *SlotHealth) OK() bool { return h.Problem == "" }

// SlotsHealth asks the API server of every control-plane node whether it is ready, all at once, and answers after some seconds at
// most, by slot and name of the node. It asks through the proxy to pods of whichever API server answers, so that the operator need not
// reach the machines.
//
// An API server that is ready has read from etcd with quorum within the last seconds: its checks etcd and etcd-readiness get a key
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/apiserver/pkg/storage/storagebackend/factory/etcd3.go,
// etcd3ProberMonitor.Probe) and etcd's reads are linearizable unless asked otherwise
// (https://etcd.io/docs/v3.6/learning/api_guarantees/). kubeadm has each API server talk to the member on its own machine only
// (https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/ha-topology/), so when all are ready, every member is part of
// the quorum.
//
// The question reaches the API server as anonymous, which may ask for readiness:
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

// readiness returns what is wrong with a node's API server, "" if nothing is.
func (c *Cluster) readiness(ctx context.Context, node string) string {
	path := "/api/v1/namespaces/kube-system/pods/https:kube-apiserver-" + node + ":6443/proxy/readyz"
	body, err := c.core.RESTClient().Get().AbsPath(path).MaxRetries(0).DoRaw(ctx)
	switch failed := failedChecks(string(body)); {
	case err == nil:
		return ""
	case failed != "":
		return failed + " failed"
	case apierrors.IsNotFound(err):
		return "the node shows no API server"
	case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err):
		return "its API server lets nobody ask for its readiness: anonymous requests must be able to read /readyz"
	case ctx.Err() != nil:
		return "it does not answer"
	default:
		return fmt.Sprintf("it does not answer: %s", problem(err))
	}
}

// failedChecks returns the names of the checks that an answer of readyz says to have failed: lines as "[-]etcd failed: reason withheld".
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
