package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

var fleetKind = schema.GroupVersionResource{Group: clusterKind.Group, Version: clusterKind.Version, Resource: "fleets"}

const (
	// canaries are the clusters of the first wave, waveLimit those that are changed at the same time.
	canaries  = 5
	waveLimit = 10
)

// waves measures a Fleet of n clusters of one slot: that all get their release from it, a change that stops at
// a planted failure, and its way to all clusters.
func (b *bench) waves(ctx context.Context, n int) error {
	progress(fmt.Sprintf("a fleet of %d clusters of 1 fake machine", n))
	w, err := newSuite(ctx, b.binary, fleetOptions(n), clusterKind)
	if err != nil {
		return err
	}
	defer w.close()
	if _, err := w.dynamic.Resource(fleetKind).Namespace("default").Create(ctx, object(fleetKind, "Fleet", "all", map[string]any{
		"selector": map[string]any{}, "template": map[string]any{"release": "v1.36.3"},
		"rollout": map[string]any{"maxConcurrent": int64(waveLimit), "waves": []any{
			map[string]any{"name": "canary", "selector": map[string]any{"matchLabels": map[string]any{"tier": "canary"}}, "soak": "10s"},
			map[string]any{"name": "early", "size": "20%"},
		}},
	}), metav1.CreateOptions{FieldManager: "bench"}); err != nil {
		return fmt.Errorf("create the fleet: %w", err)
	}
	start := now()
	if err := w.createFleet(ctx, n); err != nil {
		return err
	}
	if err := w.awaitReady(ctx, n, 30*time.Minute); err != nil {
		return err
	}
	if err := w.awaitFleet(ctx, "RolledOut", n); err != nil {
		return err
	}
	b.report.note(fmt.Sprintf("%d clusters of 1 fake machine that get their release from a Fleet, apply to all Ready", n), round(time.Since(start)).String())
	if err := b.stopWave(ctx, w, n); err != nil {
		return err
	}
	return b.idleClusters(ctx, w, n)
}

// stopWave measures a change that fails at a cluster in the middle, and its continuation.
func (b *bench) stopWave(ctx context.Context, w *suite, n int) error {
	counts := &changing{}
	if err := counts.watch(ctx, w); err != nil {
		return err
	}
	var updates atomic.Int64
	remove := w.onUpdate(func() { updates.Add(1) })
	defer remove()
	skip := n * 3 / 10 // in the last wave
	w.simulator.Faults().Add(fault.Rule{
		ResourceType: "AWS::EC2::LaunchTemplate", Operation: "Update", Skip: skip, Times: 1,
		Code: "InvalidParameterValue", Message: "a planted failure",
	})
	calls, _ := w.calls()
	requests, err := w.serverRequests(ctx)
	if err != nil {
		return err
	}
	cpu, err := w.operator.cpu()
	if err != nil {
		return err
	}
	start := now()
	if err := w.patchFleet(ctx, `{"spec":{"template":{"controlPlane":{"roll":"one"}}}}`); err != nil {
		return err
	}
	if err := w.awaitFleet(ctx, "RolloutStopped", 0); err != nil {
		return err
	}
	b.report.note(fmt.Sprintf("a change of the Fleet's template to the failure of cluster number %d", skip+1), round(time.Since(start)).String())
	if err := pause(ctx, 10*time.Second); err != nil { // updates that had begun end
		return err
	}
	stopped := updates.Load()
	b.report.note("clusters that were changed then", fmt.Sprint(stopped))
	failed, err := w.failedCluster(ctx)
	if err != nil {
		return err
	}
	start = now()
	if err := w.retry(ctx, failed); err != nil {
		return err
	}
	if err := w.awaitFleet(ctx, "RolledOut", n); err != nil {
		return err
	}
	b.report.note(fmt.Sprintf("the rest of the clusters, %d at the same time, after a retry of that one", waveLimit), round(time.Since(start)).String())
	b.report.number("most clusters in change at the same time", float64(counts.most.Load()), waveLimit, "", "")
	after, _ := w.calls()
	b.report.note("AWS calls per cluster changed", fmt.Sprintf("%.1f", float64(after-calls)/float64(n)))
	requestsAfter, err := w.serverRequests(ctx)
	if err != nil {
		return err
	}
	b.report.note("requests at the API server per cluster changed", requestsAfter.since(requests, n))
	cpuAfter, err := w.operator.cpu()
	if err != nil {
		return err
	}
	b.report.note("CPU time of the operator per cluster changed", ((cpuAfter - cpu) / time.Duration(n)).Round(time.Millisecond).String())
	size, err := w.statusSize(ctx)
	if err != nil {
		return err
	}
	b.report.note("size of the Fleet's status", strconv.Itoa(size)+" bytes")
	return nil
}

// retry retries a cluster.
func (w *suite) retry(ctx context.Context, cluster string) error {
	if _, err := w.client.Patch(
		ctx, cluster, types.MergePatchType, []byte(`{"metadata":{"annotations":{"aws-operator/retry":"one"}}}`),
		metav1.PatchOptions{FieldManager: "bench"},
	); err != nil {
		return fmt.Errorf("retry cluster %s: %w", cluster, err)
	}
	return nil
}

// statusSize returns the size of the Fleet's status as JSON, in bytes.
func (w *suite) statusSize(ctx context.Context) (int, error) {
	object, err := w.dynamic.Resource(fleetKind).Namespace("default").Get(ctx, "all", metav1.GetOptions{})
	if err != nil {
		return 0, fmt.Errorf("read the fleet: %w", err)
	}
	data, err := json.Marshal(object.Object["status"])
	if err != nil {
		return 0, fmt.Errorf("encode the status: %w", err)
	}
	return len(data), nil
}

// createFleet creates clusters without a release, four concurrently. The first are canaries.
func (w *suite) createFleet(ctx context.Context, n int) error {
	return parallel(n, func(i int) error {
		name := fmt.Sprintf("c%04d", i)
		cluster := object(clusterKind, "Cluster", name, map[string]any{
			"region":       region,
			"network":      map[string]any{"cidr": "10.0.0.0/16", "zones": []any{region + "a"}, "topology": "Private", "nat": "Single"},
			"controlPlane": map[string]any{"replicas": int64(1), "instanceType": "m6i.large"},
		})
		if i < canaries {
			cluster.SetLabels(map[string]string{"tier": "canary"})
		}
		if _, err := w.client.Create(ctx, cluster, metav1.CreateOptions{FieldManager: "bench"}); err != nil {
			return fmt.Errorf("create cluster %s: %w", name, err)
		}
		return nil
	})
}

func (w *suite) patchFleet(ctx context.Context, patch string) error {
	if _, err := w.dynamic.Resource(fleetKind).Namespace("default").Patch(
		ctx, "all", types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "bench"},
	); err != nil {
		return fmt.Errorf("change the fleet: %w", err)
	}
	return nil
}

// awaitFleet waits until the Fleet has a reason for its current generation, and at least so many updated clusters.
func (w *suite) awaitFleet(ctx context.Context, reason string, updated int) error {
	return waitFor(ctx, 30*time.Minute, "the reason "+reason, func() (bool, error) {
		if err := pause(ctx, time.Second/2); err != nil {
			return false, err
		}
		object, err := w.dynamic.Resource(fleetKind).Namespace("default").Get(ctx, "all", metav1.GetOptions{})
		if err != nil {
			return false, fmt.Errorf("read the fleet: %w", err)
		}
		have, _, _ := unstructured.NestedInt64(object.Object, "status", "clusters", "updated")
		all, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		for _, one := range all {
			fields, ok := one.(map[string]any)
			if ok && fields["type"] == "Ready" && fields["reason"] == reason && fields["observedGeneration"] == object.GetGeneration() {
				return have >= int64(updated), nil
			}
		}
		return false, nil
	})
}

// failedCluster returns the name of the cluster that failed.
func (w *suite) failedCluster(ctx context.Context) (string, error) {
	object, err := w.dynamic.Resource(fleetKind).Namespace("default").Get(ctx, "all", metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read the fleet: %w", err)
	}
	details, _, _ := unstructured.NestedSlice(object.Object, "status", "details")
	for _, one := range details {
		if fields, ok := one.(map[string]any); ok && fields["state"] == "Failed" {
			name, message := fmt.Sprint(fields["name"]), fmt.Sprint(fields["message"])
			if !strings.Contains(message, "a planted failure") {
				return "", fmt.Errorf("cluster %s failed for another reason: %s", name, message)
			}
			return name, nil
		}
	}
	return "", fmt.Errorf("no cluster failed: %v", details)
}

// changing counts the clusters that have the changed spec and are not Ready with it.
type changing struct {
	mutex sync.Mutex
	now   map[string]bool
	most  atomic.Int64
}

// watch observes the clusters until the suite is closed.
func (c *changing) watch(ctx context.Context, w *suite) error {
	c.now = map[string]bool{}
	list, err := w.client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the clusters: %w", err)
	}
	watcher, err := watchtools.NewRetryWatcherWithContext( //nolint:contextcheck // It ends with the suite.
		w.context, list.GetResourceVersion(), listWatch{w.client},
	)
	if err != nil {
		return fmt.Errorf("watch the clusters: %w", err)
	}
	go func() {
		for event := range watcher.ResultChan() {
			if object, ok := event.Object.(*unstructured.Unstructured); ok && event.Type != watch.Bookmark {
				c.see(object)
			}
		}
	}()
	return nil
}

func (c *changing) see(object *unstructured.Unstructured) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	roll, _, _ := unstructured.NestedString(object.Object, "spec", "controlPlane", "roll")
	if roll != "" && !isReady(object) {
		c.now[object.GetName()] = true
	} else {
		delete(c.now, object.GetName())
	}
	c.most.Store(max(c.most.Load(), int64(len(c.now))))
}
