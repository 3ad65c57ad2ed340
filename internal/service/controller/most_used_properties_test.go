package controller_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	cctypes "github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

// identifier returns the primary identifier of an object's resource: the one that Cloud Control API lists
// whose parts are the outputs, the physical ID or the properties of the object.
func (w *used) identifier(t *testing.T, e *example, name string) string {
	t.Helper()
	obj, err := w.get(e.kind, name)
	if err != nil {
		t.Fatal(err)
	}
	known := w.wanted(t, e, name)
	physicalID := w.physicalID(t, e, name)
	if n := strings.Count(physicalID, "|"); n > 0 && n == len(e.schema.PrimaryIdentifier)-1 {
		return physicalID
	}
	output, _ := nested(obj, "status", "output").(map[string]any)
	parts := make([]string, len(e.schema.PrimaryIdentifier))
	for i, path := range e.schema.PrimaryIdentifier {
		value, ok := known[path]
		if !ok {
			value, ok = output[model.FieldName(path)]
		}
		if !ok {
			value = physicalID
		}
		parts[i] = fmt.Sprint(value)
	}
	return strings.Join(parts, "|")
}

// wanted returns the properties of an object's resource in its template.
func (w *used) wanted(t *testing.T, e *example, name string) map[string]any {
	t.Helper()
	obj := w.object(e.kind, name)
	return propertiesOf(t, e, name, obj.Spec)
}

// propertiesOf returns the properties of a resource in its template, without those that have values from elsewhere.
func propertiesOf(t *testing.T, e *example, name string, spec []byte) map[string]any {
	t.Helper()
	fields := map[string]any{}
	if err := json.Unmarshal(spec, &fields); err != nil {
		t.Fatal(err)
	}
	if from, ok := fields["valuesFrom"].([]any); ok {
		for _, value := range from {
			outer, _, _ := strings.Cut(fmt.Sprint(value.(map[string]any)["field"]), ".")
			delete(fields, outer)
		}
		delete(fields, "valuesFrom")
		spec = []byte(text(fields))
	}
	obj := &v1alpha1.Object{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: spec}
	desired, err := render.Stack(e.model, obj, render.Facts{Region: region, AccountID: account, ClusterName: clusterName}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Resources map[string]struct{ Properties map[string]any }
	}
	if err := json.Unmarshal(desired.Template.JSON(), &template); err != nil {
		t.Fatal(err)
	}
	for _, r := range template.Resources {
		return r.Properties
	}
	return nil
}

// inProperties returns the properties of the example's spec.
func (e *example) inProperties(t *testing.T) map[string]any {
	t.Helper()
	raw, err := json.Marshal(e.spec)
	if err != nil {
		t.Fatal(err)
	}
	return propertiesOf(t, e, e.name, raw)
}

// properties returns the properties of a resource that Cloud Control API reads.
func (w *used) properties(t *testing.T, e *example, identifier string) map[string]any {
	t.Helper()
	out, err := w.control.GetResource(t.Context(), &cloudcontrol.GetResourceInput{TypeName: &e.Name, Identifier: &identifier})
	if err != nil {
		t.Fatal(err)
	}
	properties := map[string]any{}
	if err := json.Unmarshal([]byte(*out.ResourceDescription.Properties), &properties); err != nil {
		t.Fatal(err)
	}
	return properties
}

// makeByHand creates a resource by Cloud Control API and returns its identifier.
func (w *used) makeByHand(t *testing.T, e *example, name string, spec map[string]any) (identifier string, err error) {
	t.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	properties := propertiesOf(t, e, name, raw)
	maps.Copy(properties, e.ByHand)
	out, err := w.control.CreateResource(t.Context(), &cloudcontrol.CreateResourceInput{
		TypeName: &e.Name, DesiredState: aws.String(text(properties)),
	})
	if err != nil {
		return "", err
	}
	return w.succeeds(t, out.ProgressEvent)
}

// byHandTo sets the changed property of an example by Cloud Control API, and reports whether that succeeded.
func (w *used) byHandTo(t *testing.T, e *example, value any) bool {
	t.Helper()
	identifier := w.identifier(t, e, e.name)
	live := w.properties(t, e, identifier)
	path := strings.Split(e.Change.Property, "/")
	if e.Refused.Drift != "" { // the property is write-only
		live = e.inProperties(t)
	}
	changed, ok := replaced(live, located(live, e.inProperties(t), path), value)
	if !ok {
		t.Errorf("%s has no %s: %s", e.Name, e.Change.Property, text(live))
		return false
	}
	patch := []map[string]any{{"op": "add", "path": "/" + path[0], "value": changed.(map[string]any)[path[0]]}}
	out, err := w.control.UpdateResource(t.Context(), &cloudcontrol.UpdateResourceInput{
		TypeName: &e.Name, Identifier: &identifier, PatchDocument: aws.String(text(patch)),
	})
	if err == nil {
		_, err = w.succeeds(t, out.ProgressEvent)
	}
	if err != nil {
		t.Errorf("%s by hand: %v", e.Name, err)
	}
	return err == nil
}

// succeeds waits until a request to Cloud Control API has succeeded, and returns the resource's identifier.
func (w *used) succeeds(t *testing.T, event *cctypes.ProgressEvent) (identifier string, err error) {
	t.Helper()
	w.eventually("the request ends", func() error {
		out, err := w.control.GetResourceRequestStatus(t.Context(), &cloudcontrol.GetResourceRequestStatusInput{
			RequestToken: event.RequestToken,
		})
		if err != nil {
			return err
		}
		if event = out.ProgressEvent; event.OperationStatus == cctypes.OperationStatusInProgress {
			return errors.New("it runs")
		}
		return nil
	})
	if event.OperationStatus != cctypes.OperationStatusSuccess {
		return "", fmt.Errorf("%s: %s", event.ErrorCode, aws.ToString(event.StatusMessage))
	}
	return aws.ToString(event.Identifier), nil
}

// fieldsOf returns the path of the changed property in the spec.
func fieldsOf(e *example) []string {
	fields := strings.Split(e.Change.Property, "/")
	s := e.model.Schema
	for i, name := range fields {
		if s.Items != nil {
			s = s.Items.Schema
			continue
		}
		if known, ok := s.Properties[model.FieldName(name)]; ok {
			fields[i], s = model.FieldName(name), &known
		}
	}
	return fields
}

// replaced returns a copy of a value with another one at a path that it has.
func replaced(value any, path []string, to any) (any, bool) {
	if len(path) == 0 {
		return to, true
	}
	switch v := value.(type) {
	case map[string]any:
		child, ok := v[path[0]]
		if !ok {
			return nil, false
		}
		changed, ok := replaced(child, path[1:], to)
		out := maps.Clone(v)
		out[path[0]] = changed
		return out, ok
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i >= len(v) {
			return nil, false
		}
		changed, ok := replaced(v[i], path[1:], to)
		out := slices.Clone(v)
		out[i] = changed
		return out, ok
	}
	return nil, false
}

// located returns the path in live properties of what the template has at a path: other tags may be in
// front of its own.
func located(live, template any, path []string) []string {
	if len(path) == 0 {
		return nil
	}
	switch v := live.(type) {
	case map[string]any:
		of, _ := template.(map[string]any)
		return append([]string{path[0]}, located(v[path[0]], of[path[0]], path[1:])...)
	case []any:
		of, _ := template.([]any)
		i, err := strconv.Atoi(path[0])
		if err != nil || i >= len(of) {
			return path
		}
		wanted, _ := of[i].(map[string]any)
		for n := range v {
			if item, _ := v[n].(map[string]any); item["Key"] != nil && item["Key"] == wanted["Key"] {
				i = n
			}
		}
		if i >= len(v) {
			return path
		}
		return append([]string{strconv.Itoa(i)}, located(v[i], of[min(i, len(of)-1)], path[1:])...)
	}
	return path
}

// at returns the value at a path. With a template, lists are searched as in located.
func at(value any, path string, template map[string]any) (any, bool) {
	parts := strings.Split(path, "/")
	if template != nil {
		parts = located(value, template, parts)
	}
	for _, part := range parts {
		switch v := value.(type) {
		case map[string]any:
			value = v[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, value != nil
}

// text returns a value as JSON.
func text(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(out.String())
}

// scalar returns a value as CloudFormation shows it in a difference.
func scalar(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	return text(value)
}
