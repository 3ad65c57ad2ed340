package ec2_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// A launch that names no subnet uses a default subnet of the default VPC.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_RunInstances.html
func TestLaunchWithoutSubnetUsesTheDefaultVPC(t *testing.T) {
	w := startWith(t, clock.RealClock{}, nil, vpc.WithDefaultVPC())
	in := w.request()
	in.SubnetId = nil
	in.Placement = &types.Placement{AvailabilityZone: aws.String(region + "b")}
	in.SecurityGroups = []string{"web"}
	_, err := w.RunInstances(t.Context(), in)
	wiretest.WantCode(t, err, "InvalidGroup.NotFound")
	made, err := w.CreateSecurityGroup(
		t.Context(), &awsec2.CreateSecurityGroupInput{GroupName: aws.String("web"), Description: aws.String("d")},
	)
	if err != nil {
		t.Fatal(err)
	}
	in.ClientToken = nil
	i := w.launch(in)
	if *i.Placement.AvailabilityZone != region+"b" || aws.ToString(i.PublicIpAddress) == "" || *i.SecurityGroups[0].GroupId != *made.GroupId {
		t.Errorf("launched as %+v", i)
	}
	in.Placement, in.SecurityGroups = nil, nil
	zones := map[string]bool{}
	for range 20 {
		in.ClientToken = nil
		out, err := w.RunInstances(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		zones[*out.Instances[0].Placement.AvailabilityZone] = true
	}
	if len(zones) < 2 {
		t.Errorf("20 launches without a zone are all in %v", zones)
	}
	w.dropDefaultSubnets(*i.VpcId, *i.InstanceId)
	in.Placement, in.ClientToken = &types.Placement{AvailabilityZone: aws.String(region + "c")}, nil
	_, err = w.RunInstances(t.Context(), in)
	wiretest.WantCode(t, err, "InvalidInput")
}

// dropDefaultSubnets deletes the default subnet of zone c after the instances in it.
func (w *suite) dropDefaultSubnets(vpcID, keep string) {
	w.t.Helper()
	ctx := w.t.Context()
	zone := types.Filter{Name: aws.String("availability-zone"), Values: []string{region + "c"}}
	out, err := w.DescribeInstances(ctx, &awsec2.DescribeInstancesInput{Filters: []types.Filter{zone}})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range out.Reservations {
		for _, i := range r.Instances {
			if *i.InstanceId == keep {
				continue
			}
			if _, err := w.TerminateInstances(ctx, &awsec2.TerminateInstancesInput{InstanceIds: []string{*i.InstanceId}}); err != nil {
				w.t.Fatal(err)
			}
			w.until(*i.InstanceId, types.InstanceStateNameTerminated)
		}
	}
	subnets, err := w.DescribeSubnets(ctx, &awsec2.DescribeSubnetsInput{
		Filters: []types.Filter{zone, {Name: aws.String("vpc-id"), Values: []string{vpcID}}},
	})
	if err != nil || len(subnets.Subnets) != 1 {
		w.t.Fatal(subnets, err)
	}
	if _, err := w.DeleteSubnet(ctx, &awsec2.DeleteSubnetInput{SubnetId: subnets.Subnets[0].SubnetId}); err != nil {
		w.t.Fatal(err)
	}
}
