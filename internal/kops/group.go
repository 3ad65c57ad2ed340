package kops

import (
	"fmt"
	"maps"
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

// group is an instance group of kops.
type group struct {
	t       *translator
	cluster *cluster
	spec    *part
	name    string
	// of is the cluster that its label names.
	of string
	// reported is true once a missing subnet has been reported.
	reported bool
}

// nodes makes the InstanceGroups of the groups of role Node.
func (c *cluster) nodes() {
	for _, g := range c.withRole(roleNode) {
		c.t.add(g.spec.Document, g.translate())
	}
}

// notInNames matches what names of objects do not have.
var notInNames = lazyregexp.New(`[^a-z0-9]+`)

// defaultSize and defaultType are what kops makes of a group that does not say.
const (
	defaultSize = 2
	defaultType = "t3.medium"
)

func (g *group) translate() *v1alpha1.InstanceGroup {
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(g.name), "-"), "-")
	if name != g.name {
		g.spec.Note("", Info, fmt.Sprintf("the group's name is %s here", name))
	}
	result := &v1alpha1.InstanceGroup{ObjectMeta: metav1.ObjectMeta{Name: name}}
	s := &result.Spec
	s.Cluster = g.cluster.result.Name
	s.MinSize = g.spec.Number("minSize", defaultSize)
	s.MaxSize = g.spec.Number("maxSize", max(s.MinSize, 1))
	if s.MaxSize == 0 {
		s.MaxSize = 1
		g.spec.Note("maxSize", Warning, "maxSize is at least 1: with minSize 0, the group has no instances until it is scaled")
	}
	g.types(s)
	s.Architecture = model.ArchitectureOf(s.InstanceTypes[0])
	g.place(s)
	s.Image = g.image()
	s.RootVolume = translation.Volume(g.spec, rootVolume)
	s.Volumes = g.volumes()
	s.Labels = g.labels()
	s.Taints = g.taints()
	s.Tags = g.cluster.tags("cloudLabels", g.spec)
	g.autoscale(s)
	s.SecurityGroups = securityGroupsOf(g.spec, "additionalSecurityGroups")
	s.KubeletExtraArgs = g.kubelet()
	s.ExtraUserData = g.userData()
	s.NodeSetup = beside(g.nodeSetup(), &g.cluster.workers)
	g.rolling(&s.RollingUpdate)
	g.manager(result)
	g.finish()
	return result
}

// manager leaves the nodes of the group to Karpenter if kops does.
func (g *group) manager(of *v1alpha1.InstanceGroup) {
	switch manager := g.spec.Text("manager"); manager {
	case "", "CloudGroup":
	case "Karpenter":
		s := &of.Spec
		s.Manager, s.MinSize, s.Spot, s.Autoscale = v1alpha1.ManagerKarpenter, 0, nil, false
		g.spec.Note("manager", Warning, "the operator keeps the EC2NodeClass "+of.Name+": install Karpenter with spec.addons, and let your NodePools refer to it. "+
			"They choose the instance types and the number of nodes")
	default:
		g.spec.Refuse("manager", "write CloudGroup or Karpenter")
	}
}

// finish reads the sections that every group may have, and speaks of what is left.
func (g *group) finish() {
	for field, table := range map[string]fields{"iam": profileFields, "instanceMetadata": metadataFields} {
		if p := g.spec.Section(field, table); p != nil {
			p.Finish()
		}
	}
	g.publicAddress()
	g.spec.Finish()
}

// publicAddress says if machines would get addresses that they are not to have.
func (g *group) publicAddress() {
	v := g.spec.Field("associatePublicIp")
	if v == nil {
		return
	}
	public := g.cluster.result.Spec.Network.Topology == v1alpha1.TopologyPublic
	if wanted, ok := v.Truth(); ok && !wanted && public {
		g.spec.Refuse("associatePublicIp", "nodes in public subnets have public addresses: use private subnets, or leave it out")
	}
}

// types translates instance types and spot.
func (g *group) types(s *v1alpha1.InstanceGroupSpec) {
	for one := range strings.SplitSeq(g.spec.Text("machineType"), ",") {
		if one = strings.TrimSpace(one); one != "" {
			s.InstanceTypes = appendNew(s.InstanceTypes, one)
		}
	}
	price := ""
	if v := g.spec.Field("maxPrice"); v != nil { // text as a rule, but also a number
		price = v.Text
	}
	switch mixed := g.spec.Section("mixedInstancesPolicy", mixedFields); {
	case mixed != nil:
		g.mixed(s, mixed, price)
	case price != "":
		s.Spot = &v1alpha1.Spot{MaxPrice: price}
	}
	if len(s.InstanceTypes) == 0 {
		s.InstanceTypes = []string{defaultType}
		g.spec.Note("machineType", Info, "the instance type is "+defaultType+", as in kops")
	}
}

// mixed translates a policy of mixed instances.
func (g *group) mixed(s *v1alpha1.InstanceGroupSpec, policy *part, price string) {
	if named := policy.Texts("instances"); len(named) > 0 {
		s.InstanceTypes = slices.Compact(named)
	}
	if policy.Field("instanceRequirements") != nil {
		policy.Note("instanceRequirements", Warning, "instance types must be named: list them in instances")
	}
	s.Spot = spotOf(policy, price)
	if s.Spot == nil && price != "" {
		g.spec.Note("maxPrice", Info, "no instance is a spot instance, since onDemandAboveBase is 100")
	}
	if s.Spot != nil {
		s.Spot.OnDemandBase = min(s.Spot.OnDemandBase, s.MaxSize)
	}
	policy.Finish()
}

// spotOf translates how many machines are spot instances; none are unless it says so.
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_InstancesDistribution.html
func spotOf(p *part, price string) *v1alpha1.Spot {
	const all = 100
	base, above := p.Number("onDemandBase", 0), p.Number("onDemandAboveBase", all)
	strategy := p.Text("spotAllocationStrategy")
	if above >= all {
		return nil
	}
	s := &v1alpha1.Spot{OnDemandBase: base, OnDemandPercentage: above, MaxPrice: price}
	switch strategy {
	case "", "price-capacity-optimized":
	case "capacity-optimized", "lowest-price":
		s.Strategy = v1alpha1.SpotStrategy(strategy)
	case "capacity-optimized-prioritized":
		s.Strategy = v1alpha1.SpotCapacityOptimized
		p.Note("spotAllocationStrategy", Info, "the order of instance types does not affect the choice of spot capacity")
	default:
		p.Note("spotAllocationStrategy", Warning, "price-capacity-optimized replaces it")
	}
	return s
}

// place translates the subnets: to zones, or to IDs if one is not the cluster's own for its zone.
func (g *group) place(s *v1alpha1.InstanceGroupSpec) {
	found := g.subnets()
	network := &g.cluster.result.Spec.Network
	role := v1alpha1.SubnetRole(network.Topology)
	var ids []string
	odd := false
	for _, one := range found {
		s.Zones = appendNew(s.Zones, one.zone)
		ids = appendNew(ids, one.id)
		odd = odd || one.spare || one.role != role
	}
	if odd && network.VPC == "" {
		g.spec.Refuse("subnets", "nodes use the subnets of the topology's kind, one in each zone")
		return
	}
	if odd {
		s.Zones, s.Subnets = nil, ids
		return
	}
	all := true
	for _, one := range g.cluster.subnets {
		all = all && (one.role != role || slices.Contains(s.Zones, one.zone))
	}
	if all {
		s.Zones = nil
	}
}

// image translates the image, which other clouds and owners name in other ways.
func (g *group) image() string {
	name := g.spec.Text("image")
	switch {
	case strings.HasPrefix(name, "ami-"):
		g.spec.Note(
			"image",
			Warning,
			"the image is used unchanged: like the release's images, it must have systemd and cgroups v2; leave it out to use the release's",
		)
		return name
	case name != "":
		g.spec.Note("image", Info, "instances use the release's image; set an ID, ami-…, to use another one")
	}
	return ""
}

// labels translates labels, but for those that kubelets may not set.
func (g *group) labels() map[string]string {
	labels := g.spec.Labels("nodeLabels")
	for _, key := range sorted(labels) {
		domain, _, qualified := strings.Cut(key, "/")
		own := domain == v1alpha1.Group || strings.HasSuffix(domain, "kubernetes.io") || strings.HasSuffix(domain, "k8s.io")
		free := domain == "node.kubernetes.io" || domain == "kubelet.kubernetes.io"
		switch {
		case !qualified || !own || free && key != "node.kubernetes.io/instance-type":
			continue
		case key == "kops.k8s.io/instancegroup":
			g.spec.Note("nodeLabels", Info, "the label "+key+" is dropped: nodes have "+model.LabelInstanceGroup)
		default:
			g.spec.Note(
				"nodeLabels",
				Warning,
				"the label "+key+" is dropped: kubelets may not set it; add it to the nodes yourself, or use another key",
			)
		}
		delete(labels, key)
	}
	return orNil(labels)
}

// taints translates KEY=VALUE:EFFECT.
func (g *group) taints() []corev1.Taint {
	var all []corev1.Taint
	for _, text := range g.spec.Texts("taints") {
		left, effect, ok := strings.Cut(text, ":")
		key, value, _ := strings.Cut(left, "=")
		if !ok || !slices.Contains([]string{"NoSchedule", "PreferNoSchedule", "NoExecute"}, effect) {
			g.spec.Refuse("taints", fmt.Sprintf("%q is not a taint: use for example dedicated=gpu:NoSchedule", text))
			continue
		}
		all = append(all, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	return all
}

// autoscale translates whether the cluster autoscaler finds the group: kops' own says so by a
// field, a person's by tags.
func (g *group) autoscale(s *v1alpha1.InstanceGroupSpec) {
	s.Autoscale = g.spec.Truth("autoscale", true) && g.cluster.autoscaler
	for _, key := range sorted(s.Tags) {
		if key == model.TagAutoscalerEnabled ||
			strings.HasPrefix(key, model.TagAutoscalerClusterPrefix) && !strings.Contains(key, "node-template") {
			s.Autoscale = true
			delete(s.Tags, key)
		}
	}
	s.Tags = orNil(s.Tags)
}

// kubelet joins the cluster's arguments of kubelets and the group's own.
func (g *group) kubelet() map[string]string {
	args := maps.Clone(g.cluster.kubelet)
	if args == nil {
		args = map[string]string{}
	}
	if p := componentOf(g.spec, "kubelet", kubeletFlags); p != nil {
		maps.Copy(args, flagsOf(p, kubeletFlags))
		p.Finish()
	}
	return orNil(args)
}

// userData joins the shell scripts.
func (g *group) userData() string {
	var scripts []string
	for _, p := range g.spec.Sections("additionalUserData", userDataFields) {
		kind, content := p.Text("type"), p.Text("content")
		p.Field("name")
		switch {
		case kind != "text/x-shellscript" && kind != "":
			p.Note("type", Warning, "only shell scripts are supported: rewrite it as a shell script")
		case !strings.HasPrefix(content, "#!"), shell.MatchString(content):
			scripts = append(scripts, content)
		default:
			p.Refuse("content", "only shell scripts can be joined: rewrite it as a shell script")
		}
		p.Finish()
	}
	if len(scripts) < 2 {
		return strings.Join(scripts, "")
	}
	var joined strings.Builder
	joined.WriteString("#!/bin/bash\nset -e\n")
	for _, script := range scripts { // each in a shell of its own, so that one may exit before the next
		fmt.Fprintf(&joined, "(\nset +e\n%s\n)\n", strings.TrimSpace(shell.ReplaceAllString(script, "")))
	}
	return joined.String()
}

// shell matches the first line of a script for the shell.
var shell = lazyregexp.New(`^#! ?(/usr)?/bin/(env )?(ba)?sh[^\n]*\n`)

// rolling translates how nodes are replaced: with a surge by the operator, since CloudFormation has
// none.
func (g *group) rolling(r *v1alpha1.RollingUpdate) {
	own := g.spec.Section("rollingUpdate", rollingFields)
	read := func(field string) *intstr.IntOrString {
		for _, p := range []*part{own, g.cluster.rolling} {
			if p == nil {
				continue
			}
			if v := p.Field(field); v != nil {
				return numberOrShare(p, field, v)
			}
		}
		return nil
	}
	r.Surge, r.BatchSize = read("maxSurge"), read("maxUnavailable")
	if own != nil {
		own.Finish()
	}
	if r.Surge != nil {
		r.Engine = v1alpha1.RollOperator
		if r.BatchSize == nil {
			r.BatchSize = r.Surge
		}
	}
}

// numberOrShare returns a number or a percentage, nil if it is none at all.
func numberOrShare(p *part, field string, v *yamltree.Value) *intstr.IntOrString {
	if n, ok := v.Int(); ok && n >= 0 && n <= 1000 {
		if n == 0 {
			return nil
		}
		return new(intstr.FromInt32(int32(n)))
	}
	if share := intstr.FromString(v.Text); percentage.MatchString(v.Text) {
		if v.Text == "0%" {
			return nil
		}
		return &share
	}
	p.Refuse(field, "write a number, or a percentage such as 25%")
	return nil
}

var percentage = lazyregexp.New(`^([0-9]|[1-9][0-9]|100)%$`)
