package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/repair"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// connectionValidity is the validity of the operator's own credentials in a cluster. They exist
// only in memory and are renewed after half of it.
const connectionValidity = 7 * 24 * time.Hour

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
	connection, outcome := s.connect(ctx, cluster)
	if connection == nil {
		return outcome
	}
	reachable, problem := connection.Reachable()
	if reachable {
		return outcome
	}
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

// connect returns the cluster's connection, or an outcome that explains why there is none.
func (s apiStep) connect(ctx context.Context, cluster *v1alpha1.Cluster) (*workload.Cluster, operatorkit.Outcome) {
	key, now := keyOf(cluster), s.options.Clock.Now()
	// Do not use a name in the cluster's DNS zone: the load balancer's own name is available
	// earlier.
	host, serverName, err := s.options.Clients.Resolver().Dial(ctx, model.APIAddress(cluster.Status.Outputs))
	if err != nil {
		return nil, operatorkit.Fail(err)
	}
	server := model.APIServer(host)
	last, ok := s.connected.Get(cluster.UID)
	if connection := s.options.Workload.Get(key); ok && connection != nil && last.server == server && now.Before(last.until) {
		return connection, operatorkit.Done().RequeueAfter(last.until.Sub(now))
	}
	cas, err := s.casOf(ctx, cluster)
	if err != nil {
		return nil, brokenPKI(err)
	}
	kubeconfig, err := cas.Kubeconfig(s.options.Clock, pki.KubeconfigInput{
		Cluster: cluster.Name, Server: server, ServerName: serverName, CommonName: fieldOwner,
		Organisations: []string{pki.GroupMasters}, Validity: connectionValidity,
	})
	if err != nil {
		return nil, operatorkit.Fail(err)
	}
	connection, err := s.options.Workload.Connect(key, kubeconfig) //nolint:contextcheck // the connection outlives the reconcile
	if err != nil {
		return nil, operatorkit.Fail(err)
	}
	until := now.Add(connectionValidity / 2)
	s.connected.Keep(cluster.UID, validity{server: server, until: until})
	return connection, operatorkit.Done().RequeueAfter(until.Sub(now))
}

// EnsureDeleted closes the connection.
func (s apiStep) EnsureDeleted(_ context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	s.connected.Drop(cluster.UID)
	s.options.Workload.Close(keyOf(cluster))
	return operatorkit.Done()
}
