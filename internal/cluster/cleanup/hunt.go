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
	name, namespace, operator string
	// vpc is the cluster's: the load balancers of all others need not be asked for their tags. It is empty if the
	// base stack was never seen to be made. Zone is its private zone.
	vpc, zone                    string
	deleteVolumes, keepSnapshots bool

	ec2       awsapi.Leftovers
	balancers awsapi.LoadBalancers
	classic   awsapi.ClassicLoadBalancers
	records   awsapi.Records

	// removed, waits and refused tell what was removed, what cannot be removed yet, and what AWS does not remove and why.
	removed, waits, refused []string
}

// controllerTag is the tag that the AWS Load Balancer Controller puts on load balancers, target groups and security
// groups that it makes, beside or in place of the cluster's:
// https://github.com/kubernetes-sigs/aws-load-balancer-controller/blob/main/pkg/deploy/tracking/provider.go
const controllerTag = "elbv2.k8s.aws/cluster"

// inVPC are the searches for what is the cluster's in its VPC.
func (h *hunt) inVPC() [][]types.Filter {
	here := filter("vpc-id", h.vpc)
	return [][]types.Filter{{here, h.owned()}, {here, filter("tag:"+controllerTag, h.name)}}
}

func filter(name string, values ...string) types.Filter {
	return types.Filter{Name: aws.String(name), Values: values}
}

// owned is the filter for what belongs to the cluster.
func (h *hunt) owned() types.Filter {
	return filter("tag:"+model.TagOwnedPrefix+h.name, model.TagOwned)
}

// mine says of tags whether they are on something that the cluster made itself.
func (h *hunt) mine(tags map[string]string) bool {
	_, stacks := tags[stackTag]
	return !stacks && (tags[model.TagOwnedPrefix+h.name] == model.TagOwned || tags[controllerTag] == h.name)
}

func tagsOf(tags []types.Tag) map[string]string {
	all := make(map[string]string, len(tags))
	for _, tag := range tags {
		all[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return all
}

// took notes how the removal of a thing went: one that is held by another is looked at again, and one that AWS refuses
// to remove keeps none of the others. It returns what may pass.
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
	if failure := awsapi.Explain(err); !failure.Transient() {
		h.refused = append(h.refused, what+" ("+strings.TrimSuffix(failure.Message, ".")+")")
		return nil
	}
	return err
}

// interfaces removes network interfaces that nothing is attached to any more.
func (h *hunt) interfaces(ctx context.Context) error {
	pages := ec2.NewDescribeNetworkInterfacesPaginator(h.ec2, &ec2.DescribeNetworkInterfacesInput{Filters: []types.Filter{filter("vpc-id", h.vpc), h.owned()}})
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

func (h *hunt) group(ctx context.Context, found *types.SecurityGroup) error {
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

// unname revokes the rules by which the cluster's other groups let this one in, as its nodes' do. In groups that are
// not the cluster's it changes nothing: they hold this one until their owner does.
func (h *hunt) unname(ctx context.Context, id string) error {
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

// etcdSnapshots are the searches for the snapshots that CloudFormation makes of etcd's volumes when it deletes them: by
// their tags, and by their volumes where those are known.
func (h *hunt) etcdSnapshots(cluster *v1alpha1.Cluster) [][]types.Filter {
	searches := [][]types.Filter{{
		h.owned(), filter("tag:"+model.TagNamespace, h.namespace), filter("tag:"+model.TagOperator, h.operator), filter("tag-key", model.TagEtcdSlot),
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
	return searches
}

// snapshots removes those of etcd's volumes.
func (h *hunt) snapshots(ctx context.Context, cluster *v1alpha1.Cluster) error {
	for _, filters := range h.etcdSnapshots(cluster) {
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
func (h *hunt) names(ctx context.Context) error {
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

// sweptTypes are what EC2 forgets soon after it is deleted; instances and NAT gateways are shown for an hour.
var sweptTypes = []string{
	"volume", "snapshot", "network-interface", "security-group", "elastic-ip", "subnet", "vpc", "launch-template", "route-table", "internet-gateway",
}

// leftOver lists what carries the cluster's tag.
func (h *hunt) leftOver(ctx context.Context) ([]string, error) {
	expected, err := h.expected(ctx)
	if err != nil {
		return nil, err
	}
	found, err := h.tagged(ctx, model.TagOwnedPrefix+h.name, model.TagOwned)
	if err != nil {
		return nil, err
	}
	if h.vpc == "" { // Nothing was made but by a stack, and what is of the stack says whose.
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

// tagged lists what has a tag.
func (h *hunt) tagged(ctx context.Context, key, value string) ([]string, error) {
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

// expected are the volumes of claims that stay by the cluster's policy, and etcd's snapshots where they are kept.
func (h *hunt) expected(ctx context.Context) (map[string]bool, error) {
	kept := map[string]bool{}
	if !h.deleteVolumes {
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
