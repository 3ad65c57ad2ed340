package ec2

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// volume is an EBS volume.
type volume struct {
	id, zone         string
	size, iops       int32
	throughput       int32
	kind             types.VolumeType
	encrypted        bool
	key, snapshot    string
	state            types.VolumeState
	created          time.Time
	multiAttach      bool
	attachment       *attachment
	modification     *types.VolumeModification
	modified         []time.Time // when it was modified in the last 24 hours
	initializingRate int32
}

// attachment is the attachment of a volume to an instance.
type attachment struct {
	instance, device string
	state            types.VolumeAttachmentState
	at               time.Time
	deleteToo        bool // delete the volume with the instance
}

// newVolume holds the parameters of a new volume.
type newVolume struct {
	zone             string
	size, iops       *int32
	throughput       *int32
	kind             types.VolumeType
	encrypted        *bool
	key, snapshot    *string
	multiAttach      *bool
	initializingRate *int32
	tags             map[string]string
	// image says that the snapshot belongs to a public image and is not stored.
	image bool
}

// limits are the limits of a volume type in GiB, IOPS and MiB/s. Zero IOPS means that they cannot
// be set.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateVolume.html
type limits struct {
	least, most                  int32
	leastIOPS, mostIOPS, iops    int32
	leastThrough, mostThroughput int32
}

var volumeLimits = map[types.VolumeType]limits{
	types.VolumeTypeGp2: {least: 1, most: 16384},
	types.VolumeTypeGp3: {
		least:          1,
		most:           65536,
		leastIOPS:      3000,
		mostIOPS:       80000,
		iops:           3000,
		leastThrough:   125,
		mostThroughput: 2000,
	},
	types.VolumeTypeIo1:      {least: 4, most: 16384, leastIOPS: 100, mostIOPS: 64000},
	types.VolumeTypeIo2:      {least: 4, most: 65536, leastIOPS: 100, mostIOPS: 256000},
	types.VolumeTypeSt1:      {least: 125, most: 16384},
	types.VolumeTypeSc1:      {least: 125, most: 16384},
	types.VolumeTypeStandard: {least: 1, most: 1024},
}

// complete sets the defaults of size, IOPS and throughput and checks them against the limits.
func (v *volume) complete(iops, throughput *int32) error {
	l, ok := volumeLimits[v.kind]
	switch {
	case !ok:
		return wire.Errorf("UnknownVolumeType", "Unsupported volume type '%s' for volume creation.", v.kind)
	case v.size == 0:
		return wire.Errorf("MissingParameter", "The request must contain the parameter size/snapshotId")
	case v.size < l.least:
		return invalid("Volume of %dGiB is too small for volume type %s; minimum is %dGiB.", v.size, v.kind, l.least)
	case v.size > l.most:
		return invalid("Volume of %dGiB is too large for volume type %s; maximum is %dGiB.", v.size, v.kind, l.most)
	case iops != nil && l.mostIOPS == 0:
		return wire.Errorf("InvalidParameterCombination", "The parameter iops is not supported for %s volumes.", v.kind)
	case iops == nil && l.mostIOPS > 0 && l.iops == 0:
		return wire.Errorf("MissingParameter", "The request must contain the parameter iops")
	case throughput != nil && l.mostThroughput == 0:
		return wire.Errorf("InvalidParameterCombination", "The parameter throughput is not supported for %s volumes.", v.kind)
	}
	v.iops, v.throughput = l.iops, l.leastThrough
	if iops != nil {
		v.iops = *iops
		if v.iops < l.leastIOPS || v.iops > l.mostIOPS {
			return invalid("Volume iops of %d is not in the range of %d to %d for volume type %s.", v.iops, l.leastIOPS, l.mostIOPS, v.kind)
		}
	}
	if throughput != nil {
		v.throughput = *throughput
		if v.throughput < l.leastThrough || v.throughput > l.mostThroughput {
			return invalid(
				"Volume throughput of %d is not in the range of %d to %d MiB/s for volume type %s.",
				v.throughput,
				l.leastThrough,
				l.mostThroughput,
				v.kind,
			)
		}
	}
	if v.kind == types.VolumeTypeGp2 { // three per GiB, within bounds
		v.iops = min(max(3*v.size, 100), 16000)
	}
	return nil
}

// addVolume creates a volume. The caller holds the lock.
func (s *Service) addVolume(r *region, n newVolume) (*volume, error) {
	v := &volume{
		id: newID("vol"), zone: n.zone, size: aws.ToInt32(n.size), kind: cmp.Or(n.kind, types.VolumeTypeGp2),
		encrypted: aws.ToBool(n.encrypted),
		state:     types.VolumeStateAvailable, created: s.env.Clock.Now(), multiAttach: aws.ToBool(n.multiAttach),
		snapshot: aws.ToString(n.snapshot), initializingRate: aws.ToInt32(n.initializingRate),
	}
	if v.multiAttach {
		return nil, unsupported("MultiAttachEnabled")
	}
	from := ""
	if v.snapshot != "" && !n.image {
		snap, ok := r.snapshots[v.snapshot]
		if !ok {
			return nil, noSnapshot(v.snapshot)
		}
		if state := s.snapshotState(snap); state != types.SnapshotStateCompleted {
			return nil, incorrectState("Snapshot %s is in the '%s' state.", snap.id, state)
		}
		v.size = cmp.Or(v.size, snap.size)
		if v.size < snap.size {
			return nil, invalid("The size of a volume (%d GiB) cannot be smaller than its snapshot's (%d GiB).", v.size, snap.size)
		}
		v.encrypted = v.encrypted || snap.encrypted
		v.key, from = snap.key, snap.id
	}
	if err := v.complete(n.iops, n.throughput); err != nil {
		return nil, err
	}
	if err := s.encrypt(r, v, n.key); err != nil {
		return nil, err
	}
	if from != "" {
		if err := s.options.Host.CopyVolume(from, v.id); err != nil {
			return nil, wire.Errorf("InternalError", "restoring %s: %v", from, err).WithStatus(500)
		}
	}
	s.tags(r.Target).Register(v.id, types.ResourceTypeVolume, n.tags)
	r.volumes[v.id] = v
	return v, nil
}

// invalidKey is the error code for a key that cannot be used; keyState is the error detail that
// says that the key exists.
const invalidKey, keyState = "InvalidKmsKeyId", "KeyState"

// encrypt sets the key of an encrypted volume.
// https://docs.aws.amazon.com/ebs/latest/userguide/ebs-encryption.html
func (s *Service) encrypt(r *region, v *volume, key *string) error {
	if !v.encrypted {
		if key != nil {
			return wire.Errorf("InvalidParameterDependency", "The parameter KmsKeyId requires the parameter Encrypted to be set.")
		}
		return nil
	}
	if key == nil && v.key != "" {
		return nil
	}
	id := aws.ToString(key)
	if id == "" {
		id = "alias/aws/ebs"
	}
	if s.options.Ciphers == nil {
		v.key = id
		return nil
	}
	arn, err := s.options.Ciphers.KeyARN(r.Account, r.Region, id)
	if err != nil {
		// EC2 creates the volume and loses it soon afterwards; an error states the reason.
		refusal := wire.Errorf(invalidKey, "The specified KMS key %s cannot be used: %v", id, err)
		if e, ok := errors.AsType[*wire.Error](err); ok && e.Code != "NotFoundException" {
			refusal.Detail = map[string]string{keyState: e.Code}
		}
		return refusal
	}
	v.key = arn
	return nil
}

// volume returns a volume. The caller holds the lock.
func (r *region) volume(id string) (*volume, error) {
	if err := checkID("InvalidVolumeID", "vol-", id); err != nil {
		return nil, err
	}
	v, ok := r.volumes[id]
	if !ok {
		return nil, noVolume(id)
	}
	return v, nil
}

// removeVolume deletes a detached volume. The caller holds the lock.
func (s *Service) removeVolume(r *region, v *volume) error {
	if v.attachment != nil {
		return wire.Errorf("VolumeInUse", "Volume %s is currently attached to %s", v.id, v.attachment.instance)
	}
	s.forgetVolume(r, v)
	return nil
}

func (s *Service) forgetVolume(r *region, v *volume) {
	delete(r.volumes, v.id)
	s.tags(r.Target).Forget(v.id)
	host := s.options.Host
	s.runner.add(&line{}, func() { host.DeleteVolume(v.id) })
}

// attach attaches a volume. The caller holds the lock.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_AttachVolume.html
func (s *Service) attach(r *region, v *volume, i *instance, device string) error {
	switch {
	case v.attachment != nil:
		return wire.Errorf("VolumeInUse", "%s is already attached to an instance", v.id)
	case v.state != types.VolumeStateAvailable:
		return incorrectState("Volume '%s' is in the '%s' state.", v.id, v.state)
	case i.State != types.InstanceStateNameRunning && i.State != types.InstanceStateNameStopped:
		return incorrectState("Instance '%s' is not 'running'.", i.ID)
	case v.zone != i.Zone:
		return wire.Errorf(
			"InvalidVolume.ZoneMismatch", "The volume '%s' is not in the same availability zone as instance '%s'", v.id, i.ID,
		)
	case device == "":
		return missing("device")
	}
	attached := r.attached(i.ID)
	if err := i.kind.room(len(attached) + len(i.cards) + 1); err != nil {
		return err
	}
	for _, other := range attached {
		if other.attachment.device == device {
			return invalid("Invalid value '%s' for unixDevice. Attachment point %s is already in use", device, device)
		}
	}
	r.plugIn(v, &attachment{instance: i.ID, device: device, at: s.env.Clock.Now(), state: types.VolumeAttachmentStateAttaching})
	if i.State == types.InstanceStateNameStopped {
		v.attachment.state = types.VolumeAttachmentStateAttached
		return nil
	}
	s.runner.add(&i.work, func() { s.plug(r, v, i) })
	return nil
}

// plug attaches a volume's device to a machine.
func (s *Service) plug(r *region, v *volume, i *instance) {
	r.mu.Lock()
	a := v.attachment
	if a == nil || a.instance != i.ID || a.state != types.VolumeAttachmentStateAttaching {
		r.mu.Unlock()
		return
	}
	r.mu.Unlock()
	err := s.options.Host.Attach(i.ID, v.id, a.device)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case v.attachment != a:
	case err != nil:
		r.unplug(v)
	default:
		a.state = types.VolumeAttachmentStateAttached
	}
}

// plugIn records the attachment of a volume. The caller holds the lock.
func (r *region) plugIn(v *volume, a *attachment) {
	v.attachment, v.state = a, types.VolumeStateInUse
	if r.plugged[a.instance] == nil {
		r.plugged[a.instance] = map[*volume]struct{}{}
	}
	r.plugged[a.instance][v] = struct{}{}
}

// unplug records that a volume is detached. The caller holds the lock.
func (r *region) unplug(v *volume) {
	if v.attachment == nil {
		return
	}
	on := r.plugged[v.attachment.instance]
	delete(on, v)
	if len(on) == 0 {
		delete(r.plugged, v.attachment.instance)
	}
	v.attachment, v.state = nil, types.VolumeStateAvailable
}

// detach detaches a volume. The caller holds the lock.
func (s *Service) detach(r *region, v *volume, i *instance) {
	a := v.attachment
	a.state = types.VolumeAttachmentStateDetaching
	if i == nil || i.State != types.InstanceStateNameRunning {
		r.unplug(v)
		return
	}
	s.runner.add(&i.work, func() {
		s.options.Host.Detach(i.ID, v.id)
		r.mu.Lock()
		defer r.mu.Unlock()
		if v.attachment == a {
			r.unplug(v)
		}
	})
}

// attached returns the volumes of an instance, in order of their devices.
func (r *region) attached(instanceID string) []*volume {
	list := slices.Collect(maps.Keys(r.plugged[instanceID]))
	slices.SortFunc(list, func(a, b *volume) int { return cmp.Compare(a.attachment.device, b.attachment.device) })
	return list
}

func (v *volume) describeAttachment() types.VolumeAttachment {
	a := v.attachment
	return types.VolumeAttachment{
		VolumeId: &v.id, InstanceId: &a.instance, Device: &a.device, State: a.state, AttachTime: &a.at,
		DeleteOnTermination: aws.Bool(a.deleteToo),
	}
}

func (s *Service) describeVolume(r *region, v *volume) types.Volume {
	d := types.Volume{
		VolumeId: &v.id, AvailabilityZone: &v.zone, Size: aws.Int32(v.size), VolumeType: v.kind, Encrypted: aws.Bool(v.encrypted),
		KmsKeyId: wire.Optional(v.key), SnapshotId: aws.String(v.snapshot), State: v.state, CreateTime: &v.created,
		MultiAttachEnabled: aws.Bool(
			v.multiAttach,
		), Tags: s.tags(r.Target).List(v.id), Attachments: []types.VolumeAttachment{}, OwnerId: aws.String(r.Account),
	}
	if v.iops > 0 {
		d.Iops = aws.Int32(v.iops)
	}
	if v.throughput > 0 {
		d.Throughput = aws.Int32(v.throughput)
	}
	if v.attachment != nil {
		d.Attachments = append(d.Attachments, v.describeAttachment())
	}
	return d
}
