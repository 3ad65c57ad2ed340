package quota_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/quota"
)

func side(t *testing.T, resources string) *diff.Side {
	t.Helper()
	if resources == "" {
		return nil
	}
	parsed, err := template.Parse("test", []byte("Resources:\n"+resources))
	if err != nil {
		t.Fatal(err)
	}
	return &diff.Side{Template: parsed}
}

const (
	network = "  VPC: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/16}}\n"
	queue   = "  Queue: {Type: AWS::SQS::Queue}\n"

	standard = "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"
	spot     = "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests"
)

// group is an Auto Scaling group with these sizes and types, all on demand, or with a distribution.
func group(sizes, distribution string, types ...string) string {
	text := `  Template: {Type: AWS::EC2::LaunchTemplate, Properties: {LaunchTemplateData: {ImageId: ami-1}}}
  Group: {Type: AWS::AutoScaling::AutoScalingGroup, Properties: {` + sizes + `, MixedInstancesPolicy: {` + distribution + `LaunchTemplate: {
    LaunchTemplateSpecification: {LaunchTemplateId: !Ref Template, Version: "1"}, Overrides: [`
	for _, kind := range types {
		text += "{InstanceType: " + kind + "},"
	}
	return text + "]}}}}\n"
}

func TestWhatAChangeNeeds(t *testing.T) {
	const two = "MinSize: 2, MaxSize: 2"
	for name, c := range map[string]struct {
		before, after           string
		replaced, mayBeReplaced []string
		want                    []string
	}{
		"a new stack":                   {after: queue, want: []string{"Stack count: 1"}},
		"a resource more":               {before: queue, after: queue + network, want: []string{"VPCs per Region: 1"}},
		"nothing changes":               {before: queue + network, after: queue + network},
		"what is deleted frees nothing": {before: queue + network, after: queue},
		"a stack is deleted":            {before: queue + network},
		"the new one exists before the old one is deleted": {
			before: network, after: network, replaced: []string{"VPC"}, want: []string{"VPCs per Region: 1"},
		},
		"it may be replaced": {before: network, after: network, mayBeReplaced: []string{"VPC"}, want: []string{"VPCs per Region: 0 to 1"}},
		"a fixed number of instances": {
			before: queue, after: queue + group(two, "", "m6i.xlarge"),
			want: []string{"Auto Scaling groups per region: 1", standard + ": 8"},
		},
		"a range of instances and types": {
			before: queue, after: queue + group("MinSize: 1, MaxSize: 5", "", "m6i.large", "m6i.xlarge"),
			want: []string{"Auto Scaling groups per region: 1", standard + ": 2 to 20"},
		},
		"spot instances above a base": {
			before: queue, after: queue + group("MinSize: 5, MaxSize: 5", "InstancesDistribution: {OnDemandBaseCapacity: 1, OnDemandPercentageAboveBaseCapacity: 50}, ", "m6i.large"),
			want: []string{spot + ": 4", "Auto Scaling groups per region: 1", standard + ": 6"},
		},
		"families with quotas of their own": {
			before: queue, after: queue + group(two, "", "m6i.large", "g5.xlarge"),
			want: []string{"Auto Scaling groups per region: 1", "Running On-Demand G and VT instances: 0 to 8", standard + ": 0 to 4"},
		},
		"a group grows": {
			before: group(two, "", "m6i.large"), after: group("MinSize: 4, MaxSize: 6", "", "m6i.large"), want: []string{standard + ": 4 to 8"},
		},
		"a group shrinks": {before: group(two, "", "m6i.large"), after: group("MinSize: 1, MaxSize: 1", "", "m6i.large")},
		"another type exists beside the old one": {
			before: group(two, "", "m6i.large"), after: group(two, "", "c6i.large"), want: []string{standard + ": 4"},
		},
		"a type that is not known": {
			before: queue, after: queue + group(two, "", "u9.metal"),
			want: []string{"Auto Scaling groups per region: 1", "unknown: vCPUs of instances: the quota of u9.metal"},
		},
		"a number that only AWS knows": {
			before: queue, after: queue + "  Group: {Type: AWS::AutoScaling::AutoScalingGroup, Properties: {MinSize: !GetAtt Queue.Arn, MaxSize: 3}}\n",
			want: []string{"Auto Scaling groups per region: 1", "unknown: vCPUs of instances: the number of instances"},
		},
		"load balancers by type": {
			before: queue,
			after: queue + "  A: {Type: AWS::ElasticLoadBalancingV2::LoadBalancer}\n" +
				"  B: {Type: AWS::ElasticLoadBalancingV2::LoadBalancer, Properties: {Type: network}}\n",
			want: []string{"Application Load Balancers per Region: 1", "Network Load Balancers per Region: 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			stacks := []quota.Stack{{
				Before: side(t, c.before), After: side(t, c.after), Replaced: c.replaced, MayBeReplaced: c.mayBeReplaced,
			}}
			vCPUs := map[string]int32{"m6i.large": 2, "m6i.xlarge": 4, "c6i.large": 2, "g5.xlarge": 4}
			needs, unknown := quota.Needs(stacks, vCPUs)
			var got []string
			for _, need := range needs {
				text := fmt.Sprint(need.High)
				if need.Low != need.High {
					text = fmt.Sprint(need.Low, " to ", need.High)
				}
				got = append(got, need.Name+": "+text)
			}
			for _, what := range unknown {
				got = append(got, "unknown: "+what)
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}
