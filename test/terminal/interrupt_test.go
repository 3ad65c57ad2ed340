package terminal

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/test/inventory"
)

// interruptedNotice is the line that an interrupted command prints.
const interruptedNotice = "\nInterrupted. The state has the progress; run the same command to continue."

// interruption finds every mention of it, but not this test's name in paths.
var interruption = regexp.MustCompile(`nterrupted\b`)

// After Ctrl-C the same command continues, whatever it was doing: it prints one line that says so,
// and its exit code is that of an interruption.
func TestInterruptedCommandContinuesWhenRepeated(t *testing.T) {
	t.Parallel()
	p := newUser(t, fake.Options{})
	p.env = append(p.env, "AWS_OPERATOR_STATE="+p.path("state"))
	before := inventory.Of(t, p.aws())
	p.manifests("demo.yaml", asItIs)
	for _, step := range []struct {
		command []string
		amid    []string
	}{
		{[]string{"apply", "-f", "demo.yaml", "--yes"}, []string{"stack demo: CREATE_IN_PROGRESS", "stack demo-control-plane-0: CREATE_IN_PROGRESS"}},
		{[]string{"delete", "cluster", "demo", "--yes"}, []string{"stack demo-workers: DELETE_IN_PROGRESS", "stack demo: DELETE_IN_PROGRESS"}},
	} {
		command := append(slices.Clone(step.command), "--nodeup-dir", p.path("nodeup"), "--poll", "200ms")
		for n, amid := range step.amid {
			c := p.start(command...)
			c.await(amid)
			c.signal([]os.Signal{os.Interrupt, syscall.SIGTERM}[n%2])
			if code := c.wait(); code != exit.Interrupted {
				t.Errorf("the interrupted command exits with %d", code)
			}
			if output := c.err.String(); strings.Count(output, interruptedNotice) != 1 || len(interruption.FindAllString(output, -1)) != 1 {
				t.Errorf("it does not end with one line that says how to continue:\n%s", output)
			}
		}
		p.run(0, command...)
	}
	if diff := cmp.Diff(before, inventory.Of(t, p.aws())); diff != "" {
		t.Errorf("deletion left a trace (-before +after):\n%s", diff)
	}
	if _, err := os.Stat(p.path("state/demo")); !os.IsNotExist(err) {
		t.Errorf("the cluster is still in the state: %v", err)
	}
}
