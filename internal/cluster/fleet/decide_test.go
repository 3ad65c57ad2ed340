package fleet_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/fleet"
)

// noon is when the tests begin.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// rolling is a rollout in progress: what a controller and the Clusters make of the decisions.
type rolling struct {
	now      time.Time
	revision string
	rollout  v1alpha1.FleetRollout
	status   v1alpha1.FleetStatus
	clusters []fleet.Cluster
}

// newRolling returns a rollout of Clusters that are Ready without the template: one in the wave canary for each name that
// begins with canary.
func newRolling(names ...string) *rolling {
	r := &rolling{now: noon, revision: "one"}
	r.rollout = v1alpha1.FleetRollout{MaxConcurrent: new(intstr.FromInt32(2)), Waves: []v1alpha1.FleetWave{
		{Name: "canary", MaxConcurrent: new(intstr.FromInt32(1)), Soak: &metav1.Duration{Duration: time.Hour}},
	}}
	for _, name := range names {
		one := fleet.Cluster{Name: name, UID: types.UID(name), Wave: 1, Health: fleet.Healthy}
		if strings.HasPrefix(name, "canary") {
			one.Wave = 0
		}
		one.Outdated = true
		r.clusters = append(r.clusters, one)
	}
	return r
}

// decide makes one decision and keeps the status.
func (r *rolling) decide(t rapid.TB) fleet.Plan {
	t.Helper()
	waves, err := fleet.Waves(&r.rollout)
	if err != nil {
		t.Fatal(err)
	}
	plan := fleet.Decide(fleet.Input{
		Now: r.now, Revision: r.revision, Rollout: &r.rollout, Waves: waves, Clusters: slices.Clone(r.clusters), Last: &r.status,
	})
	r.status = plan.Status
	return plan
}

// step decides until nothing is decided any more, and applies what is decided: a Cluster is not Ready then.
func (r *rolling) step(t rapid.TB) fleet.Plan {
	t.Helper()
	for range 20 {
		plan := r.decide(t)
		for _, uid := range plan.Apply {
			c := r.of(string(uid))
			c.Outdated, c.New, c.Health = false, false, fleet.Unhealthy
		}
		if !plan.Recorded && len(plan.Apply) == 0 {
			return plan
		}
	}
	t.Fatal("the decisions do not end")
	return fleet.Plan{}
}

func (r *rolling) of(name string) *fleet.Cluster {
	return &r.clusters[slices.IndexFunc(r.clusters, func(c fleet.Cluster) bool { return c.Name == name })]
}

// states returns the states of the Clusters as text.
func states(plan *fleet.Plan) string {
	var texts []string
	for _, m := range plan.Members {
		texts = append(texts, fmt.Sprintf("%s=%s", m.Name, m.State))
	}
	return strings.Join(texts, " ")
}

func (r *rolling) want(t *testing.T, reason fleet.Reason, want string) fleet.Plan {
	t.Helper()
	plan := r.step(t)
	if got := states(&plan); plan.Reason != reason || got != want {
		t.Fatalf("the reason is %s, the Clusters are %s, want %s, %s; %s", plan.Reason, got, reason, want, plan.Message)
	}
	return plan
}

func TestWavesRollOutInOrderWithSoak(t *testing.T) {
	r := newRolling("canary", "a", "b", "c")
	r.want(t, fleet.ReasonRollingOut, "canary=Updating a=Waiting b=Waiting c=Waiting")
	r.of("canary").Health = fleet.Healthy
	plan := r.want(t, fleet.ReasonSoaking, "canary=Updated a=Waiting b=Waiting c=Waiting")
	if plan.After != time.Hour || !strings.Contains(plan.Message, "The next wave begins at 2026-01-02T13:00:00Z.") {
		t.Errorf("after %s: %s", plan.After, plan.Message)
	}

	// A canary that fails in the soak time stops the rollout; when it is Ready again, the soak time begins again.
	r.now = noon.Add(30 * time.Minute)
	r.of("canary").Health, r.of("canary").Message = fleet.Stalled, "A quota is exceeded."
	plan = r.want(t, fleet.ReasonStopped, "canary=Failed a=Waiting b=Waiting c=Waiting")
	if !strings.Contains(plan.Message, "The update of Cluster canary failed, so that no further Clusters are changed. A quota is exceeded. Correct") {
		t.Error(plan.Message)
	}
	r.of("canary").Health = fleet.Healthy
	r.now = noon.Add(time.Hour + time.Minute)
	r.want(t, fleet.ReasonSoaking, "canary=Updated a=Waiting b=Waiting c=Waiting")

	r.now = noon.Add(2*time.Hour + time.Minute)
	r.want(t, fleet.ReasonRollingOut, "canary=Updated a=Updating b=Updating c=Waiting")
	r.of("a").Health = fleet.Healthy
	r.want(t, fleet.ReasonRollingOut, "canary=Updated a=Updated b=Updating c=Updating")
	r.of("b").Health, r.of("c").Health = fleet.Healthy, fleet.Healthy
	plan = r.want(t, fleet.ReasonRolledOut, "canary=Updated a=Updated b=Updated c=Updated")
	if plan.After != 0 || plan.Status.Wave != "" || plan.Status.Clusters.Summary != "4/4" {
		t.Errorf("the plan is %+v", plan)
	}

	// A Cluster that is not Ready later does not undo the rollout, and one without a release gets it at once.
	r.of("b").Health = fleet.Unhealthy
	r.clusters = append(r.clusters, fleet.Cluster{
		Name: "new", UID: "new", Wave: 0, New: true, Creating: true, Comparison: fleet.Comparison{Outdated: true},
	})
	r.want(t, fleet.ReasonRolledOut, "canary=Updated a=Updated b=NotReady c=Updated new=NotReady")
}

func TestRolloutStopsAtTheDeadlineAndGoesBack(t *testing.T) {
	r := newRolling("a", "b", "c")
	r.rollout.ProgressDeadline = &metav1.Duration{Duration: 10 * time.Minute}
	plan := r.want(t, fleet.ReasonRollingOut, "a=Updating b=Updating c=Waiting")
	if plan.After != 10*time.Minute {
		t.Errorf("after %s", plan.After)
	}
	r.now = noon.Add(9 * time.Minute)
	r.of("a").Approving = true
	r.of("b").Health = fleet.Healthy
	r.want(t, fleet.ReasonRollingOut, "a=Approving b=Updated c=Updating") // c has until 12:19, a as long as it waits
	r.now = noon.Add(18 * time.Minute)
	r.of("a").Approving = false
	r.want(t, fleet.ReasonRollingOut, "a=Updating b=Updated c=Updating")
	r.now = noon.Add(20 * time.Minute)
	plan = r.want(t, fleet.ReasonStopped, "a=Updating b=Updated c=Failed")
	if !strings.Contains(plan.Message, "The Cluster was not Ready within 10m.") {
		t.Error(plan.Message)
	}

	// Going back: c and a are changed at once, since they occupy places, and then b.
	r.revision = "zero"
	for i := range r.clusters {
		r.clusters[i].Outdated = true
	}
	r.want(t, fleet.ReasonRollingOut, "a=Updating b=Waiting c=Updating")
	r.of("c").Health = fleet.Healthy
	r.want(t, fleet.ReasonRollingOut, "a=Updating b=Updating c=Updated")
}

func TestSkippedAndRefusedClusters(t *testing.T) {
	r := newRolling("a", "b", "c", "d")
	r.of("a").Paused = true
	r.of("b").Refused = "denied by policy"
	r.of("c").Comparison = fleet.Comparison{Overridden: []string{".spec.release"}, Whole: true}
	r.of("c").Health = fleet.Stalled
	plan := r.want(t, fleet.ReasonStopped, "a=Paused b=Failed c=NotReady d=Waiting")
	if got := plan.Status.Details[0]; got.Name != "b" || got.Message != "denied by policy" {
		t.Errorf("the first detail is %+v", got)
	}
	r.of("b").Refused = ""
	r.want(t, fleet.ReasonRollingOut, "a=Paused b=Updating c=NotReady d=Updating")
	r.of("b").Health, r.of("d").Health = fleet.Healthy, fleet.Healthy
	plan = r.want(t, fleet.ReasonRolledOut, "a=Paused b=Updated c=NotReady d=Updated")
	if !strings.Contains(plan.Message, "is rolled out to 3 Clusters. 1 Cluster is paused. 1 Cluster is overridden") {
		t.Error(plan.Message)
	}
	r.of("a").Paused = false
	r.want(t, fleet.ReasonRollingOut, "a=Updating b=Updated c=NotReady d=Updated")
}

func TestPausedFleetChangesOnlyClustersWithoutARelease(t *testing.T) {
	r := newRolling("a", "b")
	r.rollout.Paused = true
	r.of("b").New, r.of("b").Creating = true, true
	r.want(t, fleet.ReasonPaused, "a=Waiting b=NotReady")
}

func TestForgedRecordsChangeNothingOutOfTurn(t *testing.T) {
	r := newRolling("canary", "a", "b", "c")
	for _, name := range []string{"a", "b", "c", "other"} {
		r.status.Updating = append(r.status.Updating, v1alpha1.FleetUpdate{Name: name, UID: types.UID(name), Since: metav1.NewTime(noon)})
	}
	r.want(t, fleet.ReasonRollingOut, "canary=Updating a=Waiting b=Waiting c=Waiting")
	if len(r.status.Updating) != 1 {
		t.Errorf("the record is %v", r.status.Updating)
	}
}

// A lost status loses no place: Clusters that have the template and are not Ready count.
func TestLostStatusKeepsTheLimit(t *testing.T) {
	r := newRolling("a", "b", "c")
	r.want(t, fleet.ReasonRollingOut, "a=Updating b=Updating c=Waiting")
	r.status = v1alpha1.FleetStatus{}
	r.want(t, fleet.ReasonRollingOut, "a=NotReady b=NotReady c=Waiting")
}

// TestRolloutKeepsItsLimits tests that, whatever happens to Clusters and to the process, never more Clusters are in
// change than the wave allows, and none of a wave is changed before those of earlier waves are updated.
func TestRolloutKeepsItsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 12).Draw(t, "clusters")
		r := &rolling{now: noon, revision: "r0", rollout: v1alpha1.FleetRollout{
			MaxConcurrent: new(intstr.FromInt32(rapid.Int32Range(1, 4).Draw(t, "limit"))),
			Waves: []v1alpha1.FleetWave{
				{Name: "one", Soak: &metav1.Duration{Duration: time.Minute * time.Duration(rapid.IntRange(0, 2).Draw(t, "soak"))}},
				{Name: "two"},
			},
		}}
		for i := range count {
			r.clusters = append(r.clusters, fleet.Cluster{
				Name: fmt.Sprintf("c%02d", i), UID: types.UID(fmt.Sprintf("c%02d", i)), Wave: rapid.IntRange(0, 2).Draw(t, "wave"),
				Health: fleet.Healthy, Comparison: fleet.Comparison{Outdated: true},
			})
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			r.happen(t)
			r.check(t)
		}
		r.settle(t)
	})
}

// happen changes a Cluster, the Fleet or the time.
func (r *rolling) happen(t *rapid.T) {
	c := &r.clusters[rapid.IntRange(0, len(r.clusters)-1).Draw(t, "cluster")]
	switch rapid.IntRange(0, 9).Draw(t, "event") {
	case 0, 1, 2, 3:
		c.Health = fleet.Healthy
	case 4:
		c.Health = fleet.Stalled
	case 5:
		c.Paused = !c.Paused
	case 6:
		c.Wave = rapid.IntRange(0, 2).Draw(t, "moved to wave")
	case 7:
		r.revision = fmt.Sprintf("r%d", rapid.IntRange(0, 3).Draw(t, "revision"))
		for i := range r.clusters {
			r.clusters[i].Outdated = true
		}
	case 8:
		c.Approving = !c.Approving
	default:
		r.now = r.now.Add(time.Duration(rapid.IntRange(1, 200).Draw(t, "minutes")) * time.Minute)
	}
}

// check makes a decision, which a crash may keep from being carried out in part, and tests what it changes.
func (r *rolling) check(t *rapid.T) {
	limit := int(r.rollout.MaxConcurrent.IntVal)
	before := slices.Clone(r.clusters)
	was := r.status
	plan := r.decide(t)
	if rapid.IntRange(0, 5).Draw(t, "the status is not written") == 0 {
		r.status = was
	}
	done := rapid.IntRange(0, len(plan.Apply)).Draw(t, "applied")
	for _, uid := range plan.Apply[:done] {
		c := r.of(string(uid))
		if !slices.ContainsFunc(was.Updating, func(u v1alpha1.FleetUpdate) bool { return u.UID == uid }) {
			t.Fatalf("%s is changed without a record", uid)
		}
		if c.Health == fleet.Healthy && slices.ContainsFunc(before, func(other fleet.Cluster) bool {
			return other.Wave < c.Wave && !other.Paused && (other.Outdated || other.Health != fleet.Healthy)
		}) {
			t.Fatalf("%s of wave %d is changed before the waves before: %+v", uid, c.Wave, before)
		}
		c.Outdated, c.Health = false, fleet.Unhealthy
	}
	changing, fresh := 0, 0
	for i := range r.clusters {
		c := &r.clusters[i]
		recorded := slices.ContainsFunc(was.Updating, func(u v1alpha1.FleetUpdate) bool { return u.UID == c.UID })
		if c.Health != fleet.Healthy && (!c.Outdated || recorded) {
			changing++
		}
		if c.Health == fleet.Unhealthy && before[i].Health == fleet.Healthy && before[i].Outdated && !c.Outdated {
			fresh++
		}
	}
	if fresh > 0 && changing > limit {
		t.Fatalf("%d Clusters are in change, the limit is %d: %+v", changing, limit, r.clusters)
	}
}

// settle lets all Clusters become Ready: then the rollout ends.
func (r *rolling) settle(t *rapid.T) {
	for range 100 {
		for i := range r.clusters {
			r.clusters[i].Health, r.clusters[i].Approving, r.clusters[i].Paused = fleet.Healthy, false, false
		}
		r.now = r.now.Add(time.Hour)
		if plan := r.step(t); plan.Reason == fleet.ReasonRolledOut {
			return
		}
	}
	t.Fatalf("the rollout does not end: %+v", r.status)
}
