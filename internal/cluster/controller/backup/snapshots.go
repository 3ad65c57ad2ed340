package backup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	// Tag is on every backup. Its value is the reason for the backup: the interval, or a
	// change by name.
	Tag              = v1alpha1.Group + "/backup"
	backupByInterval = "interval"
	backupForChange  = "before-"
	// changeSoon is the maximum age of a snapshot that is reused for a change.
	changeSoon = time.Hour
)

// made is a snapshot that was just created.
type made struct {
	backup  v1alpha1.Backup
	purpose string
}

// listed is a backup as EC2 reports it.
type listed struct {
	v1alpha1.Backup

	purpose string
}

// backups returns the cluster's backups, newest first. It reports and deletes those that failed.
func (b *Backups) backups(ctx context.Context, cluster *v1alpha1.Cluster) ([]v1alpha1.Backup, error) {
	found, err := b.listBackups(ctx, cluster)
	if err != nil {
		return nil, err
	}
	backups := make([]v1alpha1.Backup, len(found))
	for i := range found {
		backups[i] = found[i].Backup
	}
	return backups, nil
}

// listBackups asks EC2 for the snapshots with the cluster's tags. The tags prevent a second backup
// when the operator restarts just after it started the first, because CreateSnapshot has no client
// token (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSnapshot.html).
func (b *Backups) listBackups(ctx context.Context, cluster *v1alpha1.Cluster) ([]listed, error) {
	api := b.options.EC2(cluster)
	filter := func(name, value string) ec2types.Filter { return ec2types.Filter{Name: &name, Values: []string{value}} }
	pages := ec2.NewDescribeSnapshotsPaginator(api, &ec2.DescribeSnapshotsInput{
		OwnerIds: []string{"self"}, MaxResults: aws.Int32(1000), //nolint:mnd // nolint:mnd // the maximum page size
		Filters: []ec2types.Filter{
			filter("tag:"+model.TagOwnedPrefix+cluster.Name, model.TagOwned), filter("tag:"+model.TagNamespace, cluster.Namespace),
			filter("tag:"+model.TagOperator, string(b.options.Owner)), filter("tag-key", Tag),
		},
	})
	var found []listed
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the backups: %w", err)
		}
		for i := range page.Snapshots {
			one := describe(&page.Snapshots[i])
			if one.State != string(ec2types.SnapshotStateError) {
				found = append(found, one)
				continue
			}
			b.backupFailed(cluster, fmt.Sprintf("The backup %s of slot %d failed and will be retried: %s.", one.Snapshot, one.Slot,
				cmp.Or(aws.ToString(page.Snapshots[i].StateMessage), "EC2 reports no reason")))
			if _, err := api.DeleteSnapshot(ctx, &ec2.DeleteSnapshotInput{SnapshotId: &one.Snapshot}); err != nil &&
				awsapi.Code(err) != SnapshotGone {
				return nil, fmt.Errorf("delete the backup %s, which failed: %w", one.Snapshot, err)
			}
			b.made.Drop(cluster.UID)
		}
	}
	found = b.withMade(cluster, found)
	slices.SortFunc(found, func(a, b listed) int {
		return cmp.Or(b.Time.Compare(a.Time.Time), cmp.Compare(a.Snapshot, b.Snapshot))
	})
	return found, nil
}

// withMade adds the snapshot that was just created if EC2 does not list it yet.
func (b *Backups) withMade(cluster *v1alpha1.Cluster, found []listed) []listed {
	last, ok := b.made.Get(cluster.UID)
	if !ok || b.options.Clock.Since(last.backup.Time.Time) > unseen {
		return found
	}
	if slices.ContainsFunc(found, func(one listed) bool { return one.Snapshot == last.backup.Snapshot }) {
		return found
	}
	return append(found, listed{Backup: last.backup, purpose: last.purpose})
}

// describe converts an EC2 snapshot.
func describe(snapshot *ec2types.Snapshot) listed {
	one := listed{Backup: v1alpha1.Backup{
		Snapshot: aws.ToString(snapshot.SnapshotId), State: string(snapshot.State),
		Time: metav1.NewTime(aws.ToTime(snapshot.StartTime).Truncate(time.Second)),
	}}
	for _, tag := range snapshot.Tags {
		switch aws.ToString(tag.Key) {
		case model.TagEtcdSlot:
			slot, _ := strconv.ParseInt(
				aws.ToString(tag.Value), 10, 32,
			) // An edited tag counts as slot 0, which only affects whose turn is next.
			one.Slot = int32(slot)
		case Tag:
			one.purpose = aws.ToString(tag.Value)
		}
	}
	return one
}

// snapshot starts a snapshot of a slot's volume.
func (b *Backups) snapshot(ctx context.Context, cluster *v1alpha1.Cluster, slot int, purpose string) (listed, error) {
	if err := b.options.Confirm(ctx, cluster); err != nil {
		return listed{}, err
	}
	volume := cluster.Status.Outputs[model.OutputEtcdVolume(slot)]
	out, err := b.options.EC2(cluster).CreateSnapshot(ctx, &ec2.CreateSnapshotInput{
		VolumeId: &volume, Description: aws.String(fmt.Sprintf("etcd of cluster %s, slot %d", client.ObjectKeyFromObject(cluster), slot)),
		TagSpecifications: []ec2types.TagSpecification{
			{ResourceType: ec2types.ResourceTypeSnapshot, Tags: b.backupTags(cluster, slot, purpose)},
		},
	})
	if err != nil {
		return listed{}, fmt.Errorf("snapshot the volume %s of slot %d: %w", volume, slot, err)
	}
	one := listed{purpose: purpose, Backup: v1alpha1.Backup{
		Snapshot: aws.ToString(out.SnapshotId), Slot: int32(slot), State: snapshotPending, //nolint:gosec // at most three slots
		Time: metav1.NewTime(b.options.Clock.Now().Truncate(time.Second)),
	}}
	b.made.Keep(cluster.UID, made{backup: one.Backup, purpose: purpose})
	return one, nil
}

// backupTags returns the Cluster's own tags and those that identify backups. They include the tags
// of etcd's volumes, so that the cluster's own role cannot change them and the cluster's deletion
// finds the snapshots.
func (b *Backups) backupTags(cluster *v1alpha1.Cluster, slot int, purpose string) []ec2types.Tag {
	tags := maps.Clone(cluster.Spec.Tags)
	if tags == nil {
		tags = map[string]string{}
	}
	maps.Copy(tags, b.options.Owner.ClusterTags(cluster))
	maps.Copy(tags, map[string]string{
		"Name": fmt.Sprintf("%s-etcd-%d", cluster.Name, slot), model.TagOwnedPrefix + cluster.Name: model.TagOwned,
		model.TagEtcdSlot: strconv.Itoa(slot), Tag: purpose,
	})
	list := make([]ec2types.Tag, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, ec2types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return list
}

// BeforeChange ensures a snapshot of a slot's etcd volume before a change that may require
// restoring it. Call it until it is done, which is when the snapshot is complete, and then make the
// change at once. The change parameter names the change, for example by a bundle's hash: a snapshot
// that was started for the same change within the last hour is reused, also after a restart of the
// operator. Until then, the outcome's message reports progress. The outcome is troubled if EC2
// refuses. If the Cluster disables backups, it is done without a snapshot.
func (b *Backups) BeforeChange(ctx context.Context, cluster *v1alpha1.Cluster, slot int, change string) operatorkit.Outcome {
	if cluster.Spec.Backup.Disabled {
		return operatorkit.Done()
	}
	purpose, now := backupForChange+change, b.options.Clock.Now()
	found, err := b.listBackups(ctx, cluster)
	if err != nil {
		return outcomes.Failed(err)
	}
	i := slices.IndexFunc(found, func(one listed) bool {
		return one.purpose == purpose && int(one.Slot) == slot && now.Sub(one.Time.Time) < changeSoon
	})
	if i < 0 {
		one, err := b.snapshot(ctx, cluster, slot, purpose)
		if err != nil {
			explained := awsapi.Explain(err)
			return operatorkit.Wait(backupRetry, reasonBackupFailed, fmt.Sprintf(
				"The volume of slot %d cannot be backed up before its change: %s", slot, explained.Message)).Degraded()
		}
		found, i = append([]listed{one}, found...), 0
	}
	backups := make([]v1alpha1.Backup, len(found))
	for j := range found {
		backups[j] = found[j].Backup
	}
	show(cluster, backups)
	if found[i].State == snapshotCompleted {
		return operatorkit.Done()
	}
	took := now.Sub(found[i].Time.Time)
	return operatorkit.Wait(min(max(took, minBackupPoll), maxBackupPoll), "BackingUp", fmt.Sprintf(
		"Backing up the volume of slot %d as %s before its change.", slot, found[i].Snapshot))
}
