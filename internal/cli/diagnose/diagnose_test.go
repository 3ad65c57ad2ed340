package diagnose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/cluster/consoles"
	"github.com/aws-operator/aws-operator/internal/cluster/diagnosis"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/test/livetest"
)

// run runs the command, and returns what it prints and its exit code.
func run(t *testing.T, clk clock.PassiveClock, args ...string) (out string, code int) {
	t.Helper()
	var stdout bytes.Buffer
	cmd := CommandAt(clk)
	cmd.SetArgs(append([]string{"cluster"}, args...))
	cmd.SetOut(&stdout)
	cmd.SetErr(&stdout)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	if err != nil {
		stdout.WriteString(err.Error())
	}
	return stdout.String(), exit.Code(err)
}

// The tests of the operator diagnose clusters that do not boot; this one is of a folder.
func TestDiagnoseFindsWhatIsWrong(t *testing.T) {
	w := livetest.New(t, livetest.Options{Terraform: true})
	state := w.State()
	out, code := run(t, clock.RealClock{}, "demo", "--state", state)
	if code != exit.Done || !strings.HasPrefix(out, "Nothing is wrong: cluster demo is healthy. Its API serves at https://demo-api") {
		t.Errorf("%d\n%s", code, out)
	}
	if err := w.Host.SetKubelet(w.Group("control-plane-2").Instances[0].ID, false); err != nil {
		t.Fatal(err)
	}
	out, code = run(t, clock.RealClock{}, "demo", "--state", state, "-o", "json")
	var found result
	if err := json.Unmarshal([]byte(out), &found); err != nil || code != exit.NotValid || found.Healthy ||
		found.Cause.Reason != live.ReasonNodeNotReady || len(found.Problems) == 0 || len(found.Instances) > 0 {
		t.Errorf("%d, %v:\n%s", code, err, out)
	}
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no such cluster": {[]string{"other", "--state", state}, "there is no cluster other in the state"},
		"no such format":  {[]string{"demo", "--state", state, "-o", "xml"}, "--output xml is unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			if out, code := run(t, clock.RealClock{}, c.args...); code != exit.Failed || !strings.Contains(out, c.says) {
				t.Errorf("%d\n%s", code, out)
			}
		})
	}
}

var launched = time.Date(2026, 11, 23, 22, 0, 0, 0, time.UTC)

// observed are the facts about a cluster whose API does not respond.
func observed(reports ...consoles.Report) *findings {
	return &findings{
		observed: &live.Observation{
			Cluster: &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo"}},
			AWS:     &live.Cluster{LoadBalancer: &live.LoadBalancer{DNSName: "demo-api.example.com"}},
			API:     &live.API{Problem: "connection refused."},
		},
		problems: []live.Problem{{Kind: "Cluster", Name: "demo", Reason: live.ReasonAPIUnreachable, Message: "The API does not respond."}},
		targets:  map[string]live.TargetHealth{}, reports: reports, now: launched.Add(10 * time.Minute),
	}
}

// slot returns the report of a slot's instance.
func slot(console string) consoles.Report {
	return consoles.Report{
		Instance: consoles.Instance{ID: "i-0", Slot: "0", Zone: "eu-central-1a", Launched: launched},
		Boot:     diagnosis.Read([]byte(console), true),
	}
}

const (
	failing = `time=2026-11-23T22:01:00Z level=WARN msg="etcd volume" error="the volume vol-1 is still attached to i-9" "again in"=15s` + "\n"
	joined  = `time=2026-11-23T22:01:00Z level=INFO msg="this machine is a node of its cluster" took=1m` + "\n"
)

func TestTheFailureThatOthersFollowFromIsTheCause(t *testing.T) {
	for reason, c := range map[string]struct {
		change func(*findings)
		report consoles.Report
		cause  string
		says   []string
	}{
		"a stack that failed": {
			func(f *findings) {
				f.stacks = []failedStack{{"demo", "ROLLBACK_COMPLETE", "Role (AWS::IAM::Role): x is not authorized to perform: iam:CreateRole."}}
			},
			slot(failing), "AccessDenied",
			[]string{"Stack demo (ROLLBACK_COMPLETE): Role (AWS::IAM::Role): x is not", "Allow the action"},
		},
		"a stalled boot": {
			nil, slot(failing), diagnosis.ReasonVolumeHeld,
			[]string{`Instance i-0 of slot 0 has not passed boot stage "etcd volume" since 22:01:00 UTC: the volume vol-1`},
		},
		"a boot that may still succeed": {
			func(f *findings) { f.now = launched.Add(2 * time.Minute) }, slot(failing), reasonBooting,
			[]string{"The instance is still booting. If the error persists: Another instance holds", "may take until 22:06:00 UTC"},
		},
		"a healthy target": {
			func(f *findings) { f.targets["i-0"] = live.TargetHealth{State: elbtypes.TargetHealthStateEnumHealthy} },
			slot(""), reasonUnreachable,
			[]string{"https://demo-api.example.com:6443 does not respond: connection refused."},
		},
		"an instance that joined and has an unhealthy target": {
			func(f *findings) {
				f.targets["i-0"] = live.TargetHealth{State: elbtypes.TargetHealthStateEnumUnhealthy, Description: "Health checks failed"}
			},
			slot(joined), reasonNotForwarding,
			[]string{"Instance i-0 of slot 0 has joined, but the load balancer reports it as unhealthy (Health checks failed).", "port 6443"},
		},
		"a console that cannot be read": {
			nil,
			consoles.Report{Instance: slot("").Instance, Unreadable: "AWS denies access."},
			diagnosis.ReasonUnknown,
			[]string{"Instance i-0 of slot 0 has not joined: AWS denies access.", "ec2:GetConsoleOutput"},
		},
		"a console that has lost the boot": {
			func(f *findings) { f.now = launched.Add(48 * time.Hour) }, slot("login:"), diagnosis.ReasonUserDataSilent,
			[]string{"The console has no lines of a boot."},
		},
		"another problem": {
			nil, slot(joined), live.ReasonAPIUnreachable, []string{"Cluster demo: The API does not respond."},
		},
	} {
		t.Run(reason, func(t *testing.T) {
			f := observed(c.report)
			if c.change != nil {
				c.change(f)
			}
			r := resultOf(f)
			var out strings.Builder
			if err := report(&out, &r); err != nil || r.Healthy || r.Cause.Reason != c.cause {
				t.Errorf("%v, %+v", err, r)
			}
			last := fmt.Sprintf("\nMost likely cause (%s): %s\n%s\nRemedy: %s\n", c.cause, r.Cause.Text, r.Cause.Evidence, r.Cause.Remedy)
			for _, words := range append(c.says, last) {
				if !strings.Contains(out.String(), words) {
					t.Errorf("it lacks %q:\n%s", words, out.String())
				}
			}
		})
	}
}

func TestTableShowsHowFarInstancesAre(t *testing.T) {
	f := observed(slot(failing), slot(joined), consoles.Report{Instance: slot("").Instance, Unreadable: "AWS denies access."})
	f.targets["i-0"] = live.TargetHealth{State: elbtypes.TargetHealthStateEnumInitial}
	r := resultOf(f)
	want := [][]string{
		{"i-0", "control-plane-0", "eu-central-1a", "2026-11-23T22:00:00Z", "etcd volume", "2026-11-23T22:01:00Z", "initial"},
		{"i-0", "control-plane-0", "eu-central-1a", "2026-11-23T22:00:00Z", "joined", "-", "initial"},
		{"i-0", "control-plane-0", "eu-central-1a", "2026-11-23T22:00:00Z", "unknown", "-", "initial"},
	}
	for i, row := range tableOf(&r).Rows {
		if strings.Join(row, " ") != strings.Join(want[i], " ") {
			t.Errorf("got %v, want %v", row, want[i])
		}
	}
}

// Of a cluster of EKS, the command reads the stacks, EKS and the cluster's API.
func TestDiagnoseFindsWhatIsWrongWithEKS(t *testing.T) {
	workers := &v1alpha1.InstanceGroup{
		ObjectMeta: metav1.ObjectMeta{Name: "workers"}, Spec: v1alpha1.InstanceGroupSpec{MinSize: 1, MaxSize: 1},
	}
	w := livetest.New(t, livetest.Options{Groups: []*v1alpha1.InstanceGroup{workers}, EKS: true})
	state := w.State()
	out, code := run(t, clock.RealClock{}, "demo", "--state", state)
	if code != exit.Done || !strings.HasPrefix(out, "Nothing is wrong: cluster demo is healthy. Its API serves at https://") {
		t.Errorf("%d\n%s", code, out)
	}
	if err := w.Host.SetKubelet(w.Group("workers").Instances[0].ID, false); err != nil {
		t.Fatal(err)
	}
	out, code = run(t, clock.RealClock{}, "demo", "--state", state)
	if code != exit.NotValid || !strings.Contains(out, "\nMost likely cause (NodeNotReady)") {
		t.Errorf("%d\n%s", code, out)
	}
}
