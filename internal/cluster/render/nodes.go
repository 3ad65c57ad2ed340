package render

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// Parameters of the stacks of slots and instance groups.
const (
	parameterImage           = "ImageID"
	parameterSecurityGroup   = "SecurityGroup"
	parameterInstanceProfile = "InstanceProfile"
	parameterTargetGroup     = "APITargetGroup"
)

// handover collects the parameters of a stack that are outputs of the base stack.
type handover struct {
	outputs    map[string]string
	parameters []parameter
	values     map[string]string
	missing    []string
}

// take sets a parameter to an output.
func (h *handover) take(name, parameterType, output string) {
	h.set(name, parameterType, h.read(output))
}

// read returns an output, which must not be missing.
func (h *handover) read(output string) string {
	value := h.outputs[output]
	if value == "" {
		h.missing = append(h.missing, output)
	}
	return value
}

// set gives a parameter a value.
func (h *handover) set(name, parameterType, value string) {
	h.parameters = append(h.parameters, parameter{Name: name, Type: parameterType})
	h.values[name] = value
}

// subnets returns expressions for the IDs of subnets: the ID of an existing subnet, or a parameter
// for one of the base stack.
func (h *handover) subnets(of []model.Subnet) ([]string, error) {
	var ids []string
	for _, s := range of {
		if s.ID == "" {
			h.take(s.LogicalID, typeSubnet, model.OutputSubnet(s))
		}
		id, err := subnet(s)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// MissingOutputError reports outputs that the base stack lacks: it is not created yet, or not
// updated yet.
type MissingOutputError struct {
	// Outputs are their names, sorted.
	Outputs []string
}

// Error lists them.
func (e *MissingOutputError) Error() string {
	return "the base stack has no output " + strings.Join(e.Outputs, ", ")
}

// err reports the missing outputs.
func (h *handover) err() error {
	if len(h.missing) == 0 {
		return nil
	}
	slices.Sort(h.missing)
	return &MissingOutputError{h.missing}
}

// node returns what slots and workers have in common.
func (h *handover) node(
	image model.Image, securityGroupOutput, profileOutput string, moreSecurityGroups []string, of []model.Subnet,
) (machine, error) {
	imageType, imageValue := imageParameter(image)
	h.set(parameterImage, imageType, imageValue)
	h.take(parameterSecurityGroup, typeSecurityGroup, securityGroupOutput)
	h.take(parameterInstanceProfile, typeString, profileOutput)
	subnets, err := h.subnets(of)
	if err != nil {
		return machine{}, err
	}
	more, err := expressions(moreSecurityGroups)
	if err != nil {
		return machine{}, err
	}
	return machine{
		Profile:        "!Ref " + parameterInstanceProfile,
		SecurityGroups: append([]string{"!Ref " + parameterSecurityGroup}, more...),
		Subnets:        subnets,
		// In a public subnet, an instance without a public address has no access outside the VPC.
		PublicAddress: len(of) > 0 && of[0].Role == v1alpha1.SubnetPublic,
	}, nil
}

// slotStack renders the stack of a slot.
func slotStack(c *model.Cluster, index int, base map[string]string, userData string) (*Stack, error) {
	i := slices.IndexFunc(c.Slots, func(s model.Slot) bool { return s.Index == index })
	if i < 0 {
		return nil, fmt.Errorf("cluster %s has no slot %d", c.Name, index)
	}
	slot := c.Slots[i]
	cp := &c.Spec.ControlPlane
	h := &handover{outputs: base, values: map[string]string{}}
	m, err := h.node(
		c.ControlPlaneImage,
		model.OutputControlPlaneSecurityGroup,
		model.OutputControlPlaneInstanceProfile,
		cp.SecurityGroups,
		[]model.Subnet{slot.Subnet},
	)
	if err != nil {
		return nil, err
	}
	h.take(parameterTargetGroup, typeString, model.OutputAPITargetGroup)
	m.InstanceType, m.Volumes, m.UserData = cp.InstanceType, disks(cp.RootVolume, nil), userData
	m.MinSize, m.MaxSize = 1, 1
	m.Tags, m.DiskTags = named(slot.StackName, slot.Tags), named(slot.StackName, slot.DiskTags)
	return h.stack(
		slot.StackName,
		fmt.Sprintf("Kubernetes cluster %s: slot %d of the control plane", c.Name, index),
		m,
		"slot.yaml",
		slot.Tags,
		model.TagSlot,
	)
}

// groupStack renders the stack of an instance group.
func groupStack(c *model.Cluster, g *model.Group, base map[string]string, userData string) (*Stack, error) {
	h := &handover{outputs: base, values: map[string]string{}}
	m, err := h.node(g.Image, model.OutputWorkerSecurityGroup, model.OutputWorkerInstanceProfile, g.Spec.SecurityGroups, g.Subnets)
	if err != nil {
		return nil, err
	}
	m.Volumes = disks(g.Spec.RootVolume, g.Spec.Volumes)
	if err := m.fill(c, g, userData); err != nil {
		return nil, err
	}
	return h.stack(
		g.StackName,
		fmt.Sprintf("Kubernetes cluster %s: instance group %s", c.Name, g.Name),
		m,
		"group.yaml",
		g.Tags,
		model.TagInstanceGroup,
	)
}

// fill adds what an instance group decides about its instances.
func (m *machine) fill(c *model.Cluster, g *model.Group, userData string) error {
	if len(g.Spec.InstanceTypes) == 0 {
		return fmt.Errorf("instance group %s names no instance type", g.Name)
	}
	m.InstanceType, m.UserData = g.Spec.InstanceTypes[0], userData
	m.MinSize, m.MaxSize = g.Spec.MinSize, g.Spec.MaxSize
	if g.Spec.Replicas != nil {
		m.Replicas = strconv.Itoa(int(*g.Spec.Replicas))
	}
	m.Mix = mixOf(&g.Spec)
	m.Tags, m.DiskTags, m.GroupTags = named(g.StackName, g.Tags), named(g.StackName, g.DiskTags), autoscalerTags(g)
	m.Roll, m.Capacity = rollOf(g), g.Spec.CapacityReservation
	return m.place(c, g)
}

// stack renders a stack of instances.
func (h *handover) stack(name, description string, m machine, file string, of map[string]string, owner string) (*Stack, error) {
	if err := h.err(); err != nil {
		return nil, fmt.Errorf("render stack %s: %w", name, err)
	}
	m.Parameters = h.parameters
	t, err := assemble(description, &m, file)
	if err != nil {
		return nil, fmt.Errorf("render stack %s: %w", name, err)
	}
	return &Stack{Name: name, Template: t, Parameters: h.values, Tags: maps.Clone(of), OwnerTags: ownerTags(owner)}, nil
}

// mixOf returns a group's mix, nil if it has one type and only on-demand instances.
func mixOf(spec *v1alpha1.InstanceGroupSpec) *mix {
	if len(spec.InstanceTypes) < 2 && spec.Spot == nil {
		return nil
	}
	m := &mix{InstanceTypes: spec.InstanceTypes, OnDemandPercentage: 100}
	if spot := spec.Spot; spot != nil {
		m.OnDemandBase, m.OnDemandPercentage = spot.OnDemandBase, spot.OnDemandPercentage
		m.SpotStrategy, m.SpotMaxPrice = spot.Strategy, spot.MaxPrice
	}
	return m
}

// rollOf returns how a group's instances are replaced.
func rollOf(g *model.Group) roll {
	r := &g.Rolling
	spot := g.Spec.Spot
	return roll{
		ByCloudFormation: r.Engine == v1alpha1.RollCloudFormation, BatchSize: r.BatchSize, MinInService: r.MinInService,
		PauseTime: seconds(r.SignalTimeout), HookTimeout: seconds(r.HookTimeout),
		Retain:    r.OnDrainTimeout == v1alpha1.DrainAbandon,
		Rebalance: spot != nil && spot.OnDemandPercentage < 100,
	}
}

// seconds returns a time in seconds, rounded up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// autoscalerTags returns the tags that make the cluster autoscaler discover a group, and describe a
// node of an empty group to it. It reads them only from the Auto Scaling group.
// https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md#auto-discovery-setup
func autoscalerTags(g *model.Group) []tag {
	if len(g.AutoscalerTags) == 0 {
		return nil
	}
	const prefix = model.TagAutoscalerClusterPrefix + "node-template/"
	of := maps.Clone(g.AutoscalerTags)
	for key, value := range g.Labels {
		of[prefix+"label/"+key] = value
	}
	for _, taint := range g.Spec.Taints {
		of[prefix+"taint/"+taint.Key] = taint.Value + ":" + string(taint.Effect)
	}
	return tags(of)
}
