package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// eksRootDevice is the name of the root volume in the images of Amazon Linux.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/device_naming.html
const eksRootDevice = "/dev/xvda"

// bottlerocketDevice is the name of the data volume in the images of Bottlerocket.
const bottlerocketDevice = "/dev/xvdb"

// accessPolicies are the policies of EKS:
// https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html
var accessPolicies = map[v1alpha1.EKSAccessPolicy]string{
	v1alpha1.EKSView:         "AmazonEKSViewPolicy",
	v1alpha1.EKSEdit:         "AmazonEKSEditPolicy",
	v1alpha1.EKSAdmin:        "AmazonEKSAdminPolicy",
	v1alpha1.EKSClusterAdmin: "AmazonEKSClusterAdminPolicy",
}

// logTypes are the names of logs in EKS:
// https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html
var logTypes = map[v1alpha1.EKSLog]string{
	v1alpha1.EKSLogAPI:               "api",
	v1alpha1.EKSLogAudit:             "audit",
	v1alpha1.EKSLogAuthenticator:     "authenticator",
	v1alpha1.EKSLogControllerManager: "controllerManager",
	v1alpha1.EKSLogScheduler:         "scheduler",
}

// accessEntry is the templates' data of an access entry.
type accessEntry struct {
	v1alpha1.EKSAccess

	// LogicalID is its name in the stack, PolicyARN that of its policy, empty for none.
	LogicalID, PolicyARN string
}

// EKSLogs returns the logs that EKS writes.
func (s *baseScope) EKSLogs() []string {
	var types []string
	for _, log := range s.EKS().Logs {
		types = append(types, logTypes[log])
	}
	return types
}

// EKSSupport returns the support type.
func (s *baseScope) EKSSupport() string {
	if s.EKS().Support == v1alpha1.EKSExtended {
		return "EXTENDED"
	}
	return "STANDARD"
}

// autoModePolicies are the policies that the role of the control plane has for EKS Auto Mode:
// https://docs.aws.amazon.com/eks/latest/userguide/auto-cluster-iam-role.html
var autoModePolicies = []string{
	"AmazonEKSComputePolicy", "AmazonEKSBlockStoragePolicy", "AmazonEKSLoadBalancingPolicy", "AmazonEKSNetworkingPolicy",
}

// EKSClusterPolicies returns the ARNs of the policies of the control plane's role, with those for EKS Auto Mode.
func (s *baseScope) EKSClusterPolicies() []string {
	arns := []string{"arn:" + s.Partition + ":iam::aws:policy/AmazonEKSClusterPolicy"}
	for _, name := range autoModePolicies {
		arns = append(arns, "arn:"+s.Partition+":iam::aws:policy/"+name)
	}
	return arns
}

// AutoModeEnabled reports whether EKS Auto Mode is enabled.
func (s *baseScope) AutoModeEnabled() bool { return model.HasAutoMode(s.EKS()) }

// EKSAccess returns the access entries. Their logical IDs depend on the principal alone, so that the
// order of the list changes nothing.
func (s *baseScope) EKSAccess() []accessEntry {
	var entries []accessEntry
	for _, access := range s.EKS().Access {
		entry := accessEntry{EKSAccess: access, LogicalID: "Access" + digest(access.Principal)}
		if policy := accessPolicies[access.Policy]; policy != "" {
			// https://docs.aws.amazon.com/eks/latest/APIReference/API_AssociateAccessPolicy.html
			entry.PolicyARN = "arn:" + s.Partition + ":eks::aws:cluster-access-policy/" + policy
		}
		entries = append(entries, entry)
	}
	return entries
}

// podIdentity is the templates' data of a Pod Identity association.
type podIdentity struct {
	v1alpha1.EKSPodIdentity

	// LogicalID is its name in the stack.
	LogicalID string
}

// EKSPodIdentities returns the Pod Identity associations. As for access entries, the order of the list
// changes nothing.
func (s *baseScope) EKSPodIdentities() []podIdentity {
	var identities []podIdentity
	for _, of := range s.EKS().PodIdentities {
		identities = append(identities, podIdentity{of, logicalID("Pod", of.Namespace, of.ServiceAccount)})
	}
	return identities
}

// logicalID returns a logical ID of its own for a resource with a name of several parts: what is readable of
// them, and a digest.
func logicalID(kind string, parts ...string) string {
	const readable = 100 // a logical ID has at most 255 characters
	name := camelCase(strings.Join(parts, "-"))
	return kind + name[:min(len(name), readable)] + digest(strings.Join(parts, "/"))
}

// camelCase joins the words of a name, of which each begins with a capital letter.
func camelCase(name string) string {
	var joined strings.Builder
	for _, word := range notAlphanumeric.Split(name, -1) {
		if word != "" {
			joined.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return joined.String()
}

// notAlphanumeric matches what logical IDs cannot have.
var notAlphanumeric = regexp.MustCompile(`[^0-9A-Za-z]+`)

// kebabCase matches names of which no two have the same form in camel case.
var kebabCase = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z][a-z0-9]*)*$`)

// addonID returns the logical ID of an add-on, for example VpcCni.
func addonID(name string) string {
	if kebabCase.MatchString(name) {
		return camelCase(name)
	}
	return logicalID("", name)
}

// eksAddon is the templates' data of an add-on.
type eksAddon struct {
	// LogicalID is its name in the stack, Values its configuration in JSON, empty for none.
	LogicalID, Name, Version, Values string
}

// eksAddonsScope is the data of the template of add-ons.
type eksAddonsScope struct {
	Cluster string
	Addons  []eksAddon
}

// EKSAddons renders the stack of the add-ons that EKS installs. It is nil if the cluster wants none. It
// returns an error if values are not an object.
func EKSAddons(c *model.Cluster) (*Stack, error) {
	if c.EKS() == nil || len(c.EKS().Addons) == 0 {
		return nil, nil //nolint:nilnil // nil means that there is none
	}
	scope := eksAddonsScope{Cluster: c.Name}
	for _, of := range c.EKS().Addons {
		addon := eksAddon{LogicalID: addonID(of.Name), Name: of.Name, Version: of.Version}
		if of.Values != nil {
			var values map[string]any
			if err := json.Unmarshal(of.Values.Raw, &values); err != nil {
				return nil, fmt.Errorf("the values of add-on %s are not an object: %w", of.Name, err)
			}
			text, err := json.Marshal(values) // sorted, so that the order of keys changes nothing
			if err != nil {
				return nil, fmt.Errorf("write the values of add-on %s: %w", of.Name, err)
			}
			addon.Values = string(text)
		}
		scope.Addons = append(scope.Addons, addon)
	}
	t, err := assemble(fmt.Sprintf("Kubernetes cluster %s: add-ons of EKS", c.Name), &scope, "eksaddons.yaml")
	if err != nil {
		return nil, fmt.Errorf("render the add-ons of cluster %s: %w", c.Name, err)
	}
	tags := maps.Clone(c.Tags)
	tags[model.TagRole] = model.RoleEKSAddons
	return &Stack{Name: model.EKSAddonsStackName(c.Name), Template: t, Tags: tags, OwnerTags: ownerTags(model.TagRole)}, nil
}

// digest returns a short digest of a text in the form of logical IDs.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// nodeGroup is the templates' data of a managed node group.
type nodeGroup struct {
	machine

	// StackName is the name of the stack, Cluster that of the cluster, Version its Kubernetes version.
	StackName, Cluster, Version string
	// AMIType and CapacityType are what EKS calls them.
	AMIType, CapacityType string
	// InstanceTypes are the instance types.
	InstanceTypes []string
	// Labels are the labels of the nodes, Taints their taints.
	Labels []tag
	Taints []corev1.Taint
	// Force reports that nodes that cannot be drained are ended, Repair that EKS replaces unhealthy
	// ones.
	Force, Repair bool
}

// TaggedByTemplate are the resources that the launch template tags: EKS does not tag instances.
// https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
func (nodeGroup) TaggedByTemplate() []string {
	return []string{"instance", "network-interface", "volume"}
}

// Parameters of the stacks of managed node groups.
const parameterNodeRole = "NodeRole"

// taintEffects are the effects of taints in EKS:
// https://docs.aws.amazon.com/eks/latest/APIReference/API_Taint.html
var taintEffects = map[corev1.TaintEffect]corev1.TaintEffect{
	corev1.TaintEffectNoSchedule:       "NO_SCHEDULE",
	corev1.TaintEffectNoExecute:        "NO_EXECUTE",
	corev1.TaintEffectPreferNoSchedule: "PREFER_NO_SCHEDULE",
}

// nodeGroupStack renders the stack of an instance group that EKS manages.
func nodeGroupStack(c *model.Cluster, g *model.Group, base map[string]string) (*Stack, error) {
	h := &handover{outputs: base, values: map[string]string{}}
	h.take(parameterSecurityGroup, typeSecurityGroup, model.OutputClusterSecurityGroup)
	h.take(parameterNodeRole, typeString, model.OutputWorkerRole)
	subnets, err := h.subnets(g.Subnets)
	if err != nil {
		return nil, err
	}
	more, err := expressions(g.Spec.SecurityGroups)
	if err != nil {
		return nil, err
	}
	n := nodeGroup{
		machine: machine{
			SecurityGroups: append([]string{"!Ref " + parameterSecurityGroup}, more...), Subnets: subnets,
			PublicAddress: len(g.Subnets) > 0 && g.Subnets[0].Role == v1alpha1.SubnetPublic,
			Volumes:       eksDisks(g),
			MinSize:       g.Spec.MinSize, MaxSize: g.Spec.MaxSize, Replicas: strconv.Itoa(int(g.Spec.ExpectedNodes())),
			DiskTags: named(g.StackName, g.DiskTags), Roll: rollOf(g),
			UserData: rollUserData(g), Capacity: g.Spec.CapacityReservation,
		},
		StackName: g.StackName, Cluster: c.Name, Version: c.EKSVersion(),
		AMIType: amiTypes[model.ImageFamilyOf(&g.Spec)][g.Spec.Architecture], CapacityType: "ON_DEMAND",
		InstanceTypes: g.Spec.InstanceTypes, Labels: tags(g.Labels),
		Force: g.Rolling.OnDrainTimeout != v1alpha1.DrainAbandon, Repair: !g.Spec.Repair.Disabled,
	}
	if g.Spec.Spot != nil {
		n.CapacityType = "SPOT"
	}
	if n.CapacityBlock() { // whose instance type is in the launch template
		n.CapacityType, n.InstanceType, n.InstanceTypes = "CAPACITY_BLOCK", g.Spec.InstanceTypes[0], nil
	}
	if err := n.place(c, g); err != nil {
		return nil, err
	}
	for _, taint := range g.Spec.Taints {
		taint.Effect = taintEffects[taint.Effect]
		n.Taints = append(n.Taints, taint)
	}
	if err := h.err(); err != nil {
		return nil, fmt.Errorf("render stack %s: %w", g.StackName, err)
	}
	n.Parameters = h.parameters
	t, err := assemble(fmt.Sprintf("Kubernetes cluster %s: instance group %s", c.Name, g.Name), &n, "nodegroup.yaml")
	if err != nil {
		return nil, fmt.Errorf("render stack %s: %w", g.StackName, err)
	}
	return &Stack{
		Name: g.StackName, Template: t, Parameters: h.values, Tags: maps.Clone(g.Tags), OwnerTags: ownerTags(model.TagInstanceGroup),
	}, nil
}

// amiTypes are what EKS calls the images of managed node groups, for amd64 and arm64.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html
var amiTypes = map[v1alpha1.EKSImageFamily]map[v1alpha1.Architecture]string{
	v1alpha1.EKSAmazonLinux2023:       {v1alpha1.AMD64: "AL2023_x86_64_STANDARD", v1alpha1.ARM64: "AL2023_ARM_64_STANDARD"},
	v1alpha1.EKSAmazonLinux2023Nvidia: {v1alpha1.AMD64: "AL2023_x86_64_NVIDIA", v1alpha1.ARM64: "AL2023_ARM_64_NVIDIA"},
	v1alpha1.EKSAmazonLinux2023Neuron: {v1alpha1.AMD64: "AL2023_x86_64_NEURON"},
	v1alpha1.EKSBottlerocket:          {v1alpha1.AMD64: "BOTTLEROCKET_x86_64", v1alpha1.ARM64: "BOTTLEROCKET_ARM_64"},
	v1alpha1.EKSBottlerocketNvidia:    {v1alpha1.AMD64: "BOTTLEROCKET_x86_64_NVIDIA", v1alpha1.ARM64: "BOTTLEROCKET_ARM_64_NVIDIA"},
}

// eksDisks returns the volumes of nodes of EKS. Bottlerocket has a small volume for the system, with the size of the image, and
// one for data.
// https://bottlerocket.dev/en/os/latest/#/concepts/filesystem-layout/
func eksDisks(g *model.Group) []v1alpha1.DataVolume {
	if !model.IsBottlerocket(&g.Spec) {
		return []v1alpha1.DataVolume{{Device: eksRootDevice, Volume: g.Spec.RootVolume}}
	}
	return []v1alpha1.DataVolume{
		{Device: eksRootDevice, Volume: v1alpha1.Volume{Type: v1alpha1.VolumeGP3}}, {Device: bottlerocketDevice, Volume: g.Spec.RootVolume},
	}
}

// rollUserData returns user data that differs for each request to replace nodes, "" without one. EKS
// merges it with its own, and accepts only MIME parts, or settings of Bottlerocket:
// https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
func rollUserData(g *model.Group) string {
	if g.Spec.Roll == "" {
		return ""
	}
	request := "Replaced on request " + digest(g.Spec.Roll) + "."
	if model.IsBottlerocket(&g.Spec) {
		return "[settings]\nmotd = \"" + request + "\"\n"
	}
	return "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\nContent-Type: text/x-shellscript; charset=\"us-ascii\"\n\n" +
		"#!/bin/sh\n# " + request + "\n--//--\n"
}
