package ec2

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// maxTopologyIDs is the maximum number of instances in one request.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTopology.html
const maxTopologyIDs = 100

// describeInstanceTopology returns no instance, because the simulator has none of the types with a
// topology, which are for high-performance computing and machine learning:
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-topology-prerequisites.html
func (s *Service) describeInstanceTopology(
	ctx context.Context, in *ec2.DescribeInstanceTopologyInput,
) (*ec2.DescribeInstanceTopologyOutput, error) {
	if len(in.InstanceIds) > 0 && in.MaxResults != nil {
		return nil, wire.Errorf(
			"InvalidParameterCombination", "The parameter instanceIds cannot be used with the parameter maxResults",
		)
	}
	if len(in.InstanceIds) > maxTopologyIDs {
		return nil, wire.Errorf("InvalidParameterValue", "A request can have at most %d instance IDs", maxTopologyIDs)
	}
	r := s.here(ctx)
	defer r.mu.Unlock()
	all := s.instanceFields(r)
	fields := vpc.Fields[*instance]{
		"availability-zone": all["availability-zone"], "instance-type": all["instance-type"],
	}
	if _, err := fields.Compile(in.Filters); err != nil {
		return nil, err
	}
	for _, id := range in.InstanceIds {
		if _, ok := r.instances[id]; !ok {
			return nil, noInstance(id)
		}
	}
	return &ec2.DescribeInstanceTopologyOutput{Instances: []types.InstanceTopology{}}, nil
}
