package etcdvolumes

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/cache"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/repair"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// Options configure [Volumes]. All are required.
type Options struct {
	// EC2 returns the client of a Cluster's account and region.
	EC2      func(*v1alpha1.Cluster) awsapi.EC2
	Clock    clock.PassiveClock
	Recorder events.EventRecorder
	// Operator is the operator's name in tags.
	Operator string
	// Confirm ensures that the outputs in the Cluster's status, which name the volumes, are its
	// own.
	Confirm func(context.Context, *v1alpha1.Cluster) error
}

// Volumes observes the etcd volumes of Clusters. It caches which were missing at the last request
// to EC2.
type Volumes struct {
	options Options
	seen    *cache.Keyed[types.UID, volumesSeen]
}

// New returns volumes that are not observed yet.
func New(options Options) *Volumes {
	return &Volumes{options: options, seen: cache.NewKeyed[types.UID, volumesSeen]()}
}

// Forget drops what is cached for a deleted Cluster.
func (v *Volumes) Forget(uid types.UID) { v.seen.Drop(uid) }

// Missing returns the slots whose etcd volumes no longer exist or have permanently failed.
// https://docs.aws.amazon.com/ebs/latest/userguide/ebs-describing-volumes.html#volume-state
func (v *Volumes) Missing(ctx context.Context, cluster *v1alpha1.Cluster) ([]int, error) {
	ids := map[string]int{}
	for slot := range int(cluster.Spec.ControlPlane.Slots()) {
		if id := cluster.Status.Outputs[model.OutputEtcdVolume(slot)]; id != "" {
			ids[id] = slot
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	if err := v.options.Confirm(ctx, cluster); err != nil { // Never act on volumes that only the status names.
		return nil, err
	}
	in := &ec2.DescribeVolumesInput{Filters: []ec2types.Filter{{Name: aws.String("volume-id")}}} // The filter omits volumes that do not exist.
	for id := range ids {
		in.Filters[0].Values = append(in.Filters[0].Values, id)
	}
	slices.Sort(in.Filters[0].Values)
	out, err := v.options.EC2(cluster).DescribeVolumes(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("describe etcd's volumes: %w", err)
	}
	for i := range out.Volumes {
		switch out.Volumes[i].State {
		case ec2types.VolumeStateDeleting, ec2types.VolumeStateDeleted, ec2types.VolumeStateError:
		default:
			delete(ids, aws.ToString(out.Volumes[i].VolumeId))
		}
	}
	missing := make([]int, 0, len(ids))
	for _, slot := range ids {
		missing = append(missing, slot)
	}
	slices.Sort(missing)
	return missing, nil
}

// Replace makes the base stack create another volume for a slot that lost its own. All other slots
// must be healthy. It returns why that is not possible, "" if it is.
func (v *Volumes) Replace(cluster *v1alpha1.Cluster, resolved *model.Cluster, slot int) (problem string) {
	lost := cluster.Status.Outputs[model.OutputEtcdVolume(slot)]
	switch {
	case len(resolved.Slots) == 1:
		return fmt.Sprintf("The etcd volume %s of the only slot is lost. %s", lost, restoreRemedy(cluster))
	case !resolved.Features.RejoinEtcd:
		return fmt.Sprintf("The etcd volume %s of slot %d is lost, and slots of resource set %s cannot join etcd with a blank one. %s",
			lost, slot, resolved.ResourceSet, restoreRemedy(cluster))
	}
	volume := model.EtcdVolumeOf(cluster.Status.Etcd, cluster.Spec.ControlPlane.RestoreSnapshot, slot)
	if volume.Lost == lost { // The outputs still name it: the base stack is being updated.
		return ""
	}
	volume.Generation++
	volume.Lost = lost
	// The second volume of a slot that moves takes the place of the first.
	volume.Zone, volume.MovesTo = volume.MovesTo, ""
	model.SetEtcdVolume(cluster, volume)
	// The instance that waits for the volume gets as much time as a new one.
	repair.CountSlot(cluster, slot, repair.TimeOf(&v1alpha1.Repair{After: cluster.Spec.ControlPlane.Repair.After}), v.options.Clock.Now())
	v.options.Recorder.Eventf(cluster, nil, corev1.EventTypeWarning, repair.ReasonVolumeLost, "Repair", "%s", fmt.Sprintf(
		"The etcd volume %s of slot %d is lost. The base stack creates a blank one, with which the slot rejoins etcd.", lost, slot))
	return ""
}

// Lost returns the logical IDs in the base stack of volumes that EC2 reports lost, so that the
// change that replaces them may remove them. It returns none after that change.
func (v *Volumes) Lost(ctx context.Context, cluster *v1alpha1.Cluster, resolved *model.Cluster) ([]string, error) {
	if cluster.Status.Etcd == nil {
		return nil, nil
	}
	replaced := map[int]int32{} // generations by slot
	for _, volume := range cluster.Status.Etcd.Volumes {
		if volume.Generation > 0 && volume.Lost != "" && volume.Lost == cluster.Status.Outputs[model.OutputEtcdVolume(int(volume.Slot))] &&
			volume.Snapshot == resolved.Spec.ControlPlane.RestoreSnapshot {
			replaced[int(volume.Slot)] = volume.Generation
		}
	}
	if len(replaced) == 0 {
		return nil, nil
	}
	missing, err := v.Missing(ctx, cluster)
	if err != nil {
		return nil, err
	}
	var lost []string
	for _, slot := range missing {
		if generation := replaced[slot]; generation > 0 {
			lost = append(lost, model.EtcdVolumeID(slot, resolved.Spec.ControlPlane.RestoreSnapshot, generation-1))
		}
	}
	return lost, nil
}

// restoreRemedy explains how to restore a cluster that lost its etcd.
func restoreRemedy(cluster *v1alpha1.Cluster) string {
	snapshot := "one of status.backup.backups"
	if backup := cluster.Status.Backup; backup != nil {
		for _, one := range backup.Backups {
			if one.State == string(ec2types.SnapshotStateCompleted) {
				snapshot = fmt.Sprintf("%s, the newest, of %s", one.Snapshot, one.Time.UTC().Format(time.RFC3339))
				break
			}
		}
	}
	return fmt.Sprintf("Restore the control plane: set spec.controlPlane.restoreSnapshot to a snapshot (%s).", snapshot)
}

// LostMajority returns why the API cannot recover if a majority of etcd's volumes is lost, else "".
// It limits how often it asks EC2.
func (v *Volumes) LostMajority(ctx context.Context, cluster *v1alpha1.Cluster) string {
	now, slots := v.options.Clock.Now(), int(cluster.Spec.ControlPlane.Slots())
	last, ok := v.seen.Get(cluster.UID)
	if !ok || now.Sub(last.asked) >= missingPoll {
		missing, err := v.Missing(ctx, cluster)
		if err != nil {
			return ""
		}
		last = volumesSeen{asked: now, missing: missing}
		v.seen.Keep(cluster.UID, last)
	}
	if len(last.missing) <= (slots-1)/2 {
		return ""
	}
	numbers := make([]string, len(last.missing))
	for i, slot := range last.missing {
		numbers[i] = strconv.Itoa(slot)
	}
	return fmt.Sprintf(
		"The etcd volumes of %d of %d slots are lost (slot %s), so etcd has no quorum. The remaining volumes are unchanged. %s",
		len(last.missing),
		slots,
		strings.Join(numbers, ", "),
		restoreRemedy(cluster),
	)
}

// volumesSeen holds which slots' volumes were missing at the last request to EC2.
type volumesSeen struct {
	asked   time.Time
	missing []int
}

// missingPoll is how long the operator relies on AWS's last report of volumes.
const missingPoll = 2 * time.Minute
