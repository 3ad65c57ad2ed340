package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	clusterv1alpha1 "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/service/kinds"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// TestModelIsPlannedOverItsObjects tests that the plan of a ModelDefinition has all objects of its kind in the
// management cluster, except for those that keep another revision. AWS is not asked for what the operator's
// records say.
func TestModelIsPlannedOverItsObjects(t *testing.T) {
	f := newFolder(t) // no call to AWS succeeds
	s := &services{folder: f}
	setenv(t, "AWS_REGION", region)
	const count = 30
	api, url := s.management()
	const definition = `apiVersion: service-operator.aws/v1alpha1
kind: ModelDefinition
metadata: {name: mailboxes}
spec:
  kind: Mailbox
  schema: {type: object, properties: {seconds: {type: integer}}}
  template: |
    Resources:
      Queue: {Type: "AWS::SQS::Queue", Properties: {VisibilityTimeout: {{ default 30 .spec.seconds }}, DelaySeconds: 1}}
`
	known, err := kinds.BuiltIn()
	s.must(err)
	s.load(api, url, known, definition)
	kind, err := known.Model("Mailbox")
	s.must(err)
	clusters, err := clusterv1alpha1.CustomResourceDefinitions()
	s.must(err)
	s.must(operatorkit.EnsureCRDs(t.Context(), &rest.Config{Host: url}, "test", append(clusters, kind.CRD())...))
	model0 := &servicev1alpha1.ModelDefinition{}
	s.must(yaml.Unmarshal([]byte(definition), model0))
	revision, err := model.NewRevision(model0)
	s.must(err)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(revision)
	s.must(err)
	s.must(api.Load(&unstructured.Unstructured{Object: content}))
	pins := map[int]string{0: revision.Name, 1: "mailboxes-0123456789"}
	for i := range count {
		object := &servicev1alpha1.Object{}
		object.APIVersion, object.Kind, object.Namespace = "service-operator.aws/v1alpha1", "Mailbox", "default"
		object.Name, object.Spec = fmt.Sprintf("box-%d", i), []byte("{}")
		made, err := known.Stack(kind, object, render.Facts{Region: region, AccountID: account, ClusterName: operator.DefaultClusterName})
		s.must(err)
		desired := stack.Desired{Template: made.Template, Parameters: made.Parameters, Tags: made.Tags, Capabilities: made.Capabilities}
		s.must(api.Load(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": object.APIVersion, "kind": object.Kind, "metadata": map[string]any{
				"name": object.Name, "namespace": "default", "annotations": map[string]any{servicev1alpha1.RevisionAnnotation: pins[i]},
			},
			"spec": map[string]any{},
			"status": map[string]any{
				"stackID": "arn:aws:cloudformation:" + region + ":" + account + ":stack/" + made.Name + "/1",
				"stack":   map[string]any{"digest": desired.Digest()},
			},
		}}))
	}
	code, out, errOut := s.run("--state", "k8s", "--aws-account-id", account, "-f", s.file(strings.ReplaceAll(definition, "DelaySeconds: 1", "DelaySeconds: 5")))
	if code != 0 || strings.Count(out, "DelaySeconds: 1 → 5") != count-len(pins) || !strings.Contains(out, "Plan: 28 to update in place, in 28 stacks.") ||
		!strings.Contains(out, "Mailbox default/box-1 keeps ModelRevision mailboxes-0123456789, which cannot be read; the plan omits it.") ||
		!strings.Contains(out, "ModelDefinition mailboxes: the operator updates at most 3 of these 28 objects at the same time") {
		t.Errorf("it exits with %d and says\n%s%s", code, out, errOut)
	}
	code, out, errOut = s.run("--state", "k8s", "--aws-account-id", account, "-f", s.file(definition))
	if code != 0 || !strings.Contains(out, "No changes.") {
		t.Errorf("of the same definition it exits with %d and says\n%s%s", code, out, errOut)
	}
}
