package controller

import (
	"context"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/credentials"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// kubeconfigStep manages the Secret with the cluster's kubeconfig for users and tools.
type kubeconfigStep struct{ *operator }

// Name returns the step's name.
func (s kubeconfigStep) Name() string { return "kubeconfig" }

// EnsureCreated creates the kubeconfig and renews it before it expires.
func (s kubeconfigStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	address := model.APIAddress(cluster.Status.Outputs)
	if address == "" {
		return operatorkit.Wait(outcomes.EventPoll, "NoAPIAddress", "The base stack has no load balancer address yet.")
	}
	if dns := cluster.Spec.DNS; dns != nil && dns.Name != "" {
		address = dns.Name
	}
	server := model.APIServer(address)
	cluster.Status.Endpoint = server
	until, err := s.credentials.EnsureKubeconfig(ctx, cluster, address)
	if err != nil {
		return credentials.Failed(err)
	}
	return operatorkit.Done().RequeueAfter(until.Sub(s.options.Clock.Now()))
}

// EnsureDeleted deletes the kubeconfig, which no longer has a server.
func (s kubeconfigStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if err := s.credentials.DeleteKubeconfig(ctx, cluster); err != nil {
		return operatorkit.Fail(err)
	}
	return operatorkit.Done()
}
