package gitops_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appv1 "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/yaml"
)

// health is what the tools say about an object. Message is a part of Argo CD's message.
type health struct {
	argo    string
	message string
	flux    status.Status
}

// written are the objects that OperatorKit writes for each outcome, by their names in its file.
var written = map[string]health{
	"done is ready":                                {"Healthy", "", status.CurrentStatus},
	"done again changes nothing":                   {"Healthy", "", status.CurrentStatus},
	"a wait is not ready, but synced":              {"Progressing", "It is being created.", status.InProgressStatus},
	"a degraded wait is not synced":                {"Progressing", "It will be retried.", status.InProgressStatus},
	"a stall is not reconciling":                   {"Degraded", "Fix it.", status.FailedStatus},
	"a wait after a stall is not stalled":          {"Progressing", "It is being created.", status.InProgressStatus},
	"a failure keeps Ready":                        {"Progressing", "busy", status.InProgressStatus},
	"a failure at another generation is not ready": {"Progressing", "busy", status.InProgressStatus},
	"a failure after a wait is not ready":          {"Progressing", "busy", status.InProgressStatus},
	"a failure after a stall is not stalled":       {"Progressing", "busy", status.InProgressStatus},
	"a pause keeps Ready":                          {"Suspended", "Paused.", status.InProgressStatus},
	"a pause removes Reconciling":                  {"Suspended", "Paused.", status.InProgressStatus},
	"a pause keeps Stalled":                        {"Suspended", "Paused.", status.FailedStatus},
	"an object created paused is unknown":          {"Suspended", "Paused.", status.InProgressStatus},
}

// more are other states. A condition is TYPE STATUS REASON MESSAGE.
var more = map[string]struct {
	kind       string
	generation int64
	deleted    bool
	conditions string
	want       health
}{
	"a new object": {"SQSQueue", 1, false, "", health{"Progressing", "has not read", status.InProgressStatus}},
	"an edit that the operator has not read": {
		"SQSQueue", 2, false, "Ready True Ready x; Synced True Ready x", health{"Progressing", "has not read", status.InProgressStatus},
	},
	"a change that waits for approval": {
		"DynamoDB", 1, false, "Ready False ApprovalNeeded x; Synced False ApprovalNeeded Approve it.; Reconciling True ApprovalNeeded x",
		health{"Suspended", "Approve it.", status.InProgressStatus},
	},
	"a change whose approval is stale": {
		"Cluster", 1, false, "Ready False ApprovalStale x; Synced False ApprovalStale Review it again.; Reconciling True ApprovalStale x",
		health{"Suspended", "Review it again.", status.InProgressStatus},
	},
	"drift": {
		"S3Bucket", 1, false, "Ready True Ready x; Synced True Ready x; Drifted True Drifted The versioning was changed.",
		health{"Healthy", "The versioning was changed.", status.CurrentStatus},
	},
	"a deletion": {
		"InstanceGroup", 1, true, "Ready False DeleteInProgress It is being deleted.; Synced True DeleteInProgress x; Reconciling True DeleteInProgress x",
		health{"Progressing", "It is being deleted.", status.TerminatingStatus},
	},
	"a deletion that waits for a user": {
		"S3Bucket", 1, true, "Ready False DeleteFailed x; Synced False DeleteFailed x; Stalled True DeleteFailed Empty the bucket.",
		health{"Degraded", "Empty the bucket.", status.TerminatingStatus},
	},
	"a release":         {"Release", 1, false, "", health{"Healthy", "", status.CurrentStatus}},
	"a model revision":  {"ModelRevision", 1, false, "", health{"Healthy", "", status.CurrentStatus}},
	"a stopped fleet":   {"Fleet", 1, false, "Ready False RolloutStopped x; Synced False RolloutStopped x; Stalled True RolloutStopped Correct a.", health{"Degraded", "Correct a.", status.FailedStatus}},
	"a ready identity":  {"AWSIdentity", 1, false, "Ready True Ready x; Synced True Ready x", health{"Healthy", "", status.CurrentStatus}},
	"a denied identity": {"AWSIdentity", 1, false, "Ready False AccessDenied x; Synced False AccessDenied x; Stalled True AccessDenied Trust it.", health{"Degraded", "Trust it.", status.FailedStatus}},
}

// groups are the API groups of kinds; others are of service-operator.aws.
var groups = map[string]string{
	"AWSIdentity": "aws-operator.aws", "Cluster": "cluster-operator.aws", "InstanceGroup": "cluster-operator.aws", "Release": "cluster-operator.aws",
	"Fleet": "cluster-operator.aws",
}

func TestHealthOfWrittenConditions(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "pkg", "operatorkit", "testdata", "conditions.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var objects map[string]map[string]any
	text, err := yaml.YAMLToJSON(data)
	if err == nil {
		err = json.Unmarshal(text, &objects) // with integers, as clients of Kubernetes read objects
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, object := range objects {
		t.Run(name, func(t *testing.T) {
			want, ok := written[name]
			if !ok {
				t.Fatal("the test does not know this case")
			}
			for _, kind := range []string{"SQSQueue", "Cluster", "AWSIdentity"} {
				check(t, kind, object, want)
			}
		})
	}
	for name := range maps.Keys(written) {
		if objects[name] == nil {
			t.Errorf("OperatorKit has no case %q", name)
		}
	}
}

func TestHealth(t *testing.T) {
	for name, one := range more {
		t.Run(name, func(t *testing.T) {
			metadata := map[string]any{"name": "one", "namespace": "team", "generation": one.generation}
			if one.deleted {
				metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
			}
			object := map[string]any{"metadata": metadata}
			var conditions []any
			for text := range strings.SplitSeq(one.conditions, "; ") {
				if parts := strings.SplitN(text, " ", 4); len(parts) == 4 {
					conditions = append(conditions, map[string]any{"type": parts[0], "status": parts[1], "reason": parts[2], "message": parts[3]})
				}
			}
			switch {
			case conditions != nil:
				object["status"] = map[string]any{"observedGeneration": int64(1), "conditions": conditions}
			case !strings.Contains(name, "release") && !strings.Contains(name, "revision"): // the default of the CRDs
				object["status"] = map[string]any{"observedGeneration": int64(-1)}
			}
			check(t, one.kind, object, one.want)
		})
	}
}

// check asks the tools about an object.
func check(t *testing.T, kind string, object map[string]any, want health) {
	t.Helper()
	group := groups[kind]
	if group == "" {
		group = "service-operator.aws"
	}
	u := &unstructured.Unstructured{Object: maps.Clone(object)}
	u.SetAPIVersion(group + "/v1alpha1")
	u.SetKind(kind)
	got, err := argoCD(t).GetResourceHealth(u)
	if err != nil {
		t.Fatal(err)
	}
	if got == nil || string(got.Status) != want.argo || !strings.Contains(got.Message, want.message) || want.message == "" && got.Message != "" {
		t.Errorf("%s: Argo CD says %+v, want %s %q", kind, got, want.argo, want.message)
	}
	result, err := status.Compute(u)
	if err != nil {
		t.Fatal(err)
	}
	if result.Status != want.flux {
		t.Errorf("%s: kstatus says %s (%s), want %s", kind, result.Status, result.Message, want.flux)
	}
}

// argoCD returns Argo CD's health checks with those of config/argocd.yaml. It reads the ConfigMap as
// Argo CD does: https://argo-cd.readthedocs.io/en/stable/operator-manual/health/
func argoCD(t *testing.T) lua.ResourceHealthOverrides {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "config", "argocd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct{ Data map[string]string }
	if err := yaml.Unmarshal(data, &config); err != nil {
		t.Fatal(err)
	}
	var overrides map[string]appv1.ResourceOverride
	if err := yaml.UnmarshalStrict([]byte(config.Data["resource.customizations"]), &overrides); err != nil {
		t.Fatal(err)
	}
	if len(overrides) != 1 {
		t.Fatalf("the ConfigMap has %d customizations, want 1", len(overrides))
	}
	return overrides
}
