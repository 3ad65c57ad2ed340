package render_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

// writes returns a queue with a spec.writeTo, as JSON.
func writes(writeTo string) *v1alpha1.Object {
	return &v1alpha1.Object{
		ObjectMeta: metav1.ObjectMeta{Name: "jobs", Namespace: "team"},
		Spec: []byte(`{"delaySeconds":1,"writeTo":` + writeTo +
			`,"grants":[{"access":"Send","serviceAccount":"web"},{"access":"Send","serviceAccount":"web-2"}]}`),
		Status: v1alpha1.ObjectStatus{Output: map[string]v1alpha1.Value{
			"queueURL": {Text: "https://sqs/jobs"}, "queueName": {Text: "jobs"}, "queueARN": {Text: "5", Number: true},
		}},
	}
}

// roleARNs are the roles of the service accounts of the object of writes.
var roleARNs = map[string]string{"web": "arn:aws:iam::123456789012:role/web", "web-2": "arn:aws:iam::123456789012:role/web-2"}

// one is a spec.writeTo with one text.
func one(text string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`[{"kind":"ConfigMap","name":"settings","data":{"KEY":%s}}]`, quoted)
}

func TestWriteTo(t *testing.T) {
	configMaps, secrets, err := render.WriteTo(builtIn(t, "SQSQueue"), writes(`[
		{"kind":"Secret","name":"all"},
		{"kind":"ConfigMap","name":"settings","data":{"URL":"{{ .output.queueURL }}","plain":"text"}},
		{"kind":"ConfigMap","name":"more","data":{"of":"{{ .metadata.namespace }}/{{ .metadata.name }}"}}]`), roleARNs)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]render.Data{
		{
			{Name: "settings", Field: "spec.writeTo[1]", Values: map[string]string{"URL": "https://sqs/jobs", "plain": "text"}},
			{Name: "more", Field: "spec.writeTo[2]", Values: map[string]string{"of": "team/jobs"}},
		},
		{{Name: "all", Field: "spec.writeTo[0]", Values: map[string]string{"queueURL": "https://sqs/jobs", "queueName": "jobs", "queueARN": "5"}}},
	}
	if diff := cmp.Diff(want, [][]render.Data{configMaps, secrets}); diff != "" {
		t.Errorf("it differs (-want +got):\n%s", diff)
	}
}

// TestTextsOfWriteTo tests what authors of objects may write: no values but the outputs and the
// name, and nothing whose result is much longer than what they write.
func TestTextsOfWriteTo(t *testing.T) {
	grow := "{{ with `a` " + strings.Repeat("| replace `a` `aaaaaaaaaaaaaaaa` ", 8) + "}}{{ . }}{{ end }}"
	m := builtIn(t, "SQSQueue")
	for _, c := range []struct{ why, text, want, problem string }{
		{"no template", "a{b}", "a{b}", ""},
		{"a function", "{{ .output.queueURL | trimSuffix `/jobs` | replace `https` `http` }}", "http://sqs", ""},
		{"a default", "{{ default `none` .output.deadLetterQueueURL }}", "none", ""},
		{"a condition", "{{ if and (hasPrefix `https` .output.queueURL) (ne .output.queueName `a`) }}a{{ else }}b{{ end }}", "a", ""},
		{"the dot of a with", "{{ with .output }}{{ .queueName }}{{ end }}", "jobs", ""},
		{"all outputs", "{{ .output }}", `{"queueARN":"5","queueName":"jobs","queueURL":"https://sqs/jobs"}`, ""},
		{"a missing output", "{{ .output.deadLetterQueueURL }}", "", "needs {{ .output.deadLetterQueueURL }} for its key KEY"},
		{"an output that the kind does not have", "{{ .output.url }}", "", "there is no .output.url; use .metadata.name, .metadata.namespace, .roleARNs.NAME of a service account in spec.grants, or one of the outputs: .output.queueURL, "},
		{"the role of a service account", "{{ .roleARNs.web }}", roleARNs["web"], ""},
		{"the role of a service account with a hyphen", "{{ get `web-2` .roleARNs }}", roleARNs["web-2"], ""},
		{"a service account without a grant", "{{ .roleARNs.other }}", "", "there is no .roleARNs.other; use "},
		{"a service account with a hyphen and without a grant", "{{ get `web-1` .roleARNs }}", "", "there is no .roleARNs.web-1; did you mean .roleARNs.web-2?"},
		{"a spelling", "\n{{ .output.queueUrl }}", "", "spec.writeTo[0].data.KEY: line 2, column 11: there is no .output.queueUrl; did you mean .output.queueURL?"},
		{"the spec", "{{ .spec.delaySeconds }}", "", "there is no .spec"},
		{"the account", "{{ .accountID }}", "", "there is no .accountID"},
		{"the whole object", "{{ .metadata.annotations }}", "", "there is no .metadata.annotations"},
		{"the spec by the root", "{{ $.spec }}", "", "there is no .spec"},
		{"an open brace", "{{ .output.queueURL", "", "unclosed action"},
		{"an unknown function", "{{ shout .output.queueURL }}", "", "function \"shout\" not defined"},
		{"a loop", "{{ range 1000000000 }}a{{ end }}", "", "range is not allowed"},
		{"a recursion", "{{ define `a` }}{{ template `a` }}{{ end }}{{ template `a` }}", "", "template is not allowed"},
		{"a block", "{{ block `a` . }}{{ end }}", "", "template is not allowed"},
		{"a width", "{{ printf `%999999d` 1 }}", "", "printf is not allowed; use only if, with and the functions and, contains, "},
		{"a function in a condition", "{{ if (len .output) }}{{ end }}", "", "len is not allowed"},
		{"a function of a function", "{{ (index .output `queueURL`).x }}", "", "index is not allowed"},
		{"growth", grow, "", "the text is longer than 1 MiB"},
		{"repeated growth", strings.Replace(strings.Replace(grow, "| replace `a` `aaaaaaaaaaaaaaaa` ", "", 3), "{{ . }}", strings.Repeat("{{ . }}", 1000), 1), "", "the text is longer than 1 MiB"},
		{"a field of a text", "{{ .output.queueURL.host }}", "", "spec.writeTo[0].data.KEY: line 1, column "},
	} {
		t.Run(c.why, func(t *testing.T) {
			configMaps, _, err := render.WriteTo(m, writes(one(c.text)), roleARNs)
			switch {
			case c.problem == "" && err != nil:
				t.Fatal(err)
			case c.problem == "":
				if got := configMaps[0].Values["KEY"]; got != c.want {
					t.Errorf("the text is %q, want %q", got, c.want)
				}
			case err == nil || !strings.Contains(err.Error(), c.problem):
				t.Errorf("the error is %v, want %q", err, c.problem)
			}
		})
	}
}

// TestWriteToThatTheAPIServerDidNotCheck tests an object that is older than the field.
func TestWriteToThatTheAPIServerDidNotCheck(t *testing.T) {
	m := builtIn(t, "SQSQueue")
	for _, c := range []struct{ writeTo, want string }{
		{`null`, ""},
		{`[]`, ""},
		{`"settings"`, "spec.writeTo: it is no list"},
		{`["settings"]`, `spec.writeTo[0].kind: "" is no kind to write to`},
		{`[{"kind":"Service","name":"a"}]`, `spec.writeTo[0].kind: "Service" is no kind to write to; use ConfigMap or Secret`},
		{`[{"kind":"Secret","name":"../a"}]`, `spec.writeTo[0].name: "../a" is no name`},
		{`[{"kind":"Secret","name":"a"},{"kind":"Secret","name":"a"}]`, "spec.writeTo[1].name: another entry has Secret a, too"},
		{`[{"kind":"Secret","name":"a"},{"kind":"ConfigMap","name":"a"}]`, ""},
		{`[{"kind":"Secret","name":"a","data":"b"}]`, "spec.writeTo[0].data: it must have 1 to 64 keys"},
		{`[{"kind":"Secret","name":"a","data":{}}]`, "spec.writeTo[0].data: it must have 1 to 64 keys"},
		{`[{"kind":"Secret","name":"a","data":{"a/b":"c"}}]`, `spec.writeTo[0].data: "a/b" is no key`},
		{`[{"kind":"Secret","name":"a","data":{"b":1}}]`, "spec.writeTo[0].data.b: it must be a text"},
		{one(strings.Repeat("a", 8193)), "spec.writeTo[0].data.KEY: it must be a text of at most 8192 characters"},
		{"[" + strings.Repeat(`{"kind":"Secret","name":"a"},`, 8) + `{"kind":"Secret","name":"a"}]`, "spec.writeTo: it has 9 entries, but may have 8"},
	} {
		err := render.CheckWriteTo(m, writes(c.writeTo))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want %q", c.writeTo, err, c.want)
		}
	}
}

// TestValuesOfWriteToAreBounded tests the size of all values of a ConfigMap.
func TestValuesOfWriteToAreBounded(t *testing.T) {
	obj := writes(`[{"kind":"ConfigMap","name":"a","data":{"b":"{{ .output.queueURL }}","c":"{{ .output.queueURL }}"}}]`)
	obj.Status.Output["queueURL"] = v1alpha1.Value{Text: strings.Repeat("a", 600_000)}
	_, _, err := render.WriteTo(builtIn(t, "SQSQueue"), obj, roleARNs)
	if want := "spec.writeTo[0].data: the values have more than 1 MiB, which no ConfigMap may have; write less"; err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %q", err, want)
	}
}

// TestMissingOutputNamesTheEntry tests what the message about a missing output needs.
func TestMissingOutputNamesTheEntry(t *testing.T) {
	_, _, err := render.WriteTo(builtIn(t, "SQSQueue"), writes(one("{{ .output.deadLetterQueueURL }}")), roleARNs)
	missing, ok := errors.AsType[*render.MissingValueError](err)
	want := &render.MissingValueError{
		Kind: "ConfigMap", Name: "settings", Field: "key KEY", Value: ".output.deadLetterQueueURL", Entry: "spec.writeTo[0]",
	}
	if !ok || *missing != *want {
		t.Errorf("the error is %+v, want %+v", err, want)
	}
}

// TestStackDoesNotDependOnWriteTo tests everything that an object's stack is made of.
func TestStackDoesNotDependOnWriteTo(t *testing.T) {
	m := builtIn(t, "SQSQueue")
	without := writes("null")
	without.Spec = []byte(`{"delaySeconds":1,"grants":[{"access":"Send","serviceAccount":"web"},{"access":"Send","serviceAccount":"web-2"}]}`)
	override := &render.Override{File: "x.yaml", Template: `
Parameters:
  ResourceVersion: {Type: String}
  WriteTo: {Type: String, Default: nothing}
  DelaySeconds: {Type: Number}
Resources:
  Queue: {Type: AWS::SQS::Queue}
`}
	for _, o := range []*render.Override{nil, override} {
		var stacks []any
		for _, obj := range []*v1alpha1.Object{without, writes(one("{{ .output.queueURL }}"))} {
			desired, err := render.Stack(m, obj, facts, o)
			if err != nil {
				t.Fatal(err)
			}
			spec, err := render.StackSpec(obj)
			if err != nil {
				t.Fatal(err)
			}
			stacks = append(stacks, []any{string(desired.Template.JSON()), desired.Parameters, desired.Tags, string(spec)})
		}
		if diff := cmp.Diff(stacks[0], stacks[1]); diff != "" {
			t.Errorf("writeTo changes the stack (-without +with):\n%s", diff)
		}
	}
}
