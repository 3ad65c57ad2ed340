package ec2_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// The cloud controller manager asks for the topology of every instance, and takes an empty answer for
// a type without one.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTopology.html
func TestInstancesOfOrdinaryTypesHaveNoTopology(t *testing.T) {
	w := start(t)
	id := *w.launch(w.request()).InstanceId
	out, err := w.DescribeInstanceTopology(t.Context(), &awsec2.DescribeInstanceTopologyInput{InstanceIds: []string{id}})
	if err != nil || len(out.Instances) != 0 {
		t.Errorf("the topology is %+v, %v", out, err)
	}
	_, err = w.DescribeInstanceTopology(t.Context(), &awsec2.DescribeInstanceTopologyInput{InstanceIds: []string{"i-0123456789abcdef0"}})
	wiretest.WantCode(t, err, "InvalidInstanceID.NotFound")
	_, err = w.DescribeInstanceTopology(
		t.Context(), &awsec2.DescribeInstanceTopologyInput{InstanceIds: []string{id}, MaxResults: aws.Int32(5)},
	)
	wiretest.WantCode(t, err, "InvalidParameterCombination")
}
