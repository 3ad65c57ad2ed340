package eksctl

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/lazyregexp"
	"github.com/aws-operator/aws-operator/internal/translation"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// Defaults of eksctl: https://schema.eksctl.io/
const (
	defaultType = "m5.large"
	defaultSize = 2
	defaultDisk = 80
)

// group is a node group of eksctl.
type group struct {
	cluster *cluster
	spec    *translation.Part
	name    string
	// private says that its nodes are in private subnets, selfManaged that they are not in a managed node group.
	private, selfManaged bool
}

// readGroups reads the managed node groups and those that eksctl manages itself.
func (c *cluster) readGroups() {
	for _, p := range c.spec.Sections("managedNodeGroups", managedFields) {
		c.groups = append(c.groups, newGroup(c, p))
	}
	for _, p := range c.spec.Sections("nodeGroups", unmanagedFields) {
		g := newGroup(c, p)
		g.selfManaged = true
		c.groups = append(c.groups, g)
	}
	if len(c.groups) == 0 && !model.EKSLaunchesNodes(c.result.Spec.ControlPlane.EKS) {
		c.spec.Note("managedNodeGroups", translation.Warning, "the cluster has no nodes: create an InstanceGroup")
	}
}

// notInNames matches what names of objects do not have.
var notInNames = lazyregexp.New(`[^a-z0-9]+`)

func newGroup(c *cluster, p *translation.Part) *group {
	given := p.Text("name")
	g := &group{cluster: c, spec: p, name: strings.Trim(notInNames.ReplaceAllString(strings.ToLower(given), "-"), "-")}
	switch {
	case g.name == "":
		p.Refuse("name", "a group needs a name: set one")
	case g.name != given:
		p.Note("name", translation.Info, "the group's name is "+g.name+" here")
	}
	if slices.ContainsFunc(c.groups, func(other *group) bool { return other.name == g.name }) {
		p.Refuse("name", "another group has the name "+g.name+": rename one of them")
	}
	g.private = p.Truth("privateNetworking", false)
	return g
}

// translate makes the InstanceGroup.
func (g *group) translate() *v1alpha1.InstanceGroup {
	result := &v1alpha1.InstanceGroup{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "InstanceGroup"},
		ObjectMeta: metav1.ObjectMeta{Name: g.name},
	}
	s := &result.Spec
	s.Cluster = g.cluster.result.Name
	g.size(s)
	g.types(s)
	s.Architecture = model.ArchitectureOf(s.InstanceTypes[0])
	g.place(s)
	g.capacity(s)
	s.EKS = g.nodes(s.InstanceTypes)
	s.RootVolume = translation.Volume(g.spec, translation.VolumeNames{
		Kind: "volumeType", Size: "volumeSize", IOPS: "volumeIOPS", Throughput: "volumeThroughput",
	})
	if s.RootVolume.SizeGiB == 0 {
		s.RootVolume.SizeGiB = defaultDisk
	}
	s.Labels = g.labels()
	s.Taints = g.taints()
	s.Tags = tags(g.spec)
	g.security(s)
	g.updates(s)
	g.spec.Finish()
	return result
}

// size translates how many nodes the group has.
func (g *group) size(s *v1alpha1.InstanceGroupSpec) {
	const none = -1
	desired := g.spec.Number("desiredCapacity", none)
	least := g.spec.Number("minSize", desired)
	if least == none {
		least = defaultSize
	}
	most := g.spec.Number("maxSize", max(desired, least, 1))
	s.MinSize, s.MaxSize = least, max(most, 1)
	if most == 0 {
		g.spec.Note("maxSize", translation.Warning, "maxSize is at least 1: with minSize 0, the group has no nodes until it is scaled")
	}
	if desired > least && desired <= s.MaxSize {
		s.Replicas = &desired
	}
}

// types translates instance types and spot.
func (g *group) types(s *v1alpha1.InstanceGroupSpec) {
	s.InstanceTypes = g.spec.Texts("instanceTypes")
	if one := g.spec.Text("instanceType"); one != "" && one != "mixed" {
		s.InstanceTypes = []string{one}
	}
	if g.spec.Truth("spot", false) {
		s.Spot = &v1alpha1.Spot{}
	}
	if p := g.spec.Section("instancesDistribution", distributionFields); p != nil {
		if named := p.Texts("instanceTypes"); len(named) > 0 {
			s.InstanceTypes = named
		}
		s.Spot = g.spot(p)
		p.Finish()
	}
	if len(s.InstanceTypes) == 0 {
		s.InstanceTypes = []string{defaultType}
		g.spec.Note("instanceType", translation.Info, "the instance type is "+defaultType+", as in eksctl")
	}
}

// place translates zones and subnets, which the group names by their IDs, their names or their zones.
func (g *group) place(s *v1alpha1.InstanceGroupSpec) {
	s.Zones = g.spec.Texts("availabilityZones")
	for _, name := range g.spec.Texts("subnets") {
		i := slices.IndexFunc(g.cluster.subnets, func(one subnet) bool {
			return (one.name == name || one.Zone == name) && (one.Role == v1alpha1.SubnetPrivate) == g.private
		})
		switch {
		case strings.HasPrefix(name, "subnet-"):
			s.Subnets = append(s.Subnets, name)
		case i >= 0:
			s.Subnets = append(s.Subnets, g.cluster.subnets[i].ID)
		default:
			g.spec.Refuse("subnets", fmt.Sprintf("%q is neither the ID of a subnet nor a subnet of vpc.subnets: name one", name))
		}
	}
	if len(s.Subnets) > 0 && len(s.Zones) > 0 {
		g.spec.Note("availabilityZones", translation.Info, "the zones are those of the subnets")
		s.Zones = nil
	}
}

// capacity translates the placement group and the reserved capacity.
func (g *group) capacity(s *v1alpha1.InstanceGroupSpec) {
	if p := g.spec.Section("placement", placementFields); p != nil {
		if name := p.Text("groupName"); name != "" {
			s.Placement = &v1alpha1.Placement{Group: name}
		}
		p.Finish()
	}
	block := false
	if market := g.spec.Section("instanceMarketOptions", marketFields); market != nil {
		block = market.Text("marketType") == "capacity-block" // the only one that eksctl accepts
		market.Finish()
	}
	p := g.spec.Section("capacityReservation", capacityFields)
	if p == nil {
		return
	}
	s.CapacityReservation = &v1alpha1.CapacityReservation{
		Preference: v1alpha1.CapacityPreference(p.Text("capacityReservationPreference")),
	}
	if target := p.Section("capacityReservationTarget", targetFields); target != nil {
		s.CapacityReservation.ID = target.Text("capacityReservationID")
		s.CapacityReservation.ResourceGroup = target.Text("capacityReservationResourceGroupARN")
		target.Finish()
	}
	if block {
		s.CapacityReservation.Type = v1alpha1.CapacityBlock
	}
	p.Finish()
}

// maxPrice matches the prices that a group accepts.
var maxPrice = lazyregexp.New(`^[0-9]+([.][0-9]{1,6})?$`)

// spot translates the mix of spot and on-demand instances of a self-managed group, nil for on-demand instances only.
func (g *group) spot(p *translation.Part) *v1alpha1.Spot {
	const all = 100
	spot := &v1alpha1.Spot{
		OnDemandBase: p.Number("onDemandBaseCapacity", 0), OnDemandPercentage: p.Number("onDemandPercentageAboveBaseCapacity", all),
	}
	if price := p.Field("maxPrice"); price != nil {
		if spot.MaxPrice = price.Text; !maxPrice.MatchString(spot.MaxPrice) {
			p.Refuse("maxPrice", "write US dollars per hour with at most 6 decimals")
		}
	}
	switch strategy := v1alpha1.SpotStrategy(p.Text("spotAllocationStrategy")); strategy {
	case "":
	case v1alpha1.SpotPriceCapacityOptimized, v1alpha1.SpotCapacityOptimized, v1alpha1.SpotLowestPrice:
		spot.Strategy = strategy
	default:
		p.Note("spotAllocationStrategy", translation.Warning, "the strategy is "+string(v1alpha1.SpotPriceCapacityOptimized))
	}
	if spot.OnDemandPercentage >= all {
		return nil
	}
	return spot
}

// Instance types with accelerators, for which eksctl chooses images with drivers, too.
// https://docs.aws.amazon.com/eks/latest/eksctl/gpu-support.html
var (
	nvidia = lazyregexp.New(`^(p[0-9]|g[0-9]|gr[0-9])`)
	amdGPU = lazyregexp.New(`^g4ad[.]`)
	neuron = lazyregexp.New(`^(inf|trn)[0-9]`)
)

// nodes translates who manages the instances, and the family of their images. It is nil for the defaults.
func (g *group) nodes(types []string) *v1alpha1.EKSNodes {
	hasAll := func(is func(string) bool) bool {
		return !slices.ContainsFunc(types, func(t string) bool { return !is(t) })
	}
	hasNvidia := hasAll(func(t string) bool { return nvidia.MatchString(t) && !amdGPU.MatchString(t) })
	nodes := &v1alpha1.EKSNodes{Management: v1alpha1.EKSManaged, ImageFamily: v1alpha1.EKSAmazonLinux2023}
	switch family := g.spec.Text("amiFamily"); {
	case family == "" || family == "AmazonLinux2023":
	case family == "Bottlerocket":
		nodes.ImageFamily = v1alpha1.EKSBottlerocket
	case strings.HasPrefix(family, "Windows"):
		g.spec.Refuse("amiFamily", "nodes run Linux: leave the group out, since its pods need Windows")
	default:
		g.spec.Note("amiFamily", translation.Warning, "nodes run Amazon Linux 2023")
	}
	switch {
	case hasNvidia && nodes.ImageFamily == v1alpha1.EKSBottlerocket:
		nodes.ImageFamily = v1alpha1.EKSBottlerocketNvidia
	case hasNvidia:
		nodes.ImageFamily = v1alpha1.EKSAmazonLinux2023Nvidia
	case hasAll(neuron.MatchString) && nodes.ImageFamily == v1alpha1.EKSAmazonLinux2023:
		nodes.ImageFamily = v1alpha1.EKSAmazonLinux2023Neuron
	}
	if g.selfManaged {
		nodes.Management = v1alpha1.EKSSelfManaged
	}
	if nodes.Management == v1alpha1.EKSManaged && nodes.ImageFamily == v1alpha1.EKSAmazonLinux2023 {
		return nil
	}
	return nodes
}

// labels translates labels, but for those that kubelets may not set.
func (g *group) labels() map[string]string {
	all := g.spec.Labels("labels")
	for key := range all {
		domain, _, qualified := strings.Cut(key, "/")
		own := strings.HasSuffix(domain, "kubernetes.io") || strings.HasSuffix(domain, "k8s.io") || domain == v1alpha1.Group
		if qualified && own && domain != "node.kubernetes.io" && domain != "kubelet.kubernetes.io" {
			delete(all, key)
			g.spec.Note("labels", translation.Warning, "the label "+key+" is dropped: kubelets may not set it; use another key")
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// effects are the effects of taints.
var effects = []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}

// taints translates a list of taints, or a map of keys to VALUE:EFFECT as older versions of eksctl have it.
func (g *group) taints() []corev1.Taint {
	v := g.spec.Field("taints")
	if v == nil {
		return nil
	}
	var all []corev1.Taint
	switch v.Kind {
	case yamltree.List:
		for _, p := range g.spec.Sections("taints", taintFields) {
			all = append(all, corev1.Taint{Key: p.Text("key"), Value: p.Text("value"), Effect: corev1.TaintEffect(p.Text("effect"))})
			p.Finish()
		}
	case yamltree.Map:
		for _, entry := range v.Entries {
			value, effect, ok := strings.Cut(entry.Value.Text, ":")
			if !ok {
				value, effect = "", entry.Value.Text
			}
			all = append(all, corev1.Taint{Key: entry.Key, Value: value, Effect: corev1.TaintEffect(effect)})
		}
	case yamltree.Null, yamltree.Bool, yamltree.Number, yamltree.String:
		g.spec.Refuse("taints", "this is a list of taints")
	}
	for _, taint := range all {
		if !slices.Contains(effects, taint.Effect) {
			g.spec.Refuse("taints", fmt.Sprintf("the taint %s has the effect %q: write NoSchedule, PreferNoSchedule or NoExecute", taint.Key, taint.Effect))
		}
	}
	return all
}

// security translates security groups and logins.
func (g *group) security(s *v1alpha1.InstanceGroupSpec) {
	if p := g.spec.Section("securityGroups", securityFields); p != nil {
		s.SecurityGroups = p.Texts("attachIDs")
		p.Finish()
	}
	if p := g.spec.Section("ssh", sshFields); p != nil {
		if p.Truth("allow", false) {
			p.Note("allow", translation.Warning, "nodes accept no logins by SSH: use AWS Systems Manager")
		}
		p.Finish()
	}
}

// updates translates how EKS replaces nodes.
func (g *group) updates(s *v1alpha1.InstanceGroupSpec) {
	if p := g.spec.Section("updateConfig", updateFields); p != nil {
		number, share := p.Number("maxUnavailable", 0), p.Number("maxUnavailablePercentage", 0)
		switch {
		case number > 0:
			s.RollingUpdate.BatchSize = new(intstr.FromInt32(number))
		case share > 0:
			s.RollingUpdate.BatchSize = new(intstr.FromString(fmt.Sprintf("%d%%", share)))
		}
		p.Finish()
	}
	if p := g.spec.Section("nodeRepairConfig", repairFields); p != nil {
		s.Repair.Disabled = !p.Truth("enabled", true)
		p.Finish()
	}
}

// nodePolicies are the policies that the role of nodes has anyway, or that eksctl adds by default.
var nodePolicies = []string{
	"AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryReadOnly", "AmazonEC2ContainerRegistryPullOnly",
}

// iam adds the policies of the group's role to the role of all nodes.
func (g *group) iam(to *v1alpha1.NodeIAM) {
	p := g.spec.Section("iam", nodeIAMFields)
	if p == nil {
		return
	}
	for _, arn := range p.Texts("attachPolicyARNs") {
		if slices.Contains(nodePolicies, arn[strings.LastIndexByte(arn, '/')+1:]) || slices.Contains(to.WorkerPolicies, arn) {
			continue
		}
		to.WorkerPolicies = append(to.WorkerPolicies, arn)
		if len(g.cluster.groups) > 1 {
			p.Note("attachPolicyARNs", translation.Warning, "the nodes of all groups have "+arn+", since policies are those of the cluster")
		}
	}
	switch boundary := p.Text("instanceRolePermissionsBoundary"); {
	case boundary == "" || boundary == to.PermissionsBoundary:
	case to.PermissionsBoundary == "":
		to.PermissionsBoundary = boundary
	default:
		p.Refuse("instanceRolePermissionsBoundary", "all roles of a cluster have the same boundary: set one")
	}
	p.Finish()
}
