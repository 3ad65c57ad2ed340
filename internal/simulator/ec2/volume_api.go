package ec2

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

func (s *Service) volumeOperations() map[string]wire.Operation {
	return map[string]wire.Operation{
		"AttachVolume":                 wire.Op(s.attachVolume),
		"CreateSnapshot":               wire.Op(s.createSnapshot),
		"CreateVolume":                 wire.Op(s.createVolume),
		"DeleteSnapshot":               wire.Op(s.deleteSnapshot),
		"DeleteVolume":                 wire.Op(s.deleteVolume),
		"DescribeSnapshots":            wire.Op(s.describeSnapshots),
		"DescribeVolumeAttribute":      wire.Op(s.describeVolumeAttribute),
		"DescribeVolumeStatus":         wire.Op(s.describeVolumeStatus),
		"DescribeVolumes":              wire.Op(s.describeVolumes),
		"DescribeVolumesModifications": wire.Op(s.describeVolumesModifications),
		"DetachVolume":                 wire.Op(s.detachVolume),
		"ModifyVolume":                 wire.Op(s.modifyVolume),
	}
}

func (s *Service) createVolume(ctx context.Context, in *ec2.CreateVolumeInput) (*ec2.CreateVolumeOutput, error) {
	switch {
	case in.AvailabilityZone == nil:
		return nil, missing("AvailabilityZone")
	case in.OutpostArn != nil:
		return nil, unsupported("OutpostArn")
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeVolume)
	if err != nil {
		return nil, err
	}
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	if again, err := r.createdBefore(in, tags); again != nil || err != nil {
		return s.creating(r, again, err)
	}
	if !hasZone(r.Region, *in.AvailabilityZone) {
		return nil, wire.Errorf("InvalidZone.NotFound", "The zone '%s' does not exist.", *in.AvailabilityZone)
	}
	if err := s.useKey(ctx, in.KmsKeyId, "kms:GenerateDataKeyWithoutPlaintext"); err != nil {
		return nil, err
	}
	v, err := s.addVolume(r, newVolume{
		zone: *in.AvailabilityZone, size: in.Size, iops: in.Iops, throughput: in.Throughput, kind: in.VolumeType, encrypted: in.Encrypted,
		key: in.KmsKeyId, snapshot: in.SnapshotId, multiAttach: in.MultiAttachEnabled, tags: tags,
	})
	if err == nil && aws.ToString(in.ClientToken) != "" {
		r.created[*in.ClientToken] = creation{volume: v.id, digest: digestOfVolume(in, tags)}
	}
	return s.creating(r, v, err)
}

// creating returns the response of the creation of a volume.
func (s *Service) creating(r *region, v *volume, err error) (*ec2.CreateVolumeOutput, error) {
	if err != nil {
		return nil, err
	}
	out, err := recast[ec2.CreateVolumeOutput](s.describeVolume(r, v))
	if err != nil {
		return nil, err
	}
	out.State = types.VolumeStateCreating // EC2 responds with this state; the next request sees the volume available
	return out, nil
}

// creation is the creation of a volume.
type creation struct{ volume, digest string }

// digestOfVolume is a digest of a request, in which tags have no order: the EBS CSI driver sends them in another order when it
// repeats one.
func digestOfVolume(in *ec2.CreateVolumeInput, tags map[string]string) string {
	without := *in
	without.TagSpecifications = nil
	return digest(struct {
		Request *ec2.CreateVolumeInput
		Tags    map[string]string
	}{&without, tags})
}

// maxClientToken is the longest client token.
const maxClientToken = 64

// createdBefore returns the volume that a request with the same client token created, nil if there was none. The token of a
// volume that is deleted cannot be used again. Recorded answers of EC2:
// https://github.com/kubernetes-sigs/aws-ebs-csi-driver/issues/1038,
// https://github.com/crossplane-contrib/provider-aws/issues/1858.
func (r *region) createdBefore(in *ec2.CreateVolumeInput, tags map[string]string) (*volume, error) {
	token := aws.ToString(in.ClientToken)
	if len(token) > maxClientToken {
		return nil, invalid("Client token must be less than or equal to %d characters", maxClientToken)
	}
	before, ok := r.created[token]
	switch {
	case !ok:
		return nil, nil
	case r.volumes[before.volume] == nil:
		return nil, wire.Errorf("IdempotentParameterMismatch",
			"The client token you have provided is associated with a resource that is already deleted. Please use a different client token.")
	case before.digest != digestOfVolume(in, tags):
		return nil, wire.Errorf(
			"IdempotentParameterMismatch",
			"Arguments on this idempotent request are inconsistent with arguments used in previous request(s).",
		)
	}
	return r.volumes[before.volume], nil
}

func (s *Service) deleteVolume(ctx context.Context, in *ec2.DeleteVolumeInput) (*ec2.DeleteVolumeOutput, error) {
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	v, err := r.volume(aws.ToString(in.VolumeId))
	if err != nil {
		return nil, err
	}
	return nil, s.removeVolume(r, v)
}

func (s *Service) attachVolume(ctx context.Context, in *ec2.AttachVolumeInput) (*ec2.AttachVolumeOutput, error) {
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	v, err := r.volume(aws.ToString(in.VolumeId))
	if err != nil {
		return nil, err
	}
	i, err := r.instance(aws.ToString(in.InstanceId))
	if err != nil {
		return nil, err
	}
	if err := s.useKey(ctx, wire.Optional(v.key), "kms:CreateGrant"); err != nil {
		return nil, err
	}
	if err := s.attach(r, v, i, aws.ToString(in.Device)); err != nil {
		return nil, err
	}
	return recast[ec2.AttachVolumeOutput](v.describeAttachment())
}

// detachVolume detaches a volume.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DetachVolume.html
func (s *Service) detachVolume(ctx context.Context, in *ec2.DetachVolumeInput) (*ec2.DetachVolumeOutput, error) {
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	v, err := r.volume(aws.ToString(in.VolumeId))
	if err != nil {
		return nil, err
	}
	a := v.attachment
	switch {
	case a == nil:
		return nil, incorrectState("Volume '%s' is in the 'available' state.", v.id)
	case in.InstanceId != nil && *in.InstanceId != a.instance, in.Device != nil && *in.Device != a.device:
		return nil, wire.Errorf(
			"InvalidAttachment.NotFound",
			"Volume '%s' is not attached to '%s' as '%s'.",
			v.id,
			aws.ToString(in.InstanceId),
			aws.ToString(in.Device),
		)
	}
	i := r.instances[a.instance]
	if i != nil && a.device == i.rootDevice && i.State != types.InstanceStateNameStopped {
		return nil, wire.Errorf("OperationNotPermitted", "Unable to detach root volume '%s' from instance '%s'", v.id, i.ID)
	}
	described := v.describeAttachment()
	described.State = types.VolumeAttachmentStateDetaching
	if a.state != types.VolumeAttachmentStateDetaching {
		s.detach(r, v, i)
	}
	return recast[ec2.DetachVolumeOutput](described)
}

var volumeFields = vpc.Fields[*volume]{
	"volume-id":         func(v *volume) []string { return []string{v.id} },
	"availability-zone": func(v *volume) []string { return []string{v.zone} },
	"status":            func(v *volume) []string { return []string{string(v.state)} },
	"size":              func(v *volume) []string { return []string{strconv.Itoa(int(v.size))} },
	"volume-type":       func(v *volume) []string { return []string{string(v.kind)} },
	"encrypted":         func(v *volume) []string { return []string{strconv.FormatBool(v.encrypted)} },
	"snapshot-id":       func(v *volume) []string { return []string{v.snapshot} },
	"create-time":       func(v *volume) []string { return []string{formatTime(v.created)} },
	"attachment.instance-id": func(v *volume) []string {
		return v.ofAttachment(func(a *attachment) string { return a.instance })
	},
	"attachment.device": func(v *volume) []string {
		return v.ofAttachment(func(a *attachment) string { return a.device })
	},
	"attachment.status": func(v *volume) []string {
		return v.ofAttachment(func(a *attachment) string { return string(a.state) })
	},
	"attachment.delete-on-termination": func(v *volume) []string {
		return v.ofAttachment(func(a *attachment) string { return strconv.FormatBool(a.deleteToo) })
	},
}

func (v *volume) ofAttachment(of func(*attachment) string) []string {
	if v.attachment == nil {
		return nil
	}
	return []string{of(v.attachment)}
}

func (s *Service) describeVolumes(ctx context.Context, in *ec2.DescribeVolumesInput) (*ec2.DescribeVolumesOutput, error) {
	r := s.here(ctx)
	defer r.mu.Unlock()
	found, next, err := choose(s, r, choice[*volume]{
		items: r.volumes, ids: in.VolumeIds, missing: noVolume, filters: in.Filters, fields: volumeFields, token: in.NextToken,
		most: in.MaxResults,
	})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeVolumesOutput{Volumes: []types.Volume{}, NextToken: next}
	for _, v := range found {
		out.Volumes = append(out.Volumes, s.describeVolume(r, v))
	}
	return out, nil
}

func (s *Service) describeVolumeStatus(ctx context.Context, in *ec2.DescribeVolumeStatusInput) (*ec2.DescribeVolumeStatusOutput, error) {
	r := s.here(ctx)
	defer r.mu.Unlock()
	found, next, err := choose(s, r, choice[*volume]{
		items: r.volumes, ids: in.VolumeIds, missing: noVolume, filters: in.Filters, token: in.NextToken, most: in.MaxResults,
		fields: vpc.Fields[*volume]{"availability-zone": volumeFields["availability-zone"]},
	})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeVolumeStatusOutput{VolumeStatuses: []types.VolumeStatusItem{}, NextToken: next}
	for _, v := range found {
		out.VolumeStatuses = append(out.VolumeStatuses, types.VolumeStatusItem{
			VolumeId: &v.id, AvailabilityZone: &v.zone, VolumeStatus: &types.VolumeStatusInfo{Status: types.VolumeStatusInfoStatusOk},
		})
	}
	return out, nil
}

func (s *Service) describeVolumeAttribute(
	ctx context.Context, in *ec2.DescribeVolumeAttributeInput,
) (*ec2.DescribeVolumeAttributeOutput, error) {
	r := s.here(ctx)
	defer r.mu.Unlock()
	v, err := r.volume(aws.ToString(in.VolumeId))
	if err != nil {
		return nil, err
	}
	return &ec2.DescribeVolumeAttributeOutput{
		VolumeId: &v.id, AutoEnableIO: &types.AttributeBooleanValue{Value: aws.Bool(false)}, ProductCodes: []types.ProductCode{},
	}, nil
}

// A volume can be modified so many times in a period.
// https://aws.amazon.com/about-aws/whats-new/2026/01/amazon-ebs-up-to-four-volume-modifications/
const (
	mostModifications   = 4
	modificationsPeriod = 24 * time.Hour
)

// changeVolume changes size, type and performance. The caller holds the lock.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ModifyVolume.html
func (s *Service) changeVolume(v *volume, size *int32, kind types.VolumeType, iops, throughput *int32) error {
	changed := *v
	if size != nil {
		if *size < v.size {
			return invalid("New size cannot be smaller than existing size")
		}
		changed.size = *size
	}
	if kind != "" {
		changed.kind = kind
	}
	if changed.kind == v.kind { // parameters that are not set stay
		if l := volumeLimits[v.kind]; iops == nil && l.mostIOPS > 0 {
			iops = aws.Int32(v.iops)
		}
		if throughput == nil && v.throughput > 0 {
			throughput = aws.Int32(v.throughput)
		}
	}
	if err := changed.complete(iops, throughput); err != nil {
		return err
	}
	now := s.env.Clock.Now()
	recent := slices.DeleteFunc(slices.Clone(v.modified), func(at time.Time) bool { return now.Sub(at) >= modificationsPeriod })
	if len(recent) >= mostModifications {
		return wire.Errorf("VolumeModificationRateExceeded", "You've reached the maximum modification rate per volume limit.")
	}
	recent = append(recent, now)
	changed.modified = recent
	changed.modification = &types.VolumeModification{
		VolumeId: &v.id, ModificationState: types.VolumeModificationStateCompleted, Progress: aws.Int64(100), StartTime: &now,
		EndTime:      &now,
		OriginalSize: aws.Int32(v.size), OriginalVolumeType: v.kind, OriginalIops: aws.Int32(v.iops),
		OriginalThroughput: aws.Int32(v.throughput),
		TargetSize:         aws.Int32(changed.size), TargetVolumeType: changed.kind, TargetIops: aws.Int32(changed.iops),
		TargetThroughput: aws.Int32(changed.throughput),
	}
	*v = changed
	return nil
}

func (s *Service) modifyVolume(ctx context.Context, in *ec2.ModifyVolumeInput) (*ec2.ModifyVolumeOutput, error) {
	if aws.ToBool(in.MultiAttachEnabled) {
		return nil, unsupported("MultiAttachEnabled")
	}
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	v, err := r.volume(aws.ToString(in.VolumeId))
	if err != nil {
		return nil, err
	}
	if err := s.changeVolume(v, in.Size, in.VolumeType, in.Iops, in.Throughput); err != nil {
		return nil, err
	}
	answer := *v.modification
	return &ec2.ModifyVolumeOutput{VolumeModification: &answer}, nil
}

func (s *Service) describeVolumesModifications(
	ctx context.Context, in *ec2.DescribeVolumesModificationsInput,
) (*ec2.DescribeVolumesModificationsOutput, error) {
	r := s.here(ctx)
	defer r.mu.Unlock()
	found, next, err := choose(s, r, choice[*volume]{
		items: r.volumes, ids: in.VolumeIds, missing: noVolume, filters: in.Filters, token: in.NextToken, most: in.MaxResults,
		fields: vpc.Fields[*volume]{"volume-id": volumeFields["volume-id"]},
	})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeVolumesModificationsOutput{VolumesModifications: []types.VolumeModification{}, NextToken: next}
	for _, v := range found {
		if v.modification != nil {
			out.VolumesModifications = append(out.VolumesModifications, *v.modification)
		}
	}
	return out, nil
}
