package bootstrap

import (
	"fmt"
	"path"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// The DNS cache of a node: https://kubernetes.io/docs/tasks/administer-cluster/nodelocaldns/.
const (
	// nodeLocalAddress is the link-local address at which it answers, as everywhere. The cache itself
	// gives it to an interface of the node.
	nodeLocalAddress = "169.254.20.10"
	nodeLocalFolder  = "/etc/kubernetes/node-local-dns"
	nodeLocalPod     = "/etc/kubernetes/manifests/node-local-dns.yaml"
	// The cache's default, 8080, would keep pods in the host's network from using it.
	nodeLocalHealth  = 9254
	nodeLocalMetrics = 9253
)

// nodeLocalCorefile has the cluster's address of CoreDNS, so that the cache asks nothing of the API
// and needs no Service of its own. The sizes and times are those of Kubernetes' manifest. Answers come
// over TCP, whose connections the kernel does not confuse when pods of CoreDNS change.
const nodeLocalCorefile = `cluster.local:53 in-addr.arpa:53 ip6.arpa:53 {
    errors
    cache {
        success 9984 30
        denial 9984 5
    }
    loop
    bind %[1]s
    forward . %[2]s {
        force_tcp
    }
    prometheus :%[3]d
    health %[1]s:%[4]d
}
.:53 {
    errors
    cache 30
    loop
    bind %[1]s
    %[5]s
    prometheus :%[3]d
}
`

// nodeLocalDNS returns the files of the node's DNS cache: a static pod, which runs before any other
// pod does and without the cluster's API. Nil if the cluster has none.
func nodeLocalDNS(c *model.Cluster) ([]bundle.File, error) {
	with := c.Spec.Network.NodeLocalDNS
	if with == nil {
		return nil, nil
	}
	coreDNS, err := clusterDNS(c.Spec.Network.ServiceCIDR)
	if err != nil {
		return nil, err
	}
	others := "forward . /etc/resolv.conf"
	if with.Forward == v1alpha1.ForwardToCoreDNS {
		others = "forward . " + coreDNS + " {\n        force_tcp\n    }"
	}
	corefile := fmt.Sprintf(nodeLocalCorefile, nodeLocalAddress, coreDNS, nodeLocalMetrics, nodeLocalHealth, others)
	image := imageRepository(c.Release.Spec) + "/dns/k8s-dns-node-cache:" + c.Release.Spec.Components[model.ComponentNodeCache]
	pod, err := yaml.Marshal(nodeLocalManifest(image))
	if err != nil {
		return nil, fmt.Errorf("write the pod of the node's DNS cache: %w", err)
	}
	return []bundle.File{
		// The program completes this file and reads the result.
		{Path: path.Join(nodeLocalFolder, "Corefile.base"), Mode: "0644", Content: corefile},
		{Path: nodeLocalPod, Mode: "0600", Content: string(pod)},
	}, nil
}

// nodeLocalManifest is the static pod. A static pod has no service account, and its priority is a
// number, since nothing looks up the class's before it runs.
func nodeLocalManifest(image string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"name": "node-local-dns", "namespace": "kube-system", "labels": map[string]any{"k8s-app": "node-local-dns"},
		},
		"spec": map[string]any{
			"hostNetwork": true,
			"dnsPolicy":   string(corev1.DNSDefault), // that of the node: not itself
			"priority":    2000001000, "priorityClassName": "system-node-critical",
			"containers": []any{map[string]any{
				"name": "node-cache", "image": image,
				"args": []any{
					"-localip=" + nodeLocalAddress, "-conf=/etc/Corefile", "-setupiptables=false",
					fmt.Sprintf("-health-port=%d", nodeLocalHealth),
				},
				"ports": []any{
					map[string]any{"name": "dns", "containerPort": 53, "protocol": "UDP"},
					map[string]any{"name": "dns-tcp", "containerPort": 53, "protocol": "TCP"},
					map[string]any{"name": "metrics", "containerPort": nodeLocalMetrics, "protocol": "TCP"},
				},
				"livenessProbe": map[string]any{
					"httpGet":             map[string]any{"host": nodeLocalAddress, "path": "/health", "port": nodeLocalHealth},
					"initialDelaySeconds": 60, "timeoutSeconds": 5,
				},
				"resources":       map[string]any{"requests": map[string]any{"cpu": "25m", "memory": "20Mi"}},
				"securityContext": map[string]any{"capabilities": map[string]any{"add": []any{"NET_ADMIN"}}},
				"volumeMounts":    []any{map[string]any{"name": "config", "mountPath": "/etc/coredns", "readOnly": true}},
			}},
			"volumes": []any{map[string]any{"name": "config", "hostPath": map[string]any{"path": nodeLocalFolder, "type": "Directory"}}},
		},
	}
}
