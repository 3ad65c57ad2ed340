package controlplanetest

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// UseKubeconfig makes a namespace of an API server the current context of the kubeconfig, until the
// test ends.
func UseKubeconfig(t *testing.T, config *rest.Config, namespace string) {
	t.Helper()
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["c"] = &clientcmdapi.Cluster{
		Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile,
	}
	kubeconfig.AuthInfos["u"] = &clientcmdapi.AuthInfo{
		Token: config.BearerToken, Impersonate: config.Impersonate.UserName, ClientCertificateData: config.CertData,
		ClientKeyData: config.KeyData, ClientCertificate: config.CertFile, ClientKey: config.KeyFile,
	}
	kubeconfig.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: namespace}
	kubeconfig.CurrentContext = "x"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)
}
