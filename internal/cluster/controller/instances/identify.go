package instances

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/cache"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

const (
	// reasonNotConfirmed is the reason of Events about Nodes whose claimed identity EC2 does not
	// confirm.
	reasonNotConfirmed = "NodeNotConfirmed"
	// groupNameTag is the tag that names an instance's Auto Scaling group. Only Auto Scaling can
	// set it.
	// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html
	groupNameTag = "aws:autoscaling:groupName"
	// templateTag is on instances from a launch template, as those of Karpenter. EC2 alone can set it.
	// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/launch-instances-from-launch-template.html
	templateTag = "aws:ec2launchtemplate:id"
	// eksClusterTag is the tag with which EKS marks the instances of managed node groups.
	eksClusterTag = "eks:cluster-name"
	// mostFilterValues is the maximum number of values of a filter:
	// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/Query-Requests.html
	mostFilterValues = 200
	// maxReported bounds the number of Nodes that one message names.
	maxReported = 3
)

// Options configure [Instances]. All are required.
type Options struct {
	// EC2 returns the client of a Cluster's account and region.
	EC2      func(*v1alpha1.Cluster) awsapi.EC2
	Clock    clock.PassiveClock
	Recorder events.EventRecorder
}

// Instances asks EC2 about the instances of nodes.
type Instances struct {
	options Options
	// unconfirmed holds the reported problems of Nodes whose identity EC2 does not confirm, by UID.
	unconfirmed  *cache.Keyed[types.UID, map[string]string]
	terminations *terminations
}

// New returns instances of which nothing is known yet.
func New(options Options) *Instances {
	return &Instances{options: options, unconfirmed: cache.NewKeyed[types.UID, map[string]string](), terminations: newTerminations()}
}

// Forget drops what is cached for a deleted Cluster.
func (i *Instances) Forget(uid types.UID) { i.unconfirmed.Drop(uid) }

// Identify looks up a Cluster's instances in EC2 and derives their instance groups and slots from
// their Auto Scaling groups.
func (i *Instances) Identify(
	ctx context.Context, cluster *v1alpha1.Cluster, groups []v1alpha1.InstanceGroup, ids []string,
) (map[string]workload.Identity, error) {
	found := map[string]workload.Identity{}
	for some := range slices.Chunk(ids, mostFilterValues) {
		all, err := i.describe(ctx, cluster, some)
		if err != nil {
			return nil, err
		}
		for j := range all {
			found[aws.ToString(all[j].InstanceId)] = identityOf(cluster, groups, &all[j])
		}
	}
	return found, nil
}

// describe returns the instances that EC2 knows. Unlike a list of IDs, a filter ignores unknown and
// malformed IDs, both of which a Node may contain.
func (i *Instances) describe(ctx context.Context, cluster *v1alpha1.Cluster, ids []string) ([]ec2types.Instance, error) {
	in := &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{{Name: aws.String("instance-id"), Values: ids}}}
	var instances []ec2types.Instance
	for {
		page, err := i.options.EC2(cluster).DescribeInstances(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("describe instances of nodes: %w", err)
		}
		for j := range page.Reservations {
			instances = append(instances, page.Reservations[j].Instances...)
		}
		if in.NextToken = page.NextToken; aws.ToString(in.NextToken) == "" {
			return instances, nil
		}
	}
}

// identityOf derives the identity of an instance in a Cluster.
func identityOf(cluster *v1alpha1.Cluster, groups []v1alpha1.InstanceGroup, instance *ec2types.Instance) workload.Identity {
	identity := workload.Identity{
		PrivateDNSName: aws.ToString(instance.PrivateDnsName), Address: aws.ToString(instance.PrivateIpAddress), Slot: workload.NoSlot,
	}
	tags := map[string]string{}
	for _, tag := range instance.Tags {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	scaling := tags[groupNameTag]
	if scaling == "" {
		identity.NodePool = nodePoolOf(cluster, tags)
	}
	stack := StackOf(scaling)
	identity.Slot = SlotOf(cluster, stack)
	managed := nodeGroupOf(cluster, tags)
	at := slices.IndexFunc(groups, func(group v1alpha1.InstanceGroup) bool {
		if model.UsesEKS(cluster) && !model.IsSelfManaged(&group.Spec) {
			return managed != "" && managed == group.Name
		}
		return model.GroupStackName(cluster.Name, group.Name) == stack
	})
	switch {
	case identity.PrivateDNSName == "": // https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/terminating-instances.html
		identity.Problem = "is terminated"
	case identity.Slot != workload.NoSlot:
	case at >= 0:
		identity.Group = groups[at].Name
	case identity.NodePool != "":
	case scaling == "":
		identity.Problem = "is in no Auto Scaling group"
	default:
		identity.Problem = "is in Auto Scaling group " + scaling + ", which does not belong to the cluster"
	}
	return identity
}

// nodeGroupOf returns the instance group of an instance of a managed node group, or "". EKS names the Auto Scaling group,
// and the launch template of the group's stack tags the instances.
// https://github.com/eksctl-io/eksctl/issues/2607
func nodeGroupOf(cluster *v1alpha1.Cluster, tags map[string]string) string {
	if tags[eksClusterTag] != cluster.Name || tags[model.TagCluster] != cluster.Name || tags[model.TagNamespace] != cluster.Namespace {
		return ""
	}
	return tags[model.TagInstanceGroup]
}

// nodePoolOf returns the NodePool of an instance that the Cluster's Karpenter launched, or "". Slots let
// such an instance join only if Karpenter has a NodeClaim for it (package approver).
func nodePoolOf(cluster *v1alpha1.Cluster, tags map[string]string) string {
	if tags[model.TagOwnedPrefix+cluster.Name] != model.TagOwned || tags[model.TagCluster] != cluster.Name || tags[templateTag] == "" {
		return ""
	}
	return tags[model.TagNodePool]
}

// ReportUnconfirmed records one Event for each Node whose identity EC2 does not confirm, and
// returns a sentence that lists them, empty if there are none.
func (i *Instances) ReportUnconfirmed(cluster *v1alpha1.Cluster, nodes []workload.Node) string {
	before, _ := i.unconfirmed.Get(cluster.UID)
	now := map[string]string{}
	var reported []string
	for j := range nodes {
		node := &nodes[j]
		if node.Problem == "" {
			continue
		}
		reported, now[node.UID] = append(reported, node.Name), node.Problem
		if before[node.UID] == node.Problem {
			continue
		}
		// The Node is the related object, since Events with the same reason and objects are
		// aggregated.
		related := &corev1.Node{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
			ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: types.UID(node.UID)},
		}
		i.options.Recorder.Eventf(cluster, related, corev1.EventTypeWarning, reasonNotConfirmed, "Identify",
			"EC2 does not confirm the identity of Node %s: %s. Find out what created it, and delete it.", node.Name, node.Problem)
	}
	i.unconfirmed.Keep(cluster.UID, now)
	if len(reported) == 0 {
		return ""
	}
	if more := len(reported) - maxReported; more > 0 {
		reported = append(reported[:maxReported], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("EC2 does not confirm the identity of these Nodes: %s. See the Events for details.", strings.Join(reported, ", "))
}
