package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/inprocess"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)

// making is a cluster whose base stack is being made.
func making(status, message string) inprocess.Progress {
	return inprocess.Progress{
		Time: noon,
		Cluster: &v1alpha1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: "demo", Generation: 1},
			Status: v1alpha1.ClusterStatus{
				Conditions: []metav1.Condition{
					{Type: "Ready", Status: metav1.ConditionFalse, ObservedGeneration: 1, Message: message},
					{Type: "Synced", Status: metav1.ConditionTrue, ObservedGeneration: 1},
				},
				Stacks: []v1alpha1.StackStatus{{Name: "demo", Status: status}},
			},
		},
		Groups: []v1alpha1.InstanceGroup{{ObjectMeta: metav1.ObjectMeta{Name: "workers"}}},
	}
}

// Without a terminal, each change is a line, and repetitions are omitted.
func TestLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := New(&out, testingclock.NewFakeClock(noon))
	defer p.Close()
	p.Observe(making("CREATE_IN_PROGRESS", "CloudFormation is creating the stack."))
	p.Observe(making("CREATE_IN_PROGRESS", "CloudFormation is creating the stack."))
	later := making("CREATE_COMPLETE", "CloudFormation is creating the stack.")
	later.Time = noon.Add(time.Minute)
	later.Notices = []inprocess.Notice{
		{
			Time:    noon.Add(time.Minute),
			Kind:    "InstanceGroup",
			Name:    "workers",
			Warning: true,
			Message: "No\ncapacity.",
		}, {Message: "All is well."},
	}
	p.Observe(later)
	want := `12:00:00 Cluster demo: CloudFormation is creating the stack.
12:00:00 stack demo: CREATE_IN_PROGRESS
12:00:00 InstanceGroup workers: pending
12:01:00 stack demo: CREATE_COMPLETE
12:01:00 InstanceGroup workers: Warning: No capacity.
`
	if out.String() != want {
		t.Errorf("it prints\n%s\nnot\n%s", out.String(), want)
	}
}

// On a terminal there is one block, drawn over the last one, no line of which wraps; what has been
// going on for long says so.
func TestBlock(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	clock := testingclock.NewFakeClock(noon)
	p := New(&out, clock)
	p.size = func() (columns, rows int) { return 50, 24 } // Without the ticker, which draws on its own schedule.
	p.Observe(making("CREATE_IN_PROGRESS", "CloudFormation is creating the stack, and that takes longer than a line."))
	out.Reset()
	clock.Step(90 * time.Second)
	p.Observe(making("CREATE_COMPLETE", "CloudFormation is creating the stack, and that takes longer than a line."))
	want := "\x1b[4A\x1b[J" + `1m30s elapsed, 0 of 2 ready
… Cluster demo           1m30s  CloudFormation i…
  ✔ stack demo                  CREATE_COMPLETE
· InstanceGroup workers  1m30s  pending
`
	if out.String() != want {
		t.Errorf("it draws\n%q\nnot\n%q", out.String(), want)
	}
	p.size = func() (columns, rows int) { return 50, 3 }
	out.Reset()
	p.draw()
	if got := strings.Count(out.String(), "\n"); got != 2 || !strings.Contains(out.String(), "and 3 more\n") {
		t.Errorf("in three rows it draws %q", out.String())
	}
	p.Close()
}

// How it stands with things, by what their status says.
func TestItems(t *testing.T) {
	t.Parallel()
	condition := func(conditionType string, status metav1.ConditionStatus, message string) metav1.Condition {
		return metav1.Condition{Type: conditionType, Status: status, Message: message, ObservedGeneration: 1}
	}
	for name, c := range map[string]struct {
		conditions []metav1.Condition
		stack      string
		want       [2]Mark
		text       string
	}{
		"nothing is known":       {nil, "", [2]Mark{Waiting, Waiting}, "pending"},
		"it is made":             {[]metav1.Condition{condition("Ready", "False", "Wait.")}, "CREATE_IN_PROGRESS", [2]Mark{Working, Working}, "Wait."},
		"it is ready":            {[]metav1.Condition{condition("Ready", "True", "Up.")}, "UPDATE_COMPLETE", [2]Mark{Done, Done}, "Up."},
		"it fails and goes back": {[]metav1.Condition{condition("Ready", "True", "Up."), condition("Synced", "False", "No.")}, "UPDATE_ROLLBACK_COMPLETE", [2]Mark{Troubled, Troubled}, "No."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			items := Items(&inprocess.Progress{Cluster: &v1alpha1.Cluster{
				ObjectMeta: metav1.ObjectMeta{Name: "demo", Generation: 1},
				Status: v1alpha1.ClusterStatus{
					Conditions: c.conditions,
					Stacks:     []v1alpha1.StackStatus{{Name: "demo", Status: c.stack}},
				},
			}})
			if len(items) != 2 || items[0].Mark != c.want[0] || items[1].Mark != c.want[1] || items[0].Text != c.text {
				t.Errorf("it says %+v", items)
			}
		})
	}
}

// A Cluster that is ready still says what someone on call has to know.
func TestUpkeepOfClusters(t *testing.T) {
	t.Parallel()
	condition := func(name, status, reason string) any {
		return map[string]any{
			"type": name, "status": status, "reason": reason, "message": name + ".", "observedGeneration": int64(1), "lastTransitionTime": nil,
		}
	}
	object := func(kind string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"kind": kind, "metadata": map[string]any{"name": "demo", "generation": int64(1)},
			"status": map[string]any{
				"certificates": map[string]any{"rotation": map[string]any{"stage": "Renew", "message": "Waiting for group workers."}},
				"conditions": []any{
					condition("Ready", "True", "Ready"), condition("AuditLogShipped", "False", "LinesLost"),
					condition("BackedUp", "False", "Disabled"),
					condition("CertificatesValid", "True", "Valid"),
				},
			},
		}}
	}
	for kind, want := range map[string]string{
		"Cluster":       "Ready. The rotation of the CAs is in stage Renew. Waiting for group workers. AuditLogShipped is False: AuditLogShipped.",
		"InstanceGroup": "Ready.",
	} {
		if got := Object("demo", object(kind)).Text; got != want {
			t.Errorf("%s: got %q, want %q", kind, got, want)
		}
	}
}
