package ec2

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// snapshot is a snapshot of a volume, with the volume's data at the time of the request.
type snapshot struct {
	id, volume, description, key string
	size                         int32
	encrypted                    bool
	started, done                time.Time
	failure                      string // why it fails, or ""
}

// snapshotting holds the test settings for snapshots.
type snapshotting struct {
	mu       sync.Mutex
	takes    time.Duration
	failures map[string]string // by volume, for its next snapshot
}

// EBS allows this many concurrent snapshots of a volume:
// https://docs.aws.amazon.com/general/latest/gr/ebs-service.html
const concurrentSnapshots = 5

// SetSnapshotTime sets how long further snapshots take. The default is no time.
func (s *Service) SetSnapshotTime(takes time.Duration) {
	s.snapshots.mu.Lock()
	defer s.snapshots.mu.Unlock()
	s.snapshots.takes = takes
}

// FailSnapshot makes the next snapshot of a volume end in the state error with a reason.
func (s *Service) FailSnapshot(volumeID, reason string) {
	s.snapshots.mu.Lock()
	defer s.snapshots.mu.Unlock()
	if s.snapshots.failures == nil {
		s.snapshots.failures = map[string]string{}
	}
	s.snapshots.failures[volumeID] = reason
}

// nextResult consumes the settings for the next snapshot of a volume.
func (s *snapshotting) nextResult(volumeID string) (takes time.Duration, failure string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	failure = s.failures[volumeID]
	delete(s.failures, volumeID)
	return s.takes, failure
}

// snapshotState returns a snapshot's current state.
func (s *Service) snapshotState(snap *snapshot) types.SnapshotState {
	switch {
	case s.env.Clock.Now().Before(snap.done):
		return types.SnapshotStatePending
	case snap.failure != "":
		return types.SnapshotStateError
	default:
		return types.SnapshotStateCompleted
	}
}

// addSnapshot starts a snapshot of a volume. It copies the data at once. The caller holds the lock.
// https://docs.aws.amazon.com/ebs/latest/userguide/ebs-creating-snapshot.html
func (s *Service) addSnapshot(r *region, v *volume, description string, tags map[string]string) (*snapshot, error) {
	pending := 0
	for _, other := range r.snapshots {
		if other.volume == v.id && s.snapshotState(other) == types.SnapshotStatePending {
			pending++
		}
	}
	if pending >= concurrentSnapshots {
		return nil, wire.Errorf("ConcurrentSnapshotLimitExceeded", "Maximum allowed in-progress snapshots for a single volume exceeded.")
	}
	snap := &snapshot{
		id: newID("snap"), volume: v.id, description: description, key: v.key, size: v.size, encrypted: v.encrypted,
		started: s.env.Clock.Now(),
	}
	var takes time.Duration
	takes, snap.failure = s.snapshots.nextResult(v.id)
	snap.done = snap.started.Add(takes)
	if err := s.options.Host.CopyVolume(v.id, snap.id); err != nil {
		return nil, wire.Errorf("InternalError", "copying %s: %v", v.id, err).WithStatus(500)
	}
	s.tags(r.Target).Register(snap.id, types.ResourceTypeSnapshot, tags)
	r.snapshots[snap.id] = snap
	return snap, nil
}

func (s *Service) describeSnapshot(r *region, snap *snapshot) types.Snapshot {
	d := types.Snapshot{
		SnapshotId: &snap.id, VolumeId: &snap.volume, VolumeSize: aws.Int32(snap.size), Description: aws.String(snap.description),
		Encrypted: aws.Bool(snap.encrypted), KmsKeyId: wire.Optional(snap.key), StartTime: &snap.started,
		State: s.snapshotState(
			snap,
		), Progress: aws.String(s.progress(snap)), OwnerId: aws.String(r.Account), StorageTier: types.StorageTierStandard,
		Tags: s.tags(r.Target).List(snap.id),
	}
	switch d.State {
	case types.SnapshotStateCompleted:
		d.CompletionTime = &snap.done
	case types.SnapshotStateError:
		d.StateMessage = &snap.failure
	case types.SnapshotStatePending, types.SnapshotStateRecoverable, types.SnapshotStateRecovering:
	}
	return d
}

// progress returns the progress of a snapshot, from the time that it takes.
func (s *Service) progress(snap *snapshot) string {
	const whole = 100
	done := whole
	if left := snap.done.Sub(s.env.Clock.Now()); left > 0 {
		done = whole - int(whole*left/snap.done.Sub(snap.started))
	}
	return strconv.Itoa(done) + "%"
}

func (s *Service) removeSnapshot(r *region, snap *snapshot) {
	delete(r.snapshots, snap.id)
	s.tags(r.Target).Forget(snap.id)
	host := s.options.Host
	s.runner.add(&line{}, func() { host.DeleteVolume(snap.id) })
}

func (s *Service) createSnapshot(ctx context.Context, in *ec2.CreateSnapshotInput) (*ec2.CreateSnapshotOutput, error) {
	switch {
	case in.VolumeId == nil:
		return nil, missing("volumeId")
	case in.OutpostArn != nil:
		return nil, unsupported("OutpostArn")
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeSnapshot)
	if err != nil {
		return nil, err
	}
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	v, err := r.volume(*in.VolumeId)
	if err != nil {
		return nil, err
	}
	snap, err := s.addSnapshot(r, v, aws.ToString(in.Description), tags)
	if err != nil {
		return nil, err
	}
	out, err := recast[ec2.CreateSnapshotOutput](s.describeSnapshot(r, snap))
	if err != nil {
		return nil, err
	}
	out.State, out.Progress, out.CompletionTime, out.StateMessage = types.SnapshotStatePending, aws.String(""), nil, nil // as in EC2
	return out, nil
}

// snapshot returns a snapshot. The caller holds the lock.
func (r *region) snapshot(id string) (*snapshot, error) {
	if err := checkID("InvalidSnapshotID", "snap-", id); err != nil {
		return nil, err
	}
	snap, ok := r.snapshots[id]
	if !ok {
		return nil, noSnapshot(id)
	}
	return snap, nil
}

// deleteSnapshot deletes a snapshot in any state, unless an image uses it.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteSnapshot.html
func (s *Service) deleteSnapshot(ctx context.Context, in *ec2.DeleteSnapshotInput) (*ec2.DeleteSnapshotOutput, error) {
	if in.SnapshotId == nil {
		return nil, missing("snapshotId")
	}
	if err := dry(in.DryRun); err != nil {
		return nil, err
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	snap, err := r.snapshot(*in.SnapshotId)
	if err != nil {
		return nil, err
	}
	if image := r.imageOn(snap.id); image != "" {
		return nil, wire.Errorf("InvalidSnapshot.InUse", "The snapshot %s is currently in use by %s", snap.id, image)
	}
	s.removeSnapshot(r, snap)
	return nil, nil
}

// snapshotFields are the filters of snapshots besides tags:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeSnapshots.html
func (s *Service) snapshotFields(r *region) vpc.Fields[*snapshot] {
	return vpc.Fields[*snapshot]{
		"snapshot-id":  func(n *snapshot) []string { return []string{n.id} },
		"volume-id":    func(n *snapshot) []string { return []string{n.volume} },
		"owner-id":     func(*snapshot) []string { return []string{r.Account} },
		"status":       func(n *snapshot) []string { return []string{string(s.snapshotState(n))} },
		"progress":     func(n *snapshot) []string { return []string{s.progress(n)} },
		"storage-tier": func(*snapshot) []string { return []string{string(types.StorageTierStandard)} },
		"description":  func(n *snapshot) []string { return []string{n.description} },
		"encrypted":    func(n *snapshot) []string { return []string{strconv.FormatBool(n.encrypted)} },
		"volume-size":  func(n *snapshot) []string { return []string{strconv.Itoa(int(n.size))} },
		"start-time":   func(n *snapshot) []string { return []string{formatTime(n.started)} },
	}
}

// describeSnapshots describes the caller's snapshots. Snapshots of public images are not stored.
func (s *Service) describeSnapshots(ctx context.Context, in *ec2.DescribeSnapshotsInput) (*ec2.DescribeSnapshotsOutput, error) {
	r := s.here(ctx)
	defer r.mu.Unlock()
	found, next, err := choose(s, r, choice[*snapshot]{
		items: r.snapshots, ids: in.SnapshotIds, missing: noSnapshot, filters: in.Filters, token: in.NextToken, most: in.MaxResults,
		fields: s.snapshotFields(r),
	})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeSnapshotsOutput{Snapshots: []types.Snapshot{}, NextToken: next}
	for _, snap := range found {
		if ownedBy(in.OwnerIds, r.Account) {
			out.Snapshots = append(out.Snapshots, s.describeSnapshot(r, snap))
		}
	}
	return out, nil
}

// ownedBy reports whether an account is among the owners, or no owners are given.
func ownedBy(owners []string, account string) bool {
	return len(owners) == 0 || slices.Contains(owners, account) || slices.Contains(owners, "self")
}
