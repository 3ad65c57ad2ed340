package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/repair"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// apiStep connects to the cluster and waits until its API responds.
type apiStep struct{ *operator }

// Name returns the step's name.
func (s apiStep) Name() string { return "api" }

// EnsureCreated connects, and is done while the API responds.
func (s apiStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	return conditions.Conclude(
		cluster,
		conditions.API,
		"Reachable",
		"The Kubernetes API is reachable at "+cluster.Status.Endpoint+".",
		s.ensure(ctx, cluster),
	)
}

func (s apiStep) ensure(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	connection, outcome := s.credentials.Connect(ctx, cluster)
	if connection == nil {
		return outcome
	}
	reachable, problem := responds(ctx, cluster, connection)
	if reachable {
		return outcome
	}
	if connection.Refused() {
		return operatorkit.Wait(outcomes.EventPoll, "APIResponseRefused", fmt.Sprintf(
			"The operator does not use the Kubernetes API at %s: %s.", cluster.Status.Endpoint, problem,
		)).Degraded()
	}
	waiting := s.unreachable(ctx, cluster, problem)
	if waiting.Reason() == repair.ReasonVolumeLost { // No instance can boot.
		return waiting
	}
	stalled, joined := s.stalledSlots(ctx, cluster, waiting)
	if joined && cluster.Status.Version == "" {
		return stalled.Explain("APIUnreachable", fmt.Sprintf(
			"The consoles of the control plane's instances show that they have joined, but the operator cannot reach the Kubernetes API at %s: %s. Check that spec.api.allowedCIDRs contains the operator's address, that the operator's network allows connections to port %d, and that the load balancer has a healthy target.",
			cluster.Status.Endpoint,
			strings.TrimSuffix(problem, "."),
			model.PortAPI,
		)).Degraded()
	}
	return stalled
}

// answerWithin is how long a reconcile waits for the first response over a new connection.
const answerWithin = 5 * time.Second

// responds reports whether a cluster's API responds, and if not, why. It waits for the first response over a new
// connection if the API responded over the last one: an operator that starts must not say otherwise meanwhile.
func responds(ctx context.Context, cluster *v1alpha1.Cluster, connection *workload.Cluster) (reachable bool, problem string) {
	if meta.IsStatusConditionTrue(cluster.Status.Conditions, conditions.API) {
		connection.AwaitAnswer(ctx, answerWithin)
	}
	return connection.Reachable()
}

// unreachable returns the outcome for an API that does not respond.
func (s apiStep) unreachable(ctx context.Context, cluster *v1alpha1.Cluster, problem string) operatorkit.Outcome {
	if since := aloneSince(cluster); since != "" {
		return operatorkit.Wait(outcomes.EventPoll, reasonReplacing, fmt.Sprintf(
			"The only control-plane instance is being replaced since %s. Until the new one is ready, normally after 3 to 10 minutes, the Kubernetes API at %s is unavailable. Workloads keep running.",
			since,
			cluster.Status.Endpoint,
		))
	}
	message := fmt.Sprintf("The Kubernetes API at %s does not respond yet.", cluster.Status.Endpoint)
	if operatorkit.FindCondition(cluster, conditions.API) != nil && cluster.Status.Version != "" {
		message = fmt.Sprintf("The Kubernetes API at %s does not respond: %s.", cluster.Status.Endpoint, problem)
		if lost := s.volumes.LostMajority(ctx, cluster); lost != "" {
			return operatorkit.Wait(outcomes.EventPoll, repair.ReasonVolumeLost, lost).Degraded()
		}
	}
	return operatorkit.Wait(outcomes.EventPoll, "APIUnreachable", message)
}

// EnsureDeleted closes the connection.
func (s apiStep) EnsureDeleted(_ context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	s.credentials.Disconnect(cluster)
	return operatorkit.Done()
}
