package bootstrap_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

// Every node has a DNS cache, which pods ask first, and CoreDNS after it. The cache knows the address of
// CoreDNS, and asks the node's resolver or CoreDNS for other names.
func TestNodesHaveADNSCache(t *testing.T) {
	const (
		cache, coreDNS = "169.254.20.10", "172.20.0.10"
		corefile       = "/etc/kubernetes/node-local-dns/Corefile.base"
		manifest       = "/etc/kubernetes/manifests/node-local-dns.yaml"
	)
	for with, forwards := range map[v1alpha1.DNSForward]string{
		v1alpha1.ForwardToResolver: "forward . /etc/resolv.conf\n", v1alpha1.ForwardToCoreDNS: "forward . " + coreDNS + " {\n",
	} {
		slot, worker := bundlesOf(t, release.Set120, "v1.36.4", func(c *model.Cluster) {
			c.Spec.Network.NodeLocalDNS = &v1alpha1.NodeLocalDNS{Forward: with}
		})
		servers := "clusterDNS:\n- " + cache + "\n- " + coreDNS + "\n"
		if !strings.Contains(slot.Kubeadm.Config, servers) || !strings.Contains(file(worker, kubeletPatch), servers) {
			t.Errorf("pods do not ask the cache first: slot\n%s\nworker\n%s", slot.Kubeadm.Config, file(worker, kubeletPatch))
		}
		for _, text := range []string{file(slot, corefile), file(worker, corefile)} {
			inside, outside, found := strings.Cut(text, "\n.:53 {")
			if !found || !strings.Contains(inside, "forward . "+coreDNS+" {") || !strings.Contains(outside, forwards) {
				t.Errorf("names of the cluster are not asked of CoreDNS, or others not by %q:\n%s", forwards, text)
			}
		}
		var pod corev1.Pod
		if err := yaml.UnmarshalStrict([]byte(file(worker, manifest)), &pod); err != nil {
			t.Fatal(err)
		}
		if got := pod.Spec.Containers[0].Image; got != "registry.k8s.io/dns/k8s-dns-node-cache:1.26.7" {
			t.Errorf("the pod runs %s", got)
		}
		if pod.Spec.DNSPolicy != corev1.DNSDefault || !pod.Spec.HostNetwork {
			t.Error("the cache would ask itself, or answers only in its own network")
		}
	}
	slot, worker := bundlesOf(t, release.Set120, "v1.36.4", func(c *model.Cluster) { c.Spec.Network.NodeLocalDNS = nil })
	if file(slot, corefile)+file(slot, manifest)+file(worker, corefile)+file(worker, manifest) != "" {
		t.Error("a cluster without the field has a cache")
	}
	if servers := "clusterDNS:\n- " + coreDNS + "\n"; !strings.Contains(slot.Kubeadm.Config, servers) {
		t.Errorf("pods do not ask CoreDNS:\n%s", slot.Kubeadm.Config)
	}
}
