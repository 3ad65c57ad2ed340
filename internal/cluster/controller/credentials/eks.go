package credentials

import (
	"context"
	"encoding/base64"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/internal/ekstoken"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// connectEKS returns the connection to a cluster whose control plane EKS runs. The operator
// authenticates as the principal that made the cluster. Outputs must be confirmed: a token must only
// be sent to the cluster's own API.
func (c *Credentials) connectEKS(cluster *v1alpha1.Cluster) (*workload.Cluster, operatorkit.Outcome) {
	authority, err := caOf(cluster)
	if err != nil {
		return nil, operatorkit.Fail(err)
	}
	source := ekstoken.NewSource(c.options.Presigner(cluster), c.options.Clock, cluster.Name)
	connection, err := c.options.Workload.ConnectEKS(client.ObjectKeyFromObject(cluster), workload.Endpoint{
		Server: cluster.Status.Outputs[model.OutputEndpoint], CA: authority, Tokens: source, Principal: principalOf(cluster),
	})
	if err != nil {
		return nil, operatorkit.Fail(err)
	}
	return connection, operatorkit.Done()
}

// principalOf identifies the credentials with which the operator manages a Cluster.
func principalOf(cluster *v1alpha1.Cluster) string {
	if role := cluster.Spec.Role; role != nil {
		return role.ARN
	}
	return "identity " + cluster.Spec.Identity
}

// caOf returns the CA of the API of a cluster whose control plane EKS runs, in PEM.
func caOf(cluster *v1alpha1.Cluster) ([]byte, error) {
	authority, err := base64.StdEncoding.DecodeString(cluster.Status.Outputs[model.OutputCertificateAuthority])
	if err != nil {
		return nil, fmt.Errorf("the output %s of the base stack is not in base64: %w", model.OutputCertificateAuthority, err)
	}
	return authority, nil
}

// EnsureEKSKubeconfig creates the Secret with the kubeconfig for users and tools. It has no
// credentials: kubectl asks the aws command for a token of its user.
func (c *Credentials) EnsureEKSKubeconfig(ctx context.Context, cluster *v1alpha1.Cluster) error {
	server := cluster.Status.Outputs[model.OutputEndpoint]
	if last, ok := c.kubeconfigs.Get(cluster.UID); ok && last.server == server {
		return nil
	}
	authority, err := caOf(cluster)
	if err != nil {
		return err
	}
	kubeconfig, err := pki.EKSKubeconfig(pki.EKSKubeconfigInput{
		Cluster: cluster.Name, Name: cluster.Name, Region: cluster.Spec.Region, Server: server, CA: authority,
	})
	if err != nil {
		return fmt.Errorf("create the kubeconfig of cluster %s: %w", cluster.Name, err)
	}
	made := func() ([]byte, error) { return kubeconfig, nil }
	if err := c.store(ctx, cluster, made, func(existing []byte) bool { return string(existing) == string(kubeconfig) }); err != nil {
		return err
	}
	c.kubeconfigs.Keep(cluster.UID, validity{server: server})
	return nil
}
