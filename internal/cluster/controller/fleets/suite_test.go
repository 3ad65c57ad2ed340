package fleets_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/fleets"
	"github.com/aws-operator/aws-operator/internal/local/controlplane"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	controlplanetest.Main(m)
}

// crdTimeout bounds how long the API server may take to serve the CRDs.
const crdTimeout = time.Minute

// suite is a namespace of a real API server with the controller of Fleets. The test writes the statuses of Clusters, as
// their controller would.
type suite struct {
	t         *testing.T
	cluster   *controlplane.ControlPlane
	client    client.Client
	namespace string
	clock     *clocktesting.FakeClock
	shards    int
	stop      func()
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	t.Parallel()
	begin := time.Now() // The statuses of Clusters have real times, too.
	w := &suite{t: t, cluster: controlplanetest.Shared(t), clock: clocktesting.NewFakeClock(begin), shards: 1}
	crds, err := v1alpha1.CustomResourceDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), crdTimeout)
	defer cancel()
	if err := operatorkit.EnsureCRDs(ctx, w.cluster.RESTConfig(), "test", crds...); err != nil {
		t.Fatal(err)
	}
	if w.client, err = client.New(w.cluster.RESTConfig(), client.Options{Scheme: scheme(t)}); err != nil {
		t.Fatal(err)
	}
	w.namespace = controlplanetest.Namespace(t, w.cluster)
	return w
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// start runs the controller, in a process for each shard, until w.stop is called or the test ends.
func (w *suite) start() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, w.shards)
	for index := range w.shards {
		mgr := w.manager(operatorkit.Shard{Index: index, Count: w.shards})
		go func() { done <- mgr.Start(ctx) }()
	}
	w.stop = sync.OnceFunc(func() {
		cancel()
		for range w.shards {
			if err := <-done; err != nil {
				w.t.Errorf("the controller returned an error: %v", err)
			}
		}
	})
	w.t.Cleanup(w.stop)
}

func (w *suite) manager(shard operatorkit.Shard) ctrl.Manager {
	w.t.Helper()
	restConfig := rest.CopyConfig(w.cluster.RESTConfig())
	restConfig.QPS = -1
	in := map[string]cache.Config{w.namespace: {}}
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme: scheme(w.t), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
		Cache:      cache.Options{DefaultNamespaces: in, DefaultTransform: cache.TransformStripManagedFields()},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	direct, err := client.New(restConfig, client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := fleets.Setup(mgr, fleets.Options{Direct: direct, Shard: shard, Namespaces: in, Clock: w.clock}); err != nil {
		w.t.Fatal(err)
	}
	return mgr
}

// apply applies a manifest of group cluster-operator.aws by server-side apply.
func (w *suite) apply(manager, kind, name, spec string, options ...client.ApplyOption) error {
	w.t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte("spec: "+spec), &obj.Object); err != nil {
		w.t.Fatal(err)
	}
	obj.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	obj.SetNamespace(w.namespace)
	obj.SetName(name)
	return w.client.Apply(w.t.Context(), client.ApplyConfigurationFromUnstructured(obj), append(options, client.FieldOwner(manager))...)
}

func (w *suite) mustApply(manager, kind, name, spec string, options ...client.ApplyOption) {
	w.t.Helper()
	if err := w.apply(manager, kind, name, spec, options...); err != nil {
		w.t.Fatal(err)
	}
}

// clusters creates Clusters without a release, and a fleet that gives them one; all are Ready then.
func (w *suite) clusters(rollout string, names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.mustApply("author", "Cluster", name, bare)
	}
	w.mustApply("author", "Fleet", "all", "{selector: {}, template: {release: v1.0.0}, rollout: "+rollout+"}")
	for _, name := range names {
		w.eventually("Cluster "+name+" has a release", func() error { return equal(w.get(name).Spec.Release, "v1.0.0") })
		w.heal(name)
	}
	w.reason("all", "RolledOut")
}

// bare is the spec of a Cluster without a release.
const bare = "{region: eu-central-1, network: {cidr: 10.0.0.0/16, zones: [eu-central-1a]}, controlPlane: {replicas: 1}}"

func (w *suite) get(name string) *v1alpha1.Cluster {
	w.t.Helper()
	found := &v1alpha1.Cluster{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, found); err != nil {
		w.t.Fatal(err)
	}
	return found
}

func (w *suite) group(name string) *v1alpha1.InstanceGroup {
	w.t.Helper()
	found := &v1alpha1.InstanceGroup{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, found); err != nil {
		w.t.Fatal(err)
	}
	return found
}

// settings returns what a fleet may set of InstanceGroups.
func (w *suite) settings(names ...string) string {
	w.t.Helper()
	shown := make([]string, len(names))
	for i, name := range names {
		spec := w.group(name).Spec
		pause, batch := "-", "-"
		if spec.RollingUpdate.Pause != nil {
			pause = spec.RollingUpdate.Pause.Duration.String()
		}
		if spec.RollingUpdate.BatchSize != nil {
			batch = spec.RollingUpdate.BatchSize.String()
		}
		shown[i] = fmt.Sprint(name, " ", cmp.Or(spec.Roll, "-"), " ", pause, " ", batch)
	}
	return strings.Join(shown, ", ")
}

func (w *suite) fleet(name string) *v1alpha1.Fleet {
	w.t.Helper()
	found := &v1alpha1.Fleet{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, found); err != nil {
		w.t.Fatal(err)
	}
	return found
}

// conclude writes the status of a Cluster for its current spec.
func (w *suite) conclude(name string, change func(*v1alpha1.Cluster)) {
	w.t.Helper()
	w.eventually("the status is written", func() error {
		c := w.get(name)
		c.Status.ObservedGeneration = c.Generation
		change(c)
		return w.client.Status().Update(w.t.Context(), c)
	})
}

func set(c *v1alpha1.Cluster, conditionType string, status metav1.ConditionStatus, message string) {
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
		Type: conditionType, Status: status, Reason: "Test", Message: message, ObservedGeneration: c.Generation,
	})
}

// heal makes a Cluster Ready with its spec.
func (w *suite) heal(name string) {
	w.t.Helper()
	w.conclude(name, func(c *v1alpha1.Cluster) {
		c.Status.Release, c.Status.Version, c.Status.PendingChanges = c.Spec.Release, "v1.36.3", nil
		set(c, "Ready", metav1.ConditionTrue, "")
		meta.RemoveStatusCondition(&c.Status.Conditions, "Stalled")
	})
}

// healGroup makes an InstanceGroup Ready with its spec.
func (w *suite) healGroup(name string) {
	w.t.Helper()
	w.eventually("the status is written", func() error {
		group := w.group(name)
		group.Status.ObservedGeneration, group.Status.Release = group.Generation, w.get(group.Spec.Cluster).Spec.Release
		meta.SetStatusCondition(&group.Status.Conditions, metav1.Condition{
			Type: "Ready", Status: metav1.ConditionTrue, Reason: "Test", ObservedGeneration: group.Generation,
		})
		return w.client.Status().Update(w.t.Context(), group)
	})
}

// stall makes a Cluster wait for its user.
func (w *suite) stall(name, message string) {
	w.t.Helper()
	w.conclude(name, func(c *v1alpha1.Cluster) {
		set(c, "Ready", metav1.ConditionFalse, message)
		set(c, "Stalled", metav1.ConditionTrue, message)
	})
}

// reason waits until a fleet reports a reason for its last generation, and returns the fleet.
func (w *suite) reason(name, reason string) *v1alpha1.Fleet {
	w.t.Helper()
	var found *v1alpha1.Fleet
	w.eventually(fmt.Sprintf("Fleet %s is %s", name, reason), func() error {
		found = w.fleet(name)
		c := meta.FindStatusCondition(found.Status.Conditions, "Ready")
		if c == nil || c.Reason != reason || c.ObservedGeneration != found.Generation {
			return fmt.Errorf("generation %d: %+v, %+v", found.Generation, c, found.Status.Clusters)
		}
		return nil
	})
	return found
}

// have waits until exactly these Clusters have a release.
func (w *suite) have(release string, names ...string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%v have %s", names, release), func() error { return w.only(release, names...) })
}

func (w *suite) only(release string, names ...string) error {
	var list v1alpha1.ClusterList
	if err := w.client.List(w.t.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		return err
	}
	var found []string
	for i := range list.Items {
		if list.Items[i].Spec.Release == release {
			found = append(found, list.Items[i].Name)
		}
	}
	slices.Sort(found)
	return equal(fmt.Sprint(found), fmt.Sprint(names))
}

// pass moves the clock, and has the fleet reconciled.
func (w *suite) pass(name string, d time.Duration) {
	w.t.Helper()
	w.clock.Step(d)
	w.mark(w.fleet(name), `{"metadata":{"annotations":{"passed":"`+w.clock.Now().String()+`"}}}`)
}

func (w *suite) mark(obj client.Object, patch string) {
	w.t.Helper()
	if err := w.client.Patch(w.t.Context(), obj, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		w.t.Fatal(err)
	}
}

func (w *suite) eventually(what string, check func() error) {
	w.t.Helper()
	patience.Until(w.t, what, check)
}

func equal[T comparable](got, want T) error {
	if got != want {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}

// limit returns a rollout of one wave.
func limit(n int) string { return fmt.Sprintf("{maxConcurrent: %d}", n) }

// events returns the reasons of a fleet's Events.
func (w *suite) events(name string) []string {
	w.t.Helper()
	var list corev1.EventList
	if err := w.client.List(w.t.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	var reasons []string
	for i := range list.Items {
		if list.Items[i].InvolvedObject.Name == name && list.Items[i].InvolvedObject.Kind == "Fleet" {
			reasons = append(reasons, list.Items[i].Reason)
		}
	}
	return reasons
}
