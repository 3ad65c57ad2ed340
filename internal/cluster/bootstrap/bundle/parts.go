package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// PartAPI is the part with the CAs that instances of groups trust.
const PartAPI = "API address and CA"

// PartEncryption is the part with the key with which slots encrypt resources in etcd.
const PartEncryption = "encryption of resources in etcd"

// Parts returns a short digest of each part of the document, by a name that users understand, for
// example "labels". Two bundles differ in a part if its digests differ: a list of parts says why
// instances are replaced, without the values, which may be secret.
func (b *Bundle) Parts() map[string]string {
	parts := map[string]string{}
	add := func(name string, content any) {
		data, err := json.Marshal(content)
		if err != nil {
			panic(fmt.Sprintf("bundle: %v", err)) // As in JSON.
		}
		if text := string(data); text == "null" || text == `""` {
			return
		}
		const length = 4 // Enough bytes to distinguish two versions of one part.
		sum := sha256.Sum256(data)
		parts[name] = hex.EncodeToString(sum[:length])
	}
	add("Kubernetes version", b.Kubernetes)
	add("architecture", b.Architecture)
	add("request to roll", b.Roll)
	add("programs", b.Artifacts)
	add("kernel settings", []any{b.Modules, b.Sysctls})
	add("systemd units", b.Units)
	for _, unit := range b.ExtraUnits {
		add("unit "+unit.Name, unit)
	}
	add("SSH keys", b.SSH)
	add("user script", b.ExtraUserData)
	add("etcd", b.Etcd)
	add("shipping of the audit log", b.Audit)
	add(PartEncryption, b.Encryption)
	add("CA files", b.PKI)
	add("certificate chains", b.Chains)
	add("joining", []any{b.TokenParameter, b.TokenKey, b.Join})
	add(PartAPI, b.API)
	add("kubeadm configuration", b.Kubeadm)
	add("kubelet arguments", []any{b.Kubelet.Path, b.Kubelet.Args})
	add("labels", b.Kubelet.Labels)
	add("taints", b.Kubelet.Taints)
	for _, file := range b.Files {
		name := file.Path
		switch {
		case strings.HasPrefix(name, "/etc/kubernetes/patches/kubeletconfiguration"):
			name = "kubelet configuration"
		case name == "/etc/kubernetes/manifests/node-local-dns.yaml":
			name = "pod of the DNS cache"
		case strings.HasPrefix(name, "/etc/kubernetes/node-local-dns/"):
			name = "configuration of the DNS cache"
		case strings.HasPrefix(name, "/etc/kubernetes/apiserver/"):
			name = "API server " + strings.TrimSuffix(strings.TrimPrefix(name, "/etc/kubernetes/apiserver/"), ".yaml")
		}
		add(name, file)
	}
	return parts
}
