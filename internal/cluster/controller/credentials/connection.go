package credentials

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// userName is the name of the operator in its own credentials.
const userName = "aws-operator"

// connectionValidity is the validity of the operator's own credentials in a cluster. They exist
// only in memory and are renewed after half of it.
const connectionValidity = 7 * 24 * time.Hour

// Connect returns the cluster's connection, or an outcome that explains why there is none.
func (c *Credentials) Connect(ctx context.Context, cluster *v1alpha1.Cluster) (*workload.Cluster, operatorkit.Outcome) {
	if model.UsesEKS(cluster) {
		return c.connectEKS(cluster) //nolint:contextcheck // the connection outlives the reconcile
	}
	key, now := client.ObjectKeyFromObject(cluster), c.options.Clock.Now()
	// Do not use a name in the cluster's DNS zone: the load balancer's own name is available
	// earlier.
	host, serverName, err := c.options.Clients.Resolver().Dial(ctx, model.APIAddress(cluster.Status.Outputs))
	if err != nil {
		return nil, operatorkit.Fail(err)
	}
	server := model.APIServer(host)
	known, err := c.EnsureCAs(ctx, cluster)
	if err != nil {
		return nil, Failed(err)
	}
	last, ok := c.connected.Get(cluster.UID)
	isFor := ok && last.server == server && last.keys == known.Keys.CAs() && now.Before(last.until)
	if connection := c.options.Workload.Get(key); connection != nil && isFor {
		return connection, operatorkit.Done().RequeueAfter(last.until.Sub(now))
	}
	cas, err := c.CAs(ctx, cluster)
	if err != nil {
		return nil, Failed(err)
	}
	kubeconfig, err := cas.Kubeconfig(c.options.Clock, pki.KubeconfigInput{
		Cluster: cluster.Name, Server: server, ServerName: serverName, CommonName: userName,
		Organisations: []string{pki.GroupMasters}, Validity: connectionValidity,
	})
	if err != nil {
		return nil, operatorkit.Fail(err)
	}
	connection, err := c.options.Workload.Connect(key, kubeconfig) //nolint:contextcheck // the connection outlives the reconcile
	if err != nil {
		return nil, operatorkit.Fail(err)
	}
	until := now.Add(connectionValidity / 2)
	c.connected.Keep(cluster.UID, validity{server: server, keys: known.Keys.CAs(), until: until})
	return connection, operatorkit.Done().RequeueAfter(until.Sub(now))
}

// Disconnect closes the operator's connection to the cluster.
func (c *Credentials) Disconnect(cluster *v1alpha1.Cluster) {
	c.connected.Drop(cluster.UID)
	c.options.Workload.Close(client.ObjectKeyFromObject(cluster))
}
