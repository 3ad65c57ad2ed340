package model

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// slotName matches the end of the name of a slot's stack.
var slotName = regexp.MustCompile(`^control-plane-[0-9]+$`)

// Tags by which the cluster autoscaler finds groups.
// https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md
const (
	TagAutoscalerEnabled       = "k8s.io/cluster-autoscaler/enabled"
	TagAutoscalerClusterPrefix = "k8s.io/cluster-autoscaler/"
)

// ResolveGroup resolves one of the cluster's instance groups.
// The error is Problems.
func ResolveGroup(c *Cluster, g *v1alpha1.InstanceGroup) (*Group, error) {
	var problems Problems
	if c == nil || g == nil {
		problems.add("spec.cluster", "give both", "there is no cluster or no instance group")
		return nil, problems
	}
	r := &Group{Name: g.Name, Spec: defaultedGroup(&g.Spec), StackName: GroupStackName(c.Name, g.Name)}
	r.checkGroup(&problems, c, g.Namespace)
	r.checkTypes(&problems)
	r.resolveSubnets(&problems, c)
	r.checkPlacement(&problems)
	r.checkCapacity(&problems, c)
	r.resolveManager(&problems, c)
	if c.EKS() != nil {
		r.resolveEKSGroup(&problems, c, &g.Spec)
	} else {
		if g.Spec.EKS != nil {
			problems.add("spec.eks", "leave it out", "EKS does not run the control plane of cluster %s", c.Name)
		}
		r.Image = c.image(&problems, "spec.image", r.Spec.Architecture, r.Spec.Image)
		c.checkBootable(&problems, "spec.cluster", r.Spec.Architecture)
	}
	checkVolume(&problems, "spec.rootVolume", &r.Spec.RootVolume)
	r.checkVolumes(&problems)
	checkTags(&problems, "spec.tags", r.Spec.Tags)
	checkDynamic(&problems, &g.Spec)
	checkLabels(&problems, "spec.labels", r.Spec.Labels)
	checkTaints(&problems, "spec.taints", r.Spec.Taints)
	r.checkKubeletServing(&problems, c)
	r.resolveNodeSetup(&problems, c)
	r.resolveRolling(&problems)
	r.resolveTags(c)
	checkNumberOfTags(&problems, "spec.tags", r.Tags)
	if err := problems.err(); err != nil {
		return nil, err
	}
	return r, nil
}

// checkGroup checks the group's name and size.
func (r *Group) checkGroup(problems *Problems, c *Cluster, namespace string) {
	ofCluster := strings.TrimPrefix(r.Name, c.Name+"-")
	if !isLabel(r.Name) || slotName.MatchString(ofCluster) || c.EKS() != nil && ofCluster == RoleEKSAddons {
		problems.add(
			"metadata.name",
			"choose a name of lower-case letters, digits and hyphens",
			"%q is not a valid name of an instance group",
			r.Name,
		)
	}
	if r.Spec.Cluster != c.Name || namespace != c.Namespace {
		problems.add(
			"spec.cluster",
			"name a Cluster of the same namespace",
			"the group belongs to cluster %s/%s, not %s/%s",
			namespace,
			r.Spec.Cluster,
			c.Namespace,
			c.Name,
		)
	}
	if r.Spec.MinSize < 0 || r.Spec.MaxSize < 1 || r.Spec.MinSize > r.Spec.MaxSize {
		problems.add("spec.minSize", "set minSize to at least 0 and at most maxSize, and maxSize to at least 1",
			"%d to %d nodes is not a valid size", r.Spec.MinSize, r.Spec.MaxSize)
	}
	switch replicas := r.Spec.Replicas; {
	case replicas == nil:
	case *replicas < r.Spec.MinSize || *replicas > r.Spec.MaxSize:
		problems.add("spec.replicas", "change replicas, minSize or maxSize",
			"%d nodes are not between minSize %d and maxSize %d", *replicas, r.Spec.MinSize, r.Spec.MaxSize)
	case r.Spec.Autoscale:
		problems.add("spec.replicas", "remove it, or set autoscale to false",
			"with autoscale, the cluster autoscaler determines the number of nodes")
	}
}

// checkTypes checks the instance types.
func (r *Group) checkTypes(problems *Problems) {
	types := r.Spec.InstanceTypes
	if len(types) == 0 {
		problems.add("spec.instanceTypes", "name at least one", "there are no instance types")
	}
	for i, t := range types {
		field := fmt.Sprintf("spec.instanceTypes[%d]", i)
		if slices.Contains(types[:i], t) {
			problems.add(field, "name it once", "type %s is named twice", t)
		}
		if a := ArchitectureOf(t); a != r.Spec.Architecture {
			problems.add(
				field,
				"create a group for each architecture and set spec.architecture",
				"%s is %s, but the group is %s",
				t,
				a,
				r.Spec.Architecture,
			)
		}
	}
	if s := r.Spec.Spot; s != nil && (s.OnDemandBase < 0 || s.OnDemandPercentage < 0 || s.OnDemandPercentage > 100) {
		problems.add("spec.spot", "set a base of at least 0 and a percentage of 0 to 100",
			"a base of %d and %d%% on demand is not valid", s.OnDemandBase, s.OnDemandPercentage)
	}
}

// checkVolumes checks the additional volumes.
func (r *Group) checkVolumes(problems *Problems) {
	for i := range r.Spec.Volumes {
		v := &r.Spec.Volumes[i]
		field := fmt.Sprintf("spec.volumes[%d]", i)
		checkVolume(problems, field, &v.Volume)
		if slices.ContainsFunc(r.Spec.Volumes[:i], func(o v1alpha1.DataVolume) bool { return o.Device == v.Device }) {
			problems.add(field+".device", "name it once", "device %s is named twice", v.Device)
		}
	}
}

// resolveSubnets determines the subnets of the group's instances.
func (r *Group) resolveSubnets(problems *Problems, c *Cluster) {
	if len(r.Spec.Subnets) > 0 {
		r.namedSubnets(problems, c)
		return
	}
	for i, zone := range r.Spec.Zones {
		if !slices.Contains(c.Zones(), zone) {
			problems.add(fmt.Sprintf("spec.zones[%d]", i), "name one of the cluster's zones: "+strings.Join(c.Zones(), ", "),
				"zone %s has no %s subnet", zone, strings.ToLower(string(c.NodeRole)))
		}
	}
	for _, s := range c.NodeSubnets() {
		if len(r.Spec.Zones) == 0 || slices.Contains(r.Spec.Zones, s.Zone) {
			r.Subnets = append(r.Subnets, s)
		}
	}
}

// namedSubnets returns the existing subnets that the group names.
func (r *Group) namedSubnets(problems *Problems, c *Cluster) {
	if c.NewVPC {
		problems.add("spec.subnets", "limit the group with spec.zones", "the cluster's VPC has no existing subnets")
		return
	}
	for i, id := range r.Spec.Subnets {
		field := fmt.Sprintf("spec.subnets[%d]", i)
		s, ok := c.existing(id)
		switch {
		case !ok:
			problems.add(field, "name one of its subnets", "%s is not known as a subnet of %s", id, c.VPC)
		case len(r.Spec.Zones) > 0 && !slices.Contains(r.Spec.Zones, s.Zone):
			problems.add(
				field, "add the zone to spec.zones, or leave the subnet out", "%s is in zone %s, which is not in spec.zones", id, s.Zone,
			)
		default:
			r.Subnets = append(r.Subnets, s)
		}
	}
}

// existing returns an existing subnet by its ID: one of the cluster's, or
// another of its VPC.
func (c *Cluster) existing(id string) (Subnet, bool) {
	if i := slices.IndexFunc(c.Subnets, func(s Subnet) bool { return s.ID == id }); i >= 0 {
		return c.Subnets[i], true
	}
	if c.Existing == nil {
		return Subnet{}, false
	}
	i := slices.IndexFunc(c.Existing.Subnets, func(s ExistingSubnet) bool { return s.ID == id })
	if i < 0 {
		return Subnet{}, false
	}
	s := c.Existing.Subnets[i]
	return Subnet{Zone: s.Zone, Role: c.NodeRole, CIDR: s.CIDR, ID: s.ID, LogicalID: "Subnet" + strings.ReplaceAll(s.ID, "-", "")}, true
}

// resolveTags determines the stack's tags and the nodes' labels.
func (r *Group) resolveTags(c *Cluster) {
	r.Tags = maps.Clone(c.Tags)
	maps.Copy(r.Tags, r.Spec.Tags)
	r.Tags[TagRole], r.Tags[TagInstanceGroup] = RoleWorker, r.Name
	r.DiskTags = r.Tags
	if r.Spec.Autoscale {
		r.AutoscalerTags = map[string]string{TagAutoscalerEnabled: "true", TagAutoscalerClusterPrefix + c.Name: TagOwned}
	}
	r.Labels = maps.Clone(r.Spec.Labels)
	if r.Labels == nil {
		r.Labels = map[string]string{}
	}
	r.Labels[LabelCluster], r.Labels[LabelInstanceGroup] = c.Name, r.Name
}
