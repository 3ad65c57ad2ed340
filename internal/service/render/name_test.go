package render_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/aws-operator/aws-operator/internal/service/render"
)

func TestStackName(t *testing.T) {
	const hash = `-[0-9a-f]{8}`
	for _, c := range []struct{ reason, cluster, namespace, name, want string }{
		{"the plain name is unambiguous", "aws-operator", "default", "my-queue", `aws-operator-sqsqueue-my-queue-default`},
		{"a namespace with a hyphen could be part of the name", "c", "team-a", "t", `c-sqsqueue-t-team-a` + hash},
		{"dots are refused by CloudFormation", "c", "default", "a.b", `c-sqsqueue-a-b-default` + hash},
		{"a cluster name may begin with a digit", "1", "default", "a", `s-1-sqsqueue-a-default` + hash},
		{"a long name is truncated", "c", "default", strings.Repeat("x", 120), `c-sqsqueue-x{108}` + hash},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := render.StackName(c.cluster, "SQSQueue", c.namespace, c.name); !regexp.MustCompile("^" + c.want + "$").
				MatchString(got) {
				t.Errorf("the name is %q, want %q", got, c.want)
			}
		})
	}
}

// TestStackNamesAreValidAndDistinct draws pairs of objects: CloudFormation accepts the names of
// their stacks, and the names differ.
func TestStackNamesAreValidAndDistinct(t *testing.T) {
	valid := regexp.MustCompile(`^[a-zA-Z][-a-zA-Z0-9]{0,127}$`)
	name := rapid.StringMatching(`[a-z0-9]([a-z0-9.-]{0,80}[a-z0-9])?`)
	namespace := rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,60}[a-z0-9])?`)
	rapid.Check(t, func(t *rapid.T) {
		aName, aSpace := name.Draw(t, "name"), namespace.Draw(t, "namespace")
		bName, bSpace := name.Draw(t, "other name"), namespace.Draw(t, "other namespace")
		a := render.StackName("c", "SQSQueue", aSpace, aName)
		if !valid.MatchString(a) {
			t.Fatalf("CloudFormation refuses %q", a)
		}
		if b := render.StackName("c", "SQSQueue", bSpace, bName); a == b && (aName != bName || aSpace != bSpace) {
			t.Fatalf("%s/%s and %s/%s share stack %s", aSpace, aName, bSpace, bName, a)
		}
	})
}

func TestServiceName(t *testing.T) {
	label := regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
	for _, name := range []string{"a", "my-bucket", "my.bucket", "1st", strings.Repeat("x", 100), strings.Repeat("x.", 40) + "y"} {
		got := render.ServiceName(name)
		if !label.MatchString(got) {
			t.Errorf("ServiceName(%q) is %q, which is not a DNS label", name, got)
		}
	}
	if render.ServiceName("a.b") == render.ServiceName("a-b") {
		t.Error("a.b and a-b share a Service")
	}
}
