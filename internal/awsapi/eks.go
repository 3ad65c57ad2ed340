package awsapi

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
)

// EKS reads the clusters of EKS.
type EKS interface {
	DescribeCluster(context.Context, *eks.DescribeClusterInput, ...func(*eks.Options)) (*eks.DescribeClusterOutput, error)
	ListNodegroups(context.Context, *eks.ListNodegroupsInput, ...func(*eks.Options)) (*eks.ListNodegroupsOutput, error)
	DescribeNodegroup(context.Context, *eks.DescribeNodegroupInput, ...func(*eks.Options)) (*eks.DescribeNodegroupOutput, error)
}

// EKS returns the client of EKS for the target.
func (c *Clients) EKS(t Target) EKS { return client(c, "eks", t, newEksCalls) }

// eksCalls are the calls of EKS that the project makes.
type eksCalls struct {
	describeCluster   call[eks.DescribeClusterInput, eks.DescribeClusterOutput, eks.Options]
	listNodegroups    call[eks.ListNodegroupsInput, eks.ListNodegroupsOutput, eks.Options]
	describeNodegroup call[eks.DescribeNodegroupInput, eks.DescribeNodegroupOutput, eks.Options]
}

func newEksCalls(cfg aws.Config) *eksCalls {
	client := eks.NewFromConfig(cfg)
	return &eksCalls{
		describeCluster: client.DescribeCluster, listNodegroups: client.ListNodegroups, describeNodegroup: client.DescribeNodegroup,
	}
}

func (c *eksCalls) DescribeCluster(
	ctx context.Context, in *eks.DescribeClusterInput, options ...func(*eks.Options),
) (*eks.DescribeClusterOutput, error) {
	return c.describeCluster(ctx, in, options...)
}

func (c *eksCalls) ListNodegroups(
	ctx context.Context, in *eks.ListNodegroupsInput, options ...func(*eks.Options),
) (*eks.ListNodegroupsOutput, error) {
	return c.listNodegroups(ctx, in, options...)
}

func (c *eksCalls) DescribeNodegroup(
	ctx context.Context, in *eks.DescribeNodegroupInput, options ...func(*eks.Options),
) (*eks.DescribeNodegroupOutput, error) {
	return c.describeNodegroup(ctx, in, options...)
}
