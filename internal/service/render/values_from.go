package render

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/admit"
	"github.com/aws-operator/aws-operator/internal/cfn/dynamic"
	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// Source is where the value of a field comes from: an entry of spec.valuesFrom.
type Source struct {
	// Entry is the path of the entry, and From that of what it names, such as spec.valuesFrom[0].valueFrom.
	Entry, From string
	// Kind is ConfigMap, Secret, or the kind of an object of this API group.
	Kind string
	types.NamespacedName
	// Key is the key, or the name of the output.
	Key string

	field  model.FieldPath
	schema *apiextensionsv1.JSONSchemaProps
}

// Value is the value of a field.
type Value struct {
	Source

	// Text is the value as text.
	Text string
	// UID is that of the Secret; empty for other sources.
	UID types.UID
	// Unknown means that the value was not read: the template gets a parameter without a value instead.
	Unknown bool
}

// Secret is a value of a Secret that a template uses as a NoEcho parameter.
type Secret struct {
	// Field is the field with the value, From the Secret in messages.
	Field, From string
	// Text is the value.
	Text string
	// unknown means that the value was not read, and echo that it is no secret.
	unknown, echo bool
	// Version changes with the value. It does not reveal the value to those who do not know the Secret's
	// UID, and only who may read the Secret does.
	Version string
	// stand stands for the value in the spec.
	stand string
}

// maxParameter is the size of a parameter's value, see
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html.
const maxParameter = 4096

// mayTake reports whether an object may have a spec.valuesFrom, without decoding the spec.
func mayTake(obj *v1alpha1.Object) bool {
	return bytes.Contains(obj.Spec, []byte(model.ValuesFromField))
}

// Sources returns the entries of spec.valuesFrom of an object. The error is cfntemplate.Problems, each
// at a field.
func Sources(m *model.Model, obj *v1alpha1.Object) ([]Source, error) {
	if !mayTake(obj) {
		return nil, nil
	}
	const field = "spec." + model.ValuesFromField
	list, err := entries(obj, model.ValuesFromField, model.MaxValuesFrom, "field and where its value comes from")
	if err != nil {
		return nil, err
	}
	var found []Source
	var problems cfntemplate.Problems
	for i, item := range list {
		one, wrong := source(m, obj, fmt.Sprintf("%s[%d]", field, i), item)
		found, problems = append(found, one), append(problems, wrong...)
	}
	return found, problems.Err()
}

// source reads an entry. The API server checks the same, except for the field.
func source(m *model.Model, obj *v1alpha1.Object, entry string, item any) (Source, cfntemplate.Problems) {
	s := Source{Entry: entry}
	given, _ := item.(map[string]any)
	text := func(in map[string]any, name string) string {
		value, _ := in[name].(string)
		return value
	}
	var err error
	if s.field, s.schema, err = m.Field(text(given, "field")); err != nil {
		return s, problemAt(entry+".field", "%s", err)
	}
	for _, way := range []struct{ name, kind, key string }{
		{"valueFrom", "", "output"}, {"configMapKeyRef", kindConfigMap, "key"}, {"secretKeyRef", kindSecret, "key"},
	} {
		from, ok := given[way.name].(map[string]any)
		switch {
		case !ok:
			continue
		case s.From != "":
			return s, problemAt(entry, "it has %s besides another source; give one", way.name)
		}
		s.From, s.Kind, s.Key = entry+"."+way.name, way.kind, text(from, way.key)
		if way.kind == "" {
			s.Kind = text(from, "kind")
		}
		s.Namespace, s.Name = text(from, "namespace"), text(from, "name")
		if s.Namespace == "" {
			s.Namespace = obj.Namespace
		}
	}
	if s.From == "" || s.Kind == "" || s.Name == "" || s.Key == "" {
		return s, problemAt(entry, "give valueFrom with kind, name and output, or configMapKeyRef or secretKeyRef with name and key")
	}
	if s.From == entry+".valueFrom" && (s.Kind == kindConfigMap || s.Kind == kindSecret) {
		return s, problemAt(s.From+".kind", "%s is no kind with outputs; use configMapKeyRef or secretKeyRef", s.Kind)
	}
	return s, nil
}

// OfData reports whether the source is a key of a ConfigMap or a Secret, and not an output.
func (s *Source) OfData() bool { return s.Kind == kindConfigMap || s.Kind == kindSecret }

// Problem is a problem of a field of the entry's source.
func (s *Source) Problem(field, format string, args ...any) error {
	return problemAt(s.From+"."+field, format, args...)
}

// String names the source in messages.
func (s *Source) String() string {
	if s.OfData() {
		return fmt.Sprintf("key %s of %s %s", s.Key, s.Kind, s.Name)
	}
	return fmt.Sprintf("output %s of %s %s", s.Key, s.Kind, s.Name)
}

// WithValues returns an object whose spec has the values in the fields for which spec.valuesFrom names
// them. In place of values of Secrets the spec has texts that stand for them until [Stack] makes
// parameters of them, so that no template, record or message contains them. The error is
// cfntemplate.Problems, each at a field, if a value does not fit, and a *RefusedError if one would read
// secrets with the operator's permissions.
func WithValues(m *model.Model, obj *v1alpha1.Object, values []Value) (*v1alpha1.Object, []Secret, error) {
	if len(values) == 0 {
		return obj, nil, nil
	}
	shown, secrets, err := withValues(obj, values, false)
	if err != nil {
		return nil, nil, err
	}
	if !slices.ContainsFunc(values, func(v Value) bool { return v.Unknown }) {
		revealed, _, err := withValues(obj, values, true)
		if err != nil {
			return nil, nil, err
		}
		if err := m.Admits(revealed); err != nil {
			return nil, nil, hideSecrets(err, secrets)
		}
	}
	if err := sameReferences(m, obj, shown, values); err != nil {
		return nil, nil, err
	}
	return shown, secrets, nil
}

// withValues sets the values in a copy of an object. If reveal is false, texts stand for secrets.
func withValues(obj *v1alpha1.Object, values []Value, reveal bool) (*v1alpha1.Object, []Secret, error) {
	spec, err := wholeSpec(obj)
	if err != nil {
		return nil, nil, err
	}
	delete(spec, model.ValuesFromField)
	var secrets []Secret
	for i := range values {
		v := &values[i]
		value, wrong := v.converted()
		if wrong != nil {
			return nil, nil, wrong
		}
		if v.Kind == kindSecret || v.Unknown {
			secret, err := v.secret()
			if err != nil {
				return nil, nil, err
			}
			if secrets = append(secrets, secret); !reveal {
				value = secret.stand
			}
		}
		if err := v.field.Set(spec, value); err != nil {
			return nil, nil, problemAt(v.Entry+".field", "%s", err)
		}
	}
	changed := *obj
	if changed.Spec, err = json.Marshal(spec); err != nil {
		return nil, nil, fmt.Errorf("encode the spec: %w", err)
	}
	return &changed, secrets, nil
}

// converted returns the value as the field's schema asks: texts are taken as they are, and anything else
// is read as YAML.
func (v *Value) converted() (any, cfntemplate.Problems) {
	if v.Unknown || v.schema == nil || v.schema.Type == "string" || v.schema.Type == "" && !v.schema.XIntOrString {
		return v.Text, nil
	}
	wanted := v.schema.Type
	if v.schema.XIntOrString {
		wanted = "integer or string"
	}
	data, err := yaml.YAMLToJSON([]byte(v.Text))
	var value any
	if err == nil {
		err = utiljson.Unmarshal(data, &value)
	}
	if err != nil || !isA(value, wanted) {
		return nil, problemAt(v.From, "the %s is no %s, which spec.%s must be; correct the value", v.String(), wanted, v.field)
	}
	if _, text := value.(string); !text && v.Kind == kindSecret && (wanted == "object" || wanted == "array") {
		return nil, problemAt(v.From, "spec.%s is of type %s, but the value of a Secret can only be that of a field with a single value; name such a field", v.field, wanted)
	}
	return value, nil
}

// isA reports whether a value has a type of JSON schemas.
func isA(value any, wanted string) bool {
	switch value.(type) {
	case int64:
		return wanted != "object" && wanted != "array" && wanted != "boolean"
	case float64:
		return wanted == "number"
	case bool:
		return wanted == "boolean"
	case string:
		return wanted == "integer or string"
	case map[string]any:
		return wanted == "object"
	case []any:
		return wanted == "array"
	}
	return false
}

// secret returns the secret that the value is.
func (v *Value) secret() (Secret, error) {
	switch {
	case !utf8.ValidString(v.Text):
		return Secret{}, problemAt(v.From, "the %s is not UTF-8, as a parameter of CloudFormation must be; encode the value as text", v.String())
	case len(v.Text) > maxParameter:
		return Secret{}, problemAt(v.From, "the %s has %d bytes, but a parameter of CloudFormation has at most %d; store the value in Secrets Manager",
			v.String(), len(v.Text), maxParameter)
	case len(dynamic.Values("", v.Text, nil)) > 0:
		return Secret{}, &RefusedError{"DynamicReferenceNotAllowed", fmt.Sprintf(
			"The %s holds a dynamic reference ({{resolve:…}}), or a piece of one, which would read secrets with the operator's permissions; store the value itself.",
			v.String())}
	}
	mac := hmac.New(sha256.New, []byte(v.UID))
	_, _ = mac.Write([]byte(v.Text)) // a hash never returns an error
	version := hex.EncodeToString(mac.Sum(nil)[:16])
	place := sha256.Sum256([]byte(v.field.String() + " " + version))
	return Secret{
		Field: v.field.String(), From: v.String(), Text: v.Text, Version: version, unknown: v.Unknown, echo: v.Kind != kindSecret,
		stand: stands + hex.EncodeToString(place[:16]),
	}, nil
}

// hideSecrets makes problems of what the API server would refuse, without values of secrets.
func hideSecrets(err error, secrets []Secret) error {
	refused := admit.IsRefused(err)
	if refused == nil {
		return err
	}
	var problems cfntemplate.Problems
	for _, p := range refused.Problems {
		if of := slices.IndexFunc(secrets, func(s Secret) bool { return "spec."+s.Field == p.Path }); of >= 0 {
			problems = append(problems, problemAt(p.Path, "the %s is not allowed here; the allowed values are in kubectl explain", secrets[of].From)...)
			continue
		}
		text := p.Message
		if p.Suggestion != "" {
			text += "; did you mean " + p.Suggestion + "?"
		}
		problems = append(problems, problemAt(p.Path, "%s", Redact(text, secrets))...)
	}
	return problems
}

// stands begins every text that stands for a secret.
const stands = "aws-operator-value-"

// minSecret is the length of the shortest secret that is searched for in texts of others.
const minSecret = 4

// Redact replaces secrets in a text, such as AWS's reason for a failure.
func Redact(text string, secrets []Secret) string {
	for _, s := range secrets {
		if len(s.Text) >= minSecret {
			text = strings.ReplaceAll(text, s.Text, "****")
		}
	}
	return text
}

// sameReferences refuses values that change which objects and resources an object references: those of
// all objects must be known before the first is reconciled, since some share a resource.
func sameReferences(m *model.Model, obj, changed *v1alpha1.Object, values []Value) error {
	names := func(of *v1alpha1.Object) (any, error) {
		references, err := References(m, of)
		if err != nil {
			return nil, err
		}
		foreign, err := ForeignResources(m, of, Facts{})
		if err != nil {
			return nil, err
		}
		trust, err := RoleTrust(m, of, Facts{})
		return []any{references, foreign, HasRole(m, of), trust}, err
	}
	before, err := names(obj)
	if err != nil {
		return err
	}
	after, err := names(changed)
	if err != nil {
		return err
	}
	if reflect.DeepEqual(before, after) {
		return nil
	}
	for i := range values { // the first value with which they change
		changed, _, err := withValues(obj, values[:i+1], false)
		if err != nil {
			return err
		}
		if after, err = names(changed); err != nil {
			return err
		}
		if !reflect.DeepEqual(before, after) {
			return problemAt(values[i].Entry+".field", "%s names another object or resource that this one uses; write the name into the spec", values[i].field)
		}
	}
	return nil
}

// insert makes parameters of the secrets in a stack's template, or gives them to those of a user's
// template.
func insert(desired *Desired, secrets []Secret, users bool) error {
	for i := range secrets {
		s := &secrets[i]
		if users {
			s.give(desired)
		} else if err := s.insert(desired); err != nil {
			return err
		}
		for name, value := range desired.Parameters {
			if strings.Contains(value, s.stand) {
				return problemAt("spec."+s.Field, "parameter %s of the template would show the %s; declare it with NoEcho: true", name, s.From)
			}
		}
	}
	return nil
}

// give gives the secret to the NoEcho parameters of a user's template.
func (s *Secret) give(desired *Desired) {
	for name, value := range desired.Parameters {
		if desired.Template.Parameters[name].NoEcho && strings.Contains(value, s.stand) {
			desired.hide(name, strings.ReplaceAll(value, s.stand, s.Text), s.Version)
		}
	}
}

// insert makes a parameter of the secret.
func (s *Secret) insert(desired *Desired) error {
	name := s.parameter(desired.Template)
	used := false
	for _, resource := range desired.Template.Resources {
		used = s.replace(resource.Properties, name) || used
	}
	switch {
	case bytes.Contains(desired.Template.CanonicalJSON(), []byte(s.stand)):
		return problemAt("spec."+s.Field, "the kind writes this field where everyone could read it, so that its value cannot come from a Secret; write it into the spec")
	case !used:
		return problemAt("spec."+s.Field, "the kind does not use this field as it is, so that its value cannot come from a Secret; write it into the spec")
	}
	if desired.Template.Parameters == nil {
		desired.Template.Parameters = map[string]*cfntemplate.Parameter{}
	}
	desired.Template.Parameters[name] = &cfntemplate.Parameter{
		Name: name, Type: "String", NoEcho: !s.echo, Description: fmt.Sprintf("The value of spec.%s: %s.", s.Field, s.From),
	}
	if !s.unknown {
		desired.hide(name, s.Text, s.Version)
	}
	return nil
}

// hide sets a parameter that holds a secret.
func (d *Desired) hide(name, value, version string) {
	if d.Parameters == nil {
		d.Parameters = map[string]string{}
	}
	if d.Hidden == nil {
		d.Hidden = map[string]string{}
	}
	d.Parameters[name] = value
	d.Hidden[name] += version
}

// parameter returns a name that no other parameter of the template has, nor a resource.
func (s *Secret) parameter(t *cfntemplate.Template) string {
	name := "Secret"
	if s.echo {
		name = "Value"
	}
	separates := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) || r > unicode.MaxASCII }
	for part := range strings.FieldsFuncSeq(s.Field, separates) {
		name += model.PascalName(part)
	}
	if t.Parameters[name] != nil || t.Resources[name] != nil {
		name += strings.TrimPrefix(s.stand, stands)[:8]
	}
	return name
}

// replace replaces the text that stands for the secret below a value of a template by a reference to a parameter, and
// reports whether there was one.
func (s *Secret) replace(n *cfntemplate.Node, parameter string) bool {
	if n == nil {
		return false
	}
	if n.Kind == cfntemplate.String {
		before, after, found := strings.Cut(n.Text, s.stand)
		if !found {
			return false
		}
		reference := cfntemplate.NewRef(parameter)
		if before != "" || after != "" {
			rest := cfntemplate.NewString(after)
			s.replace(rest, parameter)
			reference = &cfntemplate.Node{Kind: cfntemplate.Intrinsic, Func: "Fn::Join", Arg: cfntemplate.NewList(
				cfntemplate.NewString(""), cfntemplate.NewList(cfntemplate.NewString(before), reference, rest))}
		}
		reference.Pos = n.Pos
		*n = *reference
		return true
	}
	if text, _ := n.SubArguments(); text != nil && strings.Contains(text.Text, s.stand) {
		text.Text = strings.ReplaceAll(text.Text, s.stand, "${"+parameter+"}")
		return true
	}
	found := false
	for _, item := range n.Items {
		found = s.replace(item, parameter) || found
	}
	for i := range n.Fields {
		found = s.replace(n.Fields[i].Value, parameter) || found
	}
	return s.replace(n.Arg, parameter) || found
}

// reveal returns a text with the secrets that it is made of.
func reveal(text string, secrets []Secret) string {
	for i := range secrets {
		text = strings.ReplaceAll(text, secrets[i].stand, secrets[i].Text)
	}
	return text
}
