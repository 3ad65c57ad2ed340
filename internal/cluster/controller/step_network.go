package controller

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
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// network is what AWS said of an existing VPC when it was asked for one generation of a Cluster.
type network struct {
	generation int64
	// revision counts the times that it was found different.
	revision int
	facts    *model.ExistingVPC
	tagged   bool
}

// networkStep looks at an existing VPC and puts our tags on it.
type networkStep struct{ *operator }

// Name returns the step's name.
func (s networkStep) Name() string { return "network" }

// EnsureCreated asks AWS about an existing VPC once for each generation, and marks it as shared with the
// Cluster, for the load balancer controller and for people.
func (s networkStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if cluster.Spec.Network.VPC == "" {
		return operatorkit.Done()
	}
	if _, err := s.existing(ctx, cluster); err != nil {
		return conclude(cluster, conditionNetwork, "", "", failed(err))
	}
	known, _ := s.networks.get(cluster.UID)
	if known.tagged {
		return operatorkit.Done()
	}
	if err := s.adopt(ctx, cluster); err != nil {
		return conclude(cluster, conditionNetwork, "", "", failed(err))
	}
	known.tagged = true
	s.networks.keep(cluster.UID, known)
	return operatorkit.Done()
}

// EnsureDeleted takes our tags off an existing VPC, and nothing else.
func (s networkStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if cluster.Spec.Network.VPC == "" || cluster.Status.Account == "" {
		return operatorkit.Done()
	}
	if err := s.abandon(ctx, cluster); err != nil {
		return failed(err)
	}
	return operatorkit.Done()
}

// existing returns what AWS says of the Cluster's VPC; nil if it gets a new one.
func (o *operator) existing(ctx context.Context, cluster *v1alpha1.Cluster) (*model.ExistingVPC, error) {
	if cluster.Spec.Network.VPC == "" {
		return nil, nil //nolint:nilnil // a new VPC has no facts, and the model takes it so
	}
	known, ok := o.networks.get(cluster.UID)
	if ok && known.generation == cluster.Generation {
		return known.facts, nil
	}
	facts, err := describeVPC(ctx, o.options.Clients.EC2(o.target(cluster)), cluster.Spec.Network.VPC)
	if err != nil {
		return nil, err
	}
	next := network{generation: cluster.Generation, revision: known.revision, facts: facts}
	if known.facts == nil || !sameVPC(known.facts, facts) {
		next.revision++
	}
	o.networks.keep(cluster.UID, next)
	return facts, nil
}

func sameVPC(a, b *model.ExistingVPC) bool {
	return a.ID == b.ID && slices.Equal(a.CIDRs, b.CIDRs) && slices.Equal(a.Subnets, b.Subnets)
}

// describeVPC asks AWS about a VPC and its subnets.
func describeVPC(ctx context.Context, client awsapi.EC2, id string) (*model.ExistingVPC, error) {
	vpcs, err := client.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{id}})
	if err != nil {
		return nil, fmt.Errorf("look at VPC %s: %w", id, err)
	}
	if len(vpcs.Vpcs) == 0 {
		return nil, fmt.Errorf("look at VPC %s: AWS does not know it", id)
	}
	facts := &model.ExistingVPC{ID: id}
	for _, block := range vpcs.Vpcs[0].CidrBlockAssociationSet {
		facts.CIDRs = append(facts.CIDRs, aws.ToString(block.CidrBlock))
	}
	if len(facts.CIDRs) == 0 {
		facts.CIDRs = []string{aws.ToString(vpcs.Vpcs[0].CidrBlock)}
	}
	subnets, err := subnetsOf(ctx, client, id)
	if err != nil {
		return nil, err
	}
	tables, err := routeTables(ctx, client, id)
	if err != nil {
		return nil, err
	}
	for i := range subnets {
		subnet := model.ExistingSubnet{
			ID: aws.ToString(subnets[i].SubnetId), Zone: aws.ToString(subnets[i].AvailabilityZone), CIDR: aws.ToString(subnets[i].CidrBlock),
		}
		subnet.RouteTable = tables[subnet.ID]
		if subnet.RouteTable == "" {
			subnet.RouteTable = tables[""] // the main one
		}
		facts.Subnets = append(facts.Subnets, subnet)
	}
	slices.SortFunc(facts.Subnets, func(a, b model.ExistingSubnet) int { return strings.Compare(a.ID, b.ID) })
	return facts, nil
}

func inVPC(id string) []types.Filter {
	return []types.Filter{{Name: aws.String("vpc-id"), Values: []string{id}}}
}

func subnetsOf(ctx context.Context, client awsapi.EC2, vpc string) ([]types.Subnet, error) {
	var subnets []types.Subnet
	in := &ec2.DescribeSubnetsInput{Filters: inVPC(vpc)}
	for {
		page, err := client.DescribeSubnets(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("look at the subnets of VPC %s: %w", vpc, err)
		}
		subnets = append(subnets, page.Subnets...)
		if in.NextToken = page.NextToken; aws.ToString(page.NextToken) == "" {
			return subnets, nil
		}
	}
}

// routeTables returns the route tables by subnet, the main one as "".
func routeTables(ctx context.Context, client awsapi.EC2, vpc string) (map[string]string, error) {
	tables := map[string]string{}
	in := &ec2.DescribeRouteTablesInput{Filters: inVPC(vpc)}
	for {
		page, err := client.DescribeRouteTables(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("look at the route tables of VPC %s: %w", vpc, err)
		}
		for i := range page.RouteTables {
			for j := range page.RouteTables[i].Associations {
				one := &page.RouteTables[i].Associations[j]
				if aws.ToBool(one.Main) || aws.ToString(one.SubnetId) != "" {
					tables[aws.ToString(one.SubnetId)] = aws.ToString(page.RouteTables[i].RouteTableId)
				}
			}
		}
		if in.NextToken = page.NextToken; aws.ToString(page.NextToken) == "" {
			return tables, nil
		}
	}
}
