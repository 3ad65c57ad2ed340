package operatorkit_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	controlplanetest.Main(m)
}

const (
	finalizer = "example.com/widgets"
	paused    = "example.com/paused"
)

var widgetKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}

// Widget is the kind under test: a size is asked for, a label is the result.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WidgetSpec        `json:"spec,omitempty"`
	Output map[string]string `json:"output,omitempty"`
	Status WidgetStatus      `json:"status,omitempty"`
}

// WidgetSpec is what a user asks for.
type WidgetSpec struct {
	Size    int64  `json:"size,omitempty"`
	Release string `json:"release,omitempty"`
}

// WidgetStatus is what the operator found.
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
	c.Output = maps.Clone(w.Output)
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

// definition makes a CRD with a spec and a status of free form.
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
						"output": {Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{
							Allows: true, Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"},
						}},
					},
				}},
			}},
		},
	}
}

// suite is one test's operator and the namespace that it looks after.
type suite struct {
	t         *testing.T
	mgr       manager.Manager
	c         client.Client // straight to the API server
	namespace string
}

// newSuite makes a manager that looks after a namespace of its own; start it when it is set up.
func newSuite(t *testing.T) *suite {
	t.Helper()
	cluster := controlplanetest.Shared(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := operatorkit.EnsureCRDs(ctx, cluster.RESTConfig(), "operatorkit-test", definition("Widget", "widget", "widgets")); err != nil {
		t.Fatal(err)
	}
	namespace := controlplanetest.Namespace(t, cluster)
	mgr, err := ctrl.NewManager(cluster.RESTConfig(), manager.Options{
		Scheme:     newScheme(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Controller: config.Controller{SkipNameValidation: new(true)}, // every test has its own manager
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cluster.RESTConfig(), client.Options{Scheme: mgr.GetScheme()})
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

// waitFor waits until the condition says status and reason for the widget's generation.
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

func (w *suite) waitGone(name string) {
	w.t.Helper()
	w.eventually(name+" is gone", func() bool { return w.get(name) == nil }, func() any { return w.get(name) })
}

// eventually waits until the condition holds; it fails the test, with what is seen, if it never does.
func (w *suite) eventually(what string, holds func() bool, seen func() any) {
	w.t.Helper()
	ctx := patience.Context(w.t)
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

// diary is what steps note down, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

// step notes down that it was called and is done.
func (d *diary) step(name string) operatorkit.Step[*Widget] {
	return operatorkit.NewStep(name,
		func(context.Context, *Widget) operatorkit.Outcome { d.note("+" + name); return operatorkit.Done() },
		func(context.Context, *Widget) operatorkit.Outcome { d.note("-" + name); return operatorkit.Done() })
}
