package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/stackcache"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// cached is a client whose cache holds a cluster, its release and its group. All other calls panic.
type cached struct {
	client.Client
	scheme  *runtime.Scheme
	cluster *v1alpha1.Cluster
	release *v1alpha1.Release
	group   *v1alpha1.InstanceGroup
}

func (c *cached) Scheme() *runtime.Scheme { return c.scheme }

// Get copies like the manager's cache, unless an option disables it.
func (c *cached) Get(_ context.Context, key client.ObjectKey, out client.Object, options ...client.GetOption) error {
	share := (&client.GetOptions{}).ApplyOptions(options).UnsafeDisableDeepCopy != nil
	switch o := out.(type) {
	case *v1alpha1.Cluster:
		c.cluster.DeepCopyInto(o)
	case *v1alpha1.Release:
		if *o = *c.release; !share {
			c.release.DeepCopyInto(o)
		}
	default:
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return nil
}

// List copies like the manager's cache, unless an option disables it.
func (c *cached) List(_ context.Context, out client.ObjectList, options ...client.ListOption) error {
	list, ok := out.(*v1alpha1.InstanceGroupList)
	if !ok {
		return fmt.Errorf("a list of %T", out)
	}
	list.Items = []v1alpha1.InstanceGroup{*c.group}
	if (&client.ListOptions{}).ApplyOptions(options).UnsafeDisableDeepCopy == nil {
		list.Items[0] = *c.group.DeepCopy()
	}
	return nil
}

// kept writes objects back to the cache.
type kept struct{ cache *cached }

// Write stores the object.
func (w kept) Write(_ context.Context, _, after *v1alpha1.Cluster) error {
	w.cache.cluster = after.DeepCopy()
	return nil
}

// home stands for the operator's own account. It creates no clients.
type home struct{ Clients }

// Region always returns the same region.
func (home) Region(awsapi.Target) string { return "eu-central-1" }

// Resolver resolves names like the host.
func (home) Resolver() awsapi.Resolver { return awsapi.EnvironmentResolver() }

// nowhere has no clients.
type nowhere struct{ stack.Clients }

// TestUnchangedClusterIsReconciledFromCaches tests that the reconcile of an unchanged cluster calls
// neither AWS nor an API server: home and cached panic at any call but those of the fixture.
func TestUnchangedClusterIsReconciledFromCaches(t *testing.T) {
	o, c := ready(t)
	for range 3 {
		if _, err := o.clusters.Reconcile(t.Context(), reconcile.Request{NamespacedName: keyOf(c.cluster)}); err != nil {
			t.Fatal(err)
		}
		if found := operatorkit.FindCondition(c.cluster, operatorkit.ConditionReady); found.Status != metav1.ConditionTrue {
			t.Fatalf("%s: %s", found.Reason, found.Message)
		}
	}
}

// BenchmarkNothingChanged measures the reconcile of an unchanged cluster with three slots, five
// workers and a built-in release.
func BenchmarkNothingChanged(b *testing.B) {
	o, c := ready(b)
	req := reconcile.Request{NamespacedName: keyOf(c.cluster)}
	look := func() {
		if _, err := o.clusters.Reconcile(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
	look()
	if operatorkit.FindCondition(c.cluster, operatorkit.ConditionReady).Status != metav1.ConditionTrue {
		b.Fatalf("the cluster is not ready: %+v", c.cluster.Status.Conditions)
	}
	b.ReportAllocs()
	for b.Loop() {
		look()
	}
}

// ready returns an operator that has just created a cluster.
func ready(tb testing.TB) (*operator, *cached) {
	tb.Helper()
	releases, err := release.Builtin()
	if err != nil {
		tb.Fatal(err)
	}
	c := &cached{scheme: runtime.NewScheme(), release: releases[len(releases)-1].DeepCopy()}
	if err := v1alpha1.AddToScheme(c.scheme); err != nil {
		tb.Fatal(err)
	}
	c.release.UID, c.release.Generation = "release", 1
	meta := metav1.ObjectMeta{
		Name:            "demo",
		Namespace:       "default",
		UID:             "cluster",
		Generation:      1,
		ResourceVersion: "1",
		Finalizers:      []string{finalizer},
	}
	c.cluster = &v1alpha1.Cluster{ObjectMeta: meta, Spec: v1alpha1.ClusterSpec{
		Release: c.release.Name, Region: "eu-central-1",
		Network: v1alpha1.Network{
			CIDR:     "10.0.0.0/16",
			Zones:    []string{"eu-central-1a", "eu-central-1b", "eu-central-1c"},
			Topology: v1alpha1.TopologyPrivate,
			NAT:      v1alpha1.NATSingle,
		},
		ControlPlane: v1alpha1.ControlPlane{Replicas: 3, InstanceType: "m6i.large"},
	}}
	c.cluster.Status.Account, c.cluster.Status.Version = "123456789012", c.release.Spec.Kubernetes
	c.cluster.Status.Outputs = map[string]string{}
	for i := range 20 { // like a base stack of three zones
		c.cluster.Status.Outputs["Output"+strconv.Itoa(i)] = "arn:aws:service:eu-central-1:123456789012:something/demo-" + strconv.Itoa(i)
	}
	c.cluster.Status.Outputs[model.OutputAPIAddress] = "demo-api.elb.eu-central-1.amazonaws.com"
	meta.Name, meta.UID = "demo-workers", "group"
	c.group = &v1alpha1.InstanceGroup{ObjectMeta: meta, Spec: v1alpha1.InstanceGroupSpec{Cluster: "demo", MinSize: 5, MaxSize: 5}}

	connections, connect := connections(tb, keyOf(c.cluster))
	o := newOperator(
		Options{
			Engine: stack.New(stack.Options{Clients: nowhere{}}), DriftInterval: 24 * time.Hour,
			Clients: home{}, Workload: connections, AccountID: "123456789012", ClusterName: "test", Clock: clock.RealClock{},
		},
		c,
		nil,
		nil,
	)
	connections.IdentifyWith(nil) // There is no EC2 to ask.
	connect()
	selector, err := newClusterSelector(o)
	if err != nil {
		tb.Fatal(err)
	}
	o.clusters, err = operatorkit.NewReconciler(operatorkit.Options[*v1alpha1.Cluster]{
		Client: c, Pipelines: selector, Finalizer: finalizer, PausedAnnotation: v1alpha1.PausedAnnotation, Writer: kept{c},
	})
	if err != nil {
		tb.Fatal(err)
	}
	o.settle(tb, c)
	return o, c
}

// settle fills the operator's caches.
func (o *operator) settle(tb testing.TB, c *cached) {
	tb.Helper()
	uid, soon := c.cluster.UID, time.Now().Add(time.Hour)
	server := model.APIServer(c.cluster.Status.Outputs[model.OutputAPIAddress])
	o.stacks.Settle(stackcache.Key{UID: uid, Stack: "demo"}, o.models.Digest(c.cluster, c.release).Sum64(), record.FindOrAdd(c.cluster, "demo"))
	for slot := range 3 {
		name := model.SlotStackName("demo", slot)
		status := record.FindOrAdd(c.cluster, name)
		status.Status, status.Bundle = "CREATE_COMPLETE", bootedWith
		o.stacks.Settle(stackcache.Key{UID: uid, Stack: name}, slotsStep{o}.inputs(c.cluster, c.release, model.Keys{}), status)
	}
	c.cluster.Status.Backup = &v1alpha1.BackupStatus{ // The next one is due in hours.
		Backups: []v1alpha1.Backup{{Snapshot: "snap-1", Time: metav1.Now(), State: "completed"}},
	}
	o.bucket.Stored(uid, storeStep{o}.inputs(c.cluster, c.release, model.Keys{}))
	o.credentials.Assume(uid, server, soon)
}

// bootedWith is the hash of the bundle of all slots.
const bootedWith = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// connections returns connections to clusters, and a function that connects to a cluster with three
// slots and five workers.
func connections(tb testing.TB, key types.NamespacedName) (*workload.Clusters, func()) {
	tb.Helper()
	list := corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	for i := range 8 {
		labels := map[string]string{"cluster-operator.aws/instance-group": "demo-workers", model.LabelWorker: ""}
		if i < 3 {
			labels = map[string]string{
				"cluster-operator.aws/slot": strconv.Itoa(i), model.LabelControlPlane: "",
				bundle.Label: bootedWith[:model.BundleLabelLength],
			}
		}
		list.Items = append(list.Items, corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "node-" + strconv.Itoa(i), Labels: labels},
			Spec:       corev1.NodeSpec{ProviderID: "aws:///eu-central-1a/i-" + strconv.Itoa(i)},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") == "" {
			_ = json.NewEncoder(w).Encode(list) // The client reports a failure.
			return
		}
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	connections := workload.New(
		workload.Options{Config: func(types.NamespacedName, []byte) (*rest.Config, error) { return &rest.Config{Host: server.URL}, nil }},
	)
	there := make(chan struct{}, 64)
	connections.Subscribe(func(workload.Change) { there <- struct{}{} })
	tb.Cleanup(func() {
		connections.Close(key)
		server.Close()
	})
	return connections, func() {
		connection, err := connections.Connect(key, nil)
		if err != nil {
			tb.Fatal(err)
		}
		for reachable, _ := connection.Reachable(); !reachable; reachable, _ = connection.Reachable() {
			<-there
		}
	}
}
