package ec2

import (
	"context"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const (
	templateType = "AWS::EC2::LaunchTemplate"
	instanceType = "AWS::EC2::Instance"
	volumeType   = "AWS::EC2::Volume"
	attachedType = "AWS::EC2::VolumeAttachment"
	keyPairType  = "AWS::EC2::KeyPair"
	placedType   = "AWS::EC2::PlacementGroup"
)

// Providers returns the providers of the CloudFormation types for EC2's compute resources.
func (s *Service) Providers() map[string]resource.Provider {
	return map[string]resource.Provider{
		templateType: templateProvider{s},
		instanceType: instanceProvider{s},
		volumeType:   volumeProvider{s},
		attachedType: attachmentProvider{s},
		keyPairType:  keyPairProvider{s},
		placedType:   placementProvider{s},
	}
}

func handled(err error) error { return property.HandlerError("Ec2", err) }

// of returns the region of a resource, locked.
func (s *Service) of(r resource.Request) *region { return s.locked(r.Target()) }

// retag sets the tags in the properties of a resource and keeps the tags that other clients set.
func (s *Service) retag(at wire.Target, id string, r resource.Request, own, previous []property.Tag) error {
	if err := vpc.CheckTags(property.Tags(nil, own), false); err != nil {
		return handled(err)
	}
	tags := s.tags(at)
	for _, t := range previous {
		tags.Delete(id, t.Key)
	}
	tags.Set(id, property.Tags(r.Tags, own))
	return nil
}

// creator returns the principal for which CloudFormation acts.
func (s *Service) creator(r resource.Request) string {
	return "arn:" + s.partition() + ":iam::" + r.Account + ":root"
}

type templateProperties struct {
	LaunchTemplateName, VersionDescription string
	LaunchTemplateData                     types.RequestLaunchTemplateData
	TagSpecifications                      []struct {
		ResourceType string
		Tags         []property.Tag
	}
}

func (p *templateProperties) tags() (tags []property.Tag, err error) {
	for _, t := range p.TagSpecifications {
		if t.ResourceType != string(types.ResourceTypeLaunchTemplate) {
			return nil, resource.Errorf(
				resource.InvalidRequest, "'%s' is not a valid taggable resource type for this operation.", t.ResourceType,
			)
		}
		tags = append(tags, t.Tags...)
	}
	return tags, nil
}

type templateProvider struct{ s *Service }

func templateResult(t *launchTemplate) resource.Result {
	return resource.Result{PhysicalID: t.id, Attributes: map[string]any{
		"LaunchTemplateId": t.id, "DefaultVersionNumber": strconv.FormatInt(t.standard, 10),
		"LatestVersionNumber": strconv.FormatInt(t.latest, 10),
	}}
}

func decodeTemplate(properties map[string]any) (props templateProperties, tags []property.Tag, err error) {
	if err := property.Decode(properties, &props); err != nil {
		return props, nil, err
	}
	tags, err = props.tags()
	return props, tags, err
}

// Create creates a launch template.
func (p templateProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	props, tags, err := decodeTemplate(r.Properties)
	if err != nil {
		return resource.Result{}, err
	}
	if err := vpc.CheckTags(property.Tags(nil, tags), false); err != nil {
		return resource.Result{}, handled(err)
	}
	name := props.LaunchTemplateName
	if name == "" {
		name = generatedTemplateName(r)
	}
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	t, err := p.s.addTemplate(reg, name, p.s.creator(r), props.VersionDescription, &props.LaunchTemplateData, property.Tags(r.Tags, tags))
	if err != nil {
		return resource.Result{}, handled(err)
	}
	return templateResult(t), nil
}

func (p templateProvider) find(reg *region, r resource.Request) (*launchTemplate, error) {
	t, ok := reg.templates[r.PhysicalID]
	if !ok {
		return nil, property.Missing(templateType, r.PhysicalID)
	}
	return t, nil
}

// Update creates a new version if the data or the description changed. It does not change the
// default version.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ec2-launchtemplate.html
func (p templateProvider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	props, tags, err := decodeTemplate(r.Properties)
	if err != nil {
		return resource.Result{}, err
	}
	before, oldTags, err := decodeTemplate(r.Previous)
	if err != nil {
		return resource.Result{}, err
	}
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	t, err := p.find(reg, r)
	if err != nil {
		return resource.Result{}, err
	}
	if err := p.s.retag(reg.Target, t.id, r, tags, oldTags); err != nil {
		return resource.Result{}, err
	}
	if digest(props.LaunchTemplateData) != digest(before.LaunchTemplateData) || props.VersionDescription != before.VersionDescription {
		if _, err := p.s.addVersion(t, p.s.creator(r), props.VersionDescription, &props.LaunchTemplateData); err != nil {
			return resource.Result{}, handled(err)
		}
	}
	return templateResult(t), nil
}

// Delete deletes a launch template.
func (p templateProvider) Delete(_ context.Context, r resource.Request) error {
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	t, err := p.find(reg, r)
	if err != nil {
		return err
	}
	p.s.removeTemplate(reg, t)
	return nil
}

// Read returns a launch template's properties, with the data of its latest version.
func (p templateProvider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	t, err := p.find(reg, r)
	if err != nil {
		return nil, err
	}
	v := t.versions[t.latest]
	live := map[string]any{"LaunchTemplateName": t.name, "LaunchTemplateData": property.Plain(v.data)}
	if v.description != "" {
		live["VersionDescription"] = v.description
	}
	if tags := property.OwnTags(p.s.tags(reg.Target).Get(t.id), r.Tags); len(tags) > 0 {
		live["TagSpecifications"] = []any{map[string]any{"ResourceType": string(types.ResourceTypeLaunchTemplate), "Tags": tags}}
	}
	return merge(live, templateResult(t).Attributes), nil
}

type volumeProperties struct {
	AvailabilityZone, AvailabilityZoneID, OutpostArn, SourceVolumeID string
	VolumeType                                                       string
	KmsKeyID                                                         *string `cfn:"KmsKeyId"`
	SnapshotID                                                       *string `cfn:"SnapshotId"`
	Size, Iops, Throughput, VolumeInitializationRate                 *int32
	Encrypted, MultiAttachEnabled, AutoEnableIO                      *bool
	Tags                                                             []property.Tag
}

func decodeVolume(properties map[string]any) (props volumeProperties, err error) {
	if err := property.Decode(properties, &props); err != nil {
		return props, err
	}
	for _, name := range []string{"AvailabilityZoneId", "OutpostArn", "SourceVolumeId"} {
		if properties[name] != nil {
			return props, handled(unsupported(name))
		}
	}
	return props, nil
}

type volumeProvider struct{ s *Service }

var (
	_ resource.Snapshotter = volumeProvider{}
	_ resource.Stabilizer  = instanceProvider{}
	_ resource.Stabilizer  = attachmentProvider{}
)

func volumeResult(v *volume) resource.Result {
	return resource.Result{PhysicalID: v.id, Attributes: map[string]any{"VolumeId": v.id}}
}

// Create creates a volume.
func (p volumeProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	props, err := decodeVolume(r.Properties)
	if err != nil {
		return resource.Result{}, err
	}
	if !hasZone(r.Region, props.AvailabilityZone) {
		return resource.Result{}, handled(
			invalid("Value (%s) for parameter availabilityZone is invalid. Invalid availability zone", props.AvailabilityZone),
		)
	}
	if err := vpc.CheckTags(property.Tags(nil, props.Tags), false); err != nil {
		return resource.Result{}, handled(err)
	}
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	v, err := p.s.addVolume(reg, newVolume{
		zone: props.AvailabilityZone, size: props.Size, iops: props.Iops, throughput: props.Throughput,
		kind:      types.VolumeType(props.VolumeType),
		encrypted: props.Encrypted, key: props.KmsKeyID, snapshot: props.SnapshotID, multiAttach: props.MultiAttachEnabled,
		initializingRate: props.VolumeInitializationRate, tags: property.Tags(r.Tags, props.Tags),
	})
	if err != nil {
		return resource.Result{}, handled(err)
	}
	return volumeResult(v), nil
}

func (p volumeProvider) find(reg *region, r resource.Request) (*volume, error) {
	v, ok := reg.volumes[r.PhysicalID]
	if !ok {
		return nil, property.Missing(volumeType, r.PhysicalID)
	}
	return v, nil
}

// Update changes a volume's size, type, speed and tags. CloudFormation cannot update other
// properties: they cause an error, not a replacement.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ec2-volume.html
func (p volumeProvider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	props, err := decodeVolume(r.Properties)
	if err != nil {
		return resource.Result{}, err
	}
	before, err := decodeVolume(r.Previous)
	if err != nil {
		return resource.Result{}, err
	}
	for _, name := range []string{"AvailabilityZone", "Encrypted", "KmsKeyId", "SnapshotId", "MultiAttachEnabled"} {
		if digest(r.Properties[name]) != digest(r.Previous[name]) {
			return resource.Result{}, resource.Errorf(
				resource.NotUpdatable, "Update to the property %s of %s is not supported", name, volumeType,
			)
		}
	}
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	v, err := p.find(reg, r)
	if err != nil {
		return resource.Result{}, err
	}
	if err := p.s.retag(reg.Target, v.id, r, props.Tags, before.Tags); err != nil {
		return resource.Result{}, err
	}
	shape := func(v *volumeProperties) string {
		return digest([]any{v.Size, v.VolumeType, v.Iops, v.Throughput})
	}
	if shape(&props) != shape(&before) {
		if err := p.s.changeVolume(v, props.Size, types.VolumeType(props.VolumeType), props.Iops, props.Throughput); err != nil {
			return resource.Result{}, handled(err)
		}
	}
	return volumeResult(v), nil
}

// Delete deletes a volume.
func (p volumeProvider) Delete(_ context.Context, r resource.Request) error {
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	v, err := p.find(reg, r)
	if err != nil {
		return err
	}
	return handled(p.s.removeVolume(reg, v))
}

// Snapshot creates a snapshot of a volume before its deletion.
func (p volumeProvider) Snapshot(_ context.Context, r resource.Request) (string, error) {
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	v, err := p.find(reg, r)
	if err != nil {
		return "", err
	}
	snap, err := p.s.addSnapshot(reg, v, "Created by CloudFormation for "+v.id, p.s.tags(reg.Target).Get(v.id))
	if err != nil {
		return "", handled(err)
	}
	return snap.id, nil
}

// Read returns a volume's properties.
func (p volumeProvider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	v, err := p.find(reg, r)
	if err != nil {
		return nil, err
	}
	live := map[string]any{
		"VolumeId": v.id, "AvailabilityZone": v.zone, "Size": float64(v.size), "VolumeType": string(v.kind), "Encrypted": v.encrypted,
		"MultiAttachEnabled": v.multiAttach, "Tags": property.OwnTags(p.s.tags(reg.Target).Get(v.id), r.Tags),
	}
	for name, n := range map[string]int32{"Iops": v.iops, "Throughput": v.throughput} {
		if n > 0 {
			live[name] = float64(n)
		}
	}
	for name, text := range map[string]string{"KmsKeyId": v.key, "SnapshotId": v.snapshot} {
		if text != "" {
			live[name] = text
		}
	}
	return live, nil
}

type attachmentProperties struct {
	Device     string
	VolumeID   string `cfn:"VolumeId"`
	InstanceID string `cfn:"InstanceId"`
}

type attachmentProvider struct{ s *Service }

// Create attaches a volume.
func (p attachmentProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	var props attachmentProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return resource.Result{}, err
	}
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	v, err := reg.volume(props.VolumeID)
	if err != nil {
		return resource.Result{}, handled(err)
	}
	i, err := reg.instance(props.InstanceID)
	if err != nil {
		return resource.Result{}, handled(err)
	}
	device := props.Device
	if device == "" {
		device = reg.freeDevice(i.ID)
	}
	if err := p.s.attach(reg, v, i, device); err != nil {
		return resource.Result{}, handled(err)
	}
	return resource.Result{PhysicalID: v.id + "|" + i.ID, Attributes: map[string]any{}}, nil
}

// freeDevice returns the first free device name for volumes.
func (r *region) freeDevice(instanceID string) string {
	taken := r.attached(instanceID)
	for letter := 'f'; letter <= 'p'; letter++ {
		device := "/dev/sd" + string(letter)
		if !slices.ContainsFunc(taken, func(v *volume) bool { return v.attachment.device == device }) {
			return device
		}
	}
	return ""
}

// find returns the attached volume by the attachment's identifier.
func (p attachmentProvider) find(reg *region, r resource.Request) (*volume, error) {
	for _, v := range reg.volumes {
		if v.attachment != nil && v.id+"|"+v.attachment.instance == r.PhysicalID {
			return v, nil
		}
	}
	return nil, property.Missing(attachedType, r.PhysicalID)
}

// Update does nothing, because every change replaces the attachment.
func (p attachmentProvider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	_, err := p.find(reg, r)
	return resource.Result{PhysicalID: r.PhysicalID, Attributes: map[string]any{}}, err
}

// Delete detaches a volume.
func (p attachmentProvider) Delete(_ context.Context, r resource.Request) error {
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	v, err := p.find(reg, r)
	if err != nil {
		return err
	}
	if v.attachment.state != types.VolumeAttachmentStateDetaching {
		p.s.detach(reg, v, reg.instances[v.attachment.instance])
	}
	return nil
}

// Stable reports whether a volume is attached or, after a deletion, detached.
func (p attachmentProvider) Stable(_ context.Context, r resource.Request) (bool, error) {
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	v, err := p.find(reg, r)
	if err != nil {
		return true, nil // the attachment was deleted
	}
	return v.attachment.state == types.VolumeAttachmentStateAttached, nil
}

// Read returns an attachment's properties.
func (p attachmentProvider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	v, err := p.find(reg, r)
	if err != nil {
		return nil, err
	}
	return map[string]any{"VolumeId": v.id, "InstanceId": v.attachment.instance, "Device": v.attachment.device}, nil
}

type keyPairProperties struct {
	KeyName, KeyType, KeyFormat, PublicKeyMaterial string
	Tags                                           []property.Tag
}

type keyPairProvider struct{ s *Service }

func keyPairResult(k *keyPair) resource.Result {
	return resource.Result{PhysicalID: k.name, Attributes: map[string]any{"KeyPairId": k.id, "KeyFingerprint": k.fingerprint}}
}

// Create imports a public key. Without one AWS would create a key pair and store the private key in
// Parameter Store; the simulator does not support that.
func (p keyPairProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	var props keyPairProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return resource.Result{}, err
	}
	if props.PublicKeyMaterial == "" {
		return resource.Result{}, resource.Errorf(
			resource.InvalidRequest, "The simulator imports key pairs: give %s a PublicKeyMaterial.", keyPairType,
		)
	}
	if err := vpc.CheckTags(property.Tags(nil, props.Tags), false); err != nil {
		return resource.Result{}, handled(err)
	}
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	if _, ok := reg.keyPairs[props.KeyName]; ok {
		return resource.Result{}, property.Exists(keyPairType, props.KeyName)
	}
	k, err := p.s.addKeyPair(reg, props.KeyName, props.PublicKeyMaterial, property.Tags(r.Tags, props.Tags))
	if err != nil {
		return resource.Result{}, handled(err)
	}
	return keyPairResult(k), nil
}

func (p keyPairProvider) find(reg *region, r resource.Request) (*keyPair, error) {
	k, ok := reg.keyPairs[r.PhysicalID]
	if !ok {
		return nil, property.Missing(keyPairType, r.PhysicalID)
	}
	return k, nil
}

// Update changes the tags of a key pair that come from its stack.
func (p keyPairProvider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	k, err := p.find(reg, r)
	if err != nil {
		return resource.Result{}, err
	}
	return keyPairResult(k), p.s.retag(reg.Target, k.id, r, nil, nil)
}

// Delete deletes a key pair.
func (p keyPairProvider) Delete(_ context.Context, r resource.Request) error {
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	k, err := p.find(reg, r)
	if err != nil {
		return err
	}
	p.s.removeKeyPair(reg, k)
	return nil
}

// Read returns a key pair's properties.
func (p keyPairProvider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	reg := p.s.of(r)
	defer reg.mu.Unlock()
	k, err := p.find(reg, r)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"KeyName": k.name, "KeyType": string(k.kind), "PublicKeyMaterial": k.public, "KeyPairId": k.id, "KeyFingerprint": k.fingerprint,
		"Tags": property.OwnTags(p.s.tags(reg.Target).Get(k.id), r.Tags),
	}, nil
}

// generatedTemplateName returns the name that CloudFormation generates for a launch template, which
// does not have the name of the stack: LogicalID_random, as in the stacks in which ECS makes clusters
// (ECSLaunchTemplate_ooMHvfOC6Gxg).
func generatedTemplateName(r resource.Request) string {
	const most, random = 128, 12
	r.StackName = ""
	name := property.Name(r, most, "")
	head := r.LogicalID[:min(len(r.LogicalID), most-random-1)]
	return head + "_" + name[len(name)-random:]
}
