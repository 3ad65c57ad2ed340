package apiserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	internalapi "k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	auditapi "k8s.io/apiserver/pkg/apis/audit"
	auditvalidation "k8s.io/apiserver/pkg/apis/audit/validation"
	"k8s.io/apiserver/pkg/audit"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Directory is the folder of the files on a node.
const Directory = "/etc/kubernetes/apiserver"

// LogDirectory is the folder of the audit log on a node, and LogFile the name of the file in it that
// the API server writes to.
const (
	LogDirectory = "/var/log/kubernetes/audit"
	LogFile      = "audit.log"
)

// Versions of the files' kinds, which all supported versions of Kubernetes read.
const (
	configVersion      = "apiserver.config.k8s.io/v1"
	auditVersion       = "audit.k8s.io/v1"
	podSecurityVersion = "pod-security.admission.config.k8s.io/v1"
)

// Config is what kube-apiserver gets in addition to what every cluster has.
type Config struct {
	// Files are the contents of the files below Directory, by name.
	Files map[string]string
	// Args are the arguments, by name without dashes.
	Args map[string]string
	// Refused are further arguments that exclude one of Args, with the field that sets it.
	Refused map[string]string
}

// Problem is an error in spec.api.
type Problem struct{ Field, Message, Remedy string }

// New returns the configuration for spec.api. issuer is the issuer of the cluster's service account
// tokens, which no provider may be, and stage that of spec.api.encryption in a cluster that was created
// without it, empty for others. With problems, the configuration is incomplete.
func New(api *v1alpha1.APIEndpoint, issuer string, stage v1alpha1.EncryptionStage) (Config, []Problem) {
	c := Config{Files: map[string]string{}, Args: map[string]string{}, Refused: map[string]string{}}
	problems := c.audit(api.Audit)
	problems = append(problems, c.encryption(api.Encryption, stage)...)
	problems = append(problems, c.authentication(api.Authentication, issuer)...)
	problems = append(problems, c.podSecurity(api.PodSecurity)...)
	return c, problems
}

// file adds a file, and the argument that names it.
func (c *Config) file(name, argument string, content any) []Problem {
	text, err := yaml.Marshal(content)
	if err != nil {
		return []Problem{{"spec.api", fmt.Sprintf("%s cannot be written: %v", name, err), "correct it"}}
	}
	c.Files[name] = string(text)
	c.Args[argument] = Directory + "/" + name
	return nil
}

// defaultPolicy logs the metadata of requests. It leaves out what Kubernetes' own components read all
// the time, and never has bodies, in which Secrets and tokens are.
var defaultPolicy = map[string]any{
	"omitStages": []any{"RequestReceived"},
	"rules": []any{
		map[string]any{"level": "None", "nonResourceURLs": []any{"/healthz*", "/livez*", "/readyz*", "/version", "/openapi/*"}},
		map[string]any{"level": "None", "verbs": []any{"get", "list", "watch"}, "resources": []any{
			map[string]any{"group": "", "resources": []any{"events"}},
			map[string]any{"group": "events.k8s.io", "resources": []any{"events"}},
			map[string]any{"group": "coordination.k8s.io", "resources": []any{"leases"}},
		}},
		// Each kubelet and each controller that elects a leader renews its lease every few seconds.
		map[string]any{"level": "None", "verbs": []any{"update", "patch"}, "resources": []any{
			map[string]any{"group": "coordination.k8s.io", "resources": []any{"leases"}},
		}},
		map[string]any{"level": "Metadata"},
	},
}

// audit adds the audit log: https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/.
func (c *Config) audit(a *v1alpha1.Audit) []Problem {
	if a == nil {
		return nil
	}
	const at = "spec.api.audit.policy"
	policy := maps.Clone(defaultPolicy)
	if a.Policy != nil {
		var problem *Problem
		if policy, problem = object(at, a.Policy, "Policy", auditVersion); problem != nil {
			return []Problem{*problem}
		}
	}
	policy["apiVersion"], policy["kind"] = auditVersion, "Policy"
	decoded := &auditapi.Policy{}
	if problem := decode(at, audit.Scheme, policy, decoded); problem != nil {
		return []Problem{*problem}
	}
	var problems []Problem
	for _, err := range auditvalidation.ValidatePolicy(decoded) {
		problems = append(problems, invalid(at, err))
	}
	if len(decoded.Rules) == 0 {
		problems = append(problems, Problem{at, "the policy has no rules", "add rules, or leave the policy out for the default one"})
	}
	if len(problems) > 0 {
		return problems
	}
	c.Args["audit-log-path"] = LogDirectory + "/" + LogFile
	c.Args["audit-log-maxage"] = strconv.Itoa(int(a.MaxAge))
	c.Args["audit-log-maxbackup"] = strconv.Itoa(int(a.MaxBackups))
	c.Args["audit-log-maxsize"] = strconv.Itoa(int(a.MaxSize))
	return c.file("audit-policy.yaml", "audit-policy-file", policy)
}

// authentication adds providers of OpenID Connect:
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#using-authentication-configuration.
func (c *Config) authentication(raw *runtime.RawExtension, issuer string) []Problem {
	if raw == nil {
		return nil
	}
	const at = "spec.api.authentication"
	config, problem := object(at, raw, "AuthenticationConfiguration", configVersion)
	if problem != nil {
		return []Problem{*problem}
	}
	if _, ok := config["anonymous"]; ok {
		return []Problem{{
			at + ".anonymous", "the probes of the API server are anonymous; RBAC lets anonymous users read its health only", "leave it out",
		}}
	}
	config["apiVersion"], config["kind"] = configVersion, "AuthenticationConfiguration"
	decoded := &internalapi.AuthenticationConfiguration{}
	if problem := decode(at, scheme(), config, decoded); problem != nil {
		return []Problem{*problem}
	}
	if len(decoded.JWT) == 0 {
		return []Problem{{at + ".jwt", "there is no provider", "add one, or leave spec.api.authentication out"}}
	}
	var own []string
	if issuer != "" {
		own = []string{issuer}
	}
	var problems []Problem
	for _, err := range validation.ValidateAuthenticationConfiguration(authenticationcel.NewDefaultCompiler(), decoded, own) {
		problems = append(problems, invalid(at, err))
	}
	if len(problems) > 0 {
		return problems
	}
	// The API server refuses both: https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/
	for _, name := range []string{
		"oidc-issuer-url", "oidc-client-id", "oidc-username-claim", "oidc-username-prefix", "oidc-groups-claim", "oidc-groups-prefix",
		"oidc-required-claim", "oidc-signing-algs", "oidc-ca-file",
	} {
		c.Refused[name] = at
	}
	return c.file("authentication.yaml", "authentication-config", config)
}

// podSecurity adds the defaults of the Pod Security Standards:
// https://kubernetes.io/docs/tasks/configure-pod-container/enforce-standards-admission-controller/.
func (c *Config) podSecurity(p *v1alpha1.PodSecurity) []Problem {
	if p == nil {
		return nil
	}
	enforce := cmp.Or(p.Enforce, v1alpha1.PodSecurityPrivileged)
	exempt := append([]string{"kube-system"}, p.ExemptNamespaces...)
	slices.Sort(exempt)
	return c.file("admission.yaml", "admission-control-config-file", map[string]any{
		"apiVersion": configVersion, "kind": "AdmissionConfiguration",
		"plugins": []any{map[string]any{"name": "PodSecurity", "configuration": map[string]any{
			"apiVersion": podSecurityVersion, "kind": "PodSecurityConfiguration",
			"defaults": map[string]any{
				"enforce": enforce, "audit": cmp.Or(p.Audit, enforce), "warn": cmp.Or(p.Warn, enforce),
			},
			"exemptions": map[string]any{"namespaces": slices.Compact(exempt)},
		}}},
	})
}

// object returns a user's object, whose apiVersion and kind may be missing but not different.
func object(at string, raw *runtime.RawExtension, kind, version string) (map[string]any, *Problem) {
	content := map[string]any{}
	if err := json.Unmarshal(raw.Raw, &content); err != nil || content == nil {
		return nil, &Problem{at, "it is not an object", "write the fields of a " + kind}
	}
	for name, want := range map[string]string{"apiVersion": version, "kind": kind} {
		if got, ok := content[name]; ok && got != want {
			return nil, &Problem{at + "." + name, fmt.Sprintf("it is %v", got), "write " + want + ", or leave it out"}
		}
	}
	return content, nil
}

// decode decodes strictly: an API server that finds an unknown field in an audit policy only logs it,
// and the rule would match more than its author meant.
func decode(at string, s *runtime.Scheme, content map[string]any, into runtime.Object) *Problem {
	data, err := json.Marshal(content)
	if err != nil {
		return &Problem{at, err.Error(), "correct it"}
	}
	if _, _, err := serializer.NewCodecFactory(s, serializer.EnableStrict).UniversalDecoder().Decode(data, nil, into); err != nil {
		return &Problem{at, strings.TrimPrefix(err.Error(), "strict decoding error: "), "correct it"}
	}
	return nil
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	install.Install(s)
	return s
}

// invalid converts an error of Kubernetes' validation, without the value, which may be long.
func invalid(at string, err *field.Error) Problem {
	return Problem{at + "." + err.Field, cmp.Or(err.Detail, err.Type.String()), "correct it"}
}
