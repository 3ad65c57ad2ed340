package addons

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/addons/chartrender"
	releases "github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// ConditionAddonsReady is True when all addons are installed as they are wanted and their workloads are available.
const ConditionAddonsReady = "AddonsReady"

// Reasons of the condition.
const (
	// ReasonAvailable says that the addons are installed and available.
	ReasonAvailable = "Available"
	// ReasonUnavailable says that pods of an installed addon are not available.
	ReasonUnavailable = "Unavailable"
	// ReasonInstalling says that addons are being installed.
	ReasonInstalling = "Installing"
	// ReasonInvalid says that spec.addons cannot be used.
	ReasonInvalid = "InvalidAddons"
	// ReasonFailed says that an addon could not be installed.
	ReasonFailed = "AddonFailed"
	// ReasonRefused says that a chart cannot be rendered within the bounds, or not at all.
	ReasonRefused = "ChartRefused"
	// ReasonDigest says that a chart's archive is another than the one that was asked for.
	ReasonDigest = "DigestMismatch"
)

const (
	// jobTimeout bounds one round of installations.
	jobTimeout = 10 * time.Minute
	// firstRetry is the wait after a failure, doubled after each further one up to lastRetry.
	firstRetry = 15 * time.Second
	lastRetry  = 10 * time.Minute
	// firstLook is the wait until workloads that are not available are asked about again, doubled after each further time up
	// to lastLook.
	firstLook = 5 * time.Second
	lastLook  = 5 * time.Minute
	// restLook is the wait until workloads that are available are observed again: what a change of nodes does not cause, such as a
	// container that crashes, is noticed then.
	restLook = 10 * time.Minute
	// nodesSettle is how long after a change of nodes the workloads are asked about: pods of a new node need some time.
	nodesSettle = time.Minute
	// defaultJobs is how many clusters are worked on at once.
	defaultJobs = 4
)

// Options configure an Installer. Folder is required.
type Options struct {
	// Folder is where fetched charts are kept; it may be lost at any time.
	Folder string
	// Clock is by default the real one.
	Clock clock.PassiveClock
	// Logger is by default silent.
	Logger logr.Logger
	// Jobs is how many clusters are worked on at once; by default 4.
	Jobs int
	// Timeout bounds the work on one cluster; by default ten minutes.
	Timeout time.Duration
	// Transport fetches charts; by default as the environment's proxies say.
	Transport http.RoundTripper
	// Charts says how charts are rendered.
	Charts chartrender.Options
}

// Installer keeps the addons of many clusters. It is safe for use by many goroutines.
type Installer struct {
	options  Options
	slots    chan struct{}
	renderer *chartrender.Renderer

	mu       sync.Mutex
	clusters map[types.NamespacedName]*state
}

// state is what is known of one cluster's addons.
type state struct {
	uid types.UID
	// wanted is what was wanted last, and of which inputs.
	wanted wanted
	// installed is the digest of what is in place.
	installed string
	// running is the digest of what a job is bringing into place; stop ends it.
	running string
	stop    context.CancelFunc
	// archives are those that addons were installed from since the start.
	archives []v1alpha1.AddonStatus
	// available is what is known of the workloads of what is in place.
	available availability
	// failed is the digest of what did not work, why and how often; it is tried again after next.
	failed   string
	reason   string
	why      string
	failures int
	next     time.Time
}

// availability is what is known of the workloads of a cluster's addons.
type availability struct {
	workloads []addonWorkload
	// problem says which are not available and why, "" if all are.
	problem string
	// looks is how often in a row they were not, and next when they are observed again; zero while they are.
	looks int
	next  time.Time
	// asking is whether they are being asked about.
	asking bool
	// nodes tells the nodes that there were.
	nodes uint64
}

// noteNodes has the workloads observed again when there are other nodes: after a while if they were available, at once if not.
func (a *availability) noteNodes(nodes uint64, now time.Time) {
	if nodes == a.nodes {
		return
	}
	a.nodes, a.looks, a.next = nodes, 0, now
	if a.problem == "" {
		a.next = now.Add(nodesSettle)
	}
}

// wanted is what the inputs say is wanted.
type wanted struct {
	of     inputs
	charts []Chart
	digest string
}

// inputs tell the objects that say what is wanted, and their generations.
type inputs struct {
	release             types.UID
	generation, version int64
	// roles are the ARNs of the roles of addons.
	roles string
}

// want returns what is wanted of a cluster, again if neither object changed: it is asked for at each look at the
// cluster, and takes most of that. Objects without a generation give no hint. The caller holds the lock.
func (s *state) want(cluster *v1alpha1.Cluster, release *v1alpha1.Release) (wanted, error) {
	of := inputs{release: release.UID, generation: cluster.Generation, version: release.Generation}
	for _, output := range releases.AddonRoles { // There is one: their order does not matter.
		of.roles += cluster.Status.Outputs[output]
	}
	known := of.generation > 0 && of.version > 0
	if known && s.wanted.of == of {
		return s.wanted, nil
	}
	charts, err := wantedBy(cluster, release)
	if err != nil {
		return wanted{}, err
	}
	now := wanted{of: of, charts: charts, digest: digestOf(charts)}
	if known {
		s.wanted = now
	}
	return now, nil
}

// New returns an installer that knows no cluster.
func New(o Options) *Installer {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	if o.Jobs <= 0 {
		o.Jobs = defaultJobs
	}
	if o.Timeout <= 0 {
		o.Timeout = jobTimeout
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	return &Installer{options: o, slots: make(chan struct{}, o.Jobs), renderer: chartrender.New(o.Charts), clusters: map[types.NamespacedName]*state{}}
}

// Ensure brings the cluster's addons one step nearer to what is wanted, without waiting: work that takes time
// is begun, and ends with a call of wake.
func (i *Installer) Ensure(_ context.Context, cluster *v1alpha1.Cluster, release *v1alpha1.Release, to *workload.Cluster, wake func()) operatorkit.Outcome {
	i.mu.Lock()
	defer i.mu.Unlock()
	key := types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name}
	s := i.clusters[key]
	if s == nil || s.uid != cluster.UID {
		if s != nil && s.stop != nil {
			s.stop()
		}
		s = &state{uid: cluster.UID}
		i.clusters[key] = s
	}
	want, err := s.want(cluster, release)
	if err != nil {
		i.condition(cluster, metav1.ConditionFalse, ReasonInvalid, err.Error()+".")
		return operatorkit.Stall(ReasonInvalid, err.Error()+".")
	}
	s.record(cluster, want.charts)
	wanted, digest := want.charts, want.digest
	now := i.options.Clock.Now()
	switch {
	case s.installed == digest && s.running == "":
		return i.observe(s, cluster, wanted, to, wake) //nolint:contextcheck // the work outlives the reconcile
	case s.running != "":
		return i.underWay(cluster, wanted)
	case s.failed == digest && now.Before(s.next):
		i.condition(cluster, metav1.ConditionFalse, s.reason, s.why)
		return operatorkit.Wait(s.next.Sub(now), s.reason, s.why).Degraded()
	}
	i.begin(s, cluster, to, wanted, digest, wake) //nolint:contextcheck // the work outlives the reconcile
	return i.underWay(cluster, wanted)
}

// record writes the archives that were used into the cluster's status, by the addon's name, and removes those of addons that are
// no longer wanted. The caller holds the lock.
func (s *state) record(cluster *v1alpha1.Cluster, wanted []Chart) {
	if len(s.archives) == 0 && len(cluster.Status.Addons) == 0 {
		return
	}
	var archives []v1alpha1.AddonStatus
	for n := range wanted {
		for _, known := range [][]v1alpha1.AddonStatus{s.archives, cluster.Status.Addons} {
			if at := slices.IndexFunc(known, func(a v1alpha1.AddonStatus) bool { return a.Name == wanted[n].Name }); at >= 0 {
				archives = append(archives, known[at])
				break
			}
		}
	}
	cluster.Status.Addons = archives
}

// observe says whether the workloads of what is installed are available. They are observed after an installation and a start of the
// operator until they are, after a change of nodes, and every ten minutes. Pods that are missing do not keep the cluster from being
// Ready, since some wait for workers of a group that has none. The caller holds the lock.
func (i *Installer) observe(s *state, cluster *v1alpha1.Cluster, wanted []Chart, to *workload.Cluster, wake func()) operatorkit.Outcome {
	a, now := &s.available, i.options.Clock.Now()
	if len(a.workloads) > 0 {
		a.noteNodes(fingerprint(to.Nodes()), now)
		if !a.asking && !a.next.IsZero() && !now.Before(a.next) {
			a.asking, a.next = true, time.Time{}
			i.ask(s, cluster, to, wake)
		}
	}
	outcome := operatorkit.Done()
	if len(a.workloads) > 0 && !a.next.IsZero() {
		outcome = outcome.RequeueAfter(max(a.next.Sub(now), time.Second))
	}
	if a.problem != "" {
		i.condition(cluster, metav1.ConditionFalse, ReasonUnavailable, "Pods of addons are not available: "+a.problem+".")
		return outcome
	}
	i.condition(cluster, metav1.ConditionTrue, ReasonAvailable, told(wanted))
	return outcome
}

// ask asks for the workloads beside the reconcile. The caller holds the lock.
func (i *Installer) ask(s *state, cluster *v1alpha1.Cluster, to *workload.Cluster, wake func()) {
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	workloads, installed := s.available.workloads, s.installed
	key := types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name}
	go func() {
		defer stop()
		var problem string
		err := i.guarded(key, func() (err error) {
			problem, err = i.look(ctx, to, workloads)
			return err
		})
		if err != nil {
			i.options.Logger.V(1).Info("Addons cannot be observed.", "cluster", key.String(), "error", err.Error())
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		if s.available.asking = false; s.installed == installed {
			s.available.saw(problem, err, i.options.Clock.Now())
		}
		wake()
	}()
}

// look asks for the workloads.
func (i *Installer) look(ctx context.Context, to *workload.Cluster, workloads []addonWorkload) (string, error) {
	if len(workloads) == 0 {
		return "", nil
	}
	clients, err := to.Kubernetes()
	if err != nil {
		return "", fmt.Errorf("make clients: %w", err)
	}
	return unavailable(ctx, clients, workloads)
}

// saw takes over what was observed. An API that does not answer says nothing about addons.
func (a *availability) saw(problem string, err error, now time.Time) {
	if err == nil {
		a.problem = problem
	}
	wait := restLook
	if err == nil && problem == "" {
		a.looks = 0
	} else {
		a.looks++
		wait = min(firstLook<<min(a.looks-1, 10), lastLook)
	}
	if next := now.Add(wait); a.next.IsZero() || next.Before(a.next) {
		a.next = next
	}
}

// fingerprint tells sets of nodes apart by their names and by which are ready.
func fingerprint(nodes []workload.Node) uint64 {
	sum := fnv.New64a()
	for n := range nodes {
		_, _ = sum.Write([]byte(nodes[n].UID))
		if nodes[n].Ready {
			_, _ = sum.Write([]byte{1})
		}
	}
	return sum.Sum64()
}

// underWay says what is being done. A cluster whose addons were in place before the operator started is only being
// observed: its condition stays, unless something else is found. So it is with a new one that wants none.
func (i *Installer) underWay(cluster *v1alpha1.Cluster, wanted []Chart) operatorkit.Outcome {
	last := operatorkit.FindCondition(cluster, ConditionAddonsReady)
	switch {
	case last == nil && len(wanted) == 0, last != nil && last.Status == metav1.ConditionTrue && last.ObservedGeneration == cluster.Generation:
		i.condition(cluster, metav1.ConditionTrue, ReasonAvailable, told(wanted))
		return operatorkit.Done()
	case last != nil && last.Reason == ReasonUnavailable && last.ObservedGeneration == cluster.Generation:
		return operatorkit.Done()
	}
	i.condition(cluster, metav1.ConditionFalse, ReasonInstalling, "Addons are being installed.")
	return operatorkit.Wait(0, "InstallingAddons", "Addons are being installed.")
}

// begin starts a job. The caller holds the lock.
func (i *Installer) begin(s *state, cluster *v1alpha1.Cluster, to *workload.Cluster, wanted []Chart, digest string, wake func()) {
	ctx, stop := context.WithCancel(context.Background())
	s.running, s.stop = digest, stop
	key := types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name}
	pins := slices.Clone(cluster.Status.Addons)
	s.available.nodes = fingerprint(to.Nodes())
	go func() {
		defer stop()
		done := &result{}
		err := i.guarded(key, func() error { return i.work(ctx, to.Config(), wanted, pins, done) })
		log := i.options.Logger.WithValues("cluster", key.String())
		for _, change := range done.changes {
			log.Info("Addon " + change + ".")
		}
		var problem string
		unknown := i.guarded(key, func() (err error) {
			problem, err = i.look(ctx, to, done.workloads)
			return err
		})
		i.end(s, digest, done, err, problem, unknown)
		wake()
	}()
}

// guarded returns what work returns, and an error if work panics: what a chart or a cluster's answer does to Helm costs the cluster
// its addons and not the process its life.
func (i *Installer) guarded(cluster types.NamespacedName, work func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
			i.options.Logger.Error(err, "Work on addons panicked.", "cluster", cluster.String(), "stack", string(debug.Stack()))
		}
	}()
	return work()
}

// work brings the cluster to what is wanted. Done is what has become of it, also after an error.
func (i *Installer) work(ctx context.Context, config *rest.Config, wanted []Chart, pins []v1alpha1.AddonStatus, done *result) error {
	select {
	case i.slots <- struct{}{}:
		defer func() { <-i.slots }()
	case <-ctx.Done():
		return fmt.Errorf("wait for other clusters' addons: %w", context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeout(ctx, i.options.Timeout) // not while it waits: others may be many
	defer cancel()
	fetcher, err := newFetcher(i.options.Folder, i.options.Transport, i.renderer)
	if err != nil {
		return err
	}
	h, err := newHelm(config, fetcher, pins)
	if err != nil {
		return err
	}
	return h.converge(ctx, wanted, done)
}

func (i *Installer) end(s *state, digest string, done *result, err error, problem string, unknown error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	s.running, s.stop = "", nil
	others := slices.DeleteFunc(s.archives, func(old v1alpha1.AddonStatus) bool {
		return slices.ContainsFunc(done.archives, func(now v1alpha1.AddonStatus) bool { return now.Name == old.Name })
	})
	s.archives = slices.Concat(done.archives, others)
	now := i.options.Clock.Now()
	if err == nil {
		s.installed, s.failed, s.reason, s.why, s.failures = digest, "", "", "", 0
		s.available = availability{workloads: done.workloads, nodes: s.available.nodes}
		s.available.saw(problem, unknown, now)
		return
	}
	if s.failed != digest {
		s.failures = 0
	}
	s.installed = ""
	s.failed, s.failures = digest, s.failures+1
	s.reason = reasonOf(err)
	s.why = "An addon could not be installed: " + strings.ReplaceAll(err.Error(), "\n", "; ") + "."
	s.next = now.Add(min(firstRetry<<min(s.failures-1, 10), lastRetry))
}

// reasonOf is what a failure is called in the condition.
func reasonOf(err error) string {
	if _, ok := errors.AsType[*digestError](err); ok {
		return ReasonDigest
	}
	if _, ok := errors.AsType[*chartrender.RefusedError](err); ok {
		return ReasonRefused
	}
	return ReasonFailed
}

// Forget ends what is under way for a cluster that is being deleted.
func (i *Installer) Forget(cluster types.NamespacedName) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if s := i.clusters[cluster]; s != nil && s.stop != nil {
		s.stop()
	}
	delete(i.clusters, cluster)
}

func (i *Installer) condition(cluster *v1alpha1.Cluster, status metav1.ConditionStatus, reason, message string) {
	operatorkit.SetCondition(cluster, metav1.Condition{Type: ConditionAddonsReady, Status: status, Reason: reason, Message: message})
}

// told says what is installed.
func told(wanted []Chart) string {
	if len(wanted) == 0 {
		return "There are no addons."
	}
	names := make([]string, len(wanted))
	for n := range wanted {
		names[n] = wanted[n].Name + " " + wanted[n].Version
	}
	slices.Sort(names)
	return "Installed and available are " + strings.Join(names, ", ") + "."
}

func digestOf(wanted []Chart) string {
	parts := make([]string, len(wanted))
	for n := range wanted {
		parts[n] = wanted[n].Name + "=" + wanted[n].Digest()
	}
	return "v1:" + strings.Join(parts, ",")
}
