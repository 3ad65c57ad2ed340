package cleanup

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// stackTag is on all resources of a stack.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-resource-tags.html
const stackTag = "aws:cloudformation:stack-id"

// collector collects and deletes a cluster's leftovers once.
type collector struct {
	name, namespace, operator string
	// vpc is the cluster's VPC, which makes reading the tags of other VPCs' load balancers
	// unnecessary. It is empty if the base stack was never created. zone is the private zone.
	vpc, zone                    string
	deleteVolumes, keepSnapshots bool

	ec2       awsapi.Leftovers
	balancers awsapi.LoadBalancers
	classic   awsapi.ClassicLoadBalancers
	records   awsapi.Records

	// removed, waits and refused list the deleted resources, those that cannot be deleted yet, and
	// those that AWS refuses to delete, with the reason.
	removed, waits, refused []string
	// absent lists what does not exist anymore. For some seconds, reads may still return it.
	// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
	absent []string
}

// controllerTag is the tag that the AWS Load Balancer Controller sets on its load balancers, target
// groups and security groups, in addition to or instead of the cluster's:
// https://github.com/kubernetes-sigs/aws-load-balancer-controller/blob/main/pkg/deploy/tracking/provider.go
const controllerTag = "elbv2.k8s.aws/cluster"

// autoModeTag is on what EKS Auto Mode creates. EKS deletes its instances, load balancers and their security groups with the
// cluster, and keeps its volumes:
// https://docs.aws.amazon.com/eks/latest/userguide/delete-cluster.html
// https://docs.aws.amazon.com/eks/latest/userguide/auto-disable.html
const autoModeTag = "eks:eks-cluster-name"

// karpenterTags begin tags that only the Karpenter of a user sets, which sets [autoModeTag] as well:
// https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/utils/utils.go
const karpenterTags = "karpenter.k8s.aws/"

// isOfAutoMode reports whether EKS Auto Mode created a resource with these tags.
func isOfAutoMode(tags map[string]string) bool {
	for key := range tags {
		if strings.HasPrefix(key, karpenterTags) {
			return false
		}
	}
	_, found := tags[autoModeTag]
	return found
}

// inVPC returns the filters for the cluster's resources in its VPC.
func (h *collector) inVPC() [][]types.Filter {
	here := filter("vpc-id", h.vpc)
	return [][]types.Filter{{here, h.owned()}, {here, filter("tag:"+controllerTag, h.name)}}
}

func filter(name string, values ...string) types.Filter {
	return types.Filter{Name: aws.String(name), Values: values}
}

// owned returns the filter for the cluster's resources.
func (h *collector) owned() types.Filter {
	return filter("tag:"+model.TagOwnedPrefix+h.name, model.TagOwned)
}

// mine reports whether a resource with these tags was created by the cluster's controllers, and not by EKS.
func (h *collector) mine(tags map[string]string) bool {
	_, stacks := tags[stackTag]
	return !stacks && !isOfAutoMode(tags) && (tags[model.TagOwnedPrefix+h.name] == model.TagOwned || tags[controllerTag] == h.name)
}

func tagsOf(tags []types.Tag) map[string]string {
	all := make(map[string]string, len(tags))
	for _, tag := range tags {
		all[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return all
}

// took records the result of a deletion: a resource in use is retried, and one that AWS refuses to
// delete does not block the others. It returns transient errors.
func (h *collector) took(what string, err error) error {
	switch code := awsapi.Code(err); {
	case err == nil:
		h.removed, h.absent = append(h.removed, what), append(h.absent, what)
		return nil
	case strings.Contains(code, "NotFound"):
		h.absent = append(h.absent, what)
		return nil
	case code == "DependencyViolation" || code == "ResourceInUse" || strings.HasSuffix(code, "InUse"):
		h.waits = append(h.waits, what)
		return nil
	}
	if failure := awsapi.Explain(err); !failure.Transient() {
		h.refused = append(h.refused, what+" ("+strings.TrimSuffix(failure.Message, ".")+")")
		return nil
	}
	return err
}

// interfaces deletes detached network interfaces.
func (h *collector) interfaces(ctx context.Context) error {
	pages := ec2.NewDescribeNetworkInterfacesPaginator(
		h.ec2, &ec2.DescribeNetworkInterfacesInput{Filters: []types.Filter{filter("vpc-id", h.vpc), h.owned()}},
	)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err //nolint:wrapcheck // explained by the caller
		}
		for i := range page.NetworkInterfaces {
			found := &page.NetworkInterfaces[i]
			id := aws.ToString(found.NetworkInterfaceId)
			switch {
			case !h.mine(tagsOf(found.TagSet)) || goesWithInstance(found):
			case found.Status != types.NetworkInterfaceStatusAvailable:
				h.waits = append(h.waits, id)
			default:
				_, err := h.ec2.DeleteNetworkInterface(ctx, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: &id})
				if err := h.took(id, err); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// goesWithInstance reports whether EC2 deletes an interface with its instance, like that of a
// bastion in the base stack, which still exists.
func goesWithInstance(found *types.NetworkInterface) bool {
	return found.Attachment != nil && aws.ToBool(found.Attachment.DeleteOnTermination)
}

// groups deletes security groups, after the rules of other groups that reference them.
func (h *collector) groups(ctx context.Context) error {
	for _, filters := range h.inVPC() {
		pages := ec2.NewDescribeSecurityGroupsPaginator(h.ec2, &ec2.DescribeSecurityGroupsInput{Filters: filters})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return err //nolint:wrapcheck // explained by the caller
			}
			for i := range page.SecurityGroups {
				if err := h.group(ctx, &page.SecurityGroups[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (h *collector) group(ctx context.Context, found *types.SecurityGroup) error {
	id := aws.ToString(found.GroupId)
	if !h.mine(tagsOf(found.Tags)) || slices.Contains(h.waits, id) {
		return nil
	}
	if err := h.unname(ctx, id); err != nil {
		return err
	}
	_, err := h.ec2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: &id})
	return h.took(id, err)
}

// unname revokes the rules in the cluster's other groups that admit this one, like those of its
// nodes. It does not change groups of other owners, which keep this one in use until their owner
// deletes the rule.
func (h *collector) unname(ctx context.Context, id string) error {
	naming, err := h.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{
		filter("ip-permission.group-id", id), filter("tag-key", model.TagOwnedPrefix+h.name, controllerTag),
	}})
	if err != nil {
		return err //nolint:wrapcheck // explained by the caller
	}
	for i := range naming.SecurityGroups {
		group := &naming.SecurityGroups[i]
		var rules []types.IpPermission
		for _, rule := range group.IpPermissions {
			pairs := slices.DeleteFunc(
				slices.Clone(rule.UserIdGroupPairs), func(pair types.UserIdGroupPair) bool { return aws.ToString(pair.GroupId) != id },
			)
			if len(pairs) > 0 {
				rules = append(
					rules,
					types.IpPermission{IpProtocol: rule.IpProtocol, FromPort: rule.FromPort, ToPort: rule.ToPort, UserIdGroupPairs: pairs},
				)
			}
		}
		if len(rules) == 0 || aws.ToString(group.GroupId) == id {
			continue
		}
		_, err := h.ec2.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: group.GroupId, IpPermissions: rules})
		if err := h.took("the rule for "+id+" in "+aws.ToString(group.GroupId), err); err != nil {
			return err
		}
	}
	return nil
}

// volumes deletes the volumes of claims if the cluster's policy is Delete.
func (h *collector) volumes(ctx context.Context) error {
	if !h.deleteVolumes {
		return nil
	}
	pages := ec2.NewDescribeVolumesPaginator(h.ec2, &ec2.DescribeVolumesInput{Filters: []types.Filter{h.owned()}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err //nolint:wrapcheck // explained by the caller
		}
		for i := range page.Volumes {
			found := &page.Volumes[i]
			id := aws.ToString(found.VolumeId)
			switch {
			case !h.mine(tagsOf(found.Tags)) || found.State == types.VolumeStateDeleting || found.State == types.VolumeStateDeleted:
			case found.State == types.VolumeStateInUse:
				h.waits = append(h.waits, id)
			default:
				_, err := h.ec2.DeleteVolume(ctx, &ec2.DeleteVolumeInput{VolumeId: &id})
				if err := h.took(id, err); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// etcdSnapshots returns the filters for the snapshots that CloudFormation takes of etcd's volumes:
// by their tags, and by known volumes.
func (h *collector) etcdSnapshots(cluster *v1alpha1.Cluster) [][]types.Filter {
	searches := [][]types.Filter{{
		h.owned(), filter("tag:"+model.TagNamespace, h.namespace), filter("tag:"+model.TagOperator, h.operator),
		filter("tag-key", model.TagEtcdSlot),
	}}
	var volumes []string
	for slot := range model.MostSlots {
		volumes = append(volumes, model.EtcdVolumes(cluster.Status.Outputs, slot)...)
	}
	if len(volumes) > 0 {
		searches = append(searches, []types.Filter{filter("volume-id", volumes...)})
	}
	return searches
}

// snapshots deletes those of etcd's volumes.
func (h *collector) snapshots(ctx context.Context, cluster *v1alpha1.Cluster) error {
	for _, filters := range h.etcdSnapshots(cluster) {
		if err := h.deleteSnapshots(ctx, filters); err != nil {
			return err
		}
	}
	return nil
}

func (h *collector) deleteSnapshots(ctx context.Context, filters []types.Filter) error {
	pages := ec2.NewDescribeSnapshotsPaginator(h.ec2, &ec2.DescribeSnapshotsInput{OwnerIds: []string{"self"}, Filters: filters})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err //nolint:wrapcheck // explained by the caller
		}
		for i := range page.Snapshots {
			id := aws.ToString(page.Snapshots[i].SnapshotId)
			_, err := h.ec2.DeleteSnapshot(ctx, &ec2.DeleteSnapshotInput{SnapshotId: &id})
			if err := h.took(id, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// names deletes the records that instances created in the private zone, since a zone with records
// cannot be deleted.
// https://docs.aws.amazon.com/Route53/latest/APIReference/API_DeleteHostedZone.html
func (h *collector) names(ctx context.Context) error {
	zone := h.zone
	if zone == "" {
		return nil
	}
	var changes []route53types.Change
	pages := route53.NewListResourceRecordSetsPaginator(h.records, &route53.ListResourceRecordSetsInput{HostedZoneId: &zone})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if awsapi.Code(err) == "NoSuchHostedZone" {
			return nil
		}
		if err != nil {
			return err //nolint:wrapcheck // explained by the caller
		}
		for i := range page.ResourceRecordSets {
			record := &page.ResourceRecordSets[i]
			if record.Type != route53types.RRTypeNs && record.Type != route53types.RRTypeSoa {
				changes = append(changes, route53types.Change{Action: route53types.ChangeActionDelete, ResourceRecordSet: record})
			}
		}
	}
	if len(changes) == 0 {
		return nil
	}
	_, err := h.records.ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: &zone, ChangeBatch: &route53types.ChangeBatch{Changes: changes},
	})
	return h.took("the names in the private zone "+zone, err)
}

// sweptTypes are the types that EC2 stops listing soon after their deletion; it lists instances and
// NAT gateways for an hour.
var sweptTypes = []string{
	"volume", "snapshot", "network-interface", "security-group", "elastic-ip", "subnet", "vpc", "launch-template", "route-table",
	"internet-gateway",
}

// leftOver lists the resources with the cluster's tag.
func (h *collector) leftOver(ctx context.Context) ([]string, error) {
	expected, err := h.expected(ctx)
	if err != nil {
		return nil, err
	}
	found, err := h.tagged(ctx, model.TagOwnedPrefix+h.name, model.TagOwned)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(id string) bool { return slices.Contains(h.absent, id) })
	if h.vpc == "" { // Only stacks created resources, and the stacks' tags identify their owner.
		for key, value := range map[string]string{model.TagNamespace: h.namespace, model.TagOperator: h.operator} {
			own, err := h.tagged(ctx, key, value)
			if err != nil {
				return nil, err
			}
			found = slices.DeleteFunc(found, func(id string) bool { return !slices.Contains(own, id) })
		}
		return slices.DeleteFunc(found, func(id string) bool { return expected[id] }), nil
	}
	found = slices.DeleteFunc(found, func(id string) bool { return expected[id] })
	balancers, err := h.balancersLeft(ctx)
	return append(found, balancers...), err
}

// tagged lists the resources with a tag.
func (h *collector) tagged(ctx context.Context, key, value string) ([]string, error) {
	var found []string
	pages := ec2.NewDescribeTagsPaginator(h.ec2, &ec2.DescribeTagsInput{Filters: []types.Filter{
		filter("key", key), filter("value", value), filter("resource-type", sweptTypes...),
	}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err //nolint:wrapcheck // explained by the caller
		}
		for i := range page.Tags {
			found = append(found, aws.ToString(page.Tags[i].ResourceId))
		}
	}
	return found, nil
}

// expected returns the volumes that the cluster's policy keeps, and etcd's snapshots if they are
// kept.
func (h *collector) expected(ctx context.Context) (map[string]bool, error) {
	kept := map[string]bool{}
	if !h.deleteVolumes {
		pages := ec2.NewDescribeVolumesPaginator(h.ec2, &ec2.DescribeVolumesInput{Filters: []types.Filter{h.owned()}})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, err //nolint:wrapcheck // explained by the caller
			}
			for i := range page.Volumes {
				if tags := tagsOf(page.Volumes[i].Tags); h.mine(tags) || tags[autoModeTag] == h.name {
					kept[aws.ToString(page.Volumes[i].VolumeId)] = true
				}
			}
		}
	}
	if !h.keepSnapshots {
		return kept, nil
	}
	pages := ec2.NewDescribeSnapshotsPaginator(h.ec2, &ec2.DescribeSnapshotsInput{
		OwnerIds: []string{"self"}, Filters: []types.Filter{h.owned(), filter("tag-key", model.TagEtcdSlot)},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err //nolint:wrapcheck // explained by the caller
		}
		for i := range page.Snapshots {
			kept[aws.ToString(page.Snapshots[i].SnapshotId)] = true
		}
	}
	return kept, nil
}
