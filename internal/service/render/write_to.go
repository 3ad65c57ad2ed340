package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// target is an entry of spec.writeTo.
type target struct {
	// field is its path, kind is ConfigMap or Secret.
	field, kind, name string
	// data is nil for all outputs.
	data map[string]*model.Text
}

// StackSpec returns the part of an object's spec on which its stack may depend, as JSON: all of it but
// spec.writeTo.
func StackSpec(obj *v1alpha1.Object) ([]byte, error) {
	if !mayWrite(obj) {
		return obj.Spec, nil
	}
	spec, err := Spec(obj)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode the spec: %w", err)
	}
	return data, nil
}

// CheckWriteTo checks spec.writeTo of an object. The error is cfntemplate.Problems, each at a field.
func CheckWriteTo(m *model.Model, obj *v1alpha1.Object) error {
	_, err := targets(m, obj)
	return err
}

// WriteTo returns the ConfigMaps and Secrets of spec.writeTo of an object with outputs. RoleARNs are the
// roles of the service accounts of spec.grants. The error is cfntemplate.Problems if the field is
// invalid, and a *MissingValueError if a text prints an output that the object does not have.
func WriteTo(m *model.Model, obj *v1alpha1.Object, roleARNs map[string]string) (configMaps, secrets []Data, err error) {
	wanted, err := targets(m, obj)
	if err != nil || len(wanted) == 0 {
		return nil, nil, err
	}
	output := map[string]any{}
	for name, value := range obj.Status.Output {
		output[name] = value.Text
	}
	roles := map[string]any{}
	for account, arn := range roleARNs {
		roles[account] = arn
	}
	data := map[string]any{"output": output, "roleARNs": roles, "metadata": map[string]any{"name": obj.Name, "namespace": obj.Namespace}}
	for _, t := range wanted {
		rendered, err := t.render(data, output)
		if err != nil {
			return nil, nil, err
		}
		if t.kind == kindSecret {
			secrets = append(secrets, rendered)
		} else {
			configMaps = append(configMaps, rendered)
		}
	}
	return configMaps, secrets, nil
}

const (
	kindConfigMap = "ConfigMap"
	kindSecret    = "Secret"
)

// maxData is the size of the values of a ConfigMap or a Secret, see
// https://kubernetes.io/docs/concepts/configuration/configmap/ and
// https://kubernetes.io/docs/concepts/configuration/secret/#restriction-data-size.
const maxData = 1 << 20

// render renders the texts, or takes all outputs if there are none.
func (t *target) render(data, output map[string]any) (Data, error) {
	rendered := Data{Name: t.name, Field: t.field, Values: map[string]string{}}
	if t.data == nil {
		for name, value := range output {
			rendered.Values[name] = fmt.Sprint(value)
		}
	}
	size := 0
	for _, key := range slices.Sorted(maps.Keys(t.data)) {
		value, err := text(t.data[key], data, t.kind, t.name, "key "+key)
		if missing, ok := errors.AsType[*MissingValueError](err); ok {
			missing.Entry = t.field
			return Data{}, missing
		}
		if err != nil {
			return Data{}, model.FieldProblems(t.field+".data."+key, err)
		}
		if size += len(value); size > maxData {
			return Data{}, problemAt(t.field+".data", "the values have more than 1 MiB, which no %s may have; write less", t.kind)
		}
		rendered.Values[key] = value
	}
	return rendered, nil
}

// mayWrite reports whether an object may have a spec.writeTo, without decoding the spec.
func mayWrite(obj *v1alpha1.Object) bool { return bytes.Contains(obj.Spec, []byte(model.WriteToField)) }

// targets compiles spec.writeTo. The API server checks the same, except for the texts, unless the
// object is older than the field.
func targets(m *model.Model, obj *v1alpha1.Object) ([]target, error) {
	if !mayWrite(obj) {
		return nil, nil
	}
	const field = "spec." + model.WriteToField
	list, err := entries(obj, model.WriteToField, model.MaxWriteTo, "kind and name")
	if err != nil {
		return nil, err
	}
	grants, _ := Grants(m, obj) // the step that makes the roles reports the error
	var accounts []string
	for _, g := range grants {
		if g.Kind == "" {
			accounts = append(accounts, g.Name)
		}
	}
	var found []target
	var problems cfntemplate.Problems
	for i, item := range list {
		t, wrong := compileTarget(m, accounts, fmt.Sprintf("%s[%d]", field, i), item)
		if slices.ContainsFunc(found, func(other target) bool { return other.kind == t.kind && other.name == t.name }) {
			wrong = append(wrong, problemAt(t.field+".name", "another entry has %s %s, too; use one entry for both", t.kind, t.name)...)
		}
		found, problems = append(found, t), append(problems, wrong...)
	}
	return found, problems.Err()
}

// entries returns the list in a field of the spec, whose entries have what holds says. The error is
// cfntemplate.Problems at the field.
func entries(obj *v1alpha1.Object, name string, most int, holds string) ([]any, error) {
	spec, err := wholeSpec(obj)
	if err != nil {
		return nil, err
	}
	list, ok := spec[name].([]any)
	switch {
	case !ok && spec[name] != nil:
		return nil, problemAt("spec."+name, "it is no list; write a list of entries with %s", holds)
	case len(list) > most:
		return nil, problemAt("spec."+name, "it has %d entries, but may have %d; remove some", len(list), most)
	}
	return list, nil
}

// compileTarget compiles an entry of spec.writeTo of an object that grants access to service accounts.
func compileTarget(m *model.Model, accounts []string, field string, item any) (target, cfntemplate.Problems) {
	entry, _ := item.(map[string]any)
	t := target{field: field}
	t.kind, _ = entry["kind"].(string)
	t.name, _ = entry["name"].(string)
	var problems cfntemplate.Problems
	if t.kind != kindConfigMap && t.kind != kindSecret {
		problems = append(problems, problemAt(field+".kind", "%q is no kind to write to; use ConfigMap or Secret", t.kind)...)
	}
	if len(validation.IsDNS1123Subdomain(t.name)) > 0 {
		problems = append(problems, problemAt(field+".name", "%q is no name; use lower-case letters, digits, hyphens and dots", t.name)...)
	}
	data, ok := entry["data"].(map[string]any)
	switch {
	case entry["data"] == nil:
		return t, problems
	case !ok || len(data) == 0 || len(data) > model.MaxWriteToKeys:
		return t, append(problems, problemAt(field+".data", "it must have 1 to %d keys with texts", model.MaxWriteToKeys)...)
	}
	t.data = map[string]*model.Text{}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		var wrong cfntemplate.Problems
		t.data[key], wrong = compileValue(m, accounts, field+".data", key, data[key])
		problems = append(problems, wrong...)
	}
	return t, problems
}

// compileValue compiles a value of an entry's data.
func compileValue(m *model.Model, accounts []string, field, key string, value any) (*model.Text, cfntemplate.Problems) {
	if len(validation.IsConfigMapKey(key)) > 0 {
		return nil, problemAt(field, "%q is no key; use letters, digits, hyphens, underscores and dots", key)
	}
	field += "." + key
	source, ok := value.(string)
	if !ok || len([]rune(source)) > model.MaxWriteToText {
		return nil, problemAt(field, "it must be a text of at most %d characters", model.MaxWriteToText)
	}
	compiled, err := m.WriteToText(field, source, accounts)
	problems, _ := errors.AsType[cfntemplate.Problems](err)
	return compiled, problems
}

// problemAt is a problem of a field of an object.
func problemAt(field, format string, args ...any) cfntemplate.Problems {
	return cfntemplate.Problems{{Pos: cfntemplate.Position{File: field}, Message: fmt.Sprintf(format, args...)}}
}
