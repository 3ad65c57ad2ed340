package rollingupdate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/test/livetest"
)

func group(name string, least, most int32) *v1alpha1.InstanceGroup {
	return &v1alpha1.InstanceGroup{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.InstanceGroupSpec{MinSize: least, MaxSize: most},
	}
}

// log is what a run prints.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
	// most is after how many lines end is called; never if it is zero.
	most int
	end  func()
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.most--; l.most == 0 {
		l.end()
	}
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newUpdate returns a new run of the command.
func newUpdate(w *livetest.Suite, c choice) (*update, *log) {
	out := &log{}
	return &update{
		cluster: w.Cluster, groups: w.Groups, clients: w.Clients, session: w.Session(), clock: clock.RealClock{},
		choice: c, validateCount: 1, patience: time.Minute, poll: 100 * time.Millisecond,
		output: &flags.Output{Format: flags.FormatTable}, out: out,
	}, out
}

func machinesOf(w *livetest.Suite, names ...string) (ids []string) {
	for _, name := range names {
		for _, one := range w.Group(name).Instances {
			ids = append(ids, one.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// renewed complains unless every machine of the groups is another one than before, and up to date.
func renewed(t *testing.T, w *livetest.Suite, before []string, names ...string) {
	t.Helper()
	w.WaitValid()
	for _, name := range names {
		g := w.Group(name)
		if g.Rolling {
			t.Errorf("a memory is left on %s", name)
		}
		for _, one := range g.Instances {
			if slices.Contains(before, one.ID) || one.Outdated {
				t.Errorf("machine %s of %s was not replaced", one.ID, name)
			}
		}
	}
}

var slotNames = []string{"control-plane-0", "control-plane-1", "control-plane-2"}

func TestNewLaunchTemplatesReplaceAllInstances(t *testing.T) {
	t.Parallel() // It mostly waits.
	w := livetest.New(t, livetest.Options{Groups: []*v1alpha1.InstanceGroup{group("blue", 1, 2), group("green", 2, 3)}, Terraform: true})
	all := append(slices.Clone(slotNames), "blue", "green")
	before := machinesOf(w, all...)
	w.MoveOn(all...)

	show, text := newUpdate(w, choice{})
	if err := show.show(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"NAME              STATUS        NEEDUPDATE   READY   MIN   TARGET   MAX   NODES\n",
		"control-plane-0   NeedsUpdate   1            1       1     1        1     1\n",
		"green             NeedsUpdate   2            2       2     2        3     2\n",
		"in this order: control-plane-0, control-plane-1, control-plane-2 (one after another); then blue; then green.\nNothing was changed. To replace them, add --yes.\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
	if !slices.Equal(before, machinesOf(w, all...)) {
		t.Error("showing it replaced machines")
	}

	roll, text := newUpdate(w, choice{})
	if err := roll.roll(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	t.Log(text)
	renewed(t, w, before, all...)
	again, text := newUpdate(w, choice{})
	if err := again.roll(t.Context()); err != nil || !strings.Contains(text.String(), "No instance needs to be replaced") {
		t.Errorf("%v: %s", err, text)
	}
}

func TestKilledRolloutContinues(t *testing.T) {
	t.Parallel() // It mostly waits.
	// A run is killed when it has printed this many lines, at most this often.
	const lines, most = 5, 30
	for name, test := range map[string]struct {
		slots  int32
		groups []string
	}{
		"of an instance group":  {1, []string{"workers"}},
		"of slots":              {3, slotNames},
		"of the only slot":      {1, slotNames[:1]},
		"of a slot and workers": {1, []string{"control-plane-0", "workers"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // As above.
			w := livetest.New(
				t, livetest.Options{Slots: test.slots, Groups: []*v1alpha1.InstanceGroup{group("workers", 2, 3)}, Terraform: true},
			)
			before := machinesOf(w, test.groups...)
			w.MoveOn(test.groups...)
			killed := 0
			for ; ; killed++ {
				ctx, kill := context.WithCancel(t.Context())
				roll, text := newUpdate(w, choice{groups: test.groups})
				text.most, text.end = lines, kill
				err := roll.roll(ctx)
				kill()
				if err == nil {
					break
				}
				if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "run the same command to continue") ||
					killed == most {
					t.Fatalf("killed %d times: %v\n%s", killed, err, text)
				}
			}
			if killed == 0 { // How often depends on how many lines it takes.
				t.Error("it was never killed")
			}
			renewed(t, w, before, test.groups...)
		})
	}
}

func TestOnlySelectedGroupsAreReplaced(t *testing.T) {
	t.Parallel() // It mostly waits.
	w := livetest.New(
		t,
		livetest.Options{
			Slots:     1,
			Groups:    []*v1alpha1.InstanceGroup{group("blue", 1, 2), group("green", 1, 2)},
			Bastion:   true,
			Terraform: true,
		},
	)
	w.Eventually("the second is over in which machines were launched", func() error { return w.Older(time.Second) })
	blue, others := machinesOf(w, "blue"), machinesOf(w, "green", "control-plane-0", "bastion")
	roll, text := newUpdate(w, choice{groups: []string{"blue", "control-plane-0"}, roles: []string{"Node"}, force: true})
	if err := roll.roll(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	renewed(t, w, blue, "blue")
	if !slices.Equal(others, machinesOf(w, "green", "control-plane-0", "bastion")) {
		t.Error("other groups were rolled, too")
	}
	for name, test := range map[string]struct {
		choice choice
		says   string
	}{
		"no such group": {choice{groups: []string{"red"}}, "cluster demo has no group red in AWS; it has control-plane-0, blue, green, bastion"},
		"no such role":  {choice{roles: []string{"king"}}, "--instance-group-roles king is unknown; use control-plane, worker or bastion"},
	} {
		t.Run(name, func(t *testing.T) {
			u, _ := newUpdate(w, test.choice)
			if err := u.show(t.Context()); err == nil || err.Error() != test.says {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestCloudOnlyReplacesWithoutTheAPI(t *testing.T) {
	t.Parallel() // It mostly waits.
	w := livetest.New(t, livetest.Options{Groups: []*v1alpha1.InstanceGroup{group("workers", 2, 3)}, Bastion: true, Terraform: true})
	w.MoveOn("workers", "control-plane-1", "bastion")
	rolled := []string{"workers", "control-plane-1", "bastion"}
	before := machinesOf(w, rolled...)
	secrets := w.Secrets
	w.Secrets = nil // The run cannot connect to the API.
	refused, text := newUpdate(w, choice{})
	if err := refused.roll(t.Context()); err == nil || !strings.Contains(err.Error(), "--cloudonly uses only AWS") {
		t.Errorf("%v\n%s", err, text)
	}
	if !slices.Equal(before, machinesOf(w, rolled...)) {
		t.Error("it was refused, and changed something")
	}
	roll, text := newUpdate(w, choice{cloudOnly: true})
	if err := roll.roll(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if strings.Contains(text.String(), "drain") {
		t.Errorf("it drained nodes:\n%s", text)
	}
	w.Secrets = secrets
	renewed(t, w, before, rolled...)
}

func TestGroupsOfCloudFormationAreReported(t *testing.T) {
	t.Parallel() // It mostly waits.
	ours := group("ours", 1, 2)
	ours.Spec.RollingUpdate.Engine = v1alpha1.RollOperator
	w := livetest.New(t, livetest.Options{Slots: 1, Groups: []*v1alpha1.InstanceGroup{group("theirs", 1, 2), ours}})
	w.MoveOn("theirs", "ours", "control-plane-0")
	before := machinesOf(w, "theirs", "control-plane-0")
	old := machinesOf(w, "ours")
	roll, text := newUpdate(w, choice{})
	if err := roll.roll(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	renewed(t, w, old, "ours")
	if !slices.Equal(before, machinesOf(w, "theirs", "control-plane-0")) {
		t.Error("it did what CloudFormation does")
	}
	if want := "CloudFormation replaces the instances of control-plane-0, theirs when it updates the stack: aws-operator update cluster demo --yes."; !strings.Contains(
		text.String(), want,
	) {
		t.Errorf("it does not say who does it:\n%s", text)
	}
	managed, text := newUpdate(w, choice{})
	managed.managed, managed.output.Format = true, flags.FormatJSON
	if err := managed.show(t.Context()); err != nil {
		t.Fatal(err)
	}
	var data shown
	if err := json.Unmarshal([]byte(text.String()), &data); err != nil {
		t.Fatal(err)
	}
	if at := slices.IndexFunc(data.Groups, func(g shownGroup) bool { return g.Name == "ours" }); data.Groups[at].Owner != "Operator" ||
		len(data.Order) != 0 {
		t.Errorf("%+v", data)
	}
	forced, text := newUpdate(w, choice{force: true, groups: []string{"theirs", "control-plane-0"}})
	if err := forced.roll(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	renewed(t, w, before, "theirs", "control-plane-0")
}
