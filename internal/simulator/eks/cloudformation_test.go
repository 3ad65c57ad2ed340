package eks_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	awseks "github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/aws-operator/aws-operator/internal/patience"
)

// template is a cluster with everything that belongs to it. The words in angle brackets change.
const template = `
Resources:
  Cluster:
    Type: AWS::EKS::Cluster
    Properties:
      Name: one
      Version: "<version>"
      RoleArn: <cluster role>
      ResourcesVpcConfig: {SubnetIds: [<subnets>], EndpointPrivateAccess: <private>}
      AccessConfig: {AuthenticationMode: <mode>}
      Logging: <logging>
      Tags: [{Key: team, Value: <team>}]
  Nodes:
    Type: AWS::EKS::Nodegroup
    Properties:
      ClusterName: !Ref Cluster
      NodegroupName: workers
      NodeRole: <node role>
      Subnets: [<subnets>]
      Labels: {team: <team>}
      Version: "<nodes>"
      ScalingConfig: {MinSize: 1, DesiredSize: <size>, MaxSize: 3}
  Entry:
    Type: AWS::EKS::AccessEntry
    Properties:
      ClusterName: !Ref Cluster
      PrincipalArn: <pod role>
      KubernetesGroups: [<team>]
      AccessPolicies: [{PolicyArn: "arn:aws:eks::aws:cluster-access-policy/<policy>", AccessScope: {Type: cluster}}]
  DNS:
    Type: AWS::EKS::Addon
    DependsOn: Nodes
    Properties: {ClusterName: !Ref Cluster, AddonName: coredns, AddonVersion: <coredns>}
  Pods:
    Type: AWS::EKS::PodIdentityAssociation
    Properties: {ClusterName: !Ref Cluster, Namespace: a, ServiceAccount: b, RoleArn: <pod role>}
Outputs:
  Endpoint: {Value: !GetAtt Cluster.Endpoint}
  CA: {Value: !GetAtt Cluster.CertificateAuthorityData}
  Issuer: {Value: !GetAtt Cluster.OpenIdConnectIssuerUrl}
  Group: {Value: !GetAtt Cluster.ClusterSecurityGroupId}
  Arn: {Value: !GetAtt Cluster.Arn}
  Nodes: {Value: !Ref Nodes}
  Entry: {Value: !GetAtt Entry.AccessEntryArn}
  Addon: {Value: !GetAtt DNS.Arn}
  Pods: {Value: !GetAtt Pods.AssociationId}
`

func (w *suite) template(pairs ...string) string {
	return strings.NewReplacer(append(pairs,
		"<cluster role>", w.clusterRole, "<node role>", w.nodeRole, "<pod role>", w.podRole, "<subnets>", strings.Join(w.subnets, ", "),
	)...).Replace(template)
}

// stack waits until a stack has a status.
func (w *suite) stack(status cfntypes.StackStatus) (s cfntypes.Stack) {
	w.t.Helper()
	patience.UntilTrue(w.t, "a stack "+string(status), func() bool {
		w.clock.Step(2 * time.Second) // of the pauses between two polls
		out, err := w.cfn.DescribeStacks(w.t.Context(), &awscfn.DescribeStacksInput{})
		s = must(w.t, out, err).Stacks[0]
		if strings.Contains(string(s.StackStatus), "ROLLBACK") {
			events, err := w.cfn.DescribeStackEvents(w.t.Context(), &awscfn.DescribeStackEventsInput{StackName: s.StackId})
			for _, e := range must(w.t, events, err).StackEvents {
				w.t.Logf("%s %s %s", *e.LogicalResourceId, e.ResourceStatus, aws.ToString(e.ResourceStatusReason))
			}
			w.t.Fatalf("the stack is %s", s.StackStatus)
		}
		return s.StackStatus == status
	})
	return s
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_EKS.html
func TestStackOfACluster(t *testing.T) {
	w := start(t)
	body := w.template("<version>", "1.35", "<private>", "false", "<mode>", "API_AND_CONFIG_MAP", "<logging>",
		"{ClusterLogging: {EnabledTypes: []}}",
		"<team>", "a", "<nodes>", "1.34", "<size>", "1", "<policy>", "AmazonEKSViewPolicy", "<coredns>", "v1.14.3-eksbuild.14")
	_, err := w.cfn.CreateStack(t.Context(), &awscfn.CreateStackInput{StackName: aws.String("s"), TemplateBody: &body})
	must(t, w, err)
	outputs := map[string]string{}
	for _, o := range w.stack(cfntypes.StackStatusCreateComplete).Outputs {
		outputs[*o.OutputKey] = *o.OutputValue
	}
	c := w.get("one")
	for key, want := range map[string]string{
		"Endpoint": *c.Endpoint, "CA": *c.CertificateAuthority.Data, "Issuer": *c.Identity.Oidc.Issuer, "Arn": *c.Arn, "Nodes": "one/workers",
		"Group": *c.ResourcesVpcConfig.ClusterSecurityGroupId,
	} {
		if outputs[key] != want {
			t.Errorf("the output %s is %q, want %q", key, outputs[key], want)
		}
	}
	if c.Tags["team"] != "a" {
		t.Errorf("the tags are %v", c.Tags)
	}
	entries, err := w.ListAccessEntries(t.Context(), &awseks.ListAccessEntriesInput{ClusterName: &one.Cluster})
	if got := must(t, entries, err).AccessEntries; fmt.Sprint(got) != fmt.Sprint([]string{
		"arn:aws:iam::123456789012:role/node", w.podRole,
		"arn:aws:iam::123456789012:root",
	}) {
		t.Errorf("the entries are %v", got)
	}

	body = w.template("<version>", "1.36", "<private>", "true", "<mode>", "API", "<logging>",
		"{ClusterLogging: {EnabledTypes: [{Type: audit}]}}",
		"<team>", "b", "<nodes>", "1.35", "<size>", "2", "<policy>", "AmazonEKSEditPolicy", "<coredns>", "v1.14.3-eksbuild.16")
	_, err = w.cfn.UpdateStack(t.Context(), &awscfn.UpdateStackInput{StackName: aws.String("s"), TemplateBody: &body})
	must(t, w, err)
	w.stack(cfntypes.StackStatusUpdateComplete)
	after := w.get("one")
	if *after.Arn != *c.Arn || *after.Endpoint != *c.Endpoint || *after.Version != "1.36" ||
		!after.ResourcesVpcConfig.EndpointPrivateAccess ||
		after.AccessConfig.AuthenticationMode != types.AuthenticationModeApi || len(after.Logging.ClusterLogging) != 2 ||
		after.Tags["team"] != "b" {
		t.Errorf("after the update the cluster is %+v", after)
	}
	if n := w.nodegroup("workers"); *n.Version != "1.35" || n.Labels["team"] != "b" || *n.ScalingConfig.DesiredSize != 2 ||
		len(w.instances(n)) != 2 {
		t.Errorf("after the update the node group is %+v", n)
	}
	policies, err := w.ListAssociatedAccessPolicies(t.Context(),
		&awseks.ListAssociatedAccessPoliciesInput{ClusterName: &one.Cluster, PrincipalArn: &w.podRole})
	if got := must(t, policies, err).AssociatedAccessPolicies; len(got) != 1 ||
		!strings.HasSuffix(*got[0].PolicyArn, "AmazonEKSEditPolicy") {
		t.Errorf("after the update the policies are %+v", got)
	}
	if a := w.untilAddon("coredns", types.AddonStatusActive); *a.AddonVersion != "v1.14.3-eksbuild.16" {
		t.Errorf("after the update the add-on is %+v", a)
	}

	drift, err := w.cfn.DetectStackDrift(t.Context(), &awscfn.DetectStackDriftInput{StackName: aws.String("s")})
	patience.UntilTrue(t, "the drift", func() bool {
		w.clock.Step(2 * time.Second)
		out, err := w.cfn.DescribeStackDriftDetectionStatus(t.Context(),
			&awscfn.DescribeStackDriftDetectionStatusInput{StackDriftDetectionId: must(t, drift, err).StackDriftDetectionId})
		status := must(t, out, err)
		if status.StackDriftStatus == cfntypes.StackDriftStatusDrifted {
			found, err := w.cfn.DescribeStackResourceDrifts(t.Context(), &awscfn.DescribeStackResourceDriftsInput{
				StackName: aws.String("s"),
			})
			for _, d := range must(t, found, err).StackResourceDrifts {
				t.Logf("%s is %s: %+v", *d.LogicalResourceId, d.StackResourceDriftStatus, d.PropertyDifferences)
			}
			t.Fatal("the stack drifted")
		}
		return status.DetectionStatus == cfntypes.StackDriftDetectionStatusDetectionComplete
	})

	_, err = w.cfn.DeleteStack(t.Context(), &awscfn.DeleteStackInput{StackName: aws.String("s")})
	must(t, w, err)
	patience.UntilTrue(t, "the end of the stack", func() bool {
		w.clock.Step(2 * time.Second)
		out, err := w.cfn.DescribeStacks(t.Context(), &awscfn.DescribeStacksInput{})
		return len(must(t, out, err).Stacks) == 0
	})
	w.deleted("one")
}
