package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// defaultDeadline is how long the update of a Cluster may take by default.
const defaultDeadline = 2 * time.Hour

// Reason is the state of a rollout, as the reason of the Fleet's conditions.
type Reason string

// Reasons.
const (
	// ReasonRolledOut means that all Clusters have been updated, except those that are skipped.
	ReasonRolledOut Reason = "RolledOut"
	// ReasonRollingOut means that Clusters are being updated, or are next.
	ReasonRollingOut Reason = "RollingOut"
	// ReasonSoaking means that a wave is complete and the next one waits for the soak time.
	ReasonSoaking Reason = "Soaking"
	// ReasonPaused means that the user holds the rollout.
	ReasonPaused Reason = "RolloutPaused"
	// ReasonStopped means that the update of a Cluster failed.
	ReasonStopped Reason = "RolloutStopped"
)

// Cluster is what Decide needs to know of a Cluster.
type Cluster struct {
	Name string
	UID  types.UID
	// Wave is the index of its wave.
	Wave int
	Comparison
	// New is whether it has no release. It is not created until it has one.
	New bool
	// Creating is whether it has never been Ready. It does not count against the limit.
	Creating bool
	Health   Health
	// Message explains the health.
	Message string
	// Approving is whether a change of it waits for approval, Paused whether it is paused.
	Approving, Paused bool
	// Refused is why the API server refused the template, if it did.
	Refused string
}

// NewCluster returns what Decide needs to know of a Cluster with its InstanceGroups, except its wave and what the API
// server refused.
func NewCluster(cluster *v1alpha1.Cluster, groups []*v1alpha1.InstanceGroup, compared Comparison, paused bool) Cluster {
	c := Cluster{
		Name: cluster.Name, UID: cluster.UID, Comparison: compared,
		New: cluster.Spec.Release == "", Creating: cluster.Status.Version == "",
		Approving: IsApproving(cluster, groups), Paused: paused,
	}
	c.Health, c.Message = HealthOf(cluster, groups)
	return c
}

// apart reports whether the Cluster is none of the rollout's: it is being created, or sets all fields itself.
func (c *Cluster) apart() bool { return c.Creating || c.Whole }

// Input is what Decide decides from.
type Input struct {
	Now      time.Time
	Revision string
	Rollout  *v1alpha1.FleetRollout
	Waves    []Wave
	Clusters []Cluster
	// Last is the status that was written last.
	Last *v1alpha1.FleetStatus
}

// Plan is what Decide decided.
type Plan struct {
	// Status is the next status, without conditions and observed generation.
	Status  v1alpha1.FleetStatus
	Reason  Reason
	Message string
	// Apply are the Clusters to apply the template to. Each of them is in the status that was written last, or has no
	// release.
	Apply []types.UID
	// Recorded is whether Clusters were added to the status, to which the template is applied once it is written.
	Recorded bool
	// After is when the time changes the decision, zero if it does not.
	After time.Duration
	// Members are all Clusters with their states, in the order of the input.
	Members []Member
}

// Member is a Cluster with its state.
type Member struct {
	*Cluster

	State v1alpha1.FleetClusterState
	// Why explains the state.
	Why string
	// entry is its entry among those being updated, if it has one.
	entry *v1alpha1.FleetUpdate
	// apply is whether to apply the template now.
	apply bool
}

// decision is a decision in progress.
type decision struct {
	Input
	deadline time.Duration
	members  []Member
	waves    []v1alpha1.FleetWaveStatus
	// open are the Clusters of each wave that keep it from being complete, pending those to which the rollout still comes.
	open, pending []int
	// current is the index of the current wave, -1 if all are complete. Until is when its soak time ends.
	current int
	until   time.Time
	failed  []*Member
	limit   int
	added   bool
}

// Decide decides which Clusters to change now.
func Decide(in Input) Plan {
	d := &decision{Input: in, deadline: defaultDeadline}
	if in.Rollout.ProgressDeadline != nil {
		d.deadline = in.Rollout.ProgressDeadline.Duration
	}
	d.load()
	d.count()
	d.findWave()
	d.admit()
	d.pick()
	return d.plan()
}

// load finds the state of each Cluster.
func (d *decision) load() {
	entries := map[types.UID]v1alpha1.FleetUpdate{}
	for _, entry := range d.Last.Updating {
		entries[entry.UID] = entry
	}
	d.members = make([]Member, len(d.Clusters))
	for i := range d.Clusters {
		m := &d.members[i]
		m.Cluster = &d.Clusters[i]
		unchanged := m.Outdated && m.Paused && m.Health == Healthy
		if entry, ok := entries[m.UID]; ok && !m.Whole && !m.New && !unchanged {
			m.entry = d.held(m.Cluster, entry)
		}
		m.State = d.state(m)
		if m.State == v1alpha1.FleetUpdated {
			m.entry = nil
		}
	}
}

// held starts the time of an update again when it was held and no longer is.
func (d *decision) held(c *Cluster, entry v1alpha1.FleetUpdate) *v1alpha1.FleetUpdate {
	entry.Name = c.Name
	held := c.Paused || c.Approving && !c.Outdated
	if entry.Held && !held {
		entry.Since = d.now()
	}
	entry.Held = held
	return &entry
}

func (d *decision) now() metav1.Time { return metav1.NewTime(d.Now.Truncate(time.Second)) }

// overdue reports whether an update takes too long.
func (d *decision) overdue(m *Member) bool {
	return m.entry != nil && !m.entry.Held && d.Now.Sub(m.entry.Since.Time) >= d.deadline
}

// state returns the state of a Cluster, before anything is decided.
func (d *decision) state(m *Member) v1alpha1.FleetClusterState {
	if m.Outdated {
		return d.outdated(m)
	}
	switch {
	case m.Health == Healthy:
		return v1alpha1.FleetUpdated
	case m.entry == nil && m.apart():
		return v1alpha1.FleetNotReady
	case m.Health == Stalled:
		return v1alpha1.FleetFailed
	case m.entry == nil:
		return v1alpha1.FleetNotReady
	case m.Approving:
		return v1alpha1.FleetApproving
	case m.Paused:
		return v1alpha1.FleetPaused
	case d.overdue(m):
		return v1alpha1.FleetFailed
	default:
		return v1alpha1.FleetUpdating
	}
}

// outdated returns the state of a Cluster that lacks fields of the template.
func (d *decision) outdated(m *Member) v1alpha1.FleetClusterState {
	switch {
	case m.Refused != "" && !m.New:
		return v1alpha1.FleetFailed
	case m.Paused:
		return v1alpha1.FleetPaused
	case m.New || m.entry != nil:
		return v1alpha1.FleetUpdating
	default:
		return v1alpha1.FleetWaiting
	}
}

// isOpen reports whether a Cluster keeps its wave from being complete.
func (m *Member) isOpen() bool {
	switch m.State {
	case v1alpha1.FleetUpdated, v1alpha1.FleetPaused:
		return m.isPending()
	default:
		return m.isPending() || !m.apart() && !m.New
	}
}

// isPending reports whether the rollout has not come to a Cluster or is not done with it.
func (m *Member) isPending() bool {
	return m.entry != nil || m.State == v1alpha1.FleetWaiting || m.Refused != "" && m.Outdated
}

// occupies reports whether a Cluster counts against the limit, although it is not about to be changed.
func (m *Member) occupies() bool {
	switch {
	case m.State == v1alpha1.FleetUpdated || m.State == v1alpha1.FleetWaiting || m.New:
		return false
	case m.entry == nil:
		return !m.apart() && (m.State == v1alpha1.FleetNotReady || m.State == v1alpha1.FleetFailed)
	default:
		return !m.Outdated || m.Health != Healthy
	}
}

// count counts the Clusters of each wave.
func (d *decision) count() {
	d.waves = make([]v1alpha1.FleetWaveStatus, len(d.Waves))
	d.open, d.pending = make([]int, len(d.Waves)), make([]int, len(d.Waves))
	for i := range d.members {
		m := &d.members[i]
		d.waves[m.Wave].Total++
		if m.State == v1alpha1.FleetUpdated {
			d.waves[m.Wave].Updated++
		}
		if m.State == v1alpha1.FleetFailed {
			d.failed = append(d.failed, m)
		}
		if m.isOpen() {
			d.open[m.Wave]++
		}
		if m.isPending() {
			d.pending[m.Wave]++
		}
	}
}

// findWave finds the first wave that is not complete, or whose soak time has not passed while a later wave waits.
func (d *decision) findWave() {
	completed := map[string]*metav1.Time{}
	if d.Last.Revision == d.Revision {
		for i := range d.Last.Waves {
			completed[d.Last.Waves[i].Name] = d.Last.Waves[i].Completed
		}
	}
	d.current = -1
	for i := range d.Waves {
		wave := &d.waves[i]
		wave.Name = d.Waves[i].Name
		if d.open[i] > 0 {
			if d.current < 0 {
				d.current, d.until = i, time.Time{}
			}
			continue
		}
		if wave.Total == 0 {
			continue
		}
		if wave.Completed = completed[wave.Name]; wave.Completed == nil {
			wave.Completed = new(d.now())
		}
		until := wave.Completed.Add(d.Waves[i].Soak)
		if d.current < 0 && until.After(d.Now) && sum(d.pending[i+1:]) > 0 {
			d.current, d.until = i, until
		}
	}
	if d.current >= 0 {
		d.limit = d.Waves[d.current].limit(int(d.waves[d.current].Total))
	}
}

func sum(counts []int) int {
	total := 0
	for _, one := range counts {
		total += one
	}
	return total
}

// rolledOut reports whether the rollout has come to all Clusters.
func (d *decision) rolledOut() bool { return sum(d.pending) == 0 }

// reason returns the state of the rollout.
func (d *decision) reason() Reason {
	switch {
	case d.rolledOut():
		return ReasonRolledOut
	case len(d.failed) > 0:
		return ReasonStopped
	case d.Rollout.Paused:
		return ReasonPaused
	case !d.until.IsZero():
		return ReasonSoaking
	default:
		return ReasonRollingOut
	}
}

// admit decides about the Clusters that lack the template and are recorded, or have no release: those of the current wave
// get it, up to the limit. So do those that are broken, in any wave: an edited template may be their correction. The
// others are no longer recorded, unless they are in change.
func (d *decision) admit() {
	moves := d.reason() == ReasonRollingOut || d.reason() == ReasonSoaking
	occupied := d.occupied()
	for _, m := range d.recorded() {
		inTurn := m.Wave == d.current && d.until.IsZero() && (m.occupies() || occupied < d.limit)
		broken := m.Health == Stalled || m.Health == Unhealthy && d.overdue(m)
		if m.Paused || m.Refused != "" || !moves || !inTurn && !broken {
			d.release(m)
			continue
		}
		if !m.occupies() {
			occupied++
		}
		m.apply, m.entry.Since = true, d.now()
	}
	for i := range d.members {
		if m := &d.members[i]; m.New && m.Outdated {
			m.apply = m.Refused == "" && !m.Paused
		}
	}
}

// recorded returns the Clusters that lack the template and are recorded, in the order in which they were.
func (d *decision) recorded() []*Member {
	var recorded []*Member
	for i := range d.members {
		if m := &d.members[i]; m.entry != nil && m.Outdated {
			recorded = append(recorded, m)
		}
	}
	slices.SortStableFunc(recorded, func(a, b *Member) int {
		return cmp.Or(a.entry.Since.Compare(b.entry.Since.Time), cmp.Compare(a.Name, b.Name))
	})
	return recorded
}

// release removes a Cluster that lacks the template from the record, unless it is in change. One that the API server
// refused stays, since it stops the rollout.
func (d *decision) release(m *Member) {
	if m.Health != Healthy || m.Refused != "" {
		return
	}
	m.entry = nil
	m.State = d.outdated(m)
}

// occupied returns how many Clusters count against the limit.
func (d *decision) occupied() int {
	occupied := 0
	for i := range d.members {
		if d.members[i].occupies() {
			occupied++
		}
	}
	return occupied
}

// pick records the next Clusters of the current wave: those that are Ready first, since the others may not become
// Ready now.
func (d *decision) pick() {
	if d.reason() != ReasonRollingOut || d.current < 0 {
		return
	}
	free := d.limit
	var next []*Member
	for i := range d.members {
		m := &d.members[i]
		switch {
		case m.occupies() || m.apply && !m.New:
			free--
		case m.State == v1alpha1.FleetWaiting && m.Wave == d.current:
			next = append(next, m)
		}
	}
	slices.SortFunc(next, func(a, b *Member) int {
		return cmp.Or(-cmp.Compare(rank(a.Health), rank(b.Health)), cmp.Compare(a.Name, b.Name))
	})
	for _, m := range next[:max(0, min(free, len(next)))] {
		m.entry = &v1alpha1.FleetUpdate{Name: m.Name, UID: m.UID, Since: d.now()}
		m.State, d.added = v1alpha1.FleetUpdating, true
	}
}

func rank(health Health) int {
	if health == Healthy {
		return 1
	}
	return 0
}

// plan returns the decision.
func (d *decision) plan() Plan {
	p := Plan{Members: d.members, Recorded: d.added, Reason: d.reason()}
	p.Status = v1alpha1.FleetStatus{Revision: d.Revision, Waves: d.waves, Details: d.details()}
	if d.current >= 0 && p.Reason != ReasonRolledOut {
		p.Status.Wave = d.Waves[d.current].Name
	}
	for i := range d.members {
		m := &d.members[i]
		m.Why = d.why(m)
		d.tally(&p.Status.Clusters, m)
		if m.entry != nil {
			p.Status.Updating = append(p.Status.Updating, *m.entry)
		}
		if m.apply {
			p.Apply = append(p.Apply, m.UID)
		}
	}
	p.After = d.after()
	slices.SortFunc(p.Status.Updating, func(a, b v1alpha1.FleetUpdate) int { return cmp.Compare(a.Name, b.Name) })
	p.Status.Clusters.Summary = fmt.Sprintf("%d/%d", p.Status.Clusters.Updated, p.Status.Clusters.Total)
	p.Message = d.describe(p.Reason, &p.Status)
	return p
}

// after returns when the time changes the decision: at the end of the soak time, or at a deadline.
func (d *decision) after() time.Duration {
	var soonest time.Duration
	add := func(at time.Time) {
		if after := at.Sub(d.Now); after > 0 && (soonest == 0 || after < soonest) {
			soonest = after
		}
	}
	if !d.until.IsZero() {
		add(d.until)
	}
	for i := range d.members {
		if m := &d.members[i]; m.entry != nil && !m.entry.Held && m.State == v1alpha1.FleetUpdating {
			add(m.entry.Since.Add(d.deadline))
		}
	}
	return soonest
}

// tally counts a Cluster by its state.
func (d *decision) tally(counts *v1alpha1.FleetCount, m *Member) {
	counts.Total++
	if len(m.Overridden) > 0 {
		counts.Overridden++
	}
	switch m.State {
	case v1alpha1.FleetUpdated:
		counts.Updated++
	case v1alpha1.FleetUpdating, v1alpha1.FleetApproving:
		counts.Updating++
	case v1alpha1.FleetWaiting:
		counts.Waiting++
	case v1alpha1.FleetFailed:
		counts.Failed++
	case v1alpha1.FleetNotReady:
		counts.NotReady++
	case v1alpha1.FleetPaused:
		counts.Paused++
	}
}
