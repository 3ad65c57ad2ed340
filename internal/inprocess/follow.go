package inprocess

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Progress is the progress of a cluster.
type Progress struct {
	// Time is the time of the observation.
	Time time.Time
	// Cluster is the Cluster, nil if it no longer exists. Observers must not change the objects.
	Cluster *v1alpha1.Cluster
	// Groups are its InstanceGroups, sorted by name.
	Groups []v1alpha1.InstanceGroup
	// Notices are the Events about them since the previous Progress, oldest first.
	Notices []Notice
}

// Notice is an Event about a cluster or an instance group.
type Notice struct {
	Time time.Time
	// Kind and Name are those of the object.
	Kind, Name string
	// Warning reports that the Event is a warning.
	Warning bool
	// Reason is in CamelCase, Message a sentence.
	Reason, Message string
}

// StalledError means that a cluster does not reach the goal before a user acts.
type StalledError struct {
	// Kind and Name identify the object. Reason and Message are from its condition.
	Kind, Name, Reason, Message string
}

// Error returns the object and the message of its condition.
func (e *StalledError) Error() string { return fmt.Sprintf("%s %s: %s", e.Kind, e.Name, e.Message) }

// FollowOptions are the options of [Follow]. Client, Cluster and Goal are required.
type FollowOptions struct {
	// Client reads the objects.
	Client client.WithWatch
	// Cluster is the Cluster.
	Cluster types.NamespacedName
	Goal    Goal
	// Observe receives every change of the progress. It is optional.
	Observe func(Progress)
	// Settle is how long the goal must hold. The default is one second.
	Settle time.Duration
	// Clock is the clock. The default is the real one.
	Clock clock.WithTicker
}

// Follow returns when the goal is reached. It returns a [StalledError] if a user must act, and an
// error if the objects cannot be read or ctx ends first.
func Follow(ctx context.Context, o FollowOptions) error {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	o.Settle = cmp.Or(o.Settle, defaultSettle)
	ctx, cancel := context.WithCancel(ctx)
	f := &follower{FollowOptions: o, changed: make(chan struct{}, 1), began: o.Clock.Now()}
	defer f.watching.Wait()
	defer cancel()
	f.watch(ctx, &v1alpha1.ClusterList{}, nil)
	f.watch(ctx, &v1alpha1.InstanceGroupList{}, nil)
	f.watch(ctx, &eventsv1.EventList{}, f.note)
	for {
		wait, err := f.look(ctx)
		if err != nil || wait == 0 {
			return err
		}
		timer := o.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("follow cluster %s: %w", o.Cluster.Name, context.Cause(ctx))
		case <-timer.C():
		case <-f.changed:
			timer.Stop()
		}
	}
}

// lookAnyway is the interval at which objects are read even without a change. retryWatch is the
// delay before a watch that ended is restarted.
const (
	lookAnyway = 10 * time.Second
	retryWatch = time.Second
)

type follower struct {
	FollowOptions

	changed  chan struct{}
	watching sync.WaitGroup
	began    time.Time
	// holds is the time since which the goal holds, zero if it does not. seen are the versions of
	// the objects that were reported last.
	holds time.Time
	seen  string

	mu      sync.Mutex
	notices []Notice
}

// watch makes the follower read the objects whenever an object of a kind changes, until ctx ends.
func (f *follower) watch(ctx context.Context, list client.ObjectList, note func(runtime.Object)) {
	f.watching.Go(func() {
		for ctx.Err() == nil {
			f.watchOnce(ctx, list, note)
			f.requestRead()
			select {
			case <-ctx.Done():
			case <-f.Clock.After(retryWatch):
			}
		}
	})
}

func (f *follower) watchOnce(ctx context.Context, list client.ObjectList, note func(runtime.Object)) {
	watcher, err := f.Client.Watch(ctx, list, client.InNamespace(f.Cluster.Namespace))
	if err != nil {
		return // The next read reports any error; Events may be forbidden.
	}
	defer watcher.Stop()
	f.requestRead() // The watch does not report earlier changes.
	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-watcher.ResultChan():
			if !open {
				return
			}
			if note != nil && event.Type != watch.Deleted {
				note(event.Object)
			}
			f.requestRead()
		}
	}
}

func (f *follower) requestRead() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// note records an Event that was not reported before.
func (f *follower) note(object runtime.Object) {
	event, ok := object.(*eventsv1.Event)
	if !ok {
		return
	}
	at := event.EventTime.Time
	if event.Series != nil {
		at = event.Series.LastObservedTime.Time
	}
	kind := event.Regarding.Kind
	if at.Before(f.began) || kind != "Cluster" && kind != "InstanceGroup" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notices = append(f.notices, Notice{
		Time: at, Kind: kind, Name: event.Regarding.Name, Warning: event.Type == corev1.EventTypeWarning, Reason: event.Reason,
		Message: event.Note,
	})
}

// look reads the objects and reports changes. Wait is the time until the next read, 0 when the goal
// is reached.
func (f *follower) look(ctx context.Context) (wait time.Duration, err error) {
	progress, err := f.progress(ctx)
	if err != nil {
		return 0, err
	}
	f.tell(progress)
	reached, err := evaluate(progress, f.Goal)
	if err != nil {
		return 0, err
	}
	now := f.Clock.Now()
	switch {
	case !reached:
		f.holds = time.Time{}
		return lookAnyway, nil
	case f.holds.IsZero():
		f.holds = now
		return f.Settle, nil
	case now.Sub(f.holds) < f.Settle:
		return f.Settle - now.Sub(f.holds), nil
	default:
		return 0, nil
	}
}

// progress reads the objects.
func (f *follower) progress(ctx context.Context) (*Progress, error) {
	p := &Progress{Time: f.Clock.Now(), Cluster: &v1alpha1.Cluster{}}
	err := f.Client.Get(ctx, f.Cluster, p.Cluster)
	if apierrors.IsNotFound(err) {
		p.Cluster, err = nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read cluster %s: %w", f.Cluster.Name, err)
	}
	groups := &v1alpha1.InstanceGroupList{}
	if err := f.Client.List(ctx, groups, client.InNamespace(f.Cluster.Namespace)); err != nil {
		return nil, fmt.Errorf("list the instance groups of cluster %s: %w", f.Cluster.Name, err)
	}
	p.Groups = slices.DeleteFunc(groups.Items, func(g v1alpha1.InstanceGroup) bool { return g.Spec.Cluster != f.Cluster.Name })
	slices.SortFunc(p.Groups, func(a, b v1alpha1.InstanceGroup) int { return strings.Compare(a.Name, b.Name) })
	return p, nil
}

// tell calls the observer if anything has changed.
func (f *follower) tell(p *Progress) {
	if f.Observe == nil {
		return
	}
	f.mu.Lock()
	notices := f.notices
	f.notices = nil
	f.mu.Unlock()
	for i := range notices {
		if f.isAbout(p, &notices[i]) {
			p.Notices = append(p.Notices, notices[i])
		}
	}
	seen := ""
	if p.Cluster != nil {
		seen = p.Cluster.ResourceVersion
	}
	for i := range p.Groups {
		seen += " " + p.Groups[i].Name + "=" + p.Groups[i].ResourceVersion
	}
	if seen == f.seen && len(p.Notices) == 0 {
		return
	}
	f.seen = seen
	f.Observe(*p)
}

// isAbout reports whether a notice is about the cluster or one of its groups.
func (f *follower) isAbout(p *Progress, n *Notice) bool {
	if n.Kind == "Cluster" {
		return n.Name == f.Cluster.Name
	}
	return slices.ContainsFunc(p.Groups, func(g v1alpha1.InstanceGroup) bool { return g.Name == n.Name })
}
