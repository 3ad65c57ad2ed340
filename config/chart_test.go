package config_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/loader"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/kube"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/config/chart"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/operator/operatortest"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// The API server accepts everything that the chart renders, and the level restricted of Pod Security
// its pods. https://kubernetes.io/docs/concepts/security/pod-security-standards/
func TestTheAPIServerAcceptsTheChart(t *testing.T) {
	admin := controlplanetest.Shared(t).RESTConfig()
	kinds := []*apiextensionsv1.CustomResourceDefinition{prometheusKind("ServiceMonitor"), prometheusKind("PrometheusRule")}
	if err := operatorkit.EnsureCRDs(t.Context(), admin, "test", kinds...); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(admin, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("chart/testdata/*.values.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no values: %v", err)
	}
	for _, namespace := range []string{"team-a", "team-b", "leases"} { // those of the values
		makeNamespace(t, c, namespace)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".values.yaml")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			values := map[string]any{}
			if err := k8syaml.Unmarshal(data, &values); err != nil {
				t.Fatal(err)
			}
			namespace := "chart-" + name
			makeNamespace(t, c, namespace)
			manifests, err := chart.Render("chart/aws-operator", chart.Release{Name: "demo", Namespace: namespace}, values)
			if err != nil {
				t.Fatal(err)
			}
			for _, object := range objects(t, []byte(manifests)) {
				options := []client.ApplyOption{client.FieldOwner("chart"), client.DryRunAll}
				if object.GetKind() == "ServiceAccount" { // The admission of the pod asks for it.
					options = options[:1]
				}
				if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), options...); err != nil {
					t.Errorf("apply %s %s: %v", object.GetKind(), object.GetName(), err)
				}
			}
			if name == "single" {
				account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "existing"}}
				if err := c.Create(t.Context(), account); err != nil {
					t.Fatal(err)
				}
			}
			admit(t, c, manifests)
		})
	}
}

// admit asks the API server to admit a pod of each Deployment in manifests, and to refuse it with one
// privilege more.
func admit(t *testing.T, c client.Client, manifests string) {
	t.Helper()
	for _, object := range objects(t, []byte(manifests)) {
		if object.GetKind() != "Deployment" {
			continue
		}
		deployment := &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, deployment); err != nil {
			t.Fatal(err)
		}
		pod := &corev1.Pod{ObjectMeta: deployment.Spec.Template.ObjectMeta, Spec: deployment.Spec.Template.Spec}
		pod.Namespace, pod.Name = deployment.Namespace, "pod"
		pod.Spec.PriorityClassName = "" // It need not exist.
		if err := c.Create(t.Context(), pod.DeepCopy(), client.DryRunAll); err != nil {
			t.Errorf("a pod of %s is not admitted: %v", deployment.Name, err)
		}
		pod.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = new(true)
		if err := c.Create(t.Context(), pod, client.DryRunAll); !apierrors.IsForbidden(err) {
			t.Errorf("a pod of %s that may escalate privileges gives %v, want it forbidden", deployment.Name, err)
		}
	}
}

func makeNamespace(t *testing.T, c client.Client, name string) {
	t.Helper()
	err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}})
	if client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
}

// prometheusKind defines a kind of the Prometheus operator, with any fields.
func prometheusKind(kind string) *apiextensionsv1.CustomResourceDefinition {
	singular := strings.ToLower(kind)
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: singular + "s.monitoring.coreos.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "monitoring.coreos.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: singular + "s", Singular: singular, Kind: kind, ListKind: kind + "List",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: new(true),
				}},
			}},
		},
	}
}

// Helm installs, upgrades and uninstalls the chart while an object exists. The object and its kind
// outlive the uninstallation, and the operator of the next one continues with it.
func TestUninstallationKeepsObjects(t *testing.T) {
	admin := controlplanetest.SharedWithControllers(t).RESTConfig()
	c, err := client.New(admin, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	operatortest.Releases(t, admin, "v1.36.3") // for the operator's controllers of clusters
	aws := startAWS(t)
	helm := newHelm(t)
	values := aws.values(t)
	values["roles"] = map[string]any{"create": false} // Those of operator.yaml, which other tests apply, are not Helm's.
	manifests := helm.install(t, values)
	stop := runOperator(t, admin, manifests)
	table := apply(t, c, "testdata/table.yaml")[0]
	await(t, c, table, "Ready", func(now *unstructured.Unstructured, err error) bool { return err == nil && ready(now) })
	stop()

	values["watchNamespaces"] = []any{metav1.NamespaceDefault}
	manifests = helm.upgrade(t, values)
	stop = runOperator(t, admin, manifests)
	change(t, c, table, 7)
	stop()

	helm.uninstall(t)
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(table.GroupVersionKind())
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(table), now); err != nil || now.GetDeletionTimestamp() != nil || !ready(now) {
		t.Fatalf("after the uninstallation, the table is %v, %v", now.Object, err)
	}
	account := &corev1.ServiceAccount{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: helm.namespace, Name: "helm-aws-operator"}, account); !apierrors.IsNotFound(err) {
		t.Errorf("after the uninstallation, the operator's service account gives %v", err)
	}

	manifests = helm.install(t, values)
	runOperator(t, admin, manifests)
	change(t, c, table, 9)
	if err := c.Delete(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	await(t, c, table, "deleted", func(_ *unstructured.Unstructured, err error) bool {
		return err != nil && client.IgnoreNotFound(err) == nil
	})
}

// change changes the capacity of a table, and waits until that is done.
func change(t *testing.T, c client.Client, table *unstructured.Unstructured, units int64) {
	t.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"readCapacityUnits":`+strconv.FormatInt(units, 10)+`}}`))
	now := table.DeepCopy()
	if err := c.Patch(t.Context(), now, patch); err != nil {
		t.Fatal(err)
	}
	changed := now.GetGeneration()
	await(t, c, table, "changed", func(now *unstructured.Unstructured, err error) bool {
		observed, _, _ := unstructured.NestedInt64(now.Object, "status", "observedGeneration")
		return err == nil && observed >= changed && ready(now)
	})
}

// helm is the Helm release of a test.
type helm struct {
	settings        *cli.EnvSettings
	name, namespace string
}

func newHelm(t *testing.T) *helm {
	t.Helper()
	cluster := controlplanetest.Shared(t)
	h := &helm{name: "helm", namespace: controlplanetest.Namespace(t, cluster)}
	controlplanetest.UseKubeconfig(t, cluster.RESTConfig(), h.namespace)
	h.settings = cli.New()
	h.settings.SetNamespace(h.namespace)
	return h
}

func (h *helm) configuration(t *testing.T) *action.Configuration {
	t.Helper()
	configuration := action.NewConfiguration()
	if err := configuration.Init(h.settings.RESTClientGetter(), h.namespace, "secret"); err != nil {
		t.Fatal(err)
	}
	return configuration
}

// install installs the chart and returns what it renders. Helm waits for nothing: no kubelet runs pods.
func (h *helm) install(t *testing.T, values map[string]any) string {
	t.Helper()
	loaded, err := loader.Load("chart/aws-operator")
	if err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(h.configuration(t))
	install.ReleaseName, install.Namespace, install.WaitStrategy = h.name, h.namespace, kube.HookOnlyStrategy
	if _, err := install.RunWithContext(t.Context(), loaded, values); err != nil {
		t.Fatal(err)
	}
	return h.rendered(t, values)
}

func (h *helm) upgrade(t *testing.T, values map[string]any) string {
	t.Helper()
	loaded, err := loader.Load("chart/aws-operator")
	if err != nil {
		t.Fatal(err)
	}
	upgrade := action.NewUpgrade(h.configuration(t))
	upgrade.Namespace, upgrade.WaitStrategy = h.namespace, kube.HookOnlyStrategy
	if _, err := upgrade.RunWithContext(t.Context(), h.name, loaded, values); err != nil {
		t.Fatal(err)
	}
	return h.rendered(t, values)
}

func (h *helm) rendered(t *testing.T, values map[string]any) string {
	t.Helper()
	manifests, err := chart.Render("chart/aws-operator", chart.Release{Name: h.name, Namespace: h.namespace}, values)
	if err != nil {
		t.Fatal(err)
	}
	return manifests
}

func (h *helm) uninstall(t *testing.T) {
	t.Helper()
	uninstall := action.NewUninstall(h.configuration(t))
	uninstall.WaitStrategy = kube.HookOnlyStrategy
	if _, err := uninstall.Run(h.name); err != nil {
		t.Fatal(err)
	}
}
