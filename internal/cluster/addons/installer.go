package addons

import (
	"context"
	"fmt"
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
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// ConditionAddonsReady is True when all addons are installed as they are wanted.
const ConditionAddonsReady = "AddonsReady"

const (
	// jobTimeout bounds one round of installations.
	jobTimeout = 10 * time.Minute
	// firstRetry is the wait after a failure, doubled after each further one up to lastRetry.
	firstRetry = 15 * time.Second
	lastRetry  = 10 * time.Minute
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
}

// Installer keeps the addons of many clusters. It is safe for use by many goroutines.
type Installer struct {
	options Options
	slots   chan struct{}

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
	// failed is the digest of what did not work, why and how often; it is tried again after next.
	failed   string
	why      string
	failures int
	next     time.Time
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
}

// want returns what is wanted of a cluster, again if neither object changed: it is asked for at each look at the
// cluster, and takes most of that. Objects without a generation give no hint. The caller holds the lock.
func (s *state) want(cluster *v1alpha1.Cluster, release *v1alpha1.Release) (wanted, error) {
	of := inputs{release: release.UID, generation: cluster.Generation, version: release.Generation}
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
	return &Installer{options: o, slots: make(chan struct{}, o.Jobs), clusters: map[types.NamespacedName]*state{}}
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
		i.condition(cluster, metav1.ConditionFalse, "InvalidAddons", err.Error()+".")
		return operatorkit.Stall("InvalidAddons", err.Error()+".")
	}
	wanted, digest := want.charts, want.digest
	now := i.options.Clock.Now()
	switch {
	case s.installed == digest:
		i.condition(cluster, metav1.ConditionTrue, "Installed", told(wanted))
		return operatorkit.Done()
	case s.running != "":
		return i.underWay(cluster, wanted)
	case s.failed == digest && now.Before(s.next):
		i.condition(cluster, metav1.ConditionFalse, "AddonFailed", s.why)
		return operatorkit.Wait(s.next.Sub(now), "AddonFailed", s.why).Troubled()
	}
	i.begin(s, key, to.Config(), wanted, digest, wake) //nolint:contextcheck // the work outlives the reconcile
	return i.underWay(cluster, wanted)
}

// underWay says what is being done. A cluster whose addons were in place before the operator started is only being
// looked at: what was ready stays so, unless the look finds otherwise. So it is with a new one that wants none.
func (i *Installer) underWay(cluster *v1alpha1.Cluster, wanted []Chart) operatorkit.Outcome {
	last := operatorkit.FindCondition(cluster, ConditionAddonsReady)
	if last == nil && len(wanted) == 0 || last != nil && last.Status == metav1.ConditionTrue && last.ObservedGeneration == cluster.Generation {
		i.condition(cluster, metav1.ConditionTrue, "Installed", told(wanted))
		return operatorkit.Done()
	}
	i.condition(cluster, metav1.ConditionFalse, "Installing", "Addons are being installed.")
	return operatorkit.Wait(0, "InstallingAddons", "Addons are being installed.")
}

// begin starts a job. The caller holds the lock.
func (i *Installer) begin(s *state, key types.NamespacedName, config *rest.Config, wanted []Chart, digest string, wake func()) {
	ctx, stop := context.WithCancel(context.Background())
	s.running, s.stop = digest, stop
	go func() {
		defer stop()
		changes, err := i.work(ctx, config, wanted)
		log := i.options.Logger.WithValues("cluster", key.String())
		for _, change := range changes {
			log.Info("Addon " + change + ".")
		}
		i.end(s, digest, err)
		wake()
	}()
}

func (i *Installer) work(ctx context.Context, config *rest.Config, wanted []Chart) ([]string, error) {
	select {
	case i.slots <- struct{}{}:
		defer func() { <-i.slots }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for other clusters' addons: %w", context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeout(ctx, i.options.Timeout) // not while it waits: others may be many
	defer cancel()
	h, err := newHelm(config, i.options.Folder)
	if err != nil {
		return nil, err
	}
	return h.converge(ctx, wanted)
}

func (i *Installer) end(s *state, digest string, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	s.running, s.stop = "", nil
	if err == nil {
		s.installed, s.failed, s.why, s.failures = digest, "", "", 0
		return
	}
	if s.failed != digest {
		s.failures = 0
	}
	s.failed, s.failures = digest, s.failures+1
	s.why = "An addon could not be installed: " + strings.ReplaceAll(err.Error(), "\n", "; ") + "."
	s.next = i.options.Clock.Now().Add(min(firstRetry<<min(s.failures-1, 10), lastRetry))
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
	return "Installed are " + strings.Join(names, ", ") + "."
}

func digestOf(wanted []Chart) string {
	parts := make([]string, len(wanted))
	for n := range wanted {
		parts[n] = wanted[n].Name + "=" + wanted[n].Digest()
	}
	return "v1:" + strings.Join(parts, ",")
}
