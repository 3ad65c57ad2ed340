package bootstrap

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// pkiDirectory is where kubeadm looks for keys and certificates.
const pkiDirectory = "/etc/kubernetes/pki/"

// Files of a slot during a rotation of the CAs.
const (
	// signingCA is the CA that signs the certificates of kubelets. kube-controller-manager accepts only a file with
	// one certificate, and ca.crt has two:
	// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/certificates/signer/ca_provider.go
	signingCA = pkiDirectory + "signing-ca.crt"
	// crossCA verifies the slot's certificates for those who trust only the other CA.
	crossCA = pkiDirectory + model.KeyCross
	// apiServerChain and kubeletClientChain are the API server's certificates, followed by crossCA.
	apiServerChain     = pkiDirectory + "apiserver-chain.crt"
	kubeletClientChain = pkiDirectory + "apiserver-kubelet-client-chain.crt"
)

// pkiFiles returns the CAs' files, below the folder where kubeadm expects them. While a slot trusts two CAs, the
// one that issues comes first in each file of certificates, because kubeadm issues with the first:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/cmd/kubeadm/app/util/pkiutil/pki_helpers.go
func pkiFiles(keys model.Keys) []bundle.PKIFile {
	const public, secret = "0644", "0600"
	modes := map[string]string{
		model.KeyCACert: public, model.KeyCAKey: secret,
		model.KeyEtcdCACert: public, model.KeyEtcdCAKey: secret,
		model.KeyFrontProxyCACert: public, model.KeyFrontProxyCAKey: secret,
		model.KeyServiceAccountPublic: public, model.KeyServiceAccountPrivate: secret,
	}
	files := make([]bundle.PKIFile, 0, len(modes))
	for _, key := range slices.Sorted(maps.Keys(modes)) {
		name, folder := strings.TrimPrefix(key, model.KeyPKIPrefix), keys.Trusted()
		if modes[key] == secret {
			folder = keys.Issuing()
		}
		files = append(files, bundle.PKIFile{Key: folder + name, Path: pkiDirectory + name, Mode: modes[key]})
	}
	if keys.IsMixed() {
		certificate := strings.TrimPrefix(model.KeyCACert, model.KeyPKIPrefix)
		files = append(files,
			bundle.PKIFile{Key: keys.Issuing() + certificate, Path: signingCA, Mode: public},
			bundle.PKIFile{Key: keys.Trusted() + model.KeyCross, Path: crossCA, Mode: public},
		)
	}
	return files
}

// chains returns the certificates that kubelets and clients of the API must be able to verify while some of them
// trust only one of two CAs: those of nodes that boot in the next stage of the rotation, and of pods that have read
// the CA before.
func chains(keys model.Keys) []bundle.Chain {
	if !keys.IsMixed() {
		return nil
	}
	return []bundle.Chain{
		{Path: apiServerChain, Certificate: pkiDirectory + "apiserver.crt", Issuers: crossCA},
		{Path: kubeletClientChain, Certificate: pkiDirectory + "apiserver-kubelet-client.crt", Issuers: crossCA},
	}
}
