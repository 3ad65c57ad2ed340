package rollingupdate

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/state"
	"github.com/aws-operator/aws-operator/test/livetest"
)

// run runs the command, and returns what it prints and its exit code.
func run(ctx context.Context, args ...string) (out, problem string, code int) {
	var stdout, stderr bytes.Buffer
	cmd := Command()
	cmd.SetArgs(append([]string{"cluster"}, args...))
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(ctx); err != nil {
		return stdout.String(), err.Error(), exit.Code(err)
	}
	return stdout.String(), "", exit.Done
}

func TestCommandShowsThenReplaces(t *testing.T) {
	w := livetest.New(t, livetest.Options{Slots: 1, Groups: []*v1alpha1.InstanceGroup{group("workers", 1, 2)}, Terraform: true})
	ref := w.State()
	before := machinesOf(w, "workers")
	w.MoveOn("workers")
	out, problem, code := run(t.Context(), "demo", "--state", ref)
	if code != exit.Done || !strings.Contains(out, "workers           NeedsUpdate   1            1       1     1        2     1\n") ||
		!strings.Contains(out, "Would replace instances, in this order: workers.\nNothing was changed. To replace them, add --yes.\n") {
		t.Errorf("%d %s\n%s", code, problem, out)
	}

	s, err := state.Open(t.Context(), ref, state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := s.Lock(t.Context(), "demo", "apply")
	if err != nil {
		t.Fatal(err)
	}
	if out, problem, code := run(t.Context(), "demo", "--state", ref, "--yes"); code != exit.Failed ||
		!strings.Contains(problem, "cluster demo is being changed by") {
		t.Errorf("while another client changes the cluster, the command prints %d %s\n%s", code, problem, out)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if out, problem, code := run(t.Context(), "demo", "--state", ref, "--yes"); code != exit.Done {
		t.Fatalf("%d %s\n%s", code, problem, out)
	}
	renewed(t, w, before, "workers")

	for name, test := range map[string]struct {
		args []string
		says string
	}{
		"no such batch":         {[]string{"--batch-size", "some"}, "--batch-size some is invalid: use a number, or a percentage such as 25%"},
		"a batch of none":       {[]string{"--batch-size", "0"}, "0 is not a valid batch size"},
		"no validation":         {[]string{"--validate-count", "0"}, "--validate-count 0 is invalid: use at least 1"},
		"a format for doing it": {[]string{"--yes", "-o", "json"}, "--output only applies without --yes; leave out one of them"},
	} {
		t.Run(name, func(t *testing.T) {
			out, problem, code := run(t.Context(), append([]string{"demo", "--state", ref}, test.args...)...)
			if code != exit.Failed || out != "" || !strings.Contains(problem, test.says) {
				t.Errorf("%d %s\n%s", code, problem, out)
			}
		})
	}
}
