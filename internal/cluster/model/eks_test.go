package model_test

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

// managed is a cluster whose control plane EKS runs.
const managed = `
metadata: {name: demo, namespace: default}
spec:
  release: v1.36.3
  region: eu-central-1
  network: {cidr: 10.0.0.0/16, zones: [eu-central-1a, eu-central-1b]}
  controlPlane: {eks: {}}
`

// resolveEKS resolves a cluster of EKS with fields over it.
func resolveEKS(t *testing.T, with string) (*model.Cluster, error) {
	t.Helper()
	of, err := release.Find("v1.36.3")
	if err != nil {
		t.Fatal(err)
	}
	return model.Resolve(model.Input{
		Cluster: parse[v1alpha1.Cluster](t, managed, with), Release: of, Operator: "operator", AccountID: "123456789012", Partition: "aws",
		DNSSuffix: "amazonaws.com",
	})
}

// A control plane that EKS runs has neither slots nor the release's addons, and the API server's default for
// their number does not count.
func TestEKSHasNoSlots(t *testing.T) {
	c, err := resolveEKS(t, "spec: {controlPlane: {replicas: 3, instanceType: m6i.large}}")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Slots) != 0 || c.Spec.ControlPlane.Slots() != 0 || c.Spec.ControlPlane.Replicas != 0 || len(c.Release.Spec.Addons) != 0 {
		t.Errorf("%d slots, %d replicas, %d addons", len(c.Slots), c.Spec.ControlPlane.Replicas, len(c.Release.Spec.Addons))
	}
	if c.EKSVersion() != "1.36" || c.EKS().Support != v1alpha1.EKSStandard {
		t.Errorf("version %s, support %s", c.EKSVersion(), c.EKS().Support)
	}
	cluster := parse[v1alpha1.Cluster](t, managed, "spec: {controlPlane: {replicas: 3}}")
	if leaving, n := model.LeavingSlots(cluster), model.SlotCount(cluster); len(leaving) != 0 || n != 0 {
		t.Errorf("slots %v leave, of %d", leaving, n)
	}
}

// Nodes of Auto Mode have the agent of Pod Identity built in.
func TestAutoModeNeedsNoAgent(t *testing.T) {
	const identities = `podIdentities: [{namespace: a, serviceAccount: b, role: "arn:aws:iam::123456789012:role/c"}]`
	for with, valid := range map[string]bool{
		"": false, "autoMode: {nodePools: []}, ": true, "autoMode: {nodePools: [system], state: Disabled}, ": false,
	} {
		if _, err := resolveEKS(t, "spec: {controlPlane: {eks: {"+with+identities+"}}}"); (err == nil) != valid {
			t.Errorf("with %q: %v", with, err)
		}
	}
}

// EKS installs no network add-ons in a cluster that is created with Auto Mode, but nodes of groups need them.
func TestGroupsBesideAutoModeNeedNetworkAddons(t *testing.T) {
	for with, missing := range map[string]string{
		"{}": "", "{autoMode: {nodePools: [system], selfManagedAddons: Kept}}": "",
		"{autoMode: {nodePools: [system]}}":                                                                 "add-on vpc-cni",
		"{autoMode: {nodePools: [system]}, addons: [{name: vpc-cni}, {name: kube-proxy}]}":                  "add-on coredns",
		"{autoMode: {nodePools: [], state: Disabled}, addons: [{name: vpc-cni}, {name: coredns}]}":          "add-on kube-proxy",
		"{autoMode: {nodePools: [system]}, addons: [{name: vpc-cni}, {name: kube-proxy}, {name: coredns}]}": "",
	} {
		c, err := resolveEKS(t, "spec: {controlPlane: {eks: "+with+"}}")
		if err != nil {
			t.Fatal(err)
		}
		_, err = model.ResolveGroup(c, parse[v1alpha1.InstanceGroup](t, workers, ""))
		if missing == "" && err != nil || missing != "" && (err == nil || !strings.Contains(err.Error(), missing)) {
			t.Errorf("with %s: %v, want %q", with, err, missing)
		}
	}
}

// What has no effect with EKS is refused, with the field's name.
func TestEKSRefusals(t *testing.T) {
	for name, one := range map[string]struct{ with, says string }{
		"DNS":              {"spec: {dns: {name: api.example.com, hostedZoneID: Z0123456789ABCDEFGHIJ}}", "spec.dns: EKS runs"},
		"DNS caches":       {"spec: {network: {nodeLocalDNS: {}}}", "spec.network.nodeLocalDNS: EKS runs"},
		"bastions":         {"spec: {bastion: {}}", "spec.bastion: EKS runs"},
		"SSH":              {`spec: {ssh: {allowedCIDRs: [192.0.2.0/24]}}`, "spec.ssh: EKS runs"},
		"files of nodes":   {"spec: {nodes: {files: [{path: /etc/motd, content: hi}]}}", "spec.nodes: EKS runs"},
		"an issuer":        {"spec: {serviceAccountIssuer: {}}", "spec.serviceAccountIssuer: EKS runs"},
		"rotations":        {`spec: {certificates: {rotate: "1"}}`, "spec.certificates: EKS runs"},
		"backups":          {"spec: {backup: {bucket: {}}}", "spec.backup: EKS runs"},
		"encryption":       {"spec: {api: {encryption: {}}}", "spec.api.encryption: EKS runs"},
		"an audit policy":  {"spec: {api: {audit: {}}}", "spec.api.audit: EKS runs"},
		"zones of slots":   {"spec: {controlPlane: {zones: [eu-central-1a]}}", "spec.controlPlane.zones: EKS runs"},
		"a volume of etcd": {"spec: {controlPlane: {etcdVolume: {sizeGiB: 30}}}", "spec.controlPlane.etcdVolume: EKS runs"},
		"arguments":        {"spec: {controlPlane: {extraArgs: {apiServer: {v: \"2\"}}}}", "spec.controlPlane.extraArgs: EKS runs"},
		"one zone":         {"spec: {network: {zones: [eu-central-1a]}}", "spec.network.zones: EKS needs subnets for nodes in at least two zones"},
		"a range of Services": {
			"spec: {network: {serviceCIDR: 100.100.0.0/16, podCIDR: 100.64.0.0/13}}", "spec.network.serviceCIDR: EKS does not allow 100.100.0.0/16",
		},
		"namespaces without a policy": {
			`spec: {controlPlane: {eks: {access: [{principal: "arn:aws:iam::123456789012:role/a", namespaces: [default]}]}}}`,
			"spec.controlPlane.eks.access[0].policy: namespaces limit a policy",
		},
		"a limited cluster admin": {
			`spec: {controlPlane: {eks: {access: [{principal: "arn:aws:iam::123456789012:role/a", policy: ClusterAdmin, namespaces: [default]}]}}}`,
			"spec.controlPlane.eks.access[0].namespaces: ClusterAdmin is for the whole cluster",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := resolveEKS(t, one.with); err == nil || !strings.Contains(err.Error(), one.says) {
				t.Errorf("got %v, want %q", err, one.says)
			}
		})
	}
}

// What a managed node group does not have is refused, with the field's name.
func TestEKSGroupRefusals(t *testing.T) {
	c, err := resolveEKS(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := model.ResolveGroup(c, parse[v1alpha1.InstanceGroup](t, workers, "spec: {spot: {onDemandPercentage: 0}}")); err != nil {
		t.Errorf("a group of spot instances: %v", err)
	}
	for name, one := range map[string]struct{ with, says string }{
		"an image":        {"spec: {image: ami-01234567}", "spec.image: EKS manages the nodes"},
		"data volumes":    {"spec: {volumes: [{device: /dev/sdf, sizeGiB: 10}]}", "spec.volumes: the images of EKS"},
		"kubelet's flags": {`spec: {kubeletExtraArgs: {v: "2"}}`, "spec.kubeletExtraArgs: the images of EKS"},
		"a script":        {"spec: {extraUserData: 'echo'}", "spec.extraUserData: the images of EKS"},
		"our engine":      {"spec: {rollingUpdate: {engine: Operator, surge: 1}}", "spec.rollingUpdate.engine: EKS manages the nodes"},
		"a pause":         {"spec: {rollingUpdate: {pause: 10s}}", "spec.rollingUpdate.pause: EKS manages the nodes"},
		"a mix":           {"spec: {spot: {onDemandBase: 1}}", "spec.spot: the instances of a managed node group are all spot, or all on demand"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := model.ResolveGroup(c, parse[v1alpha1.InstanceGroup](t, workers, one.with))
			if err == nil || !strings.Contains(err.Error(), one.says) {
				t.Errorf("got %v, want %q", err, one.says)
			}
		})
	}
}

// A self-managed group has the settings of groups of other clusters, and refuses what the images of EKS do not have.
func TestSelfManagedGroupsOfEKS(t *testing.T) {
	c, err := resolveEKS(t, "")
	if err != nil {
		t.Fatal(err)
	}
	const selfManaged = "spec: {eks: {management: SelfManaged}}"
	own := parse[v1alpha1.InstanceGroup](t, workers, selfManaged)
	for _, with := range []string{
		"", "spec: {image: ami-01234567}", "spec: {autoscale: true}", "spec: {spot: {onDemandBase: 1, maxPrice: '0.1'}}",
		"spec: {rollingUpdate: {engine: Operator, surge: 1, canary: 1}}", "spec: {rollingUpdate: {pause: 10s, drainTimeout: 1h}}",
		"spec: {repair: {after: 5m, maxUnhealthy: 1}}",
	} {
		group := parse[v1alpha1.InstanceGroup](t, workers, with)
		group.Spec.EKS = own.Spec.EKS
		of, err := model.ResolveGroup(c, group)
		if err != nil {
			t.Errorf("with %q: %v", with, err)
			continue
		}
		if strings.Contains(with, "image") != (of.Image.ID == "ami-01234567") || of.Image.ID == "" &&
			of.Image.Parameter != "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id" {
			t.Errorf("with %q, the image is %+v", with, of.Image)
		}
	}
	for with, says := range map[string]string{
		"spec: {volumes: [{device: /dev/sdf, sizeGiB: 10}]}": "spec.volumes: the images of EKS",
		`spec: {kubeletExtraArgs: {v: "2"}}`:                 "spec.kubeletExtraArgs: the images of EKS",
		"spec: {extraUserData: 'echo'}":                      "spec.extraUserData: the images of EKS",
		"spec: {files: [{path: /etc/motd, content: hi}]}":    "spec.files: the images of EKS",
		"spec: {manager: Karpenter, minSize: 0}":             "spec.manager: EKS makes the nodes",
	} {
		group := parse[v1alpha1.InstanceGroup](t, workers, with)
		group.Spec.EKS = own.Spec.EKS
		if _, err := model.ResolveGroup(c, group); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("with %q: %v, want %q", with, err, says)
		}
	}
}

func TestOtherClustersHaveNoNodesOfEKS(t *testing.T) {
	c := resolve(t, newVPC, "")
	_, err := model.ResolveGroup(c, parse[v1alpha1.InstanceGroup](t, workers, "spec: {eks: {management: SelfManaged}}"))
	if err == nil || !strings.Contains(err.Error(), "spec.eks: EKS does not run the control plane") {
		t.Errorf("got %v", err)
	}
}

func TestImagesOfNodesOfEKS(t *testing.T) {
	c, err := resolveEKS(t, "")
	if err != nil {
		t.Fatal(err)
	}
	const arm = "architecture: arm64, instanceTypes: [m7g.large], "
	for with, want := range map[string]string{
		"spec: {eks: {management: SelfManaged, imageFamily: AmazonLinux2023Nvidia}}":   "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/nvidia/recommended/image_id",
		"spec: {eks: {management: SelfManaged, imageFamily: AmazonLinux2023Neuron}}":   "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/neuron/recommended/image_id",
		"spec: {eks: {management: SelfManaged, imageFamily: BottlerocketNvidia}}":      "/aws/service/bottlerocket/aws-k8s-1.36-nvidia/x86_64/latest/image_id",
		"spec: {" + arm + "eks: {management: SelfManaged, imageFamily: Bottlerocket}}": "/aws/service/bottlerocket/aws-k8s-1.36/arm64/latest/image_id",
	} {
		group, err := model.ResolveGroup(c, parse[v1alpha1.InstanceGroup](t, workers, with))
		if err != nil || group.Image.Parameter != want {
			t.Errorf("with %s: %+v, %v", with, group, err)
		}
	}
	_, err = model.ResolveGroup(c, parse[v1alpha1.InstanceGroup](t, workers, "spec: {"+arm+"eks: {imageFamily: AmazonLinux2023Neuron}}"))
	if err == nil || !strings.Contains(err.Error(), "spec.eks.imageFamily: EKS has images with drivers of Neuron for amd64 only") {
		t.Errorf("got %v", err)
	}
}
