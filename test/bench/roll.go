package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/elbv2"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
)

// Durations of fake pods during a roll: long enough to be visible, short enough to wait for.
const (
	podStart = time.Second
	podStop  = 500 * time.Millisecond
)

// rolled is the label whose change rolls the groups' nodes.
const rolled = "bench"

// roll measures the concurrent roll of n groups of m nodes each, with a Deployment and a budget of
// one unavailable pod for each group, and the time that the operator adds to draining, booting and
// AWS. If machines booted instantly, the two processors that simulate everything would limit the
// roll; the default boot time is that of EC2 and a kubelet.
func (b *bench) roll(ctx context.Context, n, m int) error {
	progress(fmt.Sprintf("%d groups of %d fake machines, to be rolled", n, m))
	t := newTrace(m)
	host := fake.New(fake.Options{BootTime: b.boot, PodStart: podStart, PodStop: podStop, Observe: t.observe})
	w, err := newSuite(ctx, b.binary, simulator.Options{
		Machines: host, Patience: time.Second, Events: t.hear,
		Quotas: map[vpc.Quota]int{
			vpc.VPCs:             2, // one is the default VPC
			vpc.InternetGateways: 2,
			vpc.ElasticAddresses: 3,
			vpc.NATGateways:      1,
			elbv2.LoadBalancers:  1,
		},
	}, clusterKind, groupKind)
	if err != nil {
		return err
	}
	defer w.close()
	w.onRequest(t.call)
	start := now()
	if err := w.createGroups(ctx, n, m); err != nil {
		return err
	}
	if err := w.awaitReady(ctx, n+1, 30*time.Minute); err != nil {
		return err
	}
	b.report.note(fmt.Sprintf("%d groups of %d fake machines in a cluster, apply to all Ready", n, m), round(time.Since(start)).String())
	if err := deployAll(host, t.cluster(), n, m); err != nil {
		return err
	}
	if err := waitFor(ctx, time.Minute, "the pods", func() (bool, error) { return t.serving() == n, nil }); err != nil {
		return err
	}
	progress("rolling")
	profiles := &profiles{dir: b.profiles}
	if err := profiles.begin(ctx, w.operator, w.plane.RESTConfig()); err != nil {
		return err
	}
	before, err := spentNow()
	if err != nil {
		return err
	}
	start = now()
	t.begin()
	if err := w.relabel(ctx, n); err != nil {
		return err
	}
	err = waitFor(ctx, 30*time.Minute, "the groups to be rolled", func() (bool, error) { return t.done() == n*m && w.count() == n+1, nil })
	b.report.duration(fmt.Sprintf("%d groups of %d nodes, a change of labels to all rolled", n, m), time.Since(start), 0, "")
	t.report(&b.report)
	if after, failed := spentNow(); failed == nil {
		for _, name := range slices.Sorted(maps.Keys(after)) {
			each := (after[name] - before[name]) / time.Duration(n*m)
			b.report.note("CPU time per node: "+name, each.Round(time.Millisecond/10).String())
		}
	}
	if failed := profiles.end(ctx, w.operator); err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("%w; %d of %d nodes are new, and %s", err, t.done(), n*m, w.unready(ctx))
	}
	return nil
}

// unready describes one group that is not ready.
func (w *suite) unready(ctx context.Context) string {
	list, err := w.dynamic.Resource(groupKind).Namespace("default").List(context.WithoutCancel(ctx), metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	for i := range list.Items {
		if isReady(&list.Items[i]) {
			continue
		}
		conditions, _, _ := unstructured.NestedSlice(list.Items[i].Object, "status", "conditions")
		return fmt.Sprintf("%s says %v", list.Items[i].GetName(), conditions)
	}
	return "all groups are ready"
}

// createGroups applies a cluster with n groups of m nodes.
func (w *suite) createGroups(ctx context.Context, n, m int) error {
	_, err := w.client.Create(ctx, object(clusterKind, "Cluster", "c", map[string]any{
		"release": "v1.36.3",
		"region":  region,
		"network": map[string]any{
			"cidr": "10.0.0.0/16", "zones": []any{region + "a", region + "b", region + "c"}, "topology": "Private", "nat": "Single",
		},
		"controlPlane": map[string]any{"replicas": int64(3), "instanceType": "m6i.large"},
		"addons":       []any{},
	}), metav1.CreateOptions{FieldManager: "bench"})
	if err != nil {
		return fmt.Errorf("apply the cluster: %w", err)
	}
	groups := w.dynamic.Resource(groupKind).Namespace("default")
	return parallel(n, func(i int) error {
		_, err := groups.Create(ctx, object(groupKind, "InstanceGroup", groupName(i), map[string]any{
			"cluster": "c", "minSize": int64(m), "maxSize": int64(m), "instanceTypes": []any{"m6i.large"},
			"rollingUpdate": map[string]any{"batchSize": int64(1), "minInService": int64(m - 1)},
		}), metav1.CreateOptions{FieldManager: "bench"})
		if err != nil {
			return fmt.Errorf("apply group %s: %w", groupName(i), err)
		}
		return nil
	})
}

func groupName(i int) string { return fmt.Sprintf("g%04d", i) }

// relabel changes the node labels of n groups.
func (w *suite) relabel(ctx context.Context, n int) error {
	groups := w.dynamic.Resource(groupKind).Namespace("default")
	return parallel(n, func(i int) error {
		patch := fmt.Appendf(nil, `{"spec":{"labels":{%q:"yes"}}}`, rolled)
		_, err := groups.Patch(ctx, groupName(i), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "bench"})
		return err
	})
}

// count returns the number of ready objects.
func (w *suite) count() int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return len(w.ready)
}

// deployAll creates for each group a Deployment with as many pods as the group has nodes, of which
// one may be unavailable.
func deployAll(host *fake.Host, bucket string, n, m int) error {
	api, ok := host.API(bucket)
	if !ok {
		return fmt.Errorf("no cluster is simulated for %s", bucket)
	}
	for i := range n {
		name := groupName(i)
		labels := map[string]string{"app": name}
		replicas, one := int32(m), intstr.FromInt32(1) //nolint:gosec // a number of pods
		meta := metav1.ObjectMeta{Namespace: "default", Name: name}
		err := api.Put(&policyv1.PodDisruptionBudget{
			ObjectMeta: meta,
			Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: labels}},
		})
		if err != nil {
			return fmt.Errorf("create the budget of %s: %w", name, err)
		}
		err = api.Put(&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{NodeSelector: map[string]string{model.LabelInstanceGroup: name}},
			},
		}})
		if err != nil {
			return fmt.Errorf("make the Deployment of %s: %w", name, err)
		}
	}
	return nil
}
