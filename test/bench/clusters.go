package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/elbv2"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
)

var (
	clusterKind = schema.GroupVersionResource{Group: "cluster-operator.aws", Version: "v1alpha1", Resource: "clusters"}
	groupKind   = schema.GroupVersionResource{Group: "cluster-operator.aws", Version: "v1alpha1", Resource: "instancegroups"}
)

// clusters measures n clusters of three slots and five workers each, on fake machines, from the
// first apply until all are Ready; and their cost while they are idle.
func (b *bench) clusters(ctx context.Context, n int, goal time.Duration) error {
	progress(fmt.Sprintf("%d clusters of 3 + 5 fake machines", n))
	w, err := newSuite(ctx, b.binary, fleetOptions(n), clusterKind, groupKind)
	if err != nil {
		return err
	}
	defer w.close()
	profiles := &profiles{dir: b.profiles}
	if err := profiles.begin(ctx, w.operator, w.plane.RESTConfig()); err != nil {
		return err
	}
	requests, err := w.serverRequests(ctx)
	if err != nil {
		return err
	}
	before, err := spentNow()
	if err != nil {
		return err
	}
	start := now()
	if err := w.createClusters(ctx, n); err != nil {
		return err
	}
	if err := w.awaitReady(ctx, 2*n, 30*time.Minute); err != nil {
		return err
	}
	b.report.duration(fmt.Sprintf("%d clusters of 3 + 5 fake machines, apply to all Ready", n), time.Since(start), goal, "")
	after, err := spentNow()
	if err != nil {
		return err
	}
	if err := profiles.end(ctx, w.operator); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		each := (after[name] - before[name]) / time.Duration(n)
		b.report.note("of it, CPU time per cluster: "+name, each.Round(time.Millisecond/10).String())
	}
	calls, err := w.operator.sumOf(ctx, "aws_operator_api_requests_total")
	if err != nil {
		return err
	}
	b.report.note("AWS calls of the operator per cluster, events included", fmt.Sprintf("%.1f", calls/float64(n)))
	called, err := w.operator.calls(ctx)
	if err != nil {
		return err
	}
	b.report.note("of them", called.since(nil, n))
	requestsAfter, err := w.serverRequests(ctx)
	if err != nil {
		return err
	}
	b.report.note("requests at the API server per cluster", requestsAfter.since(requests, n))
	if err := pause(ctx, 10*time.Second); err != nil {
		return err
	}
	return b.idleClusters(ctx, w, n)
}

// fleetOptions returns an AWS with fake machines, no latency, and quotas for n clusters beside the
// default VPC, which has an internet gateway.
func fleetOptions(n int) simulator.Options {
	return simulator.Options{
		Machines: fake.New(fake.Options{}), Patience: time.Second,
		Quotas: map[vpc.Quota]int{
			vpc.VPCs: n + 1, vpc.InternetGateways: n + 1, vpc.ElasticAddresses: 3 * n, vpc.NATGateways: n, elbv2.LoadBalancers: n,
		},
	}
}

// idleClusters measures the cost of idle clusters.
func (b *bench) idleClusters(ctx context.Context, w *suite, n int) error {
	// The operator checks three times a minute whether there is memory to return.
	if err := pause(ctx, 30*time.Second); err != nil {
		return err
	}
	before, err := w.operator.cpu()
	if err != nil {
		return err
	}
	callsBefore, _ := w.calls()
	const window = 30 * time.Second
	if err := pause(ctx, window); err != nil {
		return err
	}
	after, err := w.operator.cpu()
	if err != nil {
		return err
	}
	callsAfter, _ := w.calls()
	memory, err := w.operator.residentMB()
	if err != nil {
		return err
	}
	b.report.note(fmt.Sprintf("memory of the operator with %d clusters", n), fmt.Sprintf("%.0f MB", memory))
	b.report.note("CPU of the operator with as many clusters", fmt.Sprintf("%.2f%% of a core", 100*float64(after-before)/float64(window)))
	b.report.note(fmt.Sprintf("AWS calls in %s, without event polling", window), fmt.Sprint(callsAfter-callsBefore))
	return nil
}

// createClusters applies clusters and their groups, four concurrently.
func (w *suite) createClusters(ctx context.Context, n int) error {
	groups := w.dynamic.Resource(groupKind).Namespace("default")
	return parallel(n, func(i int) error {
		name := fmt.Sprintf("c%04d", i)
		_, err := w.client.Create(ctx, object(clusterKind, "Cluster", name, map[string]any{
			"release": "v1.36.3",
			"region":  region,
			"network": map[string]any{
				"cidr": "10.0.0.0/16", "zones": []any{region + "a", region + "b", region + "c"}, "topology": "Private", "nat": "Single",
			},
			"controlPlane": map[string]any{"replicas": int64(3), "instanceType": "m6i.large"},
			"addons":       []any{},
		}), metav1.CreateOptions{FieldManager: "bench"})
		if err != nil {
			return fmt.Errorf("apply cluster %s: %w", name, err)
		}
		_, err = groups.Create(ctx, object(groupKind, "InstanceGroup", name+"-workers", map[string]any{
			"cluster": name, "minSize": int64(5), "maxSize": int64(8), "instanceTypes": []any{"m6i.large"},
		}), metav1.CreateOptions{FieldManager: "bench"})
		if err != nil {
			return fmt.Errorf("apply the workers of cluster %s: %w", name, err)
		}
		return nil
	})
}

func object(of schema.GroupVersionResource, kind, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": of.GroupVersion().String(), "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}
