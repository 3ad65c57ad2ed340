package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/credentials"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// eksAPIStep publishes the kubeconfig of a cluster whose control plane EKS runs, connects to its API,
// and waits until it responds.
type eksAPIStep struct{ *operator }

// Name returns the step's name.
func (s eksAPIStep) Name() string { return "api" }

// EnsureCreated connects, and is done while the API responds.
func (s eksAPIStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if outcome := s.outputs.Confirmed(ctx, cluster); !outcome.IsDone() {
		return outcome
	}
	cluster.Status.Endpoint = cluster.Status.Outputs[model.OutputEndpoint]
	return conditions.Conclude(cluster, conditions.API, "Reachable",
		"The Kubernetes API is reachable at "+cluster.Status.Endpoint+".", s.ensure(ctx, cluster))
}

func (s eksAPIStep) ensure(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if cluster.Status.Endpoint == "" {
		return operatorkit.Wait(outcomes.EventPoll, "NoAPIAddress", "The base stack has no address of the API yet.")
	}
	if err := s.credentials.EnsureEKSKubeconfig(ctx, cluster); err != nil {
		return credentials.Failed(err)
	}
	connection, outcome := s.credentials.Connect(ctx, cluster)
	if connection == nil {
		return outcome
	}
	reachable, problem := responds(ctx, cluster, connection)
	switch {
	case reachable:
		return outcome
	case connection.Refused():
		return operatorkit.Wait(outcomes.EventPoll, "APIResponseRefused", fmt.Sprintf(
			"The operator does not use the Kubernetes API at %s: %s.", cluster.Status.Endpoint, problem,
		)).Degraded()
	}
	waiting := operatorkit.Wait(outcomes.EventPoll, "APIUnreachable", fmt.Sprintf(
		"The Kubernetes API at %s does not respond: %s. Check that spec.api.allowedCIDRs contains the operator's address, or, with spec.api.access Internal, that the operator's network reaches the VPC.",
		cluster.Status.Endpoint, strings.TrimSuffix(problem, "."),
	))
	if cluster.Status.Version == "" { // The first connection takes a moment.
		return waiting.WithoutEvent()
	}
	return waiting
}

// EnsureDeleted closes the connection and deletes the kubeconfig, which no longer has a server.
func (s eksAPIStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	s.credentials.Disconnect(cluster)
	if err := s.credentials.DeleteKubeconfig(ctx, cluster); err != nil {
		return operatorkit.Fail(err)
	}
	return operatorkit.Done()
}

// eksNodesStep counts the nodes. It does not repair them: EKS does.
type eksNodesStep struct{ *operator }

// Name returns the step's name.
func (s eksNodesStep) Name() string { return "nodes" }

// EnsureCreated counts the nodes. The base stack is up to date when it is called.
func (s eksNodesStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	connection := s.options.Workload.Get(keyOf(cluster))
	if connection == nil {
		return operatorkit.Done()
	}
	if err := s.tally(ctx, cluster, connection.Nodes()); err != nil {
		return operatorkit.Fail(err)
	}
	return operatorkit.Done()
}

// EnsureDeleted has nothing to do: the nodes are deleted with their groups.
func (s eksNodesStep) EnsureDeleted(context.Context, *v1alpha1.Cluster) operatorkit.Outcome {
	return operatorkit.Done()
}

// eksReadyStep records what the control plane runs, and waits for the first worker if any instance
// group wants one.
type eksReadyStep struct{ *operator }

// Name returns the step's name.
func (s eksReadyStep) Name() string { return "ready" }

// EnsureCreated is done when the API responds and a worker is Ready.
func (s eksReadyStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	to, err := s.objects.Release(ctx, cluster)
	if err != nil {
		return operatorkit.Fail(err)
	}
	connection := s.options.Workload.Get(keyOf(cluster))
	if connection == nil {
		return operatorkit.Wait(outcomes.EventPoll, "NotConnected", "Connecting to the cluster's API.").WithoutEvent()
	}
	running, err := serverVersion(ctx, connection)
	if err != nil {
		return outcomes.Failed(err)
	}
	if model.MinorVersion(running) != model.MinorVersion(to.Spec.Kubernetes) {
		return operatorkit.Wait(outcomes.EventPoll, "ControlPlaneOutdated", fmt.Sprintf(
			"The API servers still run %s; EKS replaces them one after another.", running)).WithoutEvent()
	}
	cluster.Status.Release, cluster.Status.Version = to.Name, running
	operatorkit.SetCondition(cluster, metav1.Condition{
		Type: conditions.ControlPlane, Status: metav1.ConditionTrue, Reason: "RunByEKS", Message: "EKS runs the control plane.",
	})
	ready := 0
	for _, node := range connection.Nodes() {
		if node.Ready {
			ready++
		}
	}
	if ready == 0 {
		waiting, err := readyStep(s).groupsThatAskForNodes(ctx, cluster)
		switch {
		case err != nil:
			return operatorkit.Fail(err)
		case len(waiting) > 0:
			return operatorkit.Wait(outcomes.EventPoll, "WorkersMissing", "The control plane is ready at "+cluster.Status.Endpoint+
				", but no node of an instance group is ready. Instance groups with a minSize above 0: "+strings.Join(waiting, ", ")+".").WithoutEvent()
		}
	}
	message := "The cluster is ready. EKS runs its control plane at " + cluster.Status.Endpoint + "."
	return operatorkit.Done().Explain(operatorkit.ReasonReady, message).RequeueAfter(idlePoll)
}

// EnsureDeleted starts the deletion: it removes the conditions and ensures that the account is known.
func (s eksReadyStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	return readyStep(s).EnsureDeleted(ctx, cluster)
}

// serverVersion asks an API for its version, for example v1.36.2-eks-1234567.
func serverVersion(ctx context.Context, of *workload.Cluster) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, workloadTimeout)
	defer cancel()
	data, err := of.Core().RESTClient().Get().AbsPath("/version").DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("read the version of the API servers: %w", err)
	}
	var found version.Info
	if err := json.Unmarshal(data, &found); err != nil {
		return "", fmt.Errorf("read the version of the API servers: %w", err)
	}
	return found.GitVersion, nil
}
