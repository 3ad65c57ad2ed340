package ec2

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// instanceProperties are the properties of an instance that a launch template's data lacks or names
// differently.
type instanceProperties struct {
	SubnetID         string `cfn:"SubnetId"`
	PrivateIPAddress string `cfn:"PrivateIpAddress"`
	SourceDestCheck  *bool
	LaunchTemplate   struct {
		LaunchTemplateID   *string `cfn:"LaunchTemplateId"`
		LaunchTemplateName *string
		Version            string
	}
	PropagateTagsToVolumeOnCreation bool
	Tags                            []property.Tag
}

// commonProperties are the properties that have the same name for an instance and in a launch
// template's data.
var commonProperties = []string{
	"BlockDeviceMappings", "CpuOptions", "CreditSpecification", "DisableApiTermination", "EbsOptimized", "ElasticGpuSpecifications",
	"ElasticInferenceAccelerators", "EnclaveOptions", "HibernationOptions", "ImageId", "InstanceInitiatedShutdownBehavior", "InstanceType",
	"KernelId", "KeyName", "LicenseSpecifications", "MetadataOptions", "PrivateDnsNameOptions", "SecurityGroupIds", "SecurityGroups",
	"UserData",
}

// unsupportedProperties are the properties that the simulator does not support.
var unsupportedProperties = []string{
	"AdditionalInfo", "Affinity", "HostId", "HostResourceGroupArn", "Ipv6AddressCount", "Ipv6Addresses", "RamdiskId",
	"SsmAssociations", "Volumes",
}

// dataOf converts an instance's properties to a launch template's data.
func dataOf(properties map[string]any) (*launchData, error) {
	for _, name := range unsupportedProperties {
		if properties[name] != nil {
			return nil, handled(unsupported(name))
		}
	}
	data := map[string]any{}
	for _, name := range commonProperties {
		if v, ok := properties[name]; ok {
			data[name] = v
		}
	}
	if v, ok := properties["Monitoring"]; ok {
		data["Monitoring"] = map[string]any{"Enabled": v}
	}
	if v, ok := properties["IamInstanceProfile"]; ok {
		data["IamInstanceProfile"] = map[string]any{"Name": v}
	}
	placement := map[string]any{}
	if v, ok := properties["Tenancy"]; ok {
		placement["Tenancy"] = v
	}
	if v, ok := properties["AvailabilityZone"]; ok {
		placement["AvailabilityZone"] = v
	}
	if v, ok := properties["PlacementGroupName"]; ok {
		placement["GroupName"] = v
	}
	if len(placement) > 0 {
		data["Placement"] = placement
	}
	if list, ok := properties["NetworkInterfaces"].([]any); ok {
		cards := make([]any, len(list))
		for n, v := range list {
			card, _ := v.(map[string]any)
			card = maps.Clone(card)
			if groups, ok := card["GroupSet"]; ok {
				card["Groups"] = groups
			}
			cards[n] = card
		}
		data["NetworkInterfaces"] = cards
	}
	var request types.RequestLaunchTemplateData
	if err := property.Decode(data, &request); err != nil {
		return nil, err
	}
	return recast[launchData](&request)
}

type instanceProvider struct{ s *Service }

func (p instanceProvider) result(reg *region, i *instance) resource.Result {
	d := p.s.describeInstance(reg, i)
	return resource.Result{PhysicalID: i.ID, Attributes: map[string]any{
		"InstanceId": i.ID, "AvailabilityZone": i.Zone, "PrivateIp": i.PrivateIP.String(), "PrivateDnsName": i.PrivateDNSName,
		"PublicIp": aws.ToString(d.PublicIpAddress), "PublicDnsName": aws.ToString(d.PublicDnsName), "VpcId": i.VPCID,
		"State": map[string]any{"Code": float64(stateCodes[i.State]), "Name": string(i.State)},
	}}
}

// Create launches an instance.
func (p instanceProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	var props instanceProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return resource.Result{}, err
	}
	data, err := dataOf(r.Properties)
	if err != nil {
		return resource.Result{}, err
	}
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	l := &launch{
		data:      data,
		subnet:    props.SubnetID,
		privateIP: props.PrivateIPAddress,
		least:     1,
		most:      1,
		tags:      property.Tags(r.Tags, props.Tags),
	}
	if from := props.LaunchTemplate; from.LaunchTemplateID != nil || from.LaunchTemplateName != nil {
		if l.template, err = reg.template(from.LaunchTemplateID, from.LaunchTemplateName); err != nil {
			return resource.Result{}, handled(err)
		}
		v, err := l.template.version(from.Version)
		if err != nil {
			return resource.Result{}, handled(err)
		}
		l.version = strconv.FormatInt(v.number, 10)
		if l.data, err = merged(v.data, data); err != nil {
			return resource.Result{}, handled(err)
		}
	}
	made, err := p.s.run(reg, l)
	if err != nil {
		return resource.Result{}, handled(err)
	}
	i := made.instances[0]
	if props.PropagateTagsToVolumeOnCreation {
		for _, v := range reg.attached(i.ID) {
			p.s.tags(reg.Target).Set(v.id, property.Tags(nil, props.Tags))
		}
	}
	if props.SourceDestCheck != nil {
		if err := p.s.network.SetInterface(reg.Account, reg.Region, i.InterfaceID, nil, nil, props.SourceDestCheck); err != nil {
			return resource.Result{}, handled(err)
		}
	}
	return p.result(reg, i), nil
}

// live returns an instance that is not terminated.
func (p instanceProvider) live(reg *region, r resource.Request) (*instance, error) {
	i, ok := reg.instances[r.PhysicalID]
	if !ok || i.State == terminated {
		return nil, property.Missing(instanceType, r.PhysicalID)
	}
	return i, nil
}

// updatable are the properties that can change without a replacement. A change of any other
// property replaces the instance.
var updatable = []string{
	"CreditSpecification", "DisableApiTermination", "IamInstanceProfile", "InstanceInitiatedShutdownBehavior", "InstanceType",
	"MetadataOptions",
	"Monitoring", "SecurityGroupIds", "SourceDestCheck", "Tags", "EbsOptimized", "UserData", "PropagateTagsToVolumeOnCreation",
}

func changed(r resource.Request, name string) bool {
	return digest(r.Properties[name]) != digest(r.Previous[name])
}

// Update changes an instance. It stops the instance to change type, user data and EBS optimization,
// and starts it again.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ec2-instance.html
func (p instanceProvider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	var props, before instanceProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return resource.Result{}, err
	}
	if err := property.Decode(r.Previous, &before); err != nil {
		return resource.Result{}, err
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(r.Properties)), slices.Collect(maps.Keys(r.Previous))) {
		if changed(r, name) && !slices.Contains(updatable, name) {
			return resource.Result{}, resource.Errorf(resource.NotUpdatable, "The property %s of an instance cannot be updated", name)
		}
	}
	data, err := dataOf(r.Properties)
	if err != nil {
		return resource.Result{}, err
	}
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	i, err := p.live(reg, r)
	if err != nil {
		return resource.Result{}, err
	}
	if err := p.s.retag(reg.Target, i.ID, r, props.Tags, before.Tags); err != nil {
		return resource.Result{}, err
	}
	i.protect, i.shutdown = aws.ToBool(data.DisableApiTermination), data.InstanceInitiatedShutdownBehavior
	i.metadata, i.data.Monitoring = metadataOptions(data.MetadataOptions), data.Monitoring
	if changed(r, "SecurityGroupIds") || changed(r, "SourceDestCheck") {
		if err := p.s.network.SetInterface(
			reg.Account, reg.Region, i.InterfaceID, data.SecurityGroupIds, nil, props.SourceDestCheck,
		); err != nil {
			return resource.Result{}, handled(err)
		}
	}
	if changed(r, "IamInstanceProfile") {
		if i.profile, err = p.s.profileOf(reg.Account, data.IamInstanceProfile); err != nil {
			return resource.Result{}, handled(err)
		}
		i.session = session{}
	}
	if changed(r, "InstanceType") || changed(r, "UserData") || changed(r, "EbsOptimized") {
		if err := p.refit(reg, i, data); err != nil {
			return resource.Result{}, err
		}
	}
	return p.result(reg, i), nil
}

// refit changes attributes that can change only while the instance is stopped. The caller holds the
// lock.
func (p instanceProvider) refit(reg *region, i *instance, data *launchData) error {
	k, ok := kinds[string(data.InstanceType)]
	if data.InstanceType == "" {
		k, ok = i.kind, true
	}
	if !ok {
		return handled(invalid("Invalid value '%s' for InstanceType.", data.InstanceType))
	}
	if k.arm != i.kind.arm {
		return resource.Errorf(resource.NotUpdatable, "The instance type %s has another architecture", k.name)
	}
	userData := []byte(nil)
	if data.UserData != nil {
		decoded, err := decodeUserData(*data.UserData)
		if err != nil {
			return handled(err)
		}
		userData = decoded
	}
	fit := func() {
		i.kind, i.Type, i.userData, i.data.EbsOptimized = k, k.name, userData, data.EbsOptimized
	}
	if i.State != running {
		fit()
		return nil
	}
	i.failure = nil
	i.onStopped = func() {
		fit()
		i.failure = p.s.start(reg, i)
	}
	p.s.stop(reg, i, reason("Client.UserInitiatedShutdown", "User initiated shutdown"), "User initiated")
	return nil
}

// Delete starts to terminate an instance.
func (p instanceProvider) Delete(_ context.Context, r resource.Request) error {
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	i, err := p.live(reg, r)
	if err != nil {
		return err
	}
	if i.protect {
		return resource.Errorf(
			resource.InvalidRequest,
			"The instance '%s' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again. (Service: Ec2, Status Code: 400, Error Code: OperationNotPermitted)",
			i.ID,
		)
	}
	p.s.terminate(reg, i)
	return nil
}

// Stable reports whether an instance is running or, after a deletion, terminated.
func (p instanceProvider) Stable(_ context.Context, r resource.Request) (bool, error) {
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	i, ok := reg.instances[r.PhysicalID]
	switch {
	case !ok || i.State == running:
		return true, nil
	case i.State == stopped:
		return i.failure == nil, handled(i.failure)
	case i.State == terminated && aws.ToString(i.Reason.Code) == "Client.UserInitiatedShutdown":
		return true, nil
	case i.State == terminated:
		return false, resource.Errorf(
			resource.NotStabilized,
			"Instance %s failed to stabilize. Current state: terminated. Reason: %s",
			i.ID,
			aws.ToString(i.Reason.Message),
		)
	default:
		return false, nil
	}
}

// Read returns an instance's properties.
func (p instanceProvider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	i, err := p.live(reg, r)
	if err != nil {
		return nil, err
	}
	d := p.s.describeInstance(reg, i)
	live := map[string]any{
		"ImageId": i.ImageID, "InstanceType": i.Type, "SubnetId": i.SubnetID, "PrivateIpAddress": i.PrivateIP.String(),
		"DisableApiTermination": i.protect, "SourceDestCheck": aws.ToBool(d.SourceDestCheck), "Tenancy": "default",
		"EbsOptimized": aws.ToBool(d.EbsOptimized), "Monitoring": d.Monitoring.State == types.MonitoringStateEnabled,
		"Tags": property.OwnTags(p.s.tags(reg.Target).Get(i.ID), r.Tags),
	}
	groups := []any{}
	for _, g := range d.SecurityGroups {
		groups = append(groups, aws.ToString(g.GroupId))
	}
	live["SecurityGroupIds"] = groups
	if i.data.KeyName != nil {
		live["KeyName"] = *i.data.KeyName
	}
	if i.placed != nil {
		live["PlacementGroupName"] = i.placed.name
	}
	if i.profile.Name != "" {
		live["IamInstanceProfile"] = i.profile.Name
	}
	return merge(live, p.result(reg, i).Attributes), nil
}

// merge adds the keys that the target does not have.
func merge(to, from map[string]any) map[string]any {
	for name, v := range from {
		if _, ok := to[name]; !ok {
			to[name] = v
		}
	}
	return to
}
