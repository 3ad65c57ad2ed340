package bootstrap

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

const (
	// defaultKubelet is where the kubelet is if the release does not install one: where releases put it.
	defaultKubelet = "/usr/local/bin/kubelet"
	runtimeSocket  = "unix:///run/containerd/containerd.sock"
	patchDirectory = "/etc/kubernetes/patches"

	credentialProviderName   = "ecr-credential-provider"                  //nolint:gosec // A program.
	credentialProviderConfig = "/etc/kubernetes/credential-provider.yaml" //nolint:gosec // A file without any.
)

// ownKubeletArgs are the kubelet's arguments that are not a person's to set: they say who the node
// is and whom it trusts.
var ownKubeletArgs = []string{
	"bootstrap-kubeconfig", "client-ca-file", "cloud-provider", "config", "config-dir", "hostname-override", "kubeconfig",
	"node-ip", "node-labels", "pod-manifest-path", "provider-id", "register-node", "register-with-taints", "root-dir",
}

// kubelet returns the kubelet's command line.
func kubelet(b *Bundle, labels map[string]string, taints []string, extra map[string]string) (bundle.Kubelet, error) {
	k := bundle.Kubelet{
		Path: defaultKubelet,
		Args: map[string]string{
			"config":            "/var/lib/kubelet/config.yaml",
			"kubeconfig":        "/etc/kubernetes/kubelet.conf",
			"cloud-provider":    "external",
			"hostname-override": bundle.Placeholder(bundle.NodeName),
			"node-ip":           bundle.Placeholder(bundle.PrivateIP),
			"provider-id":       bundle.Placeholder(bundle.ProviderID),
		},
		Labels: map[string]string{
			corev1.LabelTopologyRegion:     bundle.Placeholder(bundle.Region),
			corev1.LabelTopologyZone:       bundle.Placeholder(bundle.Zone),
			corev1.LabelInstanceTypeStable: bundle.Placeholder(bundle.InstanceType),
		},
		Taints: taints,
	}
	if own, ok := artifact(b, "kubelet"); ok {
		k.Path = own.Path
	}
	if b.Role == bundle.Worker {
		k.Args["bootstrap-kubeconfig"] = "/etc/kubernetes/bootstrap-kubelet.conf"
	}
	if provider, ok := artifact(b, credentialProviderName); ok {
		k.Args["image-credential-provider-config"] = credentialProviderConfig
		k.Args["image-credential-provider-bin-dir"] = path.Dir(provider.Path)
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if slices.Contains(ownKubeletArgs, name) {
			return bundle.Kubelet{}, fmt.Errorf("the kubelet's argument %s is set by the operator; leave it out of kubeletExtraArgs", name)
		}
		k.Args[name] = extra[name]
	}
	if name := bundle.Holding(extra); name != "" {
		return bundle.Kubelet{}, fmt.Errorf("the kubelet's argument %s has a ${} in it, which is how the operator marks what a machine fills in", name)
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if !KubeletMaySet(name) {
			return bundle.Kubelet{}, fmt.Errorf("a kubelet may not set the label %s on its own node", name)
		}
		k.Labels[name] = labels[name]
	}
	return k, nil
}

// KubeletMaySet says whether a kubelet may put a label on its own node. It may set any whose name has
// no kubernetes.io and no k8s.io, and of those the ones that the NodeRestriction admission plugin
// lists (https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction);
// with others in its --node-labels it does not start.
func KubeletMaySet(label string) bool {
	namespace, _, found := strings.Cut(label, "/")
	if !found {
		return true
	}
	within := func(domain string) bool { return namespace == domain || strings.HasSuffix(namespace, "."+domain) }
	if !within("kubernetes.io") && !within("k8s.io") {
		return true
	}
	if within("kubelet.kubernetes.io") || within("node.kubernetes.io") {
		return true
	}
	return slices.Contains([]string{
		corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelInstanceTypeStable,
		corev1.LabelOSStable, corev1.LabelArchStable,
	}, label)
}

// kubeletConfiguration is what the kubelets of all nodes are configured with. What kubeadm fills in
// by itself (where the CA is, who may ask, what resolves names) is left to it.
func kubeletConfiguration(c *model.Cluster) (map[string]any, error) {
	dns, err := clusterDNS(c.Spec.Network.ServiceCIDR)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"apiVersion":               "kubelet.config.k8s.io/v1beta1",
		"kind":                     "KubeletConfiguration",
		"cgroupDriver":             "systemd", // as containerd's
		"clusterDNS":               []any{dns},
		"clusterDomain":            "cluster.local",
		"containerRuntimeEndpoint": runtimeSocket,
		// Pods get time to end when the machine is told to stop.
		"shutdownGracePeriod":             "60s",
		"shutdownGracePeriodCriticalPods": "20s",
		// What the machine needs for itself is not for pods.
		"systemReserved": map[string]any{"cpu": "100m", "memory": "256Mi"},
	}, nil
}

// kubeletPatch gives workers the same configuration: kubeadm join takes it from a ConfigMap, whose
// content is that of whichever slot wrote it last, and a node is to be what its bundle says.
func kubeletPatch(c *model.Cluster) (bundle.File, error) {
	configuration, err := kubeletConfiguration(c)
	if err != nil {
		return bundle.File{}, err
	}
	text, err := yaml.Marshal(configuration)
	if err != nil {
		return bundle.File{}, fmt.Errorf("write the kubelet's configuration: %w", err)
	}
	return bundle.File{Path: patchDirectory + "/kubeletconfiguration+merge.yaml", Mode: "0644", Content: string(text)}, nil
}

// credentialProvider lets the kubelet fetch images from ECR with the instance's role, if the release
// installs the program for it.
func credentialProvider(b *Bundle, c *model.Cluster) []bundle.File {
	if _, ok := artifact(b, credentialProviderName); !ok {
		return nil
	}
	return []bundle.File{{Path: credentialProviderConfig, Mode: "0644", Content: `apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: ` + credentialProviderName + `
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  defaultCacheDuration: 12h
  matchImages:
  - "*.dkr.ecr.*.` + c.DNSSuffix + `"
  - "public.ecr.aws"
`}}
}
