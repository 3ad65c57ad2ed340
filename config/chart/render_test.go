package chart_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"helm.sh/helm/v4/pkg/action"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/config/chart"
	"github.com/aws-operator/aws-operator/internal/cli/console"
	"github.com/aws-operator/aws-operator/internal/cli/operator"
	"github.com/aws-operator/aws-operator/internal/golden"
)

const folder = "aws-operator"

// sets returns the sets of values in testdata, by name.
func sets(t *testing.T) map[string]map[string]any {
	t.Helper()
	files, err := filepath.Glob("testdata/*.values.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no values: %v", err)
	}
	all := map[string]map[string]any{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".values.yaml")] = values(t, string(data))
	}
	return all
}

func values(t *testing.T, text string) map[string]any {
	t.Helper()
	parsed := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
		t.Fatal(err)
	}
	return parsed
}

func render(t *testing.T, values map[string]any) string {
	t.Helper()
	manifests, err := chart.Render(folder, chart.Release{Name: "demo", Namespace: "platform"}, values)
	if err != nil {
		t.Fatal(err)
	}
	return manifests
}

func TestManifestsOfEachSetOfValues(t *testing.T) {
	for name, set := range sets(t) {
		t.Run(name, func(t *testing.T) {
			golden.Equal(t, name+".yaml", []byte(render(t, set)))
		})
	}
}

func TestHelmLintFindsNothing(t *testing.T) {
	for name, set := range sets(t) {
		t.Run(name, func(t *testing.T) {
			lint := action.NewLint()
			lint.Strict, lint.Namespace = true, "platform"
			for _, err := range lint.Run([]string{folder}, set).Errors {
				t.Error(err)
			}
		})
	}
}

// The error names the value, and what it must be.
func TestInvalidValuesAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ values, want string }{
		"a misspelled value":               {"replica: 3", "additional properties 'replica' not allowed"},
		"a misspelled value of a group":    {"aws: {regoin: eu-west-1}", "at '/aws': additional properties 'regoin' not allowed"},
		"a text for a number":              {"replicas: many", "at '/replicas': got string, want integer"},
		"a number for an account":          {"aws: {accountID: 123456789012}", "at '/aws/accountID': got number, want string"},
		"a region that is a zone":          {"aws: {region: eu-west-1a}", "at '/aws/region': 'eu-west-1a' does not match"},
		"a role that is a name":            {"serviceAccount: {roleARN: aws-operator}", "at '/serviceAccount/roleARN'"},
		"a digest that is a tag":           {"image: {digest: v1}", "at '/image/digest'"},
		"a tag in the repository":          {"image: {repository: 'example.com/aws-operator:v1'}", "at '/image/repository'"},
		"an unknown pull policy":           {"image: {pullPolicy: Sometimes}", "at '/image/pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'"},
		"an unknown log level":             {"log: {level: loud}", "at '/log/level': value must be one of 'debug', 'info', 'warn', 'error'"},
		"a grant without a namespace":      {"allowForeign: ['arn:aws:sqs:eu-west-1:123456789012:team-*']", "at '/allowForeign/0'"},
		"two grants in one":                {"allowForeign: ['a=arn:aws:sqs:::a,b=arn:aws:sqs:::b']", "at '/allowForeign/0'"},
		"an adoption without a type":       {"allowAdoption: ['team=table']", "at '/allowAdoption/0'"},
		"a role without a namespace":       {"allowRoles: ['arn:aws:iam::123456789012:role/clusters']", "at '/allowRoles/0'"},
		"an issuer without TLS":            {"serviceAccountIssuer: http://example.com", "at '/serviceAccountIssuer'"},
		"an EKS cluster that is a name":    {"eksCluster: management", "at '/eksCluster'"},
		"an interval without a unit":       {"driftInterval: '10'", "at '/driftInterval'"},
		"a budget without a rate":          {"aws: {apiBudget: {sqs: fast}}", "at '/aws/apiBudget/sqs'"},
		"a budget of no service":           {"aws: {apiBudget: {'a b': 5/20}}", "at '/aws/apiBudget'"},
		"a namespace in upper case":        {"watchNamespaces: [Team]", "at '/watchNamespaces/0'"},
		"a namespace twice":                {"watchNamespaces: [team, team]", "at '/watchNamespaces': items at 0 and 1 are equal"},
		"a port of root":                   {"metrics: {port: 80}", "at '/metrics/port': minimum: got 80, want 1,024"},
		"an argument that is no flag":      {"extraArgs: [simulator]", "at '/extraArgs/0'"},
		"a budget that blocks every drain": {"podDisruptionBudget: {maxUnavailable: 0}", "at '/podDisruptionBudget/maxUnavailable'"},
		"a spread without a domain":        {"topologySpreadConstraints: [{whenUnsatisfiable: DoNotSchedule}]", "at '/topologySpreadConstraints/0': missing property 'topologyKey'"},
		"two pods without a leader":        {"leaderElection: {enabled: false}", "replicas is 2, but leaderElection.enabled is false: each pod would change the same stacks. Set replicas to 1"},
		"one shard":                        {"shards: 1", "at '/shards'"},
		"no service account":               {"serviceAccount: {create: false}", "serviceAccount.name is empty: set it to the ServiceAccount"},
		"a role of another's account":      {"serviceAccount: {create: false, name: x, roleARN: 'arn:aws:iam::123456789012:role/x'}", "leave them empty and annotate the ServiceAccount"},
		"a monitor of no metrics":          {"metrics: {enabled: false, serviceMonitor: {enabled: true}}", "set metrics.enabled to true"},
		"alerts on no metrics":             {"metrics: {enabled: false, rules: {enabled: true}}", "set metrics.enabled to true"},
		"dashboards of no metrics":         {"metrics: {enabled: false, dashboards: {enabled: true}}", "set metrics.enabled to true"},
		"two servers on a port":            {"metrics: {port: 8081}", "metrics.port and probes.port are both 8081"},
		"two ways to give pods roles": {
			"{serviceAccountIssuer: 'https://a.example', eksCluster: 'arn:aws:eks:eu-west-1:123456789012:cluster/a'}",
			"serviceAccountIssuer and eksCluster are two ways to give pods their roles",
		},
		"a console without a host":          {"console: {enabled: true}", "console.hosts is empty: set it to the host by which browsers reach the console"},
		"a host of the console with a port": {"console: {enabled: true, hosts: ['console.example.com:443']}", "at '/console/hosts/0'"},
		"aggregation of no roles":           {"roles: {create: false, aggregate: true}", "set roles.create to true"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := chart.Render(folder, chart.Release{Name: "demo", Namespace: "platform"}, values(t, c.values))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func deployment(t *testing.T, manifests string) *appsv1.Deployment {
	t.Helper()
	made := &appsv1.Deployment{}
	if err := yaml.UnmarshalStrict([]byte(chart.From(manifests, "deployment.yaml")), made); err != nil {
		t.Fatal(err)
	}
	return made
}

// The operator parses the arguments of each set of values.
func TestTheOperatorAcceptsTheArguments(t *testing.T) {
	for name, set := range sets(t) {
		t.Run(name, func(t *testing.T) {
			args := deployment(t, render(t, set)).Spec.Template.Spec.Containers[0].Args
			if args[0] != "operator" {
				t.Errorf("the command is %q", args[0])
			}
			if err := operator.Command().ParseFlags(args[1:]); err != nil {
				t.Error(err)
			}
		})
	}
}

// A flag without a value in the chart fails this test: add one, and set it in everything.values.yaml.
func TestEveryFlagOfTheOperatorHasAValue(t *testing.T) {
	set := sets(t)["everything"]
	cmd := operator.Command()
	if err := cmd.ParseFlags(deployment(t, render(t, set)).Spec.Template.Spec.Containers[0].Args[1:]); err != nil {
		t.Fatal(err)
	}
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		// --kubeconfig is among extraArgs: in a cluster, the operator serves that cluster. --eks-cluster
		// excludes --service-account-issuer, and --shards --leader-elect; eks.values.yaml and shards.values.yaml have them.
		if !flag.Changed && flag.Name != "eks-cluster" && flag.Name != "shards" {
			t.Errorf("no value sets --%s", flag.Name)
		}
	})
	for flag, value := range map[string]string{
		"allow-foreign": "allowForeign", "allow-adoption": "allowAdoption", "allow-roles": "allowRoles", "watch-namespace": "watchNamespaces",
	} {
		got, err := cmd.Flags().GetStringSlice(flag)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := set[value].([]any)
		if !slices.EqualFunc(got, want, func(a string, b any) bool { return a == b }) {
			t.Errorf("--%s is %q, want %q", flag, got, want)
		}
	}
}

// consoles returns the pods of the console in each set of values that has one, with their labels.
func consoles(t *testing.T) map[string]corev1.PodTemplateSpec {
	t.Helper()
	found := map[string]corev1.PodTemplateSpec{}
	for name, set := range sets(t) {
		documents := chart.From(render(t, set), "console.yaml")
		if documents == "" {
			continue
		}
		for document := range strings.SplitSeq(documents, "---\n") {
			made := &appsv1.Deployment{}
			if strings.Contains(document, "kind: Deployment\n") {
				if err := yaml.UnmarshalStrict([]byte(document), made); err != nil {
					t.Fatal(err)
				}
				found[name] = made.Spec.Template
			}
		}
	}
	if len(found) == 0 {
		t.Fatal("no set of values has a console")
	}
	return found
}

// The command parses the arguments of each console, and everything.values.yaml has each flag of a console in a cluster.
func TestTheConsoleAcceptsTheArguments(t *testing.T) {
	for name, pod := range consoles(t) {
		args := pod.Spec.Containers[0].Args
		cmd := console.Command()
		if err := cmd.ParseFlags(args[1:]); err != nil || args[0] != "console" {
			t.Errorf("%s: %q, %v", name, args, err)
		}
		for _, flag := range []string{"in-cluster", "host", "listen", "certificate-authority", "tls-cert", "tls-key"} {
			if name == "everything" && !cmd.Flags().Changed(flag) {
				t.Errorf("no value sets --%s", flag)
			}
		}
	}
}

// The pod of the console has nothing of its own: no token, no environment, no credentials of AWS. What selects the
// operator's pods does not select it.
func TestTheConsoleHasNoRights(t *testing.T) {
	operators := deployment(t, render(t, sets(t)["everything"])).Spec.Selector.MatchLabels
	for name, pod := range consoles(t) {
		spec := pod.Spec
		if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken || spec.ServiceAccountName != "" {
			t.Errorf("%s: the pod has the token of a service account", name)
		}
		container := spec.Containers[0]
		if len(container.Env) > 0 || len(container.EnvFrom) > 0 {
			t.Errorf("%s: the pod has the environment %v %v", name, container.Env, container.EnvFrom)
		}
		if s := container.SecurityContext; s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
			t.Errorf("%s: the root file system is writable", name)
		}
		if label := "app.kubernetes.io/name"; pod.Labels[label] == operators[label] {
			t.Errorf("%s: the operator's selectors include the console", name)
		}
	}
}

// Each value is described and has a default, and nothing else is allowed: only fields of Kubernetes'
// own types are left to the API server.
func TestSchemaIsStrict(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(folder, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	open := map[string]bool{"affinity": true, "global": true, "$defs.objects[]": true}
	var walk func(path string, node map[string]any)
	walk = func(path string, node map[string]any) {
		properties, _ := node["properties"].(map[string]any)
		if _, closed := node["additionalProperties"]; node["type"] == "object" && !closed && !open[path] {
			t.Errorf("%s allows every field: set additionalProperties", path)
		}
		for name, property := range properties {
			walk(strings.TrimPrefix(path+"."+name, "."), property.(map[string]any))
		}
		if items, ok := node["items"].(map[string]any); ok {
			walk(path+"[]", items)
		}
	}
	walk("", schema)
	for name, definition := range schema["$defs"].(map[string]any) {
		walk("$defs."+name, definition.(map[string]any))
	}

	found, err := chart.Values(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		if v.Default == "" && !v.Group && v.Path != "global" && v.Path != "enabled" {
			t.Errorf("%s has no default", v.Path)
		}
	}
}

func TestValuesNeedDescriptions(t *testing.T) {
	_, err := chart.Values([]byte(`{"properties": {"a": {"description": "A.", "properties": {"b": {"type": "string"}}}}}`))
	if err == nil || err.Error() != "a.b has no description" {
		t.Errorf("got %v", err)
	}
}

func TestValuesFileHasDefaultsAndDescriptions(t *testing.T) {
	found, err := chart.Values([]byte(`{
		"$defs": {"names": {"type": "array"}},
		"properties": {
			"image": {"description": "The image.", "properties": {"tag": {"description": "A tag.", "type": "string", "default": ""}}},
			"spread": {"description": "Spread.", "$ref": "#/$defs/names", "default": [{"a": 1, "b": "x"}, {"a": 2}]},
			"log": {"description": "Log.", "enum": ["debug", "info"], "default": "info"},
			"global": {"description": "Not read.", "type": "object"}
		}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	_, file, _ := strings.Cut(string(chart.ValuesFile(found)), "\n\n")
	want := `# The image.
image:
  # A tag.
  tag: ""

# Spread.
spread:
  - {a: 1, b: x}
  - {a: 2}

# Log.
log: info
`
	if diff := cmp.Diff(want, file); diff != "" {
		t.Errorf("values.yaml (-want +got):\n%s", diff)
	}
	page := string(chart.Reference(found))
	for _, row := range []string{
		"| `image.tag` | string | `\"\"` | A tag. |", "| `spread` | list | `[{a: 1, b: x}, {a: 2}]` |", "| `log` | `debug`, `info` | `info` |",
	} {
		if !strings.Contains(page, row) {
			t.Errorf("the page lacks %s:\n%s", row, page)
		}
	}
}

// By default, the pods may do nothing that Pod Security's level restricted forbids, and a test against
// the API server (package config) proves it. These fields it does not require.
func TestPodsAreConfined(t *testing.T) {
	for name, set := range sets(t) {
		t.Run(name, func(t *testing.T) {
			container := deployment(t, render(t, set)).Spec.Template.Spec.Containers[0]
			if s := container.SecurityContext; s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
				t.Error("the root file system is writable")
			}
			for _, arg := range container.Args {
				if address, ok := strings.CutPrefix(arg, "--pprof-bind-address="); ok && !strings.HasPrefix(address, "127.0.0.1:") {
					t.Errorf("profiles are served at %s", address)
				}
			}
		})
	}
}
