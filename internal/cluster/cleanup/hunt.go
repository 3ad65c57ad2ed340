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

// stackTag is on whatever a stack made.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-resource-tags.html
const stackTag = "aws:cloudformation:stack-id"

// hunt is one look for what a cluster left.
type hunt struct {
	name string
	// vpc is the cluster's: the load balancers of all others need not be asked for their tags.
	vpc           string
	deleteVolumes bool

	ec2       awsapi.Leftovers
	balancers awsapi.LoadBalancers
	classic   awsapi.ClassicLoadBalancers
	records   awsapi.Records

	// removed and waits tell what was removed and what could not be removed yet.
	removed, waits []string
}

// owned is the filter for what belongs to the cluster.
func (h *hunt) owned() types.Filter {
	return types.Filter{Name: aws.String("tag:" + model.TagOwnedPrefix + h.name), Values: []string{model.TagOwned}}
}

// mine says of tags whether they are on something that the cluster made itself.
func (h *hunt) mine(tags map[string]string) bool {
	_, stacks := tags[stackTag]
	return tags[model.TagOwnedPrefix+h.name] == model.TagOwned && !stacks
}

func tagsOf(tags []types.Tag) map[string]string {
	all := make(map[string]string, len(tags))
	for _, tag := range tags {
		all[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return all
}

// took notes how the removal of a thing went: one that is held by another is looked at again.
func (h *hunt) took(what string, err error) error {
	switch code := awsapi.Code(err); {
	case err == nil:
		h.removed = append(h.removed, what)
		return nil
	case strings.Contains(code, "NotFound"):
		return nil
	case code == "DependencyViolation" || code == "ResourceInUse" || strings.HasSuffix(code, "InUse"):
		h.waits = append(h.waits, what)
		return nil
	}
	return err
}

// interfaces removes network interfaces that nothing is attached to any more.
func (h *hunt) interfaces(ctx context.Context) error {
	pages := ec2.NewDescribeNetworkInterfacesPaginator(h.ec2, &ec2.DescribeNetworkInterfacesInput{Filters: []types.Filter{h.owned()}})
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

// goesWithInstance says that EC2 removes an interface with the instance it is attached to, as it does a
// bastion's with the base stack, which is still there.
func goesWithInstance(found *types.NetworkInterface) bool {
	return found.Attachment != nil && aws.ToBool(found.Attachment.DeleteOnTermination)
}

// groups removes security groups, and first the rules of others that name them.
func (h *hunt) groups(ctx context.Context) error {
	pages := ec2.NewDescribeSecurityGroupsPaginator(h.ec2, &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{h.owned()}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err //nolint:wrapcheck // explained by the caller
		}
		for i := range page.SecurityGroups {
			found := &page.SecurityGroups[i]
			if !h.mine(tagsOf(found.Tags)) {
				continue
			}
			id := aws.ToString(found.GroupId)
			if err := h.unname(ctx, id); err != nil {
				return err
			}
			_, err := h.ec2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: &id})
			if err := h.took(id, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// unname revokes the rules by which other groups let this one in.
func (h *hunt) unname(ctx context.Context, id string) error {
	naming, err := h.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{
		{Name: aws.String("ip-permission.group-id"), Values: []string{id}},
	}})
	if err != nil {
		return err //nolint:wrapcheck // explained by the caller
	}
	for i := range naming.SecurityGroups {
		group := &naming.SecurityGroups[i]
		var rules []types.IpPermission
		for _, rule := range group.IpPermissions {
			pairs := slices.DeleteFunc(slices.Clone(rule.UserIdGroupPairs), func(pair types.UserIdGroupPair) bool { return aws.ToString(pair.GroupId) != id })
			if len(pairs) > 0 {
				rules = append(rules, types.IpPermission{IpProtocol: rule.IpProtocol, FromPort: rule.FromPort, ToPort: rule.ToPort, UserIdGroupPairs: pairs})
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

// volumes removes the volumes of claims, if the cluster's policy is to.
func (h *hunt) volumes(ctx context.Context) error {
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

// snapshots removes those of etcd's volumes, which CloudFormation makes of volumes that it deletes.
func (h *hunt) snapshots(ctx context.Context, cluster *v1alpha1.Cluster) error {
	filter := func(name string, values ...string) types.Filter {
		return types.Filter{Name: aws.String(name), Values: values}
	}
	// By their tags, also where the stack was deleted before anybody knew what it had made.
	searches := [][]types.Filter{{
		filter("tag:"+model.TagOwnedPrefix+cluster.Name, model.TagOwned), filter("tag:"+model.TagNamespace, cluster.Namespace),
		filter("tag-key", model.TagEtcdSlot),
	}}
	var volumes []string
	for slot := range int(max(cluster.Spec.ControlPlane.Replicas, 3)) {
		if id := cluster.Status.Outputs[model.OutputEtcdVolume(slot)]; id != "" {
			volumes = append(volumes, id)
		}
	}
	if len(volumes) > 0 {
		searches = append(searches, []types.Filter{filter("volume-id", volumes...)})
	}
	for _, filters := range searches {
		if err := h.deleteSnapshots(ctx, filters); err != nil {
			return err
		}
	}
	return nil
}

func (h *hunt) deleteSnapshots(ctx context.Context, filters []types.Filter) error {
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

// names removes what machines published in the private zone: a zone with records is not deleted.
// https://docs.aws.amazon.com/Route53/latest/APIReference/API_DeleteHostedZone.html
func (h *hunt) names(ctx context.Context, cluster *v1alpha1.Cluster) error {
	zone := cluster.Status.Outputs[model.OutputHostedZone]
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

// sweptTypes are what EC2 forgets soon after it is deleted; instances and NAT gateways are shown for an hour.
var sweptTypes = []string{
	"volume", "snapshot", "network-interface", "security-group", "elastic-ip", "subnet", "vpc", "launch-template", "route-table", "internet-gateway",
}

// leftOver lists what carries the cluster's tag.
func (h *hunt) leftOver(ctx context.Context, policy v1alpha1.VolumePolicy) ([]string, error) {
	kept, err := h.keptVolumes(ctx, policy)
	if err != nil {
		return nil, err
	}
	var left []string
	pages := ec2.NewDescribeTagsPaginator(h.ec2, &ec2.DescribeTagsInput{Filters: []types.Filter{
		{Name: aws.String("key"), Values: []string{model.TagOwnedPrefix + h.name}},
		{Name: aws.String("value"), Values: []string{model.TagOwned}},
		{Name: aws.String("resource-type"), Values: sweptTypes},
	}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err //nolint:wrapcheck // explained by the caller
		}
		for i := range page.Tags {
			if id := aws.ToString(page.Tags[i].ResourceId); !kept[id] {
				left = append(left, id)
			}
		}
	}
	balancers, err := h.balancersLeft(ctx)
	return append(left, balancers...), err
}

// keptVolumes are those of claims that stay by the cluster's policy.
func (h *hunt) keptVolumes(ctx context.Context, policy v1alpha1.VolumePolicy) (map[string]bool, error) {
	kept := map[string]bool{}
	if policy == v1alpha1.VolumesDelete {
		return kept, nil
	}
	pages := ec2.NewDescribeVolumesPaginator(h.ec2, &ec2.DescribeVolumesInput{Filters: []types.Filter{h.owned()}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err //nolint:wrapcheck // explained by the caller
		}
		for i := range page.Volumes {
			if h.mine(tagsOf(page.Volumes[i].Tags)) {
				kept[aws.ToString(page.Volumes[i].VolumeId)] = true
			}
		}
	}
	return kept, nil
}
