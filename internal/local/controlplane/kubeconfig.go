package controlplane

import (
	"encoding/pem"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// contextName is how kubectl shows this cluster.
const contextName = "aws-operator-local"

// Kubeconfig returns a kubeconfig with every right, which needs no other file.
func (c *ControlPlane) Kubeconfig() []byte {
	config := clientcmdapi.NewConfig()
	config.Clusters[contextName] = &clientcmdapi.Cluster{Server: c.host, CertificateAuthorityData: c.caCert()}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: c.admin.cert, ClientKeyData: c.admin.key}
	config.Contexts[contextName] = &clientcmdapi.Context{Cluster: contextName, AuthInfo: "admin", Namespace: "default"}
	config.CurrentContext = contextName
	data, err := clientcmd.Write(*config)
	if err != nil {
		// Writing to memory what is made of strings alone has no way to fail.
		return nil
	}
	return data
}

func (c *ControlPlane) caCert() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.ca.cert.Raw})
}
