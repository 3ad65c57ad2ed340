package get

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/state"
)

const manifests = `apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: demo}
spec: {release: v1.36.3, region: eu-central-1, network: {cidr: 10.0.0.0/16, zones: [eu-central-1a]}}
---
apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata: {name: workers}
spec: {cluster: demo, minSize: 1, maxSize: 3, instanceTypes: [m6i.large, m5.large]}
---
apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: other}
spec: {release: v1.35.8, region: us-east-1, network: {cidr: 10.1.0.0/16, zones: [us-east-1a]}}
---
apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata: {name: spot}
spec: {cluster: other, minSize: 0, maxSize: 9, instanceTypes: [m6i.large]}
`

// kept is a state with two clusters, of which the first is up.
func kept(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s, err := state.Open(t.Context(), dir, state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	set, err := manifest.Read([]manifest.Source{{Name: "x.yaml", Reader: strings.NewReader(manifests)}}, manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var objects []client.Object
	for _, m := range set.Manifests {
		objects = append(objects, m.Object)
	}
	if _, err := s.Replace(t.Context(), objects); err != nil {
		t.Fatal(err)
	}
	demo, err := s.Load(t.Context(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	c := demo.Cluster
	c.CreationTimestamp = metav1.NewTime(time.Now().Add(-49 * time.Hour))
	c.Status.Version, c.Status.Nodes.Summary, c.Status.Endpoint = "v1.36.3", "2/2", "https://api.example.com:6443"
	c.Status.Conditions = []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionTrue, Reason: "AllReady", LastTransitionTime: metav1.Now()},
	}
	if err := s.Save(t.Context(), "demo", c); err != nil {
		t.Fatal(err)
	}
	return dir
}

func run(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := Command()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestGetShowsTheState(t *testing.T) {
	dir := kept(t)
	//nolint:dupword // a release is called as its version of Kubernetes
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"clusters": {[]string{"clusters"}, `NAME    RELEASE   VERSION   NODES   READY   REASON
demo    v1.36.3   v1.36.3   2/2     True    AllReady
other   v1.35.8   -         -       -       -
Not applied from this state yet, or made by Terraform: other. To read the state in AWS: aws-operator validate cluster other
`},
		"one cluster, with all there is": {[]string{"cluster", "demo", "-o", "wide"}, `NAME   RELEASE   VERSION   NODES   READY   REASON     REGION         ENDPOINT                       AGE
demo   v1.36.3   v1.36.3   2/2     True    AllReady   eu-central-1   https://api.example.com:6443   2d1h
`},
		"groups": {[]string{"ig"}, `NAME      CLUSTER   VERSION   MIN   MAX   NODES   UPDATED   READY   REASON
workers   demo      -         1     3     -       -         -       -
spot      other     -         0     9     -       -         -       -
`},
		"groups of one cluster, by name": {[]string{"instancegroups", "--cluster=other", "-o", "name"}, "instancegroup/spot\n"},
		"releases":                       {[]string{"releases", "v1.36.3"}, "NAME      KUBERNETES   RESOURCESET   STATE\nv1.36.3   v1.36.3      1.1.0         Active\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := run(t, append(test.args, "--state", dir)...); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestYAMLOutputIsAManifest(t *testing.T) {
	dir := kept(t)
	text := run(t, "cluster", "demo", "-o", "yaml", "--state", dir)
	set, err := manifest.Read([]manifest.Source{{Name: "out", Reader: strings.NewReader(text)}}, manifest.Options{})
	if err != nil || len(set.Manifests) != 1 || set.Manifests[0].Object.GetName() != "demo" {
		t.Errorf("%v, of\n%s", err, text)
	}
	var list struct {
		Kind  string           `json:"kind"`
		Items []map[string]any `json:"items"`
	}
	if err := json.Unmarshal([]byte(run(t, "clusters", "-o", "json", "--state", dir)), &list); err != nil || list.Kind != "List" ||
		len(list.Items) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestEmptyStateIsReported(t *testing.T) {
	dir := t.TempDir() + "/none"
	if got := run(t, "clusters", "--state", dir); got != "There are no clusters in the state "+dir+".\n" {
		t.Errorf("got %q", got)
	}
}

func TestNamesAreCompleted(t *testing.T) {
	dir := kept(t)
	for name, test := range map[string]struct{ args, want string }{
		"clusters":           {"clusters --state=" + dir + " d", "demo\n:4\n"},
		"groups":             {"ig --state=" + dir + " s", "spot\n:4\n"},
		"the flag":           {"ig --state=" + dir + " --cluster o", "other\n:4\n"},
		"formats":            {"clusters -o ", "table\nwide\njson\nyaml\nname\n:4\n"},
		"no second name":     {"clusters --state=" + dir + " demo ", ":4\n"},
		"a state that is no": {"clusters --state=ftp://x d", ":4\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, append([]string{"__complete"}, strings.Split(test.args, " ")...)...)
			if got, _, _ := strings.Cut(got, "Completion ended"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
