package ec2

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// imageOperations are the operations on the images of an account.
func (s *Service) imageOperations() map[string]wire.Operation {
	return map[string]wire.Operation{
		"CreateImage":     wire.Op(s.createImage),
		"DeregisterImage": wire.Op(s.deregisterImage),
	}
}

// imageName is the form of an image's name:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateImage.html
var imageName = lazyregexp.New(`^[A-Za-z0-9()\[\] ./'@_-]{3,128}$`)

// createImage creates an image of an instance, which is pending until the snapshots of its volumes are
// complete. It reboots a running instance unless NoReboot is set.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateImage.html
func (s *Service) createImage(ctx context.Context, in *ec2.CreateImageInput) (*ec2.CreateImageOutput, error) {
	name := aws.ToString(in.Name)
	switch {
	case in.InstanceId == nil:
		return nil, missing("instanceId")
	case name == "":
		return nil, missing("name")
	case !imageName.MatchString(name):
		return nil, wire.Errorf("InvalidAMIName.Malformed",
			"AMI names must be between 3 and 128 characters long, and may contain letters, numbers, '(', ')', '.', '-', '/' and '_'")
	case len(in.BlockDeviceMappings) > 0:
		return nil, unsupported("BlockDeviceMappings")
	case in.SnapshotLocation != "":
		return nil, unsupported("SnapshotLocation")
	}
	tags, err := vpc.TagsFor(in.TagSpecifications, types.ResourceTypeImage, types.ResourceTypeSnapshot)
	if err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	i, err := r.instance(*in.InstanceId)
	if err != nil {
		return nil, err
	}
	if i.State != running && i.State != stopping && i.State != stopped {
		return nil, wire.Errorf(
			"IncorrectInstanceState", "The instance '%s' is not in a state from which an image can be created: it is '%s'.", i.ID, i.State,
		)
	}
	for _, other := range r.images {
		if *other.Name == name {
			return nil, wire.Errorf("InvalidAMIName.Duplicate", "AMI name %s is already in use by AMI %s", name, *other.ImageId)
		}
	}
	if len(tags[types.ResourceTypeSnapshot]) > 0 {
		if err := s.mayTag(ctx, types.ResourceTypeSnapshot, tags[types.ResourceTypeSnapshot], "CreateImage"); err != nil {
			return nil, err
		}
	}
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	id := newID("ami")
	image := types.Image{
		ImageId: &id, Name: &name, Description: in.Description, OwnerId: aws.String(r.Account),
		ImageLocation: aws.String(r.Account + "/" + name), CreationDate: aws.String(formatTime(s.env.Clock.Now())),
		SourceInstanceId: &i.ID, SourceImageId: &i.ImageID, SourceImageRegion: aws.String(r.Region),
		Architecture: i.kind.architecture(), BootMode: types.BootModeValuesUefiPreferred, RootDeviceName: &i.rootDevice,
	}
	if source, err := s.imageOf(r, i.ImageID); err == nil {
		image.BootMode = source.BootMode
	}
	for _, v := range r.attached(i.ID) {
		snap, err := s.addSnapshot(r, v, "Created by CreateImage("+i.ID+") for "+id, tags[types.ResourceTypeSnapshot])
		if err != nil {
			return nil, err
		}
		image.BlockDeviceMappings = append(image.BlockDeviceMappings, types.BlockDeviceMapping{
			DeviceName: &v.attachment.device, Ebs: &types.EbsBlockDevice{
				SnapshotId: &snap.id, VolumeSize: aws.Int32(v.size), VolumeType: v.kind, Encrypted: aws.Bool(v.encrypted),
				DeleteOnTermination: aws.Bool(v.attachment.deleteToo),
			},
		})
	}
	completeImage(&image)
	image.Public = aws.Bool(false)
	s.tags(r.Target).Register(id, types.ResourceTypeImage, tags[types.ResourceTypeImage])
	r.images[id] = &image
	if i.State == running && !aws.ToBool(in.NoReboot) {
		s.reboot(r, i)
	}
	return &ec2.CreateImageOutput{ImageId: &id}, nil
}

// describeImage returns one of the account's images in its current state, which follows from its
// snapshots. The caller holds the lock.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Image.html
func (s *Service) describeImage(r *region, image *types.Image) *types.Image {
	d := *image
	d.Tags = s.tags(r.Target).List(*d.ImageId)
	for _, m := range d.BlockDeviceMappings {
		snap := r.snapshots[aws.ToString(m.Ebs.SnapshotId)]
		if snap == nil {
			continue
		}
		switch s.snapshotState(snap) {
		case types.SnapshotStatePending:
			if d.State != types.ImageStateFailed {
				d.State = types.ImageStatePending
			}
		case types.SnapshotStateError:
			d.State = types.ImageStateFailed
			d.StateReason = &types.StateReason{Code: aws.String("Client.InternalError"), Message: &snap.failure}
		case types.SnapshotStateCompleted, types.SnapshotStateRecoverable, types.SnapshotStateRecovering:
		}
	}
	return &d
}

// image returns an image that the account may use: its own, or a public one. The caller holds the
// lock.
func (s *Service) image(r *region, id string) (*types.Image, error) {
	if own, ok := r.images[id]; ok {
		return s.describeImage(r, own), nil
	}
	if _, was := r.deregistered[id]; was {
		return nil, wire.Errorf("InvalidAMIID.Unavailable", "The image ID '%s' is no longer available", id)
	}
	return s.images.find(r.Region, id)
}

// deregisterImage removes an image. Its snapshots stay, unless the request deletes them, too.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeregisterImage.html
func (s *Service) deregisterImage(ctx context.Context, in *ec2.DeregisterImageInput) (*ec2.DeregisterImageOutput, error) {
	if in.ImageId == nil {
		return nil, missing("imageId")
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	id := *in.ImageId
	if _, err := s.image(r, id); err != nil {
		return nil, err
	}
	own, ok := r.images[id]
	if !ok {
		return nil, wire.Errorf("AuthFailure", "Not authorized for image:%s", id)
	}
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	delete(r.images, id)
	r.deregistered[id] = s.env.Clock.Now()
	s.tags(r.Target).Forget(id)
	out := &ec2.DeregisterImageOutput{Return: aws.Bool(true), DeleteSnapshotResults: []types.DeleteSnapshotReturnCode{}}
	if !aws.ToBool(in.DeleteAssociatedSnapshots) {
		return out, nil
	}
	for _, m := range own.BlockDeviceMappings {
		if snap := r.snapshots[aws.ToString(m.Ebs.SnapshotId)]; snap != nil {
			result := types.DeleteSnapshotReturnCode{SnapshotId: &snap.id, ReturnCode: s.deleteWithImage(ctx, r, snap)}
			out.DeleteSnapshotResults = append(out.DeleteSnapshotResults, result)
		}
	}
	return out, nil
}

// deleteWithImage deletes a snapshot of a deregistered image, if the caller may and no other image uses
// it.
func (s *Service) deleteWithImage(ctx context.Context, r *region, snap *snapshot) types.SnapshotReturnCodes {
	of := access.Resource{
		ARN: vpc.ResourceARN(s.partition(), r.Target, snap.id), Account: r.Account, Tags: s.tags(r.Target).Of(snap.id),
	}
	switch {
	case r.imageOn(snap.id) != "":
		return types.SnapshotReturnCodesWarnSkipped
	case wire.Authorize(ctx, "ec2:DeleteSnapshot", of, nil) != nil:
		return types.SnapshotReturnCodesErrorMissingPermissions
	}
	s.removeSnapshot(r, snap)
	return types.SnapshotReturnCodesSuccess
}

// imageOn returns the ID of an image that uses a snapshot, "" if none does.
func (r *region) imageOn(snapshotID string) string {
	for id, image := range r.images {
		if ofImage(image, &snapshotID) {
			return id
		}
	}
	return ""
}

// deregisteredRetention is how long EC2 answers that an image was deregistered, and not that it never
// existed. AWS documents no time.
const deregisteredRetention = time.Hour

func (r *region) forgetDeregistered(now time.Time) {
	for id, at := range r.deregistered {
		if now.Sub(at) >= deregisteredRetention {
			delete(r.deregistered, id)
		}
	}
}

// ownImages returns the account's images as they are now, ordered by ID. The caller holds the lock.
func (s *Service) ownImages(r *region) []*types.Image {
	list := make([]*types.Image, 0, len(r.images))
	for _, image := range r.images {
		list = append(list, s.describeImage(r, image))
	}
	slices.SortFunc(list, byImageID)
	return list
}
