package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/internal/progress"
	commandversion "github.com/aws-operator/aws-operator/internal/cli/version"
	"github.com/aws-operator/aws-operator/internal/cluster/cleanup"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/backup"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/inprocess"
	"github.com/aws-operator/aws-operator/internal/state"
)

const (
	// clusterName and groupName are the names of the trial's cluster and of its instance group.
	clusterName = "aws-operator-trial-cluster"
	groupName   = "aws-operator-trial-cluster-workers"
	// instanceType is the type of all instances, and workers how many there are.
	instanceType = "t3.medium"
	workers      = 1
	// networkCIDR is the range of the cluster's own VPC.
	networkCIDR = "10.254.0.0/16"
)

// statePath returns the folder with the state of the trial's cluster: always the same one for an
// account and region, so that the next run finds what an interrupted one created.
func (r *runner) statePath() (string, error) {
	if r.stateFolder != "" {
		return r.stateFolder, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for the state of the trial's cluster; name one with --state: %w", err)
	}
	return filepath.Join(cache, "aws-operator", "trial", r.account+"-"+r.region), nil
}

// openState opens the state of the trial's cluster.
func (r *runner) openState(ctx context.Context) (*state.State, error) {
	path, err := r.statePath()
	if err != nil {
		return nil, err
	}
	return state.Open(ctx, path, state.Options{
		Namespace: state.DefaultNamespace, Releases: os.Getenv(state.ReleasesVariable), UserAgent: userAgent, Clock: r.clock,
	})
}

// defined returns the trial's cluster in a state, nil if there is none.
func defined(ctx context.Context, in *state.State) (*state.Objects, error) {
	objects, err := in.Load(ctx, clusterName)
	if _, missing := errors.AsType[*state.NotFoundError](err); missing {
		return nil, nil //nolint:nilnil // nil means that there is none
	}
	return objects, err
}

// define writes the definition of the trial's cluster to a state: one slot and one worker in public
// subnets of one zone, without a NAT gateway.
func (r *runner) define(ctx context.Context, in *state.State) error {
	zone, err := r.zone(ctx)
	if err != nil {
		return err
	}
	given, err := in.Releases(ctx)
	if err != nil {
		return err
	}
	newest, err := newestRelease(given)
	if err != nil {
		return err
	}
	cluster := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: clusterName, Annotations: map[string]string{cleanup.KeepSnapshotsAnnotation: "true"}},
		Spec: v1alpha1.ClusterSpec{
			Release: newest, Region: r.region,
			Network:      v1alpha1.Network{CIDR: networkCIDR, Zones: []string{zone}, Topology: v1alpha1.TopologyPublic},
			ControlPlane: v1alpha1.ControlPlane{Replicas: 1, InstanceType: instanceType},
			// Snapshots of a backup would remain.
			Backup:       v1alpha1.EtcdBackup{Disabled: true},
			VolumePolicy: v1alpha1.VolumesDelete,
			Tags:         map[string]string{tagName: tagValue},
		},
	}
	group := &v1alpha1.InstanceGroup{
		ObjectMeta: metav1.ObjectMeta{Name: groupName},
		// Room for one more: CloudFormation requires MinInstancesInService to be less than MaxSize.
		Spec: v1alpha1.InstanceGroupSpec{Cluster: clusterName, MinSize: workers, MaxSize: workers + 1, InstanceTypes: []string{instanceType}},
	}
	_, err = in.Replace(ctx, []client.Object{cluster, group})
	return err
}

// zone returns the first zone that offers the type of the instances.
func (r *runner) zone(ctx context.Context) (string, error) {
	out, err := r.clients.EC2(awsapi.Target{}).DescribeInstanceTypeOfferings(ctx, &ec2.DescribeInstanceTypeOfferingsInput{
		LocationType: ec2types.LocationTypeAvailabilityZone,
		Filters:      []ec2types.Filter{{Name: aws.String("instance-type"), Values: []string{instanceType}}},
	})
	if err != nil {
		return "", err
	}
	var zones []string
	for i := range out.InstanceTypeOfferings {
		zones = append(zones, aws.ToString(out.InstanceTypeOfferings[i].Location))
	}
	if len(zones) == 0 {
		return "", fmt.Errorf("no zone of region %s offers %s: name another region with --aws-region", r.region, instanceType)
	}
	return slices.Min(zones), nil
}

// newestRelease returns the name of the newest Release from which instances can boot: of the given
// ones, or else of the built-in ones.
func newestRelease(given []*v1alpha1.Release) (string, error) {
	if len(given) == 0 {
		var err error
		if given, err = release.All(); err != nil {
			return "", err
		}
	}
	usable := slices.DeleteFunc(slices.Clone(given), func(one *v1alpha1.Release) bool {
		return one.Spec.State == v1alpha1.ReleaseDeprecated || !release.Bootable(one)
	})
	if len(usable) == 0 {
		return "", errors.New("no Release has all that instances need to boot")
	}
	newest := slices.MaxFunc(usable, func(a, b *v1alpha1.Release) int {
		newer, _ := version.MustParseSemantic(a.Spec.Kubernetes).Compare(b.Spec.Kubernetes)
		return newer
	})
	return newest.Name, nil
}

// edit changes the definition of the trial's cluster and its group in a state.
func edit(ctx context.Context, in *state.State, change func(*v1alpha1.Cluster, *v1alpha1.InstanceGroup)) error {
	objects, err := in.Load(ctx, clusterName)
	if err != nil {
		return err
	}
	if len(objects.Groups) == 0 {
		return fmt.Errorf("the state %s lacks the instance group %s", in, groupName)
	}
	cluster, group := objects.Cluster.DeepCopy(), objects.Groups[0].DeepCopy()
	change(cluster, group)
	_, err = in.Replace(ctx, []client.Object{cluster, group})
	return err
}

// converge brings the trial's cluster to a goal, as apply and delete do, and shows the progress. It
// gives up when it takes too long.
func (r *runner) converge(ctx context.Context, in *state.State, goal inprocess.Goal) error {
	klog.SetLogger(logr.Discard()) // client-go's log about closed connections is not for users.
	printer := progress.New(r.progress, r.clock)
	defer printer.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, r.limit, fmt.Errorf("it takes longer than %s", r.limit))
	defer cancel()
	return inprocess.Run(ctx, inprocess.Options{
		State: in, Cluster: clusterName, Goal: goal, Purpose: "trial", NodeupDir: r.nodeupDir,
		AWS: awsapi.Options{UserAgent: userAgent}, Observe: printer.Observe, Clock: r.clock, Poll: r.interval,
	})
}

// deleteCluster deletes the trial's cluster, if the state has one. Its stacks have the trial's tag,
// so the caller finds what is left.
func (r *runner) deleteCluster(ctx context.Context) error {
	in, err := r.openState(ctx)
	if err != nil {
		return err
	}
	objects, err := defined(ctx, in)
	if err != nil {
		return err
	}
	ids, err := r.clusterStacks(ctx)
	switch {
	case err != nil:
		return err
	case objects == nil && len(ids) > 0:
		return fmt.Errorf("a trial left cluster %s, but its state is not in %s: name the folder of its state with --state, "+
			"or delete these stacks, one after another: %s", clusterName, in, strings.Join(ids, ", "))
	case objects == nil:
		return nil
	}
	if !r.began {
		r.say("Deleting cluster %s, which an earlier trial left …", clusterName)
	}
	// Only the trial that checks the final snapshot keeps it.
	if !r.keepSnapshot && objects.Cluster.DeletionTimestamp.IsZero() && len(objects.Groups) > 0 {
		if err := edit(ctx, in, func(cluster *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
			delete(cluster.Annotations, cleanup.KeepSnapshotsAnnotation)
		}); err != nil {
			return err
		}
	}
	if err := r.converge(ctx, in, inprocess.Gone); err != nil {
		return fmt.Errorf("delete cluster %s, whose state is in %s: %w", clusterName, in, err)
	}
	r.deleted = append(r.deleted, ids...)
	return nil
}

// clusterStacks returns the IDs of the cluster's stacks, in the order of their deletion.
func (r *runner) clusterStacks(ctx context.Context) (ids []string, err error) {
	for _, name := range []string{groupStack, slotStack, baseStack} {
		stack, err := r.stack(ctx, name)
		if err != nil {
			return nil, err
		}
		if stack != nil && isTagged(stack.Tags) {
			ids = append(ids, aws.ToString(stack.StackId))
		}
	}
	return ids, nil
}

// finalSnapshots returns the snapshots that CloudFormation took of the cluster's etcd volume: all but
// the operator's backups, which it takes before it replaces an instance.
func (r *runner) finalSnapshots(ctx context.Context) ([]ec2types.Snapshot, error) {
	if r.volume == "" {
		return nil, nil
	}
	out, err := r.clients.EC2(awsapi.Target{}).DescribeSnapshots(ctx, &ec2.DescribeSnapshotsInput{
		OwnerIds: []string{"self"}, Filters: []ec2types.Filter{{Name: aws.String("volume-id"), Values: []string{r.volume}}},
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(out.Snapshots, func(snapshot ec2types.Snapshot) bool {
		return slices.ContainsFunc(snapshot.Tags, func(tag ec2types.Tag) bool { return aws.ToString(tag.Key) == backup.Tag })
	}), nil
}

// deleteSnapshots deletes the final snapshots of trials: that of the volume of this one, and those
// with the trial's tag.
func (r *runner) deleteSnapshots(ctx context.Context) error {
	api := r.clients.Leftovers(awsapi.Target{})
	out, err := api.DescribeSnapshots(ctx, &ec2.DescribeSnapshotsInput{
		OwnerIds: []string{"self"}, Filters: []ec2types.Filter{{Name: aws.String("tag-key"), Values: []string{tagName}}},
	})
	if err != nil {
		return err
	}
	own, err := r.finalSnapshots(ctx)
	if err != nil {
		return err
	}
	for _, snapshot := range append(out.Snapshots, own...) {
		_, err := api.DeleteSnapshot(ctx, &ec2.DeleteSnapshotInput{SnapshotId: snapshot.SnapshotId})
		if err != nil && awsapi.Code(err) != "InvalidSnapshot.NotFound" {
			return err
		}
	}
	return nil
}

// userAgent is appended to the user agent of AWS calls.
var userAgent = "aws-operator/" + commandversion.String()

// clusterOf returns the trial's cluster as the state has it.
func (r *runner) clusterOf(ctx context.Context, in *state.State) (*state.Objects, error) {
	objects, err := defined(ctx, in)
	if err == nil && objects == nil {
		err = fmt.Errorf("the state %s has no cluster %s", in, clusterName)
	}
	return objects, err
}

// names joins names for a sentence, or says that there are none.
func names(all []string) string { return cmp.Or(strings.Join(all, ", "), "none") }
