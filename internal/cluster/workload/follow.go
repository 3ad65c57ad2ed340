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
	// firstRetry and the longest bound the growing delay between attempts to reach an API. A new
	// cluster is retried more often, since its creation waits for it.
	firstRetry       = 250 * time.Millisecond
	longestRetrySoon = 2 * time.Second
	longestRetry     = 15 * time.Second
	soon             = 3 * time.Minute
	// unreachableAfter is the number of consecutive failures after which the API counts as
	// unreachable: a load balancer that loses a target cuts connections, and the next attempt
	// reaches another.
	unreachableAfter = 3
	// listTimeout bounds the list; watchTimeout is when a watch is restarted.
	listTimeout  = 20 * time.Second
	watchTimeout = 8 * time.Minute
	pageSize     = 500
)

// errStale reports that the list is too old to watch from.
var errStale = errors.New("the watch is behind")

// follow lists and watches the nodes until the context ends.
func (c *Cluster) follow(ctx context.Context) {
	began := c.owner.options.Clock.Now()
	delay, failures := firstRetry, 0
	for ctx.Err() == nil {
		err := c.followOnce(ctx, func() {
			delay, failures = firstRetry, 0
			c.setReachable(true, nil)
		})
		if ctx.Err() != nil {
			return
		}
		if !errors.Is(err, errStale) {
			c.owner.options.Logger.V(1).Info("A cluster's API does not respond", "cluster", c.key.String(), "error", err.Error())
			if failures++; failures >= unreachableAfter {
				c.setReachable(false, err)
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

// followOnce lists the nodes, calls listed and watches until the API does not respond or the watch
// is stale. A panic becomes an error of this connection: a workload cluster's response must not
// crash the operator.
func (c *Cluster) followOnce(ctx context.Context, listed func()) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
			c.owner.options.Logger.Error(err, "The watch of a cluster panicked", "cluster", c.key.String(), "stack", string(debug.Stack()))
		}
	}()
	version, err := c.list(ctx)
	if err != nil {
		return err
	}
	listed()
	return c.watch(ctx, version)
}

// pause waits. It returns false if the context ended first.
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
	nodes, size := map[string]Node{}, kept{}
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := c.listPage(ctx, options, func(node *corev1.Node) error {
			made := c.nodeFrom(node)
			if was, ok := nodes[made.Name]; ok {
				size.remove(&was)
			}
			nodes[made.Name] = made
			size.add(&made)
			return size.excess()
		})
		if err != nil {
			return "", fmt.Errorf("list nodes: %w", err)
		}
		if page.Continue == "" {
			c.replace(ctx, nodes, size)
			return page.ResourceVersion, nil
		}
		options.Continue = page.Continue
	}
}

// watch watches, one request after the other, until the API does not respond or the watch is stale.
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
		last, err := c.take(watcher, version) //nolint:contextcheck // as above: lookups end with the connection
		watcher.Stop()
		if err != nil {
			return err
		}
		if last == version && !c.pause(ctx, firstRetry) { // do not restart a watch at once that ended at once
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
		node := c.nodeFrom(object)
		switch event.Type {
		case watch.Added, watch.Modified:
			if err := c.put(&node); err != nil {
				return version, err
			}
		case watch.Deleted:
			c.remove(&node)
		case watch.Bookmark, watch.Error:
		}
	}
	return version, nil
}

// problem describes why an API does not respond.
func problem(err error) string {
	if refusal, ok := errors.AsType[refusalError](err); ok {
		return refusal.Error()
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	if inner := errors.Unwrap(err); inner != nil {
		return inner.Error()
	}
	return err.Error()
}
