package render_test

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

func TestDeletionPolicyAsksForSnapshots(t *testing.T) {
	for _, c := range []struct{ reason, kind, spec, policy, want, refused string }{
		{"of Redis", "ElastiCache", `{"engine":"redis","cacheNodeType":"cache.t4g.micro"}`, "Snapshot", "Snapshot", ""},
		{"only if the user asks", "ElastiCache", `{"engine":"redis","cacheNodeType":"cache.t4g.micro"}`, "delete", "", ""},
		{"an unknown policy changes no stack", "ElastiCache", `{"engine":"redis","cacheNodeType":"cache.t4g.micro"}`, "snapshots", "", ""},
		{"not of Memcached", "ElastiCache", `{"engine":"memcached","cacheNodeType":"cache.t4g.micro"}`, "snapshot", "", "this ElastiCache; set it to retain or delete"},
		{"not of a queue", "SQSQueue", `{}`, "snapshot", "", "this SQSQueue; set it to retain or delete"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			obj := &v1alpha1.Object{
				ObjectMeta: metav1.ObjectMeta{
					Name: "one", Namespace: "default", Annotations: map[string]string{v1alpha1.DeletionPolicyAnnotation: c.policy},
				},
				Spec: []byte(c.spec),
			}
			desired, err := render.Stack(builtIn(t, c.kind), obj, facts, nil)
			if refused, ok := errors.AsType[*render.RefusedError](err); ok != (c.refused != "") ||
				ok && (refused.Reason != "NoSnapshot" || !strings.Contains(refused.Message, c.refused)) {
				t.Fatalf("the error is %v", err)
			}
			if err == nil && desired.Template.Resources["Cluster"].DeletionPolicy != c.want {
				t.Errorf("the policy is %q, want %q", desired.Template.Resources["Cluster"].DeletionPolicy, c.want)
			}
		})
	}
}
