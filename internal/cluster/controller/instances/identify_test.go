package instances

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// An instance that the cluster's Karpenter launched belongs to the cluster, and to no group. Another
// instance without an Auto Scaling group does not, whichever of the tags it has.
func TestInstancesOfKarpenterBelongToTheCluster(t *testing.T) {
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
	tags := map[string]string{
		"kubernetes.io/cluster/demo": "owned", "cluster-operator.aws/cluster": "demo", "karpenter.sh/nodepool": "default",
		"aws:ec2launchtemplate:id": "lt-1",
	}
	of := func(without string) *ec2types.Instance {
		made := &ec2types.Instance{PrivateDnsName: aws.String("ip-10-0-1-2")}
		for key, value := range tags {
			if key != without {
				made.Tags = append(made.Tags, ec2types.Tag{Key: aws.String(key), Value: aws.String(value)})
			}
		}
		return made
	}
	if got := identityOf(cluster, nil, of("")); got.Problem != "" || got.NodePool != "default" || got.Group != "" {
		t.Errorf("got %+v", got)
	}
	for without := range tags {
		if got := identityOf(cluster, nil, of(without)); got.Problem != "is in no Auto Scaling group" || got.NodePool != "" {
			t.Errorf("without %s: %+v", without, got)
		}
	}
}

func TestStackOfAutoScalingGroup(t *testing.T) {
	cases := map[string]struct{ group, want string }{
		"a name from CloudFormation":                      {"demo-workers-AutoScalingGroup-1A2B3C4D5E6F7", "demo-workers"},
		"a stack with a similar name":                     {"a-AutoScalingGroup-b-AutoScalingGroup-1A2B", "a-AutoScalingGroup-b"},
		"a foreign group":                                 {"web", ""},
		"a foreign group with another logical ID":         {"demo-Workers-1A2B3C4D5E6F7", ""},
		"a foreign group with another part in the middle": {"demo-AutoScalingGroup-blue-green", ""},
		"a group without a stack's name":                  {"AutoScalingGroup-1A2B", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := StackOf(c.group); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
