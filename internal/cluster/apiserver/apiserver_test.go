package apiserver_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/apiserver"
)

const issuer = "https://issuer.example.com"

func audited(t *testing.T, policy string) v1alpha1.APIEndpoint {
	t.Helper()
	a := &v1alpha1.Audit{MaxAge: 30, MaxBackups: 10, MaxSize: 100}
	if policy != "" {
		a.Policy = raw(t, policy)
	}
	return v1alpha1.APIEndpoint{Audit: a}
}

func raw(t *testing.T, text string) *runtime.RawExtension {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &runtime.RawExtension{Raw: data}
}

func TestNothingIsConfiguredWithoutFields(t *testing.T) {
	c, problems := apiserver.New(&v1alpha1.APIEndpoint{}, issuer, "")
	if len(c.Files)+len(c.Args)+len(c.Refused)+len(problems) > 0 {
		t.Errorf("got %+v, %v", c, problems)
	}
}

func TestAuditLog(t *testing.T) {
	for name, policy := range map[string]string{
		"the default policy": "",
		"a policy":           "rules: [{level: RequestResponse, resources: [{group: '', resources: [configmaps]}]}, {level: Metadata}]",
		"a whole file":       "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Metadata}]}",
	} {
		t.Run(name, func(t *testing.T) {
			api := audited(t, policy)
			c, problems := apiserver.New(&api, issuer, "")
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			want := map[string]string{
				"audit-policy-file": "/etc/kubernetes/apiserver/audit-policy.yaml", "audit-log-path": "/var/log/kubernetes/audit/audit.log",
				"audit-log-maxage": "30", "audit-log-maxbackup": "10", "audit-log-maxsize": "100",
			}
			if diff := cmp.Diff(want, c.Args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			if text := c.Files["audit-policy.yaml"]; !strings.Contains(text, "apiVersion: audit.k8s.io/v1\nkind: Policy\n") {
				t.Errorf("the file is\n%s", text)
			}
		})
	}
}

func TestUsersOfProviders(t *testing.T) {
	api := v1alpha1.APIEndpoint{Authentication: raw(t, `
jwt:
- issuer: {url: https://login.example.com, audiences: [kubernetes]}
  claimMappings:
    username: {expression: "'oidc:' + claims.email"}
    groups: {claim: groups, prefix: "oidc:"}
  claimValidationRules: [{expression: "claims.email_verified == true", message: the address must be verified}]
`)}
	c, problems := apiserver.New(&api, issuer, "")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if c.Args["authentication-config"] != "/etc/kubernetes/apiserver/authentication.yaml" || c.Refused["oidc-issuer-url"] == "" {
		t.Errorf("got %+v", c)
	}
}

func TestPodSecurityDefaults(t *testing.T) {
	api := v1alpha1.APIEndpoint{PodSecurity: &v1alpha1.PodSecurity{
		Enforce: v1alpha1.PodSecurityBaseline, Warn: v1alpha1.PodSecurityRestricted,
		ExemptNamespaces: []string{"monitoring", "kube-system"},
	}}
	c, problems := apiserver.New(&api, issuer, "")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- configuration:
    apiVersion: pod-security.admission.config.k8s.io/v1
    defaults:
      audit: baseline
      enforce: baseline
      warn: restricted
    exemptions:
      namespaces:
      - kube-system
      - monitoring
    kind: PodSecurityConfiguration
  name: PodSecurity
`
	if diff := cmp.Diff(want, c.Files["admission.yaml"]); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
}

func TestEncryptionOfResources(t *testing.T) {
	api := v1alpha1.APIEndpoint{Encryption: &v1alpha1.Encryption{Resources: []string{"secrets", "widgets.example.com"}}}
	c, problems := apiserver.New(&api, issuer, "")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- providers:
  - kms:
      apiVersion: v2
      endpoint: unix:///run/nodeup-kms/kms.sock
      name: aws-kms
      timeout: 10s
  - identity: {}
  resources:
  - secrets
  - widgets.example.com
`
	if diff := cmp.Diff(want, c.Files["encryption.yaml"]); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
	if c.Args["encryption-provider-config"] != "/etc/kubernetes/apiserver/encryption.yaml" {
		t.Errorf("the arguments are %v", c.Args)
	}
	for _, resource := range []string{"apiserveripinfo", "deployments.extensions", "Secrets"} {
		_, problems := apiserver.New(&v1alpha1.APIEndpoint{Encryption: &v1alpha1.Encryption{Resources: []string{resource}}}, issuer, "")
		if len(problems) != 1 || problems[0].Field != "spec.api.encryption.resources" || problems[0].Message == "" {
			t.Errorf("%s: got %+v", resource, problems)
		}
	}
}

func TestInvalidFilesAreRefusedWithTheField(t *testing.T) {
	for _, c := range []struct{ name, policy, authentication, want string }{
		{"no rules", "{}", "", "spec.api.audit.policy: the policy has no rules"},
		{"a list", "[]", "", "spec.api.audit.policy: it is not an object"},
		{"a level", "rules: [{level: Everything}]", "", "spec.api.audit.policy.rules[0].level: "},
		{"a misspelled field", "rules: [{level: Metadata, user: [a]}]", "", `spec.api.audit.policy: unknown field "rules[0].user"`},
		{"a type", "rules: [{level: 1}]", "", "spec.api.audit.policy: "},
		{"another version", "{apiVersion: audit.k8s.io/v1beta1, rules: [{level: Metadata}]}", "", "spec.api.audit.policy.apiVersion: it is audit.k8s.io/v1beta1"},
		{"another kind", "{kind: Event, rules: [{level: Metadata}]}", "", "spec.api.audit.policy.kind: it is Event"},
		{"no provider", "", "{}", "spec.api.authentication.jwt: there is no provider"},
		{"no anonymous users", "", "anonymous: {enabled: false}", "spec.api.authentication.anonymous: the probes of the API server are anonymous"},
		{"http", "", "jwt: [{issuer: {url: http://a, audiences: [a]}, claimMappings: {username: {claim: sub, prefix: ''}}}]", "spec.api.authentication.jwt[0].issuer.url: "},
		{"the cluster's own issuer", "", "jwt: [{issuer: {url: https://issuer.example.com, audiences: [a]}, claimMappings: {username: {claim: sub, prefix: ''}}}]", "spec.api.authentication.jwt[0].issuer.url: "},
		{"an expression", "", "jwt: [{issuer: {url: https://a.example.com, audiences: [a]}, claimMappings: {username: {expression: 'claims.'}}}]", "spec.api.authentication.jwt[0].claimMappings.username.expression: "},
		{"a misspelled field of a provider", "", "jwt: [{issuer: {url: https://a.example.com, audience: [a]}}]", `spec.api.authentication: unknown field "jwt[0].issuer.audience"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var api v1alpha1.APIEndpoint
			if c.policy != "" {
				api = audited(t, c.policy)
			}
			if c.authentication != "" {
				api.Authentication = raw(t, c.authentication)
			}
			config, problems := apiserver.New(&api, issuer, "")
			if len(problems) == 0 {
				t.Fatalf("it is accepted: %+v", config)
			}
			p := problems[0]
			if got := p.Field + ": " + p.Message; !strings.HasPrefix(got, c.want) || p.Remedy == "" {
				t.Errorf("got %q; %q, want %q", got, p.Remedy, c.want)
			}
			if len(config.Files) > 0 {
				t.Errorf("there are files of a refused spec: %v", config.Files)
			}
		})
	}
}
