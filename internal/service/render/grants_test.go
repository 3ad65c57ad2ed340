package render_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

// granting returns a queue in the namespace team with grants as JSON.
func granting(grants string) *v1alpha1.Object {
	return &v1alpha1.Object{
		ObjectMeta: metav1.ObjectMeta{Name: "jobs", Namespace: "team"}, Spec: []byte(`{"grants":` + grants + `}`),
	}
}

// TestRolesOfTwoServiceAccountsDifferInName tests the name of a role: the shortened names of two
// service accounts are equal, and so is a hash of 32 bits, which the author of an object finds within
// seconds. The first of them would take the role of the second.
func TestRolesOfTwoServiceAccountsDifferInName(t *testing.T) {
	const namespace = "tenants-of-the-payment-platform-in-europe-"
	one := render.Role{ClusterName: "aws-operator", Namespace: namespace + "a", Name: "sa-183687"}
	other := render.Role{ClusterName: "aws-operator", Namespace: namespace + "b", Name: "sa-33331"}
	if one.RoleName() == other.RoleName() {
		t.Errorf("both roles are named %s", one.RoleName())
	}
	for _, r := range []render.Role{one, other, {ClusterName: "c", Namespace: "n", Name: strings.Repeat("a.", 126) + "a"}} {
		if len(r.RoleName()) > 64 {
			t.Errorf("the name %s is longer than IAM allows", r.RoleName())
		}
	}
}

// TestTrustPolicyNamesOneServiceAccount tests that no part of the trust policy is a pattern.
func TestTrustPolicyNamesOneServiceAccount(t *testing.T) {
	desired, err := render.Role{ClusterName: "aws-operator", Namespace: "team", Name: "web"}.Stack(
		render.Trust{Issuer: "https://oidc.eks.eu-west-1.amazonaws.com/id/EXAMPLE"}, "123456789012", "eu-west-1")
	if err != nil {
		t.Fatal(err)
	}
	if problems := schema.Default().Validate(desired.Template); len(problems) > 0 {
		t.Errorf("the template violates the schema: %v", problems)
	}
	text := string(desired.Template.YAML())
	for _, want := range []string{
		"oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/EXAMPLE", "StringEquals", "system:serviceaccount:team:web", "sts.amazonaws.com",
		"RoleName: aws-operator-team-web-", "Path: /aws-operator/aws-operator/",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the template has no %s:\n%s", want, text)
		}
	}
	if strings.ContainsAny(text, "*?") {
		t.Errorf("the template has a wildcard:\n%s", text)
	}
}

// TestTrustPolicyOfEKSPodIdentity tests that the role of a service account of an EKS cluster trusts only
// that service account of that cluster.
func TestTrustPolicyOfEKSPodIdentity(t *testing.T) {
	desired, err := render.Role{ClusterName: "aws-operator", Namespace: "team", Name: "web"}.Stack(
		render.Trust{EKSCluster: "arn:aws:eks:eu-west-1:123456789012:cluster/management"}, "123456789012", "eu-west-1")
	if err != nil {
		t.Fatal(err)
	}
	if problems := schema.Default().Validate(desired.Template); len(problems) > 0 {
		t.Errorf("the template violates the schema: %v", problems)
	}
	text := string(desired.Template.YAML())
	for _, want := range []string{
		"Service: pods.eks.amazonaws.com", "StringEquals", "aws:RequestTag/eks-cluster-arn: arn:aws:eks:eu-west-1:123456789012:cluster/management",
		"aws:RequestTag/kubernetes-namespace: team", "aws:RequestTag/kubernetes-service-account: web",
		"Type: AWS::EKS::PodIdentityAssociation", "ClusterName: management", "Namespace: team", "ServiceAccount: web",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the template has no %s:\n%s", want, text)
		}
	}
	if strings.ContainsAny(text, "*?") {
		t.Errorf("the template has a wildcard:\n%s", text)
	}
}

// TestEKSClusters tests which ARNs of EKS clusters the operator accepts.
func TestEKSClusters(t *testing.T) {
	for _, arn := range []string{"arn:aws:eks:eu-west-1:123456789012:cluster/a", "arn:aws-cn:eks:cn-north-1:123456789012:cluster/A_b-1"} {
		if err := render.CheckEKSCluster(arn); err != nil {
			t.Errorf("%s: %v", arn, err)
		}
	}
	for _, arn := range []string{
		"", "management", "arn:aws:eks:eu-west-1:123456789012:cluster/", "arn:aws:eks:eu-west-1:123456789012:cluster/a/b",
		"arn:aws:eks:eu-west-1:123456789012:nodegroup/a", "arn:aws:eks:eu-west-1::cluster/a", "arn:aws:eks:*:123456789012:cluster/a",
		"arn:aws:eks:eu-west-1:123456789012:cluster/*", "arn:aws:eks:eu-west-1:123456789012:cluster/${a}",
		"arn:aws:eks:eu-west-1:123456789012:cluster/" + strings.Repeat("a", 101),
	} {
		if err := render.CheckEKSCluster(arn); err == nil {
			t.Errorf("%q is accepted", arn)
		}
	}
}

// TestGrantsThatTheAPIServerDidNotCheck tests grants that were stored before the kind had access
// levels, when its schema allowed anything. A dynamic reference would be resolved in the role's stack.
func TestGrantsThatTheAPIServerDidNotCheck(t *testing.T) {
	m := builtIn(t, "SQSQueue")
	for _, c := range []struct{ reason, grants, field string }{
		{"a dynamic reference", `[{"serviceAccount":"{{resolve:ssm:/prod/password}}","access":"Send"}]`, "spec.grants[0].serviceAccount"},
		{"another namespace", `[{"serviceAccount":"other:web","access":"Send"}]`, "spec.grants[0].serviceAccount"},
		{"a wildcard", `[{"serviceAccount":"*","access":"Send"}]`, "spec.grants[0].serviceAccount"},
		{"an upper-case name", `[{"serviceAccount":"Web","access":"Send"}]`, "spec.grants[0].serviceAccount"},
		{"a long name", `[{"serviceAccount":"` + strings.Repeat("a", 254) + `","access":"Send"}]`, "spec.grants[0].serviceAccount"},
		{"no name", `[{"access":"Send"}]`, "spec.grants[0].serviceAccount"},
		{"a name twice", `[{"serviceAccount":"web","access":"Send"},{"serviceAccount":"web","access":"Receive"}]`, "spec.grants[1].serviceAccount"},
		{"an unknown level", `[{"serviceAccount":"web","access":"Admin"}]`, "spec.grants[0].access"},
		{"a text in the list", `["web"]`, "spec.grants[0].serviceAccount"},
		{"a map", `{"web":"Send"}`, "spec.grants"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := render.Grants(m, granting(c.grants))
			refused, ok := errors.AsType[*render.RefusedError](err)
			if !ok || refused.Reason != "InvalidGrant" || !strings.Contains(refused.Message, c.field) {
				t.Errorf("the error is %v, want one about %s", err, c.field)
			}
		})
	}
	for _, none := range []string{`[]`, `null`} {
		if grants, err := render.Grants(m, granting(none)); err != nil || len(grants) > 0 {
			t.Errorf("%s: the grants are %v, %v", none, grants, err)
		}
	}
}

// TestPolicyNamesExactlyTheResource tests the policy that an object adds to a role.
func TestPolicyNamesExactlyTheResource(t *testing.T) {
	desired, err := render.Stack(builtIn(t, "SQSQueue"), granting(`[{"serviceAccount":"web","access":"Send"}]`), facts, nil)
	if err != nil {
		t.Fatal(err)
	}
	if problems := schema.Default().Validate(desired.Template); len(problems) > 0 {
		t.Errorf("the template violates the schema: %v", problems)
	}
	role := render.Role{ClusterName: "aws-operator", Namespace: "team", Name: "web"}
	found := 0
	for id, r := range desired.Template.Resources {
		if r.Type != "AWS::IAM::Policy" {
			continue
		}
		found++
		data, err := json.Marshal(r.Properties)
		if err != nil {
			t.Fatal(err)
		}
		want := `"PolicyDocument":{"Statement":[{"Action":["sqs:GetQueueAttributes","sqs:GetQueueUrl","sqs:SendMessage"],"Effect":"Allow","Resource":[{"Fn::GetAtt":["Queue","Arn"]}]}],"Version":"2012-10-17"}`
		if !strings.Contains(string(data), want) || !strings.Contains(string(data), `"Roles":["`+role.RoleName()+`"]`) {
			t.Errorf("%s is %s", id, data)
		}
	}
	if found != 1 || len(desired.Capabilities) != 1 || desired.Capabilities[0] != "CAPABILITY_IAM" {
		t.Errorf("%d policies, capabilities %v", found, desired.Capabilities)
	}
}

// TestObjectWithGrantsAdoptsItsResource tests that the policies of grants are no resources that an
// object could adopt: the identifier needs no logical ID because of them.
func TestObjectWithGrantsAdoptsItsResource(t *testing.T) {
	obj := granting(`[{"serviceAccount":"web","access":"Send"}]`)
	const url = "https://sqs.eu-west-1.amazonaws.com/123456789012/jobs"
	obj.Annotations = map[string]string{v1alpha1.AdoptAnnotation: url}
	desired, err := render.Stack(builtIn(t, "SQSQueue"), obj, facts, nil)
	if err != nil {
		t.Fatal(err)
	}
	adoption, err := render.Adopts(obj, desired, schema.Default(), nil)
	if err != nil || adoption.Resource != "Queue" || adoption.Identifier["QueueUrl"] != url {
		t.Errorf("the object adopts %+v, %v", adoption, err)
	}
	for id, r := range desired.Template.Resources {
		if r.Type != "AWS::IAM::Policy" {
			continue
		}
		obj.Annotations[v1alpha1.AdoptAnnotation] = id + "=some-policy"
		if adoption, err := render.Adopts(obj, desired, schema.Default(), nil); err == nil && adoption.Resource == id {
			t.Errorf("the object adopts the policy %+v", adoption)
		}
	}
}

// TestIssuers tests which issuers the trust policies of roles can name.
func TestIssuers(t *testing.T) {
	for _, issuer := range []string{
		"https://oidc.eks.eu-central-1.amazonaws.com/id/0123456789ABCDEF", "https://issuer.example", "https://bucket.s3.eu-west-1.amazonaws.com/a-b/c_d",
	} {
		if err := render.CheckIssuer(issuer); err != nil {
			t.Errorf("%s: %v", issuer, err)
		}
	}
	for reason, issuer := range map[string]string{
		"nothing": "", "no scheme": "issuer.example", "http": "http://issuer.example", "an upper-case scheme": "HTTPS://issuer.example",
		"an upper-case host": "https://Issuer.example", "a port": "https://issuer.example:8443", "an empty port": "https://issuer.example:",
		"a slash at the end": "https://issuer.example/", "a query": "https://issuer.example?a=b", "a fragment": "https://issuer.example#a",
		"an empty fragment": "https://issuer.example#", "a user": "https://me@issuer.example", "a wildcard": "https://*.example",
		"a policy variable": "https://issuer.example/${aws:userid}", "a colon": "https://issuer.example/a:sub", "a quote": `https://issuer.example/"`,
		"an escape": "https://issuer.example/%2e", "a line break": "https://issuer.example/\n", "a dynamic reference": "https://issuer.example/{{resolve:ssm:a}}",
		"more than 255 characters": "https://issuer.example/" + strings.Repeat("a", 255),
	} {
		if err := render.CheckIssuer(issuer); err == nil {
			t.Errorf("%s: %q is accepted", reason, issuer)
		}
	}
}

// TestRolesOfObjects tests that only the service may assume the role of an object, which has another name
// than the role of a service account or of an object of another kind, and that the path is that of the
// operator's policies.
func TestRolesOfObjects(t *testing.T) {
	role := render.Role{ClusterName: "aws-operator", Kind: "Lambda", Namespace: "team", Name: "web"}
	desired, err := role.Stack(render.Trust{Service: "lambda.amazonaws.com"}, "123456789012", "eu-west-1")
	if err != nil {
		t.Fatal(err)
	}
	if problems := schema.Default().Validate(desired.Template); len(problems) > 0 {
		t.Errorf("the template violates the schema: %v", problems)
	}
	made, err := json.Marshal(desired.Template.Resources["Role"].Properties)
	if err != nil {
		t.Fatal(err)
	}
	const trust = `"Statement":[{"Action":"sts:AssumeRole","Condition":{"StringEquals":{"aws:SourceAccount":"123456789012"}},"Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"}}]`
	if text := string(made); !strings.Contains(text, trust) || !strings.Contains(text, `"Path":"/aws-operator/aws-operator/"`) {
		t.Errorf("the role is %s", text)
	}
	rule := builtIn(t, "EventBridgeRule")
	for spec, want := range map[string]string{
		`{}`: "arn:aws:events:eu-west-1:123456789012:rule/web", // no rule exists yet, but another object grants it access
		`{"eventBusARN":"arn:aws:events:eu-west-1:123456789012:event-bus/default"}`:         "arn:aws:events:eu-west-1:123456789012:rule/web",
		`{"eventBusARN":"arn:aws:events:eu-west-1:123456789012:event-bus/shop"}`:            "arn:aws:events:eu-west-1:123456789012:rule/shop/web",
		`{"eventBusARN":"arn:aws:events:eu-west-1:123456789012:event-bus/aws.partner/a/b"}`: "arn:aws:events:eu-west-1:123456789012:rule/aws.partner/a/b/web",
	} {
		obj := &v1alpha1.Object{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "team"}, Spec: []byte(spec)}
		trust, err := render.RoleTrust(rule, obj, facts)
		if err != nil || trust != (render.Trust{Service: "events.amazonaws.com", Source: want}) {
			t.Errorf("%s: %+v, %v", spec, trust, err)
		}
		stack, err := role.Stack(trust, "123456789012", "eu-west-1")
		if err != nil {
			t.Fatal(err)
		}
		if made, err := json.Marshal(stack.Template.Resources["Role"].Properties); err != nil || !strings.Contains(string(made), `"ArnEquals":{"aws:SourceArn":"`+want+`"}`) {
			t.Errorf("%s: the role is %s, %v", spec, made, err)
		}
	}
	account, other := role, role
	account.Kind, other.Kind = "", "StepFunction"
	for _, one := range []render.Role{account, other} {
		if one.RoleName() == role.RoleName() || one.StackName() == role.StackName() {
			t.Errorf("the roles of %+v and %+v have one name", one, role)
		}
	}
}

// TestGrantsToObjects tests what spec.objectGrants may name, and the policy.
func TestGrantsToObjects(t *testing.T) {
	m := builtIn(t, "SQSQueue")
	spec := func(grants string) *v1alpha1.Object {
		obj := granting(`null`)
		obj.Spec = []byte(`{"objectGrants":` + grants + `}`)
		return obj
	}
	for _, c := range []struct{ reason, grants, field string }{
		{"no kind", `[{"name":"resize","access":"Send"}]`, "spec.objectGrants[0]"},
		{"no name", `[{"kind":"Lambda","access":"Send"}]`, "spec.objectGrants[0]"},
		{"a kind that is a reference", `[{"kind":"{{resolve:ssm:/a}}","name":"resize","access":"Send"}]`, "spec.objectGrants[0]"},
		{"another namespace", `[{"kind":"Lambda","name":"other/resize","access":"Send"}]`, "spec.objectGrants[0]"},
		{"an object twice", `[{"kind":"Lambda","name":"a","access":"Send"},{"kind":"Lambda","name":"a","access":"Receive"}]`, "spec.objectGrants[1]"},
		{"an unknown level", `[{"kind":"Lambda","name":"a","access":"Admin"}]`, "spec.objectGrants[0].access"},
		{"a map", `{"a":"Send"}`, "spec.objectGrants"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := render.Grants(m, spec(c.grants))
			refused, ok := errors.AsType[*render.RefusedError](err)
			if !ok || refused.Reason != "InvalidGrant" || !strings.Contains(refused.Message, c.field) {
				t.Errorf("the error is %v, want one about %s", err, c.field)
			}
		})
	}
	desired, err := render.Stack(m, spec(`[{"kind":"Lambda","name":"resize","access":"Send"}]`), facts, nil)
	if err != nil || len(desired.Grants) != 1 {
		t.Fatalf("%+v, %v", desired, err)
	}
	policy, err := json.Marshal(desired.Template.Resources[desired.Grants[0]].Properties)
	if err != nil {
		t.Fatal(err)
	}
	role := render.Role{ClusterName: "aws-operator", Kind: "Lambda", Namespace: "team", Name: "resize"}
	if !strings.Contains(string(policy), `"Roles":["`+role.RoleName()+`"]`) {
		t.Errorf("the policy is %s, not one of the role %s", policy, role.RoleName())
	}
}
