package identity

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/identity/v1alpha1"
)

func TestTags(t *testing.T) {
	many := make([]string, 41)
	for i := range many {
		many[i] = fmt.Sprintf("k%d: v", i)
	}
	for name, c := range map[string]struct {
		identity          map[string]string
		namespace, object string
		want              map[string]string
		problem           string
	}{
		"none":           {},
		"of an identity": {identity: map[string]string{"team": "shop"}, want: map[string]string{"team": "shop"}},
		"the nearest": {
			identity: map[string]string{"a": "1", "b": "1", "c": "1"}, namespace: "{a: '2', b: '2'}", object: "a: '3'\n",
			want: map[string]string{"a": "3", "b": "2", "c": "1"},
		},
		"as JSON":       {object: `{"cost center":"42","é":""}`, want: map[string]string{"cost center": "42", "é": ""}},
		"a number":      {object: "{a: 1}", want: map[string]string{"a": "1"}},
		"a list":        {namespace: "[a]", problem: `The annotation aws-operator/tags of namespace team: "[a]" is no map of texts`},
		"twice":         {object: "{a: b, a: c}", problem: "is no map of texts"},
		"AWS's":         {object: "{'AWS:a': b}", problem: `the key "AWS:a" is reserved; use another one`},
		"an owner's":    {object: "{service-operator.aws/name: b}", problem: `the key "service-operator.aws/name" is reserved`},
		"Kubernetes'":   {object: "{kubernetes.io/cluster/demo: owned}", problem: "is reserved"},
		"a long key":    {object: "{" + strings.Repeat("k", 129) + ": a}", problem: "must have a key of 1 to 128 characters"},
		"a long value":  {object: "{a: " + strings.Repeat("v", 257) + "}", problem: "a value of at most 256"},
		"an empty key":  {object: "{'': a}", problem: "must have a key"},
		"a strange one": {object: "{a: 'b;c'}", problem: `the tag "a" may only have letters`},
		"too many":      {object: strings.Join(many, "\n"), problem: "have 41 tags together, but a resource can have 40 of them; remove some."},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Annotations: map[string]string{v1alpha1.TagsAnnotation: c.namespace}}}
			got, err := Tags(c.identity, namespace, c.object)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("they differ (-want +got):\n%s", diff)
			}
			refused, ok := errors.AsType[*RefusedError](err)
			if (err == nil) != (c.problem == "") || err != nil && (!ok || refused.Reason != "InvalidTags" || !strings.Contains(refused.Message, c.problem)) {
				t.Errorf("the error is %v, want %q", err, c.problem)
			}
		})
	}
}
