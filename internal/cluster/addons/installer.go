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

// ConditionAddonsReady is True when all desired addons are installed and their workloads are
// available.
const ConditionAddonsReady = "AddonsReady"

// Reasons of the condition.
const (
	// ReasonAvailable means that the addons are installed and available.
	ReasonAvailable = "Available"
	// ReasonUnavailable means that pods of an installed addon are not available.
	ReasonUnavailable = "Unavailable"
	// ReasonInstalling means that addons are being installed.
	ReasonInstalling = "Installing"
	// ReasonInvalid means that spec.addons is invalid.
	ReasonInvalid = "InvalidAddons"
	// ReasonFailed means that an addon could not be installed.
	ReasonFailed = "AddonFailed"
	// ReasonRefused means that a chart cannot be rendered, or not within the limits.
	ReasonRefused = "ChartRefused"
	// ReasonDigest means that a chart's archive does not have the required digest.
	ReasonDigest = "DigestMismatch"
)

const (
	// jobTimeout bounds one job.
	jobTimeout = 10 * time.Minute
	// firstRetry is the delay after a failure, doubled after each further one up to lastRetry.
	firstRetry = 15 * time.Second
	lastRetry  = 10 * time.Minute
	// firstLook is the delay before unavailable workloads are observed again, doubled each time up
	// to lastLook.
	firstLook = 5 * time.Second
	lastLook  = 5 * time.Minute
	// restLook is the interval at which available workloads are observed, to notice problems that
	// no change of nodes causes, such as a crashing container.
	restLook = 10 * time.Minute
	// nodesSettle is the delay between a change of nodes and the observation of workloads: pods of
	// a new node need time.
	nodesSettle = time.Minute
	// defaultJobs is the number of concurrent jobs.
	defaultJobs = 4
)

// Options configure an Installer. Folder is required.
type Options struct {
	// Folder caches downloaded charts. It may be deleted at any time.
	Folder string
	// Clock is the real clock by default.
	Clock clock.PassiveClock
	// Logger discards messages by default.
	Logger logr.Logger
	// Jobs is the maximum number of concurrent jobs, by default 4.
	Jobs int
	// Timeout bounds a job for one cluster, by default ten minutes.
	Timeout time.Duration
	// Transport downloads charts. By default, it uses the environment's proxies.
	Transport http.RoundTripper
	// Charts configures how charts are rendered.
	Charts chartrender.Options
}

// Installer manages the addons of many clusters. It is safe for concurrent use.
type Installer struct {
	options  Options
	slots    chan struct{}
	renderer *chartrender.Renderer

	mu       sync.Mutex
	clusters map[types.NamespacedName]*state
}

// state is the state of one cluster's addons.
type state struct {
	uid types.UID
	// wanted is the latest desired state and its inputs.
	wanted wanted
	// installed is the digest of the installed addons.
	installed string
	// running is the digest that a job installs; stop cancels it.
	running string
	stop    context.CancelFunc
	// archives are the archives that addons were installed from since the start.
	archives []v1alpha1.AddonStatus
	// available is the state of the installed addons' workloads.
	available availability
	// failed is the digest of the last failure, with its reason and count; it is retried after
	// next.
	failed   string
	reason   string
	why      string
	failures int
	next     time.Time
}

// availability is the state of the workloads of a cluster's addons.
type availability struct {
	workloads []addonWorkload
	// problem describes the unavailable workloads, "" if all are available.
	problem string
	// looks counts consecutive observations of unavailable workloads; next is the time of the next
	// observation, zero during one.
	looks int
	next  time.Time
	// asking reports whether an observation is in progress.
	asking bool
	// nodes is the fingerprint of the last observed nodes.
	nodes uint64
}

// noteNodes schedules an observation when the nodes changed: after a delay if the workloads were
// available, at once otherwise.
func (a *availability) noteNodes(nodes uint64, now time.Time) {
	if nodes == a.nodes {
		return
	}
	a.nodes, a.looks, a.next = nodes, 0, now
	if a.problem == "" {
		a.next = now.Add(nodesSettle)
	}
}

// wanted is the desired state for some inputs.
type wanted struct {
	of     inputs
	charts []Chart
	digest string
}

// inputs identifies the objects that determine the desired state, and their generations.
type inputs struct {
	release             types.UID
	generation, version int64
	// outputs are those of the base stack that values of addons contain.
	outputs string
}

// want returns the desired addons of a cluster. It caches the result while neither object changes,
// since every reconcile needs it and computing it dominates the reconcile. Objects without a
// generation are not cached. The caller holds the lock.
func (s *state) want(cluster *v1alpha1.Cluster, release *v1alpha1.Release) (wanted, error) {
	of := inputs{release: release.UID, generation: cluster.Generation, version: release.Generation}
	of.outputs = releases.Outputs(cluster)
	known := of.generation > 0 && of.version > 0
	if known && s.wanted.of == of {
		return s.wanted, nil
	}
	charts, err := WantedBy(cluster, release)
	if err != nil {
		return wanted{}, err
	}
	now := wanted{of: of, charts: charts, digest: digestOf(charts)}
	if known {
		s.wanted = now
	}
	return now, nil
}

// New returns an installer without state.
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
	return &Installer{
		options:  o,
		slots:    make(chan struct{}, o.Jobs),
		renderer: chartrender.New(o.Charts),
		clusters: map[types.NamespacedName]*state{},
	}
}

// Ensure moves the cluster's addons toward the desired state without waiting: it starts slow work,
// which calls enqueue when it ends.
func (i *Installer) Ensure(
	_ context.Context, cluster *v1alpha1.Cluster, release *v1alpha1.Release, to *workload.Cluster, enqueue func(),
) operatorkit.Outcome {
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
		return i.observe(s, cluster, wanted, to, enqueue) //nolint:contextcheck // the work outlives the reconcile
	case s.running != "":
		return i.underWay(cluster, wanted)
	case s.failed == digest && now.Before(s.next):
		i.condition(cluster, metav1.ConditionFalse, s.reason, s.why)
		return operatorkit.Wait(s.next.Sub(now), s.reason, s.why).Degraded()
	}
	i.begin(s, cluster, to, wanted, digest, enqueue) //nolint:contextcheck // the work outlives the reconcile
	return i.underWay(cluster, wanted)
}

// record writes the used archives to the cluster's status by addon name, and removes those of
// addons that are no longer desired. The caller holds the lock.
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

// observe reports whether the workloads of installed addons are available. It observes them after
// an installation and a start of the operator until they are available, after a change of nodes,
// and every ten minutes. Missing pods do not prevent a Ready cluster, since some wait for workers
// of a group that has none. The caller holds the lock.
func (i *Installer) observe(s *state, cluster *v1alpha1.Cluster, wanted []Chart, to *workload.Cluster, enqueue func()) operatorkit.Outcome {
	a, now := &s.available, i.options.Clock.Now()
	if len(a.workloads) > 0 {
		a.noteNodes(fingerprint(to.Nodes()), now)
		if !a.asking && !a.next.IsZero() && !now.Before(a.next) {
			a.asking, a.next = true, time.Time{}
			i.ask(s, cluster, to, enqueue)
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
	i.condition(cluster, metav1.ConditionTrue, ReasonAvailable, describeInstalled(wanted))
	return outcome
}

// ask observes the workloads outside the reconcile. The caller holds the lock.
func (i *Installer) ask(s *state, cluster *v1alpha1.Cluster, to *workload.Cluster, enqueue func()) {
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
		enqueue()
	}()
}

// look observes the workloads.
func (i *Installer) look(ctx context.Context, to *workload.Cluster, workloads []addonWorkload) (string, error) {
	if len(workloads) == 0 {
		return "", nil
	}
	clients, err := to.Kubernetes()
	if err != nil {
		return "", fmt.Errorf("create clients: %w", err)
	}
	return unavailable(ctx, clients, workloads)
}

// saw records an observation. An unreachable API says nothing about addons.
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

// fingerprint hashes the nodes' names and which are Ready.
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

// underWay reports a running job. If the cluster's addons were installed before the operator
// started, or it wants none, the condition stays until something else is found.
func (i *Installer) underWay(cluster *v1alpha1.Cluster, wanted []Chart) operatorkit.Outcome {
	last := operatorkit.FindCondition(cluster, ConditionAddonsReady)
	switch {
	case last == nil && len(wanted) == 0,
		last != nil && last.Status == metav1.ConditionTrue && last.ObservedGeneration == cluster.Generation:
		i.condition(cluster, metav1.ConditionTrue, ReasonAvailable, describeInstalled(wanted))
		return operatorkit.Done()
	case last != nil && last.Reason == ReasonUnavailable && last.ObservedGeneration == cluster.Generation:
		return operatorkit.Done()
	}
	i.condition(cluster, metav1.ConditionFalse, ReasonInstalling, "Addons are being installed.")
	return operatorkit.Wait(0, "InstallingAddons", "Addons are being installed.")
}

// begin starts a job. The caller holds the lock.
func (i *Installer) begin(s *state, cluster *v1alpha1.Cluster, to *workload.Cluster, wanted []Chart, digest string, enqueue func()) {
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
		enqueue()
	}()
}

// guarded returns the result of work, and an error if work panics: a chart or response that crashes
// Helm must only affect its cluster's addons, not the process.
func (i *Installer) guarded(cluster types.NamespacedName, work func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
			i.options.Logger.Error(err, "Work on addons panicked.", "cluster", cluster.String(), "stack", string(debug.Stack()))
		}
	}()
	return work()
}

// work converges the cluster. It fills done even if it returns an error.
func (i *Installer) work(ctx context.Context, config *rest.Config, wanted []Chart, pins []v1alpha1.AddonStatus, done *result) error {
	select {
	case i.slots <- struct{}{}:
		defer func() { <-i.slots }()
	case <-ctx.Done():
		return fmt.Errorf("wait for other clusters' addons: %w", context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeout(ctx, i.options.Timeout) // excludes waiting for other clusters' jobs
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

// reasonOf returns the condition reason of a failure.
func reasonOf(err error) string {
	if _, ok := errors.AsType[*digestError](err); ok {
		return ReasonDigest
	}
	if _, ok := errors.AsType[*chartrender.RefusedError](err); ok {
		return ReasonRefused
	}
	return ReasonFailed
}

// Forget cancels the job of a cluster that is being deleted.
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

// describeInstalled lists the installed addons.
func describeInstalled(wanted []Chart) string {
	if len(wanted) == 0 {
		return "There are no addons."
	}
	names := make([]string, len(wanted))
	for n := range wanted {
		names[n] = wanted[n].Name + " " + wanted[n].Version
	}
	slices.Sort(names)
	return "Installed and available: " + strings.Join(names, ", ") + "."
}

func digestOf(wanted []Chart) string {
	parts := make([]string, len(wanted))
	for n := range wanted {
		parts[n] = wanted[n].Name + "=" + wanted[n].Digest()
	}
	return "v1:" + strings.Join(parts, ",")
}
