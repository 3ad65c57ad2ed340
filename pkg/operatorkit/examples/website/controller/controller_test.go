package controller_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
	v1 "github.com/aws-operator/aws-operator/pkg/operatorkit/examples/website/api/v1"
	"github.com/aws-operator/aws-operator/pkg/operatorkit/examples/website/controller"
)

var key = types.NamespacedName{Namespace: "default", Name: "home"}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1.AddToScheme(scheme))
	return scheme
}

func newWebsite(title string) *v1.Website {
	site := &v1.Website{Spec: v1.WebsiteSpec{Title: title, Replicas: 1}}
	site.Namespace, site.Name = key.Namespace, key.Name
	return site
}

// reconcileOnce runs the reconciler once and returns the Ready condition.
func reconcileOnce(t *testing.T, c client.Client) *metav1.Condition {
	t.Helper()
	r, err := controller.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
		t.Fatal(err)
	}
	site := &v1.Website{}
	if err := c.Get(t.Context(), key, site); err != nil {
		t.Fatal(err)
	}
	return operatorkit.FindCondition(site, operatorkit.ConditionReady)
}

func TestWebsiteWithoutATitleStalls(t *testing.T) {
	site := newWebsite("")
	c := fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(site).WithStatusSubresource(site).Build()
	if ready := reconcileOnce(t, c); ready == nil || ready.Reason != "TitleMissing" {
		t.Errorf("Ready is %+v, want TitleMissing", ready)
	}
}

func TestWebsiteIsReadyWhenItsPodsAreAvailable(t *testing.T) {
	site := newWebsite("Hello")
	c := fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(site).WithStatusSubresource(site, &appsv1.Deployment{}).Build()
	if ready := reconcileOnce(t, c); ready == nil || ready.Reason != "PodsMissing" {
		t.Errorf("Ready is %+v, want PodsMissing", ready)
	}
	makeAvailable(t, c)
	if ready := reconcileOnce(t, c); ready == nil || ready.Status != metav1.ConditionTrue {
		t.Errorf("Ready is %+v, want True", ready)
	}
}

// makeAvailable sets the Deployment's status as the deployment controller does.
func makeAvailable(t *testing.T, c client.Client) {
	t.Helper()
	deployment := &appsv1.Deployment{}
	if err := c.Get(t.Context(), key, deployment); err != nil {
		t.Fatal(err)
	}
	deployment.Status.Replicas, deployment.Status.ReadyReplicas, deployment.Status.AvailableReplicas = 1, 1, 1
	if err := c.Status().Update(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
}

func TestOperatorServesAWebsite(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("needs a kube-apiserver: set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver")
	}
	ctrl.SetLogger(logr.Discard())
	environment := &envtest.Environment{ControlPlaneStartTimeout: time.Minute, ControlPlaneStopTimeout: time.Minute}
	cfg, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = environment.Stop() })
	crd, err := v1.CRD()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := operatorkit.EnsureCRDs(ctx, cfg, "website-operator", crd); err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{Scheme: newScheme(), Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := controller.Setup(mgr); err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(running) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Errorf("the manager stopped with: %v", err)
		}
	})

	c, err := client.New(cfg, client.Options{Scheme: newScheme()})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Create(ctx, newWebsite("Hello")); err != nil {
		t.Fatal(err)
	}
	waitForReason(ctx, t, c, "PodsMissing")
	makeAvailable(t, c)
	waitForReason(ctx, t, c, "Serving")
	page := &corev1.ConfigMap{}
	if err := c.Get(ctx, key, page); err != nil || page.Data["index.html"] != "<h1>Hello</h1>\n" {
		t.Errorf("page %q, error %v", page.Data, err)
	}
	if err := c.Delete(ctx, newWebsite("")); err != nil {
		t.Fatal(err)
	}
	poll(ctx, t, "the Website is deleted", func() bool { return c.Get(ctx, key, &v1.Website{}) != nil })
}

// waitForReason waits until the Website's Ready condition has the reason.
func waitForReason(ctx context.Context, t *testing.T, c client.Client, reason string) {
	t.Helper()
	poll(ctx, t, "Ready has the reason "+reason, func() bool {
		site := &v1.Website{}
		if err := c.Get(ctx, key, site); err != nil {
			return false
		}
		ready := operatorkit.FindCondition(site, operatorkit.ConditionReady)
		return ready != nil && ready.Reason == reason
	})
}

func poll(ctx context.Context, t *testing.T, what string, holds func() bool) {
	t.Helper()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatal("timed out waiting: " + what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
