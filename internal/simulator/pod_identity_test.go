package simulator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

// TestAssociationsOfEKSPodIdentity tests that the cluster of an association exists, that a service account
// has one, and that EKS may assume the role, which the caller may pass.
func TestAssociationsOfEKSPodIdentity(t *testing.T) {
	a := newAccount(t)
	simulatortest.EKSCluster(t, a.root, "management")
	const trusts = `{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]%s}`
	only := func(tag, value string) string {
		return fmt.Sprintf(trusts, `,"Condition":{"StringEquals":{"aws:RequestTag/`+tag+`":"`+value+`"}}`)
	}
	open := a.role("open", fmt.Sprintf(trusts, ""))
	web := a.role("web", only("kubernetes-service-account", "web"))
	here := a.role("here", only("eks-cluster-arn", "arn:aws:eks:"+a.root.Region+":123456789012:cluster/management"))
	elsewhere := a.role("elsewhere", only("eks-cluster-arn", "arn:aws:eks:"+a.root.Region+":123456789012:cluster/other"))
	untagged := a.role("untagged", `{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":"sts:AssumeRole"}`)
	ofEC2 := a.role("of-ec2", `{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]}`)
	all := allow(`["cloudformation:*","eks:*"]`, "*")
	pass := func(service string) string {
		return `{"Effect":"Allow","Action":["iam:PassRole","iam:GetRole"],"Resource":"*","Condition":{"StringEquals":{"iam:PassedToService":"` + service + `"}}}`
	}
	passes, passesToEC2 := a.user("ann", all, pass("pods.eks.amazonaws.com")), a.user("bob", all, pass("ec2.amazonaws.com"))
	association := func(cluster, account, role string) string {
		return fmt.Sprintf(`{Type: AWS::EKS::PodIdentityAssociation, Properties: {ClusterName: %s, Namespace: team, ServiceAccount: %s, RoleArn: %q}}`, cluster, account, role)
	}
	const invalid = "Trust policy of the role provided is invalid"
	for _, c := range []struct {
		name, resources string
		caller          aws.Config
		want            string // empty if the stack is created
	}{
		{"any service account", "{A: " + association("management", "web", open) + "}", passes, ""},
		{"this service account", "{A: " + association("management", "web", web) + "}", passes, ""},
		{"another service account", "{A: " + association("management", "job", web) + "}", passes, invalid},
		{"this cluster", "{A: " + association("management", "web", here) + "}", passes, ""},
		{"another cluster", "{A: " + association("management", "web", elsewhere) + "}", passes, invalid},
		{"no session tags", "{A: " + association("management", "web", untagged) + "}", passes, invalid},
		{"another service", "{A: " + association("management", "web", ofEC2) + "}", passes, invalid},
		{"no role", "{A: " + association("management", "web", "arn:aws:iam::123456789012:role/none") + "}", passes, "Role provided in the request does not exist"},
		{"no cluster", "{A: " + association("none", "web", open) + "}", passes, "No cluster found for name: none"},
		{"a caller who may pass roles to another service", "{A: " + association("management", "web", open) + "}", passesToEC2, "is not authorized to perform: iam:PassRole"},
		{
			"a second association", "{A: " + association("management", "web", open) + ", B: " +
				strings.TrimSuffix(association("management", "web", open), "}") + ", DependsOn: A}}", passes, "Association already exists: a-",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			made, err := cloudformation.NewFromConfig(c.caller).CreateStack(t.Context(), &cloudformation.CreateStackInput{
				StackName: aws.String("pods"), TemplateBody: aws.String("Resources: " + c.resources), OnFailure: types.OnFailureDelete,
			})
			if err != nil {
				t.Fatal(err)
			}
			root := cloudformation.NewFromConfig(a.root)
			failed := failureOf(t.Context(), t, root, made.StackId)
			if c.want == "" && failed != "" || !strings.Contains(failed, c.want) {
				t.Errorf("the stack failed with %q, want %q", failed, c.want)
			}
			if _, err := root.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: made.StackId}); err != nil {
				t.Fatal(err)
			}
			failureOf(t.Context(), t, root, made.StackId)
		})
	}
}
