package simulator_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonelastickubernetesservice.html
func TestAuthorizationOfEKS(t *testing.T) {
	a := newAccount(t)
	simulatortest.EKSCluster(t, a.root, "one")
	simulatortest.EKSCluster(t, a.root, "two")
	root := eks.NewFromConfig(a.root)
	described, err := root.DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: aws.String("one")})
	if err != nil {
		t.Fatal(err)
	}
	c := described.Cluster
	done(t)(root.TagResource(t.Context(), &eks.TagResourceInput{ResourceArn: c.Arn, Tags: map[string]string{"team": "a"}}))
	arn := func(resource string) string {
		return fmt.Sprintf("arn:aws:eks:%s:123456789012:%s", a.root.Region, resource)
	}
	ofOne := eks.NewFromConfig(a.user("one", allow(`"eks:*"`, arn("*/one*"))))
	ofTeam := eks.NewFromConfig(a.user("team", `{"Effect":"Allow","Action":"eks:*","Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/team":"a"}}}`))
	noPass := eks.NewFromConfig(a.user("nopass", allow(`"eks:*"`, "*")))
	viewers := eks.NewFromConfig(a.user("viewers", `{"Effect":"Allow","Action":"eks:*","Resource":"*","Condition":{"StringEquals":{"eks:accessScope":"namespace"}}}`))
	name := func(s string) *eks.DescribeClusterInput { return &eks.DescribeClusterInput{Name: &s} }
	group := func(cluster string) *eks.DescribeNodegroupInput {
		return &eks.DescribeNodegroupInput{ClusterName: &cluster, NodegroupName: aws.String("n")}
	}
	call := func(_ any, err error) error { return err }
	for what, test := range map[string]struct {
		err  error
		code string // empty if it is allowed
	}{
		"its cluster":                  {call(ofOne.DescribeCluster(t.Context(), name("one"))), ""},
		"another cluster":              {call(ofOne.DescribeCluster(t.Context(), name("two"))), "AccessDeniedException"},
		"its node group":               {call(ofOne.DescribeNodegroup(t.Context(), group("one"))), "ResourceNotFoundException"},
		"another cluster's node group": {call(ofOne.DescribeNodegroup(t.Context(), group("two"))), "AccessDeniedException"},
		"a cluster with the tag":       {call(ofTeam.DescribeCluster(t.Context(), name("one"))), ""},
		"a cluster without the tag":    {call(ofTeam.DescribeCluster(t.Context(), name("two"))), "AccessDeniedException"},
		"a role that is not passed": {call(noPass.CreateCluster(t.Context(), &eks.CreateClusterInput{
			Name: aws.String("three"), RoleArn: c.RoleArn, ResourcesVpcConfig: &types.VpcConfigRequest{SubnetIds: c.ResourcesVpcConfig.SubnetIds},
		})), "AccessDeniedException"},
		"a scope that a condition refuses": {call(viewers.AssociateAccessPolicy(t.Context(), &eks.AssociateAccessPolicyInput{
			ClusterName: c.Name, PrincipalArn: aws.String("arn:aws:iam::123456789012:root"), AccessScope: &types.AccessScope{Type: types.AccessScopeTypeCluster},
			PolicyArn: aws.String("arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"),
		})), "AccessDeniedException"},
	} {
		if test.code == "" && test.err != nil {
			t.Errorf("%s: %v", what, test.err)
		} else if test.code != "" {
			wiretest.WantCode(t, test.err, test.code)
		}
	}
}
