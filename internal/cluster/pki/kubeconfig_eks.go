package pki

import (
	"errors"
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// EKSKubeconfigInput describes the kubeconfig of a cluster whose control plane EKS runs.
type EKSKubeconfigInput struct {
	// Cluster is the cluster's name for the names in the kubeconfig.
	Cluster string
	// Server is the API's address, https://host.
	Server string
	// CA has the certificates that the API's certificate is verified with, in PEM.
	CA []byte
	// Name and Region are those of the cluster in EKS.
	Name, Region string
	// RoleARN is the role that the user assumes to use the cluster, empty for none.
	RoleARN string
}

// EKSKubeconfig returns the kubeconfig of a cluster whose control plane EKS runs. It has no secret: the AWS
// CLI makes the token, with the credentials of the user that calls it, as in kubeconfigs that
// `aws eks update-kubeconfig` writes.
// https://docs.aws.amazon.com/cli/latest/reference/eks/update-kubeconfig.html
func EKSKubeconfig(in EKSKubeconfigInput) ([]byte, error) {
	if in.Cluster == "" || in.Server == "" || len(in.CA) == 0 || in.Name == "" || in.Region == "" {
		return nil, errors.New("a kubeconfig for EKS needs a cluster, a server, a CA, a name and a region")
	}
	arguments := []string{"--region", in.Region, "eks", "get-token", "--cluster-name", in.Name, "--output", "json"}
	if in.RoleARN != "" {
		arguments = append(arguments, "--role-arn", in.RoleARN)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[in.Cluster] = &clientcmdapi.Cluster{Server: in.Server, CertificateAuthorityData: in.CA}
	config.AuthInfos[in.Cluster] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1beta1", Command: "aws", Args: arguments,
		InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
		InstallHint:     "Install the AWS CLI: https://docs.aws.amazon.com/cli/latest/userguide/getting-started-install.html",
	}}
	config.Contexts[in.Cluster] = &clientcmdapi.Context{Cluster: in.Cluster, AuthInfo: in.Cluster}
	config.CurrentContext = in.Cluster
	written, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encode the kubeconfig of %s: %w", in.Cluster, err)
	}
	return written, nil
}
