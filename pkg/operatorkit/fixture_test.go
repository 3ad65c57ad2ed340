package operatorkit_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	code := m.Run()
	if err := stopAPIServer(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the API server:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// patience is how long a test waits for a condition before it fails.
const patience = 10 * time.Minute

// shared is the API server of all tests of this package.
var shared struct {
	sync.Mutex

	environment *envtest.Environment
	config      *rest.Config
}

// apiServer returns a client configuration of a real API server, which it starts
// once. It skips the test if KUBEBUILDER_ASSETS does not name a folder with etcd
// and kube-apiserver.
func apiServer(t *testing.T) *rest.Config {
	t.Helper()
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		t.Skip("needs a kube-apiserver: set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver")
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.config != nil {
		return shared.config
	}
	environment := &envtest.Environment{
		BinaryAssetsDirectory:    assets,
		ControlPlaneStartTimeout: patience, ControlPlaneStopTimeout: patience,
	}
	config, err := environment.Start()
	if err != nil {
		t.Fatalf("start the API server: %v", err)
	}
	config.QPS, config.Burst = 1000, 1000
	shared.environment, shared.config = environment, config
	return config
}

func stopAPIServer() error {
	shared.Lock()
	defer shared.Unlock()
	if shared.environment == nil {
		return nil
	}
	return shared.environment.Stop()
}

// newNamespace creates a namespace for one test and returns its name.
func newNamespace(t *testing.T, c client.Client) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

const (
	finalizer = "example.com/widgets"
	paused    = "example.com/paused"
)

var widgetKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}

// Widget is the kind under test.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WidgetSpec   `json:"spec,omitempty"`
	Status WidgetStatus `json:"status,omitempty"`
}

// WidgetSpec is the desired state.
type WidgetSpec struct {
	Size    int64  `json:"size,omitempty"`
	Release string `json:"release,omitempty"`
}

// WidgetStatus is the observed state.
type WidgetStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Made               int64              `json:"made,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// GetConditions implements operatorkit.Conditioned.
func (w *Widget) GetConditions() []metav1.Condition { return w.Status.Conditions }

// SetConditions implements operatorkit.Conditioned.
func (w *Widget) SetConditions(conditions []metav1.Condition) { w.Status.Conditions = conditions }

// SetObservedGeneration implements operatorkit.GenerationObserver.
func (w *Widget) SetObservedGeneration(generation int64) { w.Status.ObservedGeneration = generation }

// DeepCopyObject implements runtime.Object.
func (w *Widget) DeepCopyObject() runtime.Object {
	c := *w
	w.DeepCopyInto(&c.ObjectMeta)
	c.Status.Conditions = slices.Clone(w.Status.Conditions)
	return &c
}

// WidgetList is a list of widgets.
type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Widget `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *WidgetList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = make([]Widget, len(l.Items))
	for i := range l.Items {
		c.Items[i] = *l.Items[i].DeepCopyObject().(*Widget)
	}
	return &c
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	scheme.AddKnownTypes(widgetKind.GroupVersion(), &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(scheme, widgetKind.GroupVersion())
	return scheme
}

// definition returns a CRD whose spec and status allow any fields.
func definition(kind, singular, plural string) *apiextensionsv1.CustomResourceDefinition {
	free := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + widgetKind.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: widgetKind.Group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Singular: singular, Plural: plural},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: widgetKind.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{
						"spec": free, "status": free,
					},
				}},
			}},
		},
	}
}

// suite is the manager of one test, and the namespace that it watches.
type suite struct {
	t         *testing.T
	mgr       manager.Manager
	c         client.Client // without a cache
	namespace string
}

// newSuite returns a manager that watches a namespace of its own. Call start when it is set up.
func newSuite(t *testing.T) *suite {
	t.Helper()
	return newSuiteIn(t, "")
}

// newSuiteIn returns a manager that watches a namespace; empty is one of its own.
func newSuiteIn(t *testing.T, namespace string) *suite {
	t.Helper()
	cfg := apiServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := operatorkit.EnsureCRDs(ctx, cfg, "operatorkit-test", definition("Widget", "widget", "widgets")); err != nil {
		t.Fatal(err)
	}
	scheme := newScheme()
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if namespace == "" {
		namespace = newNamespace(t, c)
	}
	mgr, err := ctrl.NewManager(cfg, manager.Options{
		Scheme:     scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Controller: config.Controller{SkipNameValidation: new(true)}, // Every test has its own manager.
	})
	if err != nil {
		t.Fatal(err)
	}
	return &suite{t: t, mgr: mgr, c: c, namespace: namespace}
}

// start starts the manager and stops it when the test ends.
func (w *suite) start() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- w.mgr.Start(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			w.t.Errorf("the manager stopped with: %v", err)
		}
	})
}

// operate sets up a reconciler of widgets with these options and starts the manager.
func (w *suite) operate(o operatorkit.Options[*Widget]) *operatorkit.Reconciler[*Widget] {
	w.t.Helper()
	o.Client, o.Finalizer, o.PausedAnnotation = w.mgr.GetClient(), finalizer, paused
	r, err := operatorkit.NewReconciler(o)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := r.SetupWithManager(w.mgr); err != nil {
		w.t.Fatal(err)
	}
	w.start()
	return r
}

func (w *suite) create(name string) *Widget {
	w.t.Helper()
	widget := &Widget{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace}}
	if err := w.c.Create(w.t.Context(), widget); err != nil {
		w.t.Fatal(err)
	}
	return widget
}

// get reads the widget from the API server; nil if there is none.
func (w *suite) get(name string) *Widget {
	w.t.Helper()
	widget := &Widget{}
	err := w.c.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, widget)
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return widget
}

// edit changes the widget as a user does.
func (w *suite) edit(name string, change func(*Widget)) {
	w.t.Helper()
	before := w.get(name)
	after := before.DeepCopyObject().(*Widget)
	change(after)
	if err := w.c.Patch(w.t.Context(), after, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *suite) delete(name string) {
	w.t.Helper()
	if err := w.c.Delete(w.t.Context(), w.get(name)); err != nil {
		w.t.Fatal(err)
	}
}

// waitFor waits until the condition has the status and reason for the widget's generation.
func (w *suite) waitFor(name, condition string, status metav1.ConditionStatus, reason string) *Widget {
	w.t.Helper()
	var widget *Widget
	w.eventually(condition+" "+string(status)+" "+reason, func() bool {
		widget = w.get(name)
		c := operatorkit.FindCondition(widget, condition)
		return c != nil && c.Status == status && c.Reason == reason && c.ObservedGeneration == widget.Generation
	}, func() any { return w.get(name).Status })
	return widget
}

func (w *suite) waitDeleted(name string) {
	w.t.Helper()
	w.eventually(name+" is deleted", func() bool { return w.get(name) == nil }, func() any { return w.get(name) })
}

// eventually waits until the condition holds. If it does not, the test fails and reports what was
// seen.
func (w *suite) eventually(what string, holds func() bool, seen func() any) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			w.t.Fatalf("never happened: %s; seen: %+v", what, seen())
		case <-tick.C:
		}
	}
}

// events returns "type reason note" of every Event about the widget.
func (w *suite) events(name string) []string {
	w.t.Helper()
	list := &eventsv1.EventList{}
	if err := w.c.List(w.t.Context(), list, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	var lines []string
	for _, e := range list.Items {
		if e.Regarding.Name == name {
			lines = append(lines, e.Type+" "+e.Reason+" "+e.Note)
		}
	}
	return lines
}

// callLog records the calls of steps, in order.
type callLog struct {
	mu    sync.Mutex
	lines []string
}

func (d *callLog) note(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *callLog) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

// step returns a step that records its calls and is done.
func (d *callLog) step(name string) operatorkit.Step[*Widget] {
	return operatorkit.NewStep(name,
		func(context.Context, *Widget) operatorkit.Outcome { d.note("+" + name); return operatorkit.Done() },
		func(context.Context, *Widget) operatorkit.Outcome { d.note("-" + name); return operatorkit.Done() })
}
