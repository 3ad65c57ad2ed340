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
		"https://oidc.eks.eu-west-1.amazonaws.com/id/EXAMPLE", "123456789012", "eu-west-1")
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
