package controller_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/internal/service/mostused"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

// used is a suite with an object of each of the most used types.
type used struct {
	*suite
	control  *cloudcontrol.Client
	image    string
	examples map[string]*example // by type
	order    [][]*example        // each needs only those in front of it
}

// example is one of the most used types, with its object.
type example struct {
	mostused.Type
	schema      *schema.Type
	model       *model.Model
	kind        string
	name        string
	first, spec map[string]any // without placeholders: as created, and now
	output      map[string]any
	other       *example // that adopts, nil before the test of adoption
	adopted     string   // the identifier of the resource that it adopts
	broken      bool
}

// TestMostUsedTypes takes the types that public templates use most through their life, each as a kind that
// names only the type: an object is created, changed in place, changed by another client, and deleted, and
// another one adopts a resource that another client made.
func TestMostUsedTypes(t *testing.T) {
	w := newUsed(t)
	t.Run("create", w.create)
	t.Run("attributes", w.attributes)
	t.Run("adopt", w.adopt)
	t.Run("update", w.update)
	t.Run("drift", w.drifts)
	t.Run("delete", w.deleteAll)
	w.t = t
}

func newUsed(t *testing.T) *used {
	t.Helper()
	list, err := mostused.Load()
	if err != nil {
		t.Fatal(err)
	}
	w := &used{
		suite:    newLimitedSuite(t, nil, render.Limits{Adoption: []grant.Grant{{Namespace: "*", Pattern: "AWS::*"}}}),
		examples: map[string]*example{},
	}
	w.control = cloudcontrol.NewFromConfig(w.awsConfig())
	image, err := ssm.NewFromConfig(w.awsConfig()).GetParameter(t.Context(), &ssm.GetParameterInput{
		Name: aws.String("/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.image = *image.Parameter.Value
	for _, one := range slices.Concat(list.Types, list.Needed) {
		e := &example{Type: one, kind: one.Kind(), name: one.Example()}
		e.schema, _ = schema.Default().Type(one.Name)
		e.model, err = model.Compile(one.Name, &v1alpha1.ModelDefinitionSpec{Kind: e.kind, ResourceType: one.Name}, schema.Default())
		if err != nil {
			t.Fatal(err)
		}
		w.examples[one.Name] = e
		definition := map[string]any{"kind": e.kind, "resourceType": one.Name}
		maps.Copy(definition, one.Definition)
		var outputs []any
		for _, attribute := range one.Publish {
			outputs = append(outputs, map[string]any{"name": model.FieldName(attribute)})
		}
		if len(outputs) > 0 {
			definition["outputs"] = outputs
		}
		w.apply(fmt.Sprintf("{kind: ModelDefinition, metadata: {name: %s}, spec: %s}", strings.ToLower(e.kind), text(definition)))
	}
	w.apply("{apiVersion: v1, kind: Secret, metadata: {name: api, labels: {service-operator.aws/values: allowed}}, stringData: {key: value}}")
	w.sort()
	for name, e := range w.examples {
		if condition := w.condition("ModelDefinition", strings.ToLower(e.kind), "Ready", "True", "Served"); condition == nil {
			t.Fatalf("%s is not served", name)
		}
	}
	return w
}

var placeholder = regexp.MustCompile(`\$\{(another )?([\w:]+)\.(\w+)\}`)

// sort puts the examples behind those that they need.
func (w *used) sort() {
	placed := map[string]bool{}
	for len(placed) < len(w.examples) {
		var next []*example
		for _, name := range slices.Sorted(maps.Keys(w.examples)) {
			ready := !placed[name]
			for _, needed := range w.examples[name].needed() {
				ready = ready && placed[needed]
			}
			if ready {
				next = append(next, w.examples[name])
			}
		}
		if len(next) == 0 {
			w.t.Fatal("examples need each other, or one that is missing")
		}
		for _, e := range next {
			placed[e.Name] = true
		}
		w.order = append(w.order, next)
	}
}

// needed returns the types of the examples that an example needs.
func (e *example) needed() []string {
	types := slices.Clone(e.Needs)
	for _, match := range placeholder.FindAllStringSubmatch(text(e.Spec)+text(e.Another), -1) {
		types = append(types, match[2])
	}
	return types
}

// resolved returns a spec with the outputs of other examples, and false if one of them is missing.
func (w *used) resolved(t *testing.T, spec map[string]any) (map[string]any, bool) {
	t.Helper()
	complete := true
	filled := placeholder.ReplaceAllStringFunc(strings.ReplaceAll(text(spec), "IMAGE", w.image), func(match string) string {
		parts := placeholder.FindStringSubmatch(match)
		from := w.examples[parts[2]]
		if parts[1] != "" {
			from = from.other
		}
		if from == nil {
			complete = false
			return match
		}
		value, ok := from.output[parts[3]]
		complete = complete && ok
		return fmt.Sprint(value)
	})
	out := map[string]any{}
	if err := json.Unmarshal([]byte(filled), &out); err != nil {
		t.Fatal(err)
	}
	return out, complete
}

// each runs a test for each example that works so far, and what comes before the waits of all.
func (w *used) each(t *testing.T, examples []*example, begin, check func(*testing.T, *example)) {
	t.Helper()
	w.t = t
	for _, e := range examples {
		if begin != nil && !e.broken {
			begin(t, e)
		}
	}
	for _, e := range examples {
		if e.broken {
			continue
		}
		e.broken = !t.Run(e.Name, func(t *testing.T) {
			outer := w.t
			defer func() { w.t = outer }()
			w.t = t
			check(t, e)
		})
	}
}

func (w *used) flat() []*example { return slices.Concat(w.order...) }

func (w *used) applyObject(t *testing.T, e *example, name string, spec, annotations map[string]any) {
	t.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "service-operator.aws/v1alpha1", "kind": e.kind, "spec": spec,
		"metadata": map[string]any{"name": name, "namespace": w.namespace, "annotations": annotations},
	}}
	err := w.client.Patch(t.Context(), obj, client.Apply, client.FieldOwner("test"), client.ForceOwnership) //nolint:staticcheck // unstructured
	if err != nil {
		t.Errorf("%s: %v", e.Name, err)
		e.broken = true
	}
}

// create creates an object of each type. It has the outputs that AWS documents.
func (w *used) create(t *testing.T) {
	for _, level := range w.order {
		w.each(t, level, func(t *testing.T, e *example) {
			t.Helper()
			var complete bool
			e.first, complete = w.resolved(t, e.Spec)
			if e.spec = e.first; !complete {
				t.Errorf("%s: the output of another example is missing", e.Name)
				e.broken = true
				return
			}
			w.applyObject(t, e, e.name, e.spec, nil)
		}, func(t *testing.T, e *example) {
			t.Helper()
			e.output = w.outputs(e, e.name)
			w.hasOutputs(t, e, e.output, e.name)
		})
	}
}

// attributes reads attributes that a type, or its example, does not have: CloudFormation refuses the template, and
// fails the stack, in the words of AWS.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/troubleshooting.html
// https://github.com/awsdocs/aws-cloudformation-user-guide/issues/1048
func (w *used) attributes(t *testing.T) {
	stacks := cloudformation.NewFromConfig(w.awsConfig())
	create := func(t *testing.T, e *example, attribute string) (name string, err error) {
		t.Helper()
		name = "attribute-" + e.name + "-" + strings.ReplaceAll(attribute, ".", "-")
		raw, err := json.Marshal(e.spec)
		if err != nil {
			t.Fatal(err)
		}
		template := map[string]any{
			"Resources": map[string]any{"Resource": map[string]any{"Type": e.Name, "Properties": propertiesOf(t, e, name, raw)}},
			"Outputs":   map[string]any{"Attribute": map[string]any{"Value": map[string]any{"Fn::GetAtt": []any{"Resource", attribute}}}},
		}
		_, err = stacks.CreateStack(t.Context(), &cloudformation.CreateStackInput{
			StackName: &name, TemplateBody: aws.String(text(template)),
			Capabilities: []cfntypes.Capability{cfntypes.CapabilityCapabilityNamedIam},
		})
		return name, err
	}
	w.each(t, w.flat(), nil, func(t *testing.T, e *example) {
		t.Helper()
		want := "does not support attribute type Nonsense in Fn::GetAtt"
		if _, err := create(t, e, "Nonsense"); awsapi.Code(err) != "ValidationError" || !strings.Contains(err.Error(), want) {
			t.Errorf("the template is answered with %v, want %s", err, want)
		}
		for _, attribute := range e.Missing {
			name, err := create(t, e, attribute)
			if err != nil {
				t.Fatal(err)
			}
			want := "Attribute '" + attribute + "' does not exist"
			if err := reaches(t, stacks, name, "", cfntypes.StackStatusRollbackComplete); err != nil || !strings.Contains(reasonsOf(t, stacks, name), want) {
				t.Errorf("%v, the stack fails because of %s; want %s", err, reasonsOf(t, stacks, name), want)
			}
			if _, err := stacks.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: &name}); err != nil {
				t.Error(err)
			}
		}
	})
}

// reasonsOf returns the reasons of a stack's events.
func reasonsOf(t *testing.T, stacks *cloudformation.Client, name string) string {
	t.Helper()
	out, err := stacks.DescribeStackEvents(t.Context(), &cloudformation.DescribeStackEventsInput{StackName: &name})
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for i := range out.StackEvents {
		if reason := aws.ToString(out.StackEvents[i].ResourceStatusReason); reason != "" {
			reasons = append(reasons, reason)
		}
	}
	return strings.Join(reasons, "; ")
}

// outputs waits until an object is ready, or can never be, and returns its outputs.
func (w *used) outputs(e *example, name string) map[string]any {
	w.t.Helper()
	var output map[string]any
	stalled := ""
	w.eventually(e.kind+" "+name+" is ready", func() error {
		obj, err := w.get(e.kind, name)
		if err != nil {
			return err
		}
		if c := findCondition(obj, "Stalled"); c != nil && c.Status == metav1.ConditionTrue {
			stalled = c.Message
			return nil
		}
		if c := findCondition(obj, "Synced"); c != nil && c.Reason == "ApprovalNeeded" && c.ObservedGeneration == obj.GetGeneration() {
			w.accept(obj)
		}
		c := findCondition(obj, "Ready")
		if c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != obj.GetGeneration() {
			return fmt.Errorf("status %v", show(obj.Object["status"]))
		}
		output, _ = nested(obj, "status", "output").(map[string]any)
		return nil
	})
	if stalled != "" {
		w.t.Fatalf("the object is stalled: %s", stalled)
	}
	return output
}

// accept approves the change of an object that waits, if there is one.
func (w *used) accept(obj *unstructured.Unstructured) {
	w.t.Helper()
	pending, _, _ := unstructured.NestedSlice(obj.Object, "status", "pendingChanges")
	for _, change := range pending {
		digest, _, _ := unstructured.NestedString(change.(map[string]any), "digest")
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"aws-operator/approve":%q}}}`, digest)
		if err := w.client.Patch(w.t.Context(), obj, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *used) hasOutputs(t *testing.T, e *example, output map[string]any, name string) {
	t.Helper()
	for key, pattern := range e.Outputs {
		pattern = "^(" + strings.ReplaceAll(pattern, "NAME", name) + ")$"
		if got := fmt.Sprint(output[key]); !regexp.MustCompile(pattern).MatchString(got) {
			t.Errorf("output %s is %s, want %s", key, got, pattern)
		}
	}
	for key := range output {
		if _, ok := e.Outputs[key]; !ok {
			t.Errorf("output %s is %v, which the list does not have", key, output[key])
		}
	}
}

// physicalID returns the physical ID of the resource of an object.
func (w *used) physicalID(t *testing.T, e *example, name string) string {
	t.Helper()
	out, err := cloudformation.NewFromConfig(w.awsConfig()).DescribeStackResources(t.Context(), &cloudformation.DescribeStackResourcesInput{
		StackName: aws.String(w.object(e.kind, name).Status.StackName),
	})
	if err != nil {
		t.Fatal(err)
	}
	return aws.ToString(out.StackResources[0].PhysicalResourceId)
}

// update changes a property of each object, which changes the resource in place.
func (w *used) update(t *testing.T) {
	before := map[string]string{}
	w.each(t, w.flat(), func(t *testing.T, e *example) {
		t.Helper()
		if e.Change == nil {
			return
		}
		before[e.Name] = w.physicalID(t, e, e.name)
		to, complete := w.resolved(t, map[string]any{"to": e.Change.To})
		e.Change.To = to["to"]
		changed, ok := replaced(e.spec, fieldsOf(e), e.Change.To)
		ok = ok && complete
		if !ok {
			t.Errorf("%s: the spec has no %s", e.Name, e.Change.Property)
			e.broken = true
			return
		}
		e.spec = changed.(map[string]any)
		w.applyObject(t, e, e.name, e.spec, nil)
	}, func(t *testing.T, e *example) {
		t.Helper()
		if e.Refused.Update != "" {
			w.refusesUpdate(t, e)
		}
		if e.Change == nil {
			return
		}
		w.outputs(e, e.name)
		if now := w.physicalID(t, e, e.name); now != before[e.Name] {
			t.Errorf("the resource is %s, was %s", now, before[e.Name])
		}
		if e.Refused.Drift != "" {
			return // it cannot be read
		}
		got, _ := at(w.properties(t, e, w.identifier(t, e, e.name)), e.Change.Property, e.inProperties(t))
		if text(got) != text(e.Change.To) {
			t.Errorf("%s is %s, want %s", e.Change.Property, text(got), text(e.Change.To))
		}
	})
}

// refusesUpdate changes a create-only property by Cloud Control API, which refuses it.
func (w *used) refusesUpdate(t *testing.T, e *example) {
	t.Helper()
	patch := fmt.Sprintf(`[{"op": "add", "path": "/%s", "value": "changed"}]`, e.schema.CreateOnly[0])
	_, err := w.control.UpdateResource(t.Context(), &cloudcontrol.UpdateResourceInput{
		TypeName: &e.Name, Identifier: aws.String(w.identifier(t, e, e.name)), PatchDocument: &patch,
	})
	if code := awsapi.Code(err); code != "UnsupportedActionException" && code != "NotUpdatableException" {
		t.Errorf("the change of %s is answered with %v", e.schema.CreateOnly[0], err)
	}
}

// drifts changes the same property back by Cloud Control API. The object reports it, and nothing else.
func (w *used) drifts(t *testing.T) {
	asked := map[*example]func() bool{}
	// setting sets the property of each example by hand, and begins to check it.
	setting := func(value func(*example) any) func(*testing.T, *example) {
		return func(t *testing.T, e *example) {
			t.Helper()
			if e.Change != nil && e.Refused.Adopt == "" {
				e.broken = !w.byHandTo(t, e, value(e))
			}
			asked[e] = w.askDrift(e.kind, e.name)
		}
	}
	original := func(e *example) any {
		value, _ := at(e.first, strings.Join(fieldsOf(e), "/"), nil)
		return value
	}
	w.each(t, w.flat(), setting(original), func(t *testing.T, e *example) {
		t.Helper()
		if e.Change == nil || e.Refused.Drift != "" {
			w.answered(asked[e], e.kind, e.name, "False", "InSync")
			return
		}
		w.answered(asked[e], e.kind, e.name, "True", "Drifted")
		want := v1alpha1.DriftedProperty{
			Path: e.Change.Property, Difference: "NOT_EQUAL", Expected: scalar(e.Change.To), Actual: scalar(original(e)),
		}
		found := w.driftOf(e.kind, e.name)
		if len(found.Resources) != 1 || len(found.Resources[0].Properties) != 1 || found.Resources[0].Properties[0] != want {
			t.Errorf("status.drift %+v, want %+v", found.Resources, want)
		}
	})
	w.each(t, w.flat(), setting(func(e *example) any { return e.Change.To }), func(t *testing.T, e *example) {
		t.Helper()
		w.answered(asked[e], e.kind, e.name, "False", "InSync")
	})
}

// adopt makes a second resource of each type by Cloud Control API, and an object that adopts it.
func (w *used) adopt(t *testing.T) {
	for _, level := range w.order {
		w.each(t, level, w.beginAdoption, func(t *testing.T, e *example) {
			t.Helper()
			if e.Refused.Adopt != "" {
				found := w.condition(e.kind, e.other.name, "Stalled", "True", "ImportFailed")
				if want := "ResourceTypes [" + e.Name + "] are not supported for Import"; !strings.Contains(found.Message, want) {
					t.Errorf("the condition says %q, want %q", found.Message, want)
				}
				return
			}
			e.other.output = w.outputs(e, e.other.name)
			w.hasOutputs(t, e, e.other.output, e.other.name)
			if now := w.identifier(t, e, e.other.name); now != e.other.adopted {
				t.Errorf("the object has %s, want %s", now, e.other.adopted)
			}
		})
	}
	asked := map[*example]func() bool{}
	w.each(t, w.flat(), func(t *testing.T, e *example) {
		t.Helper()
		if e.Refused.Adopt == "" {
			asked[e] = w.askDrift(e.kind, e.other.name)
		}
	}, func(t *testing.T, e *example) {
		t.Helper()
		if e.Refused.Adopt == "" {
			w.answered(asked[e], e.kind, e.other.name, "False", "InSync")
		}
	})
}

func (w *used) beginAdoption(t *testing.T, e *example) {
	t.Helper()
	e.other = &example{name: "other-" + e.name, adopted: strings.Repeat("none|", len(e.schema.PrimaryIdentifier)-1) + "none"}
	spec := maps.Clone(e.Spec)
	maps.Copy(spec, e.Another)
	var complete bool
	if spec, complete = w.resolved(t, spec); !complete {
		t.Errorf("%s: the output of another example is missing", e.Name)
		e.broken = true
		return
	}
	if e.Refused.Adopt == "" {
		made, err := w.makeByHand(t, e, e.other.name, spec)
		if err != nil {
			t.Errorf("%s by hand: %v", e.Name, err)
			e.broken = true
			return
		}
		e.other.adopted = made
	}
	w.applyObject(t, e, e.other.name, spec, map[string]any{v1alpha1.AdoptAnnotation: e.other.adopted})
}

// deleteDefinitions deletes the kinds, which the operators of later tests would serve too.
func (w *used) deleteDefinitions() {
	for _, e := range w.examples {
		definition, err := w.get("ModelDefinition", strings.ToLower(e.kind))
		if err == nil {
			err = w.client.Delete(w.t.Context(), definition)
		}
		if err != nil {
			w.t.Errorf("delete the definition of %s: %v", e.kind, err)
		}
	}
	for _, e := range w.examples {
		w.gone("ModelDefinition", strings.ToLower(e.kind))
	}
}

// deleteAll deletes all objects, those that others need last, and checks that no resource exists.
func (w *used) deleteAll(t *testing.T) {
	for _, level := range slices.Backward(w.order) {
		identifiers := map[string][]string{}
		w.each(t, level, func(t *testing.T, e *example) {
			t.Helper()
			for _, name := range []string{e.name, "other-" + e.name} {
				obj, err := w.get(e.kind, name)
				if err != nil {
					continue
				}
				if e.Refused.Adopt == "" {
					identifiers[e.Name] = append(identifiers[e.Name], w.identifier(t, e, name))
				}
				if err := w.client.Delete(t.Context(), obj); err != nil {
					t.Errorf("%s: %v", e.Name, err)
				}
			}
		}, func(t *testing.T, e *example) {
			t.Helper()
			w.gone(e.kind, e.name)
			w.gone(e.kind, "other-"+e.name)
			for _, identifier := range identifiers[e.Name] {
				_, err := w.control.GetResource(t.Context(), &cloudcontrol.GetResourceInput{TypeName: &e.Name, Identifier: &identifier})
				if awsapi.Code(err) != "ResourceNotFoundException" {
					t.Errorf("%s after its deletion: %v", identifier, err)
				}
			}
		})
	}
	w.deleteDefinitions()
	if left := w.stacks(); len(left) > 0 {
		t.Errorf("stacks %v are left", left)
	}
}
