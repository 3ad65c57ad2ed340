package models

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/existingvpc"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// The tags by which the AWS Load Balancer Controller finds subnets:
// https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/deploy/subnet_discovery/
const (
	roleTag         = "kubernetes.io/role/elb"
	internalRoleTag = "kubernetes.io/role/internal-elb"
	// addedTag marks subnets whose role tag the operator added. The operator removes that tag with
	// the last cluster.
	addedTag = v1alpha1.Group + "/role-tag"
)

// tagging lists resources and the tags to add to them or to remove from them.
type tagging struct {
	resources []string
	tags      []types.Tag
}

func tag(key, value string) types.Tag {
	return types.Tag{Key: aws.String(key), Value: aws.String(value)}
}

// adopt tags the Cluster's existing VPC and subnets.
func (m *Models) adopt(ctx context.Context, cluster *v1alpha1.Cluster) error {
	client := m.options.EC2(cluster)
	subnets, err := existingvpc.Subnets(ctx, client, cluster.Spec.Network.VPC)
	if err != nil {
		return err
	}
	shared := tagging{
		resources: []string{cluster.Spec.Network.VPC},
		tags:      []types.Tag{tag(model.TagOwnedPrefix+cluster.Name, model.TagShared)},
	}
	roles := map[v1alpha1.SubnetRole]*tagging{
		v1alpha1.SubnetPublic:  {tags: []types.Tag{tag(roleTag, "1"), tag(addedTag, "added")}},
		v1alpha1.SubnetPrivate: {tags: []types.Tag{tag(internalRoleTag, "1"), tag(addedTag, "added")}},
	}
	for _, used := range cluster.Spec.Network.Subnets {
		shared.resources = append(shared.resources, used.ID)
		role := roles[used.Role]
		if role != nil && tagValue(tagsOf(subnets, used.ID), aws.ToString(role.tags[0].Key)) == "" {
			role.resources = append(role.resources, used.ID)
		}
	}
	for _, one := range []*tagging{&shared, roles[v1alpha1.SubnetPublic], roles[v1alpha1.SubnetPrivate]} {
		if len(one.resources) == 0 {
			continue
		}
		if _, err := client.CreateTags(ctx, &ec2.CreateTagsInput{Resources: one.resources, Tags: one.tags}); err != nil {
			return fmt.Errorf("tag VPC %s: %w", cluster.Spec.Network.VPC, err)
		}
	}
	return nil
}

// Untag removes the Cluster's tags from its existing VPC and subnets, and the role tags that the
// operator added where no other cluster uses the subnet.
func (m *Models) Untag(ctx context.Context, cluster *v1alpha1.Cluster) error {
	client := m.options.EC2(cluster)
	subnets, err := existingvpc.Subnets(ctx, client, cluster.Spec.Network.VPC)
	if err != nil {
		return err
	}
	own := model.TagOwnedPrefix + cluster.Name
	shared := tagging{resources: []string{cluster.Spec.Network.VPC}, tags: []types.Tag{{Key: aws.String(own)}}}
	roles := tagging{tags: []types.Tag{{Key: aws.String(roleTag)}, {Key: aws.String(internalRoleTag)}, {Key: aws.String(addedTag)}}}
	for i := range subnets {
		tags, id := subnets[i].Tags, aws.ToString(subnets[i].SubnetId)
		if tagValue(tags, own) != "" {
			shared.resources = append(shared.resources, id)
		}
		others := slices.ContainsFunc(tags, func(t types.Tag) bool {
			return strings.HasPrefix(aws.ToString(t.Key), model.TagOwnedPrefix) && aws.ToString(t.Key) != own
		})
		if tagValue(tags, addedTag) != "" && !others {
			roles.resources = append(roles.resources, id)
		}
	}
	return untag(ctx, client, &roles, &shared)
}

func untag(ctx context.Context, client awsapi.EC2, all ...*tagging) error {
	for _, one := range all {
		if len(one.resources) == 0 {
			continue
		}
		if _, err := client.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: one.resources, Tags: one.tags}); err != nil &&
			!strings.HasSuffix(awsapi.Code(err), ".NotFound") {
			return fmt.Errorf("remove tags from %s: %w", strings.Join(one.resources, ", "), err)
		}
	}
	return nil
}

func tagsOf(subnets []types.Subnet, id string) []types.Tag {
	for i := range subnets {
		if aws.ToString(subnets[i].SubnetId) == id {
			return subnets[i].Tags
		}
	}
	return nil
}

func tagValue(tags []types.Tag, key string) string {
	for _, t := range tags {
		if aws.ToString(t.Key) == key {
			return aws.ToString(t.Value)
		}
	}
	return ""
}
