package ec2_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// placement creates a placement group.
func (w *suite) placement(in *awsec2.CreatePlacementGroupInput) *types.PlacementGroup {
	w.t.Helper()
	out, err := w.CreatePlacementGroup(w.t.Context(), in)
	if err != nil {
		w.t.Fatal(err)
	}
	return out.PlacementGroup
}

// into returns a request for an instance in a placement group.
func (w *suite) into(group, zone string, kind types.InstanceType) *awsec2.RunInstancesInput {
	in := w.request()
	in.SubnetId, in.InstanceType = aws.String(w.subnets[region+zone]), kind
	in.Placement = &types.Placement{GroupName: &group}
	return in
}

// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreatePlacementGroup.html
func TestPlacementGroupsAreCreatedAndDeleted(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	made := w.placement(&awsec2.CreatePlacementGroupInput{
		GroupName: aws.String("hdfs"), Strategy: types.PlacementStrategyPartition, PartitionCount: aws.Int32(5),
		TagSpecifications: []types.TagSpecification{
			{ResourceType: types.ResourceTypePlacementGroup, Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("data")}}},
		},
	})
	if *made.PartitionCount != 5 || made.State != types.PlacementGroupStateAvailable || len(made.Tags) != 1 ||
		*made.GroupArn != "arn:aws:ec2:eu-central-1:123456789012:placement-group/hdfs" {
		t.Errorf("created %+v", made)
	}
	found, err := w.DescribePlacementGroups(ctx, &awsec2.DescribePlacementGroupsInput{
		Filters: []types.Filter{
			{Name: aws.String("tag:team"), Values: []string{"data"}}, {Name: aws.String("strategy"), Values: []string{"partition"}},
		},
	})
	if err != nil || len(found.PlacementGroups) != 1 || *found.PlacementGroups[0].GroupName != "hdfs" {
		t.Errorf("found %+v, %v", found, err)
	}
	i := w.launch(w.into("hdfs", "a", types.InstanceTypeM6iLarge))
	if *i.Placement.GroupName != "hdfs" || aws.ToInt32(i.Placement.PartitionNumber) != 1 {
		t.Errorf("placed at %+v", i.Placement)
	}
	if i := w.launch(w.into("hdfs", "a", types.InstanceTypeM6iLarge)); aws.ToInt32(i.Placement.PartitionNumber) != 2 {
		t.Errorf("the second instance is in partition %d", aws.ToInt32(i.Placement.PartitionNumber))
	}
	_, err = w.DeletePlacementGroup(ctx, &awsec2.DeletePlacementGroupInput{GroupName: aws.String("hdfs")})
	wiretest.WantCode(t, err, "InvalidPlacementGroup.InUse")
	all, err := w.DescribeInstances(ctx, &awsec2.DescribeInstancesInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all.Reservations {
		id := *r.Instances[0].InstanceId
		if _, err := w.TerminateInstances(ctx, &awsec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
			t.Fatal(err)
		}
		w.until(id, types.InstanceStateNameTerminated)
	}
	if _, err := w.DeletePlacementGroup(ctx, &awsec2.DeletePlacementGroupInput{GroupName: aws.String("hdfs")}); err != nil {
		t.Error(err)
	}
	_, err = w.DescribePlacementGroups(ctx, &awsec2.DescribePlacementGroupsInput{GroupNames: []string{"hdfs"}})
	wiretest.WantCode(t, err, "InvalidPlacementGroup.Unknown")
}

// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/limitations-placement-groups.html
func TestPlacementGroupsRefuse(t *testing.T) {
	w := start(t)
	w.placement(&awsec2.CreatePlacementGroupInput{GroupName: aws.String("taken"), Strategy: types.PlacementStrategySpread})
	for name, c := range map[string]struct {
		in   awsec2.CreatePlacementGroupInput
		code string
	}{
		"no name":           {awsec2.CreatePlacementGroupInput{Strategy: types.PlacementStrategySpread}, "MissingParameter"},
		"a name twice":      {awsec2.CreatePlacementGroupInput{GroupName: aws.String("taken"), Strategy: types.PlacementStrategySpread}, "InvalidPlacementGroup.Duplicate"},
		"a long name":       {awsec2.CreatePlacementGroupInput{GroupName: aws.String(strings.Repeat("a", 256)), Strategy: types.PlacementStrategySpread}, "InvalidParameterValue"},
		"eight partitions":  {awsec2.CreatePlacementGroupInput{GroupName: aws.String("p"), Strategy: types.PlacementStrategyPartition, PartitionCount: aws.Int32(8)}, "InvalidParameterValue"},
		"partitions spread": {awsec2.CreatePlacementGroupInput{GroupName: aws.String("p"), Strategy: types.PlacementStrategySpread, PartitionCount: aws.Int32(2)}, "InvalidParameterCombination"},
		"another strategy":  {awsec2.CreatePlacementGroupInput{GroupName: aws.String("p"), Strategy: "stack"}, "InvalidParameterValue"},
	} {
		_, err := w.CreatePlacementGroup(t.Context(), &c.in)
		t.Log(name)
		wiretest.WantCode(t, err, c.code)
	}
	_, err := w.RunInstances(t.Context(), w.into("other", "a", types.InstanceTypeM6iLarge))
	wiretest.WantCode(t, err, "InvalidPlacementGroup.Unknown")
}

// A spread placement group has at most seven running instances in a zone, and what ends makes room.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html#placement-groups-spread
func TestSpreadPlacementGroupHasSevenInstancesInAZone(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	w.placement(&awsec2.CreatePlacementGroupInput{GroupName: aws.String("apart"), Strategy: types.PlacementStrategySpread})
	var last types.Instance
	for range 7 {
		last = w.launch(w.into("apart", "a", types.InstanceTypeT3Small))
	}
	_, err := w.RunInstances(ctx, w.into("apart", "a", types.InstanceTypeT3Small))
	wiretest.WantCode(t, err, "InsufficientInstanceCapacity")
	w.launch(w.into("apart", "b", types.InstanceTypeT3Small))
	if _, err := w.TerminateInstances(ctx, &awsec2.TerminateInstancesInput{InstanceIds: []string{*last.InstanceId}}); err != nil {
		t.Fatal(err)
	}
	w.until(*last.InstanceId, types.InstanceStateNameTerminated)
	w.launch(w.into("apart", "a", types.InstanceTypeT3Small))
}

// A cluster placement group is in the zone of its first instance, and has no burstable instances.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/limitations-placement-groups.html
func TestClusterPlacementGroupIsInOneZone(t *testing.T) {
	w := start(t)
	w.placement(&awsec2.CreatePlacementGroupInput{GroupName: aws.String("close"), Strategy: types.PlacementStrategyCluster})
	_, err := w.RunInstances(t.Context(), w.into("close", "a", types.InstanceTypeT3Small))
	wiretest.WantCode(t, err, "InvalidParameterCombination")
	w.launch(w.into("close", "a", types.InstanceTypeM6iLarge))
	// https://github.com/hashicorp/terraform-provider-aws/issues/1772
	_, err = w.RunInstances(t.Context(), w.into("close", "b", types.InstanceTypeM6iLarge))
	wiretest.WantCode(t, err, "InvalidPlacementGroup.InUse")
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ec2-placementgroup.html
func TestStackOfAPlacementGroup(t *testing.T) {
	sim := simulator.New(simulator.Options{Lag: simulator.NoLag})
	t.Cleanup(sim.Close)
	config := wiretest.ServeRoot(t, sim.Handler())
	client, ctx := awsec2.NewFromConfig(config), t.Context()
	s := &stacks{cloudformation.NewFromConfig(config), t}
	body := func(partitions string) *string {
		return aws.String(`
Resources:
  Placement:
    Type: AWS::EC2::PlacementGroup
    Properties: {Strategy: partition, PartitionCount: ` + partitions + `, Tags: [{Key: Name, Value: nodes}]}
Outputs:
  Name: {Value: !Ref Placement}
`)
	}
	team := func(name string) []cfntypes.Tag { return []cfntypes.Tag{{Key: aws.String("team"), Value: &name}} }
	name := aws.String("s")
	update := func(partitions, tag string) {
		t.Helper()
		_, err := s.UpdateStack(ctx, &cloudformation.UpdateStackInput{StackName: name, TemplateBody: body(partitions), Tags: team(tag)})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.CreateStack(ctx, &cloudformation.CreateStackInput{StackName: name, TemplateBody: body("2"), Tags: team("a")})
	if err != nil {
		t.Fatal(err)
	}
	first := s.settled(cfntypes.StackStatusCreateComplete)["Name"]
	found, err := client.DescribePlacementGroups(ctx, &awsec2.DescribePlacementGroupsInput{GroupNames: []string{first}})
	if err != nil || len(found.PlacementGroups[0].Tags) != 1 {
		t.Fatalf("CloudFormation tags no placement group with the stack's tags: %+v, %v", found, err)
	}
	update("2", "b")
	if name := s.settled(cfntypes.StackStatusUpdateComplete)["Name"]; name != first {
		t.Errorf("another tag of the stack replaced the placement group")
	}
	update("3", "b")
	if name := s.settled(cfntypes.StackStatusUpdateComplete)["Name"]; name == first {
		t.Errorf("another number of partitions did not replace the placement group")
	}
	all, err := client.DescribePlacementGroups(ctx, &awsec2.DescribePlacementGroupsInput{})
	if err != nil || len(all.PlacementGroups) != 1 || *all.PlacementGroups[0].PartitionCount != 3 {
		t.Errorf("left are %+v, %v", all, err)
	}
}
