package validate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/test/livetest"
)

func aGroup(name string, least, most int32) *v1alpha1.InstanceGroup {
	return &v1alpha1.InstanceGroup{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.InstanceGroupSpec{MinSize: least, MaxSize: most},
	}
}

// run runs the command, and returns what it prints and its exit code.
func run(ctx context.Context, args ...string) (out, errOut string, code int) {
	var stderr bytes.Buffer
	out, code, err := runTo(ctx, &stderr, args...)
	if err != nil {
		fmt.Fprintln(&stderr, err)
	}
	return out, stderr.String(), code
}

func runTo(ctx context.Context, errOut io.Writer, args ...string) (out string, code int, err error) {
	var stdout bytes.Buffer
	cmd := Command()
	cmd.SetArgs(append([]string{"cluster"}, args...))
	cmd.SetOut(&stdout)
	cmd.SetErr(errOut)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(ctx)
	return stdout.String(), exit.Code(err), err
}

// writer does something with each line.
type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestValidateReportsProblems(t *testing.T) {
	w := livetest.New(t, livetest.Options{Groups: []*v1alpha1.InstanceGroup{aGroup("workers", 2, 3)}, Bastion: true, Terraform: true})
	state := w.State()
	out, errOut, code := run(t.Context(), "demo", "--state", state)
	if code != exit.Done ||
		!strings.Contains(out, "workers           worker          2          2       0            2     2        3\n") ||
		!strings.Contains(out, "\nCluster demo is healthy. Its API serves at https://demo-api") ||
		!strings.HasPrefix(errOut, "Cluster demo has no backups of etcd: spec.backup.bucket is not set") {
		t.Errorf("%d %s\n%s", code, errOut, out)
	}

	sick := w.Group("workers").Instances[0].ID
	if err := errors.Join(w.Host.SetKubelet(sick, false), w.Host.SetMember(w.Group("control-plane-2").Instances[0].ID, false)); err != nil {
		t.Fatal(err)
	}
	out, errOut, code = run(t.Context(), "demo", "--state", state)
	for _, want := range []string{
		"\nCluster demo is not healthy:\n", "(NodeNotReady): It has not been Ready since ", "the kubelet on instance " + sick,
		"- Slot control-plane-2 (SlotNotServing): It is unhealthy: the API server of its node ",
	} {
		if code != exit.NotValid || !strings.Contains(out, want) {
			t.Errorf("it lacks %q: %d %s\n%s", want, code, errOut, out)
		}
	}
	out, _, code = run(t.Context(), "demo", "--state", state, "-o", "json")
	var data result
	if err := json.Unmarshal([]byte(out), &data); err != nil || code != exit.NotValid || data.Valid || len(data.Problems) < 2 ||
		len(data.Nodes) != 5 ||
		len(data.Groups) != 5 {
		t.Errorf("%v, %d: %s", err, code, out)
	}

	ctx := patience.Context(t)
	fix := sync.OnceFunc(func() {
		if err := errors.Join(
			w.Host.SetKubelet(sick, true), w.Host.SetMember(w.Group("control-plane-2").Instances[0].ID, true),
		); err != nil {
			t.Error(err)
		}
	})
	var errs bytes.Buffer
	out, code, _ = runTo(
		ctx,
		writer(func(p []byte) (int, error) {
			if bytes.Contains(p, []byte(" Waiting for ")) {
				fix()
			}
			return errs.Write(p)
		}),
		"demo",
		"--state",
		state,
		"--wait",
		"50s",
		"--interval",
		"300ms",
	)
	errOut = errs.String()
	if code != exit.Done || !strings.Contains(out, "Cluster demo is healthy.") || !strings.Contains(errOut, " Waiting for ") {
		t.Errorf("%d %s\n%s", code, errOut, out)
	}
}

func TestUnknownStatusIsReportedOnce(t *testing.T) {
	w := livetest.New(t, livetest.Options{Slots: 1, Terraform: true})
	state := w.State()
	for name, test := range map[string]struct {
		args []string
		says string
	}{
		"no such cluster": {[]string{"other", "--state", state}, "there is no cluster other in the state " + state + "; there is demo"},
		"no such state":   {[]string{"demo", "--state", filepath.Join(t.TempDir(), "none")}, "there is no cluster demo in the state "},
		"no such format":  {[]string{"demo", "--state", state, "-o", "xml"}, "--output xml is unknown; use one of table, json, yaml"},
		"no such wait":    {[]string{"demo", "--state", state, "--wait", "-1s"}, "--wait -1s or --interval 10s is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := run(t.Context(), test.args...)
			if code != exit.Failed || out != "" || !strings.Contains(strings.ToLower(errOut), strings.ToLower(test.says)) {
				t.Errorf("%d %s\n%s", code, errOut, out)
			}
		})
	}
}

// TestWaitingEnds checks a cluster that stays unhealthy until the timeout on a fake clock.
func TestWaitingEnds(t *testing.T) {
	t.Parallel() // It mostly waits.
	for name, test := range map[string]struct {
		err    error
		checks int
		code   int
	}{
		"it never becomes healthy":              {nil, 4, exit.NotValid},
		"AWS does not answer for long":          {&awsapi.Failure{Kind: awsapi.Unreachable, Message: "AWS cannot be reached."}, 4, exit.Failed},
		"the credentials are expired from then": {&awsapi.Failure{Kind: awsapi.Expired, Message: "The credentials are expired."}, 1, exit.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // As above.
			clk := testclock.NewFakeClock(time.Unix(0, 0))
			var out, progress bytes.Buffer
			checks := 0
			v := validation{
				name: "demo", output: &flags.Output{Format: flags.FormatTable}, wait: 40 * time.Second, interval: 10 * time.Second,
				clock: stepping{clk}, out: &out, progress: &progress,
				observe: func(context.Context) (*live.Observation, error) {
					checks++
					return &live.Observation{Cluster: &v1alpha1.Cluster{}, AWS: &live.Cluster{}}, test.err
				},
			}
			if code := exit.Code(v.run(t.Context())); code != test.code || checks != test.checks {
				t.Errorf("code %d after %d looks, want %d after %d", code, checks, test.code, test.checks)
			}
			if lines := strings.Count(progress.String(), "\n"); test.checks > 1 && lines != 1 {
				t.Errorf("the same line was printed %d times:\n%s", lines, progress.String())
			}
		})
	}
}

// stepping is a clock on which waiting takes no time.
type stepping struct{ *testclock.FakeClock }

func (s stepping) NewTimer(d time.Duration) clock.Timer {
	timer := s.FakeClock.NewTimer(d)
	s.Step(d)
	return timer
}
