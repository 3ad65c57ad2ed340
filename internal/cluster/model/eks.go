package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Outputs of the base stack of a cluster with a control plane of EKS.
const (
	// OutputEndpoint is the address of the Kubernetes API.
	OutputEndpoint = "Endpoint"
	// OutputCertificateAuthority is the CA of that address, in PEM and base64.
	OutputCertificateAuthority = "CertificateAuthority"
	// OutputClusterSecurityGroup is the ID of the security group that EKS makes for the control plane
	// and all nodes.
	OutputClusterSecurityGroup = "ClusterSecurityGroup"
)

// eksZones is the least number of zones of a cluster of EKS:
// https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
const eksZones = 2

// eksServiceRanges are the ranges in which EKS allows addresses of Services:
// https://docs.aws.amazon.com/eks/latest/APIReference/API_KubernetesNetworkConfigRequest.html
var eksServiceRanges = privateRanges[:3]

// UsesEKS reports whether EKS runs the control plane of a Cluster.
func UsesEKS(cluster *v1alpha1.Cluster) bool {
	return cluster != nil && cluster.Spec.ControlPlane.EKS != nil
}

// WantsEKSAddons reports whether EKS installs add-ons in a Cluster.
func WantsEKSAddons(cluster *v1alpha1.Cluster) bool {
	return UsesEKS(cluster) && len(cluster.Spec.ControlPlane.EKS.Addons) > 0
}

// HasAutoMode reports whether EKS Auto Mode is enabled.
func HasAutoMode(of *v1alpha1.EKS) bool {
	return of != nil && of.AutoMode != nil && of.AutoMode.State != v1alpha1.EKSAutoModeDisabled
}

// EKSLaunchesNodes reports whether EKS launches nodes for pods without an instance group.
func EKSLaunchesNodes(of *v1alpha1.EKS) bool {
	return HasAutoMode(of) && len(of.AutoMode.NodePools) > 0
}

// EKSAddonsBeforeNodes reports whether EKS installs its add-ons before a node is ready: EKS Auto Mode launches nodes
// for their pods, and in a cluster that was created with it, nodes of instance groups need them.
func EKSAddonsBeforeNodes(of *v1alpha1.EKS) bool {
	return EKSLaunchesNodes(of) || lacksNetworkAddons(of)
}

// lacksNetworkAddons reports whether EKS has not installed network add-ons itself.
func lacksNetworkAddons(of *v1alpha1.EKS) bool {
	return of.AutoMode != nil && of.AutoMode.SelfManagedAddons != v1alpha1.EKSKeepSelfManagedAddons
}

// EKS returns the settings of a control plane that EKS runs, nil for one of slots.
func (c *Cluster) EKS() *v1alpha1.EKS { return c.Spec.ControlPlane.EKS }

// EKSVersion returns the Kubernetes version in the form of EKS, for example 1.36.
func (c *Cluster) EKSVersion() string { return MinorVersion(c.Release.Spec.Kubernetes) }

// MinorVersion returns a version of Kubernetes in the form of EKS: 1.36 for v1.36.3.
func MinorVersion(version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// fillEKS fills the defaults of a control plane that EKS runs. It has no slots.
func fillEKS(cp *v1alpha1.ControlPlane) {
	*cp = v1alpha1.ControlPlane{EKS: cp.EKS}
	cp.EKS.Support = cmp.Or(cp.EKS.Support, v1alpha1.EKSStandard)
	if auto := cp.EKS.AutoMode; auto != nil {
		auto.State = cmp.Or(auto.State, v1alpha1.EKSAutoModeEnabled)
		auto.SelfManagedAddons = cmp.Or(auto.SelfManagedAddons, v1alpha1.EKSNoSelfManagedAddons)
	}
}

// inapplicable is a field that has no effect with EKS, and whether it is set.
type inapplicable struct {
	field string
	set   bool
}

// checkEKS checks a cluster whose control plane EKS runs: what only slots have is refused, so that
// no user relies on it.
func (c *Cluster) checkEKS(problems *Problems, spec *v1alpha1.ClusterSpec) {
	cp := spec.ControlPlane
	for _, one := range []inapplicable{
		{"spec.dns", spec.DNS != nil},
		{"spec.network.nodeLocalDNS", spec.Network.NodeLocalDNS != nil},
		{"spec.bastion", spec.Bastion != nil},
		{"spec.ssh", len(spec.SSH.AuthorizedKeys) > 0 || len(spec.SSH.AllowedCIDRs) > 0},
		{"spec.nodes", !equality.Semantic.DeepEqual(spec.Nodes, v1alpha1.NodeSetup{})},
		{"spec.iam.controlPlanePolicies", len(spec.IAM.ControlPlanePolicies) > 0},
		{"spec.iam.imageRepositories", len(spec.IAM.ImageRepositories) > 0},
		{"spec.serviceAccountIssuer", spec.ServiceAccountIssuer != nil},
		{"spec.certificates", spec.Certificates != nil},
		{"spec.backup", !equality.Semantic.DeepEqual(spec.Backup, v1alpha1.EtcdBackup{})},
		{"spec.api.extraNames", len(spec.API.ExtraNames) > 0},
		{"spec.api.audit", spec.API.Audit != nil},
		{"spec.api.encryption", spec.API.Encryption != nil},
		{"spec.api.podSecurity", spec.API.PodSecurity != nil},
		{"spec.api.authentication", spec.API.Authentication != nil},
		{"spec.controlPlane.zones", len(cp.Zones) > 0},
		{"spec.controlPlane.image", cp.Image != ""},
		{"spec.controlPlane.rootVolume", cp.RootVolume != v1alpha1.Volume{}},
		{"spec.controlPlane.etcdVolume", cp.EtcdVolume != v1alpha1.Volume{}},
		{"spec.controlPlane.restoreSnapshot", cp.RestoreSnapshot != ""},
		{"spec.controlPlane.roll", cp.Roll != ""},
		{"spec.controlPlane.repair", cp.Repair != v1alpha1.SlotRepair{}},
		{"spec.controlPlane.securityGroups", len(cp.SecurityGroups) > 0},
		{"spec.controlPlane.labels", len(cp.Labels) > 0},
		{"spec.controlPlane.extraArgs", !equality.Semantic.DeepEqual(cp.ExtraArgs, v1alpha1.ExtraArgs{})},
		{"spec.controlPlane.files", len(cp.Files) > 0},
		{"spec.controlPlane.units", len(cp.Units) > 0},
	} {
		if one.set {
			problems.add(one.field, "leave it out", "EKS runs the control plane and makes the images of the nodes, so it has no effect")
		}
	}
	c.checkEKSNetwork(problems)
	checkEKSAddons(problems, cp.EKS)
	for i, access := range cp.EKS.Access {
		if access.Policy == "" && len(access.Namespaces) > 0 {
			problems.add(fmt.Sprintf("spec.controlPlane.eks.access[%d].policy", i), "set it, or leave out namespaces",
				"namespaces limit a policy, and there is none")
		}
		if access.Policy == v1alpha1.EKSClusterAdmin && len(access.Namespaces) > 0 {
			problems.add(fmt.Sprintf("spec.controlPlane.eks.access[%d].namespaces", i), "use the policy Admin, or leave out namespaces",
				"ClusterAdmin is for the whole cluster")
		}
	}
}

// eksAgent is the add-on that gives pods the credentials of their roles. EKS Auto Mode has it built in.
// https://docs.aws.amazon.com/eks/latest/userguide/pod-id-agent-setup.html
const eksAgent = "eks-pod-identity-agent"

// checkEKSAddons checks that add-ons have valid values, and that the one for the roles of pods is there if any has one.
func checkEKSAddons(problems *Problems, of *v1alpha1.EKS) {
	hasAgent := slices.ContainsFunc(of.Addons, func(a v1alpha1.EKSAddon) bool { return a.Name == eksAgent })
	if len(of.PodIdentities) > 0 && !hasAgent && !HasAutoMode(of) {
		problems.add("spec.controlPlane.eks.addons", "add "+eksAgent, "podIdentities need the agent that gives pods their credentials")
	}
	for i, addon := range of.Addons {
		if addon.Values == nil {
			continue
		}
		var values map[string]any
		if err := json.Unmarshal(addon.Values.Raw, &values); err != nil || values == nil {
			problems.add(fmt.Sprintf("spec.controlPlane.eks.addons[%d].values", i), "write an object", "the values are not an object")
		}
	}
}

// EKSNetworkAddons are the add-ons without which no node of an instance group becomes ready. EKS installs them itself in
// clusters that are created without Auto Mode. eksctl asks for all of them, too:
// https://github.com/eksctl-io/eksctl/blob/99984adb6164ece593c0728523b7f497ea61d60e/pkg/actions/addon/addon_helper.go#L27
var EKSNetworkAddons = []string{"vpc-cni", "kube-proxy", "coredns"}

// checkEKSNodes checks that nodes of instance groups have the network add-ons that they need.
func (c *Cluster) checkEKSNodes(problems *Problems) {
	if !lacksNetworkAddons(c.EKS()) {
		return
	}
	for _, name := range EKSNetworkAddons {
		if !slices.ContainsFunc(c.EKS().Addons, func(a v1alpha1.EKSAddon) bool { return a.Name == name }) {
			problems.add("spec.cluster", "add "+name+" to spec.controlPlane.eks.addons of the Cluster",
				"nodes of instance groups need the add-on %s, which EKS has not installed, since the cluster was created with Auto Mode", name)
		}
	}
}

// checkEKSNetwork checks the rules of EKS about zones and ranges.
func (c *Cluster) checkEKSNetwork(problems *Problems) {
	if len(c.Zones()) < eksZones && len(*problems) == 0 {
		field := "spec.network.zones"
		if !c.NewVPC {
			field = "spec.network.subnets"
		}
		problems.add(field, "add another zone", "EKS needs subnets for nodes in at least two zones")
	}
	services, err := netip.ParsePrefix(c.Spec.Network.ServiceCIDR)
	if err != nil {
		return // reported for the network
	}
	within := func(p netip.Prefix) bool { return p.Bits() <= services.Bits() && p.Contains(services.Addr()) }
	if !slices.ContainsFunc(eksServiceRanges, within) {
		problems.add("spec.network.serviceCIDR", "choose one in 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16",
			"EKS does not allow %s for Services", services)
	}
}
