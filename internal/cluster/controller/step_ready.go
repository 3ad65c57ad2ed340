package controller

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// idlePoll is the reconcile interval of a cluster without events.
const idlePoll = 12 * time.Hour

// servingPoll is how often API servers are queried before the cluster is Ready. Nothing reports
// that one became ready.
const servingPoll = 2 * time.Second

// readyStep waits for the control plane's nodes and API servers, and for the first worker if any
// instance group wants one.
type readyStep struct{ *operator }

// Name returns the step's name.
func (s readyStep) Name() string { return "ready" }

// EnsureCreated is done when every slot has a Ready node and a ready API server. A node counts only if it booted with the
// slot's bundle: after a restore of etcd, the Nodes of terminated instances stay Ready until the
// node controller updates them.
func (s readyStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	ready, workers := map[int]bool{}, 0
	var versions []string
	if connection := s.options.Workload.Get(keyOf(cluster)); connection != nil {
		for _, node := range connection.Nodes() {
			if node.Ready && node.Slot != workload.NoSlot && record.Boots(&node, bundleOfSlot(cluster, node.Slot)) {
				ready[node.Slot] = true
				versions = append(versions, node.Version)
			}
			if node.Ready && node.Slot == workload.NoSlot {
				workers++
			}
		}
	}
	if replicas := int(cluster.Spec.ControlPlane.Slots()); len(ready) < replicas {
		outcome, _ := s.stalledSlots(ctx, cluster, operatorkit.Wait(
			outcomes.EventPoll, "ControlPlaneNodesMissing", fmt.Sprintf("%d of %d control-plane nodes are ready.", len(ready), replicas),
		).WithoutEvent())
		return outcome
	}
	if problem := s.notServing(ctx, cluster); problem != "" {
		return operatorkit.Wait(servingPoll, "APIServersNotReady", problem).WithoutEvent()
	}
	cluster.Status.Version = cmp.Or(lowest(versions), cluster.Status.Version)
	// Caches that serve the creation are no longer needed.
	s.models.Trim(cluster.UID)
	s.credentials.Trim(cluster.UID)
	s.bucket.Trim(cluster.UID)
	if workers == 0 {
		waiting, err := s.groupsThatAskForNodes(ctx, cluster)
		switch {
		case err != nil:
			return operatorkit.Fail(err)
		case len(waiting) > 0:
			return operatorkit.Wait(outcomes.EventPoll, "WorkersMissing", "The control plane is ready at "+cluster.Status.Endpoint+
				", but no node of an instance group is ready. Instance groups with a minSize above 0: "+strings.Join(waiting, ", ")+".").WithoutEvent()
		}
	}
	message := "The cluster is ready. Its control plane is at " + cluster.Status.Endpoint + "."
	return operatorkit.Done().Explain(operatorkit.ReasonReady, message).RequeueAfter(idlePoll)
}

// notServing returns which API servers do not serve yet, "" if all do or the cluster is Ready
// already. A Ready node only means that its kubelet reaches some API server.
func (s readyStep) notServing(ctx context.Context, cluster *v1alpha1.Cluster) string {
	connection := s.options.Workload.Get(keyOf(cluster))
	if connection == nil || meta.IsStatusConditionTrue(cluster.Status.Conditions, operatorkit.ConditionReady) {
		return ""
	}
	if reachable, _ := connection.Reachable(); !reachable { // The API step waits for it.
		return ""
	}
	problems, serving := map[int]string{}, map[int]bool{}
	for _, health := range connection.SlotsHealth(ctx) {
		serving[health.Slot] = serving[health.Slot] || health.OK()
		if !health.OK() {
			problems[health.Slot] = fmt.Sprintf("%s (%s)", health.Node, health.Problem)
		}
	}
	// Another node of a serving slot belongs to a terminated instance.
	maps.DeleteFunc(problems, func(slot int, _ string) bool { return serving[slot] })
	if len(problems) == 0 {
		return ""
	}
	var nodes []string
	for _, slot := range slices.Sorted(maps.Keys(problems)) {
		nodes = append(nodes, problems[slot])
	}
	return "Waiting for the API servers of these nodes to be ready: " + strings.Join(nodes, ", ") + "."
}

// groupsThatAskForNodes returns the sorted names of the Cluster's InstanceGroups whose minSize is
// not 0.
func (s readyStep) groupsThatAskForNodes(ctx context.Context, cluster *v1alpha1.Cluster) ([]string, error) {
	groups, err := s.objects.GroupsOf(ctx, keyOf(cluster))
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range groups {
		if groups[i].Spec.ExpectedNodes() > 0 && groups[i].DeletionTimestamp.IsZero() {
			names = append(names, groups[i].Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// lowest returns the lowest of the Kubernetes versions: a control plane reaches a release when all
// its instances do. A slot's kubelet has the version of its API server, since both come from one
// bundle.
func lowest(versions []string) string {
	least, text := (*version.Version)(nil), ""
	for _, one := range versions {
		parsed, err := version.ParseSemantic(one)
		if err == nil && (least == nil || parsed.LessThan(least)) {
			least, text = parsed, one
		}
	}
	return text
}

// EnsureDeleted starts the deletion: it removes the conditions and ensures that the account is
// known.
func (s readyStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	for _, conditionType := range []string{conditions.Network, conditions.ControlPlane, conditions.API, conditions.Nodes} {
		operatorkit.RemoveCondition(cluster, conditionType)
	}
	return accountStep(s).findAgain(ctx, cluster)
}
