package controller_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

const managementCluster = "arn:aws:eks:" + region + ":" + account + ":cluster/management"

// associations returns the associations of EKS Pod Identity, as Cloud Control API describes them.
func (w *suite) associations() (all []string) {
	w.t.Helper()
	client, kind := cloudcontrol.NewFromConfig(w.awsConfig()), aws.String("AWS::EKS::PodIdentityAssociation")
	out, err := client.ListResources(w.t.Context(), &cloudcontrol.ListResourcesInput{TypeName: kind})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, one := range out.ResourceDescriptions {
		in := &cloudcontrol.GetResourceInput{TypeName: kind, Identifier: one.Identifier}
		if got, err := client.GetResource(w.t.Context(), in); err == nil { // another call may have deleted it
			all = append(all, *got.ResourceDescription.Properties)
		}
	}
	return all
}

// roleARN returns the role of the first entry of status.grants.
func roleARN(obj *unstructured.Unstructured) string {
	grants, _ := nested(obj, "status", "grants").([]any)
	if len(grants) == 0 {
		return ""
	}
	first, _ := grants[0].(map[string]any)
	arn, _ := first["roleARN"].(string)
	return arn
}

// TestGrantByEKSPodIdentity follows a grant in an EKS cluster with Pod Identity: the service account is
// associated with the role, needs no annotation, and loses both with the grant.
func TestGrantByEKSPodIdentity(t *testing.T) {
	w := prepareSuite(t, simulator.Options{}, render.Limits{})
	simulatortest.EKSCluster(t, w.awsConfig(), "management")
	w.eks = managementCluster
	w.startOperator()
	w.createAccount("web", nil)
	w.apply(`
{kind: SQSQueue, metadata: {name: jobs}, spec: {grants: [{serviceAccount: web, access: Send}]}}
---
{kind: SQSQueue, metadata: {name: mails}, spec: {grants: [{serviceAccount: web, access: Send}, {serviceAccount: late, access: Send}]}}
`)
	obj := w.ready("SQSQueue", "jobs")
	role := roleARN(obj)
	if got := show(nested(obj, "status", "grants")); role == "" || got != fmt.Sprintf("[map[roleARN:%s serviceAccount:web]]", role) {
		t.Errorf("status.grants is %s", got)
	}
	w.ready("SQSQueue", "mails")
	has := func(account, role string) bool {
		for _, one := range w.associations() {
			if strings.Contains(one, `"`+account+`"`) && strings.Contains(one, `"`+w.namespace+`"`) && strings.Contains(one, role) {
				return true
			}
		}
		return false
	}
	if all := w.associations(); len(all) != 2 || !has("web", role) || !has("late", "-late-") {
		t.Errorf("the associations are %q", all)
	}
	if policies := w.inlinePolicies(role); !strings.Contains(policies, "sqs:SendMessage") || strings.Contains(policies, "sqs:ReceiveMessage") {
		t.Errorf("the policies of the role are %s", policies)
	}
	if found, err := w.account("web"); err != nil || len(found.Annotations) > 0 {
		t.Errorf("the annotations are %v, %v", found.Annotations, err)
	}

	w.change("SQSQueue", "jobs", `{"spec":{"grants":null}}`)
	w.ready("SQSQueue", "jobs")
	if !has("web", role) {
		t.Error("the association of a service account to which another queue grants access is deleted")
	}
	w.change("SQSQueue", "mails", `{"spec":{"grants":null}}`)
	w.eventually("the roles and the associations are deleted", func() error {
		if all := w.associations(); len(all)+len(w.rolesLeft()) > 0 {
			return fmt.Errorf("associations %q, roles %q", all, w.rolesLeft()) //nolint:err113 // a test's message
		}
		return nil
	})
}

// TestGrantToAnAssociatedServiceAccount tests that an association that is not the operator's stays, and that
// the object says why it has no role.
func TestGrantToAnAssociatedServiceAccount(t *testing.T) {
	w := prepareSuite(t, simulator.Options{}, render.Limits{})
	simulatortest.EKSCluster(t, w.awsConfig(), "management")
	simulatortest.Stack(t, w.awsConfig(), "by-hand", `Resources:
  Role:
    Type: AWS::IAM::Role
    Properties:
      RoleName: by-hand
      AssumeRolePolicyDocument:
        Version: "2012-10-17"
        Statement: [{Effect: Allow, Principal: {Service: pods.eks.amazonaws.com}, Action: ["sts:AssumeRole", "sts:TagSession"]}]
  Association:
    Type: AWS::EKS::PodIdentityAssociation
    Properties: {ClusterName: management, Namespace: `+w.namespace+`, ServiceAccount: web, RoleArn: {Fn::GetAtt: [Role, Arn]}}
`)
	w.eks = managementCluster
	w.startOperator()
	w.apply(`{kind: SQSQueue, metadata: {name: jobs}, spec: {grants: [{serviceAccount: web, access: Send}]}}`)
	w.eventually("the object says that the service account has an association", func() error {
		obj, err := w.get("SQSQueue", "jobs")
		if err == nil && !strings.Contains(show(nested(obj, "status", "conditions")), "Association already exists") {
			err = fmt.Errorf("the conditions are %v", nested(obj, "status", "conditions")) //nolint:err113 // a test's message
		}
		return err
	})
	if all := w.associations(); len(all) != 1 || !strings.Contains(all[0], ":role/by-hand") {
		t.Errorf("the associations are %q", all)
	}
}

// TestGrantOutsideTheEKSCluster tests that a namespace whose roles are elsewhere gets a clear refusal.
func TestGrantOutsideTheEKSCluster(t *testing.T) {
	w := prepareSuite(t, simulator.Options{}, render.Limits{})
	w.eks = "arn:aws:eks:us-east-1:" + account + ":cluster/management"
	w.startOperator()
	w.apply(`{kind: SQSQueue, metadata: {name: jobs}, spec: {grants: [{serviceAccount: web, access: Send}]}}`)
	message := w.condition("SQSQueue", "jobs", "Stalled", "True", "GrantElsewhere").Message
	for _, want := range []string{"spec.grants", "region " + region, w.eks, "--service-account-issuer"} {
		if !strings.Contains(message, want) {
			t.Errorf("the message %q lacks %q", message, want)
		}
	}
	if left := w.rolesLeft(); len(left) > 0 {
		t.Errorf("there are roles %q", left)
	}
}
