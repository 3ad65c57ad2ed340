package bootstrap

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

const (
	// defaultKubelet is where the kubelet is if the release does not install one: where releases
	// put it.
	defaultKubelet = "/usr/local/bin/kubelet"
	runtimeSocket  = "unix:///run/containerd/containerd.sock"
	patchDirectory = "/etc/kubernetes/patches"

	kubeletConfigVersion = "kubelet.config.k8s.io/v1beta1"

	credentialProviderName   = "ecr-credential-provider"                  //nolint:gosec // A program.
	credentialProviderConfig = "/etc/kubernetes/credential-provider.yaml" //nolint:gosec // A file without any.
)

// ownKubeletArgs are the kubelet's arguments that users must not set: they determine the node's
// identity and trust.
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
		return bundle.Kubelet{}, fmt.Errorf(
			"the kubelet's argument %s has a ${} in it, which is how the operator marks what a machine fills in", name,
		)
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if !KubeletMaySet(name) {
			return bundle.Kubelet{}, fmt.Errorf("a kubelet may not set the label %s on its own node", name)
		}
		k.Labels[name] = labels[name]
	}
	return k, nil
}

// KubeletMaySet reports whether a kubelet may set a label on its own node: any without
// kubernetes.io and k8s.io in its name, and of those the ones that the NodeRestriction admission
// plugin lists
// (https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction).
// With others in its --node-labels, it does not start.
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

// kubeletConfiguration returns the configuration of all nodes' kubelets. It omits what kubeadm sets
// (the CA's location, authorization, the resolver).
func kubeletConfiguration(c *model.Cluster) (map[string]any, error) {
	dns, err := clusterDNS(c.Spec.Network.ServiceCIDR)
	if err != nil {
		return nil, err
	}
	servers := []any{dns}
	if c.Spec.Network.NodeLocalDNS != nil {
		servers = []any{nodeLocalAddress, dns} // Names resolve while the cache is being replaced, too.
	}
	all, critical := shutdownGracePeriods(c)
	return map[string]any{
		"apiVersion":               kubeletConfigVersion,
		"kind":                     "KubeletConfiguration",
		"cgroupDriver":             "systemd", // as containerd's
		"clusterDNS":               servers,
		"clusterDomain":            "cluster.local",
		"containerRuntimeEndpoint": runtimeSocket,
		// Pods have time to terminate when the instance is shut down.
		"shutdownGracePeriod":             all,
		"shutdownGracePeriodCriticalPods": critical,
		// Reserve what the instance itself needs.
		"systemReserved": map[string]any{"cpu": "100m", "memory": "256Mi"},
	}, nil
}

// shutdownGracePeriods returns how long pods have to end when the machine shuts down, and how much
// of that is for critical ones. On Ubuntu, unattended-upgrades limits logind to 30 seconds in a
// file that comes after the kubelet's own, and a kubelet that asks for more gives pods no time at
// all: https://github.com/kubernetes/kubernetes/issues/102818. Where logind's limit is lower (5
// seconds by default), the kubelet raises it.
func shutdownGracePeriods(c *model.Cluster) (all, critical string) {
	if c.Features.ShortNodeShutdown {
		return "30s", "10s"
	}
	return "60s", "20s"
}

// slotBackOff is how long a slot's kubelet waits at most before it starts a container again. By
// default that is five minutes, so a kube-apiserver that ended a few times while etcd had no quorum
// would stay away for as long after etcd came back.
const slotBackOff = "60s"

// slotKubeletPatch configures only the kubelets of slots: what is in kubeadm's configuration goes
// into the ConfigMap that workers join with, of whatever version or bundle they are. It returns false
// where there is nothing to configure.
func slotKubeletPatch(c *model.Cluster) (bundle.File, bool, error) {
	configuration := servingConfiguration(c)
	if restartsFast(c) {
		configuration["crashLoopBackOff"] = map[string]any{"maxContainerRestartPeriod": slotBackOff}
	}
	if len(configuration) == 0 {
		return bundle.File{}, false, nil
	}
	configuration["apiVersion"], configuration["kind"] = kubeletConfigVersion, "KubeletConfiguration"
	file, err := patchOf(configuration)
	return file, err == nil, err
}

// restartsFast reports whether the kubelets of slots know the limit of the back-off: those of v1.34
// refuse to start with the field, and from v1.35 on the feature KubeletCrashLoopBackOffMax is on by
// default.
func restartsFast(c *model.Cluster) bool {
	v, err := version.ParseGeneric(c.Release.Spec.Kubernetes)
	return c.Features.FastSlotRestart && err == nil && v.AtLeast(version.MajorMinor(1, 35))
}

// servingConfiguration makes kubelets request their serving certificates from the cluster, if they are
// to: https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/#certificate-rotation.
func servingConfiguration(c *model.Cluster) map[string]any {
	configuration := map[string]any{}
	if c.Spec.Certificates.ServesIssued() {
		configuration["serverTLSBootstrap"] = true
	}
	return configuration
}

// kubeletPatch gives workers the same configuration: kubeadm join takes it from a ConfigMap, whose
// content is that of whichever slot wrote it last, and a node is to be what its bundle says.
func kubeletPatch(c *model.Cluster) (bundle.File, error) {
	configuration, err := kubeletConfiguration(c)
	if err != nil {
		return bundle.File{}, err
	}
	maps.Copy(configuration, servingConfiguration(c))
	return patchOf(configuration)
}

// patchOf is the file by which kubeadm changes a kubelet's configuration.
func patchOf(configuration map[string]any) (bundle.File, error) {
	text, err := yaml.Marshal(configuration)
	if err != nil {
		return bundle.File{}, fmt.Errorf("write the kubelet's configuration: %w", err)
	}
	return bundle.File{Path: patchDirectory + "/kubeletconfiguration+merge.yaml", Mode: "0644", Content: string(text)}, nil
}

// credentialProvider lets the kubelet fetch images from ECR with the instance's role, if the
// release installs the program for it.
func credentialProvider(b *Bundle, c *model.Cluster) []bundle.File {
	if _, ok := artifact(b, credentialProviderName); !ok {
		return nil
	}
	public := `  - "public.ecr.aws"
`
	// Tokens for it come from us-east-1, with credentials of that partition only
	// (https://docs.aws.amazon.com/AmazonECR/latest/public/public-registry-auth.html). Without a
	// token it is read anonymously.
	if c.Features.PartitionedRegistries && c.Partition != "aws" {
		public = ""
	}
	return []bundle.File{{Path: credentialProviderConfig, Mode: "0644", Content: `apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: ` + credentialProviderName + `
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  defaultCacheDuration: 12h
  matchImages:
  - "*.dkr.ecr.*.` + c.DNSSuffix + `"
` + public}}
}

// crictlConfig tells crictl where the container runtime is, so that people read logs on a node
// without it (https://github.com/kubernetes-sigs/cri-tools/blob/master/docs/crictl.md).
func crictlConfig(b *Bundle, c *model.Cluster) []bundle.File {
	if _, ok := artifact(b, "crictl"); !ok || !c.Features.ConfiguredCrictl {
		return nil
	}
	return []bundle.File{
		{
			Path:    "/etc/crictl.yaml",
			Mode:    "0644",
			Content: "runtime-endpoint: " + runtimeSocket + "\nimage-endpoint: " + runtimeSocket + "\n",
		},
	}
}
