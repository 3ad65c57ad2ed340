package workload

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// firstRetry and the longest bound the growing delay between tries to reach an API. A cluster that
	// was just made is tried more often: somebody waits for it.
	firstRetry       = 250 * time.Millisecond
	longestRetrySoon = 2 * time.Second
	longestRetry     = 15 * time.Second
	soon             = 3 * time.Minute
	// unreachableAfter is how many tries in a row must fail: a load balancer that loses one of its targets
	// cuts connections, and the next try goes to another.
	unreachableAfter = 3
	// listTimeout bounds the list, watchTimeout is when a watch is begun anew.
	listTimeout  = 20 * time.Second
	watchTimeout = 8 * time.Minute
	pageSize     = 500
)

// errStale says that the list is too old to be watched from.
var errStale = errors.New("the watch is behind")

// follow lists and watches the nodes until the context ends.
func (c *Cluster) follow(ctx context.Context) {
	began := c.owner.options.Clock.Now()
	delay, failures := firstRetry, 0
	for ctx.Err() == nil {
		err := c.followOnce(ctx, func() {
			delay, failures = firstRetry, 0
			c.setReachable(true, "")
		})
		if ctx.Err() != nil {
			return
		}
		if !errors.Is(err, errStale) {
			c.owner.options.Logger.V(1).Info("A cluster's API does not answer", "cluster", c.key.String(), "error", err.Error())
			if failures++; failures >= unreachableAfter {
				c.setReachable(false, problem(err))
			}
		}
		longest := longestRetry
		if c.owner.options.Clock.Since(began) < soon {
			longest = longestRetrySoon
		}
		if !c.pause(ctx, delay) {
			return
		}
		delay = min(2*delay, longest)
	}
}

// followOnce lists the nodes, calls listed and watches until the API does not answer or is behind. A panic is an error of this
// connection: what one workload cluster answers must not end the operator.
func (c *Cluster) followOnce(ctx context.Context, listed func()) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
			c.owner.options.Logger.Error(err, "Following a cluster panicked", "cluster", c.key.String(), "stack", string(debug.Stack()))
		}
	}()
	version, err := c.list(ctx)
	if err != nil {
		return err
	}
	listed()
	return c.watch(ctx, version)
}

// pause returns false when the context ended first.
func (c *Cluster) pause(ctx context.Context, duration time.Duration) bool {
	timer := c.owner.options.Clock.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

// list reads all nodes and returns the version to watch from.
func (c *Cluster) list(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	nodes := map[string]Node{}
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := c.core.Nodes().List(ctx, options)
		if err != nil {
			return "", fmt.Errorf("list nodes: %w", err)
		}
		for i := range page.Items {
			nodes[page.Items[i].Name] = nodeFrom(&page.Items[i])
		}
		if page.Continue == "" {
			c.replace(ctx, nodes)
			return page.ResourceVersion, nil
		}
		options.Continue = page.Continue
	}
}

// watch follows changes, one watch after the other, until the API does not answer or is behind.
func (c *Cluster) watch(ctx context.Context, version string) error {
	for {
		watcher, err := c.core.Nodes().Watch(ctx, metav1.ListOptions{
			ResourceVersion: version, AllowWatchBookmarks: true, TimeoutSeconds: new(int64(watchTimeout / time.Second)),
		})
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			return errStale
		}
		if err != nil {
			return fmt.Errorf("watch nodes: %w", err)
		}
		last, err := c.take(watcher, version) //nolint:contextcheck // as above: what it may ask ends with the connection
		watcher.Stop()
		if err != nil {
			return err
		}
		if last == version && !c.pause(ctx, firstRetry) { // a watch that ends at once is not begun at once
			return context.Cause(ctx)
		}
		version = last
	}
}

// take handles the events of one watch and returns the version of the last.
func (c *Cluster) take(watcher watch.Interface, version string) (string, error) {
	for event := range watcher.ResultChan() {
		object, ok := event.Object.(*corev1.Node)
		if !ok {
			return version, errStale // an error, most likely that the version is too old
		}
		version = object.ResourceVersion
		node := nodeFrom(object)
		switch event.Type {
		case watch.Added, watch.Modified:
			c.put(&node)
		case watch.Deleted:
			c.remove(&node)
		case watch.Bookmark, watch.Error:
		}
	}
	return version, nil
}

// problem says in a few words why an API does not answer.
func problem(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	if inner := errors.Unwrap(err); inner != nil {
		return inner.Error()
	}
	return err.Error()
}
