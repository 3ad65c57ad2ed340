package controller_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/clusterapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// newClusterAPISuite returns a suite whose API server has minimal kinds of Cluster API, and whose operator
// follows them. The test acts as Cluster API's controllers.
func newClusterAPISuite(t *testing.T) *suite {
	t.Helper()
	w := newSuite(t, simulatedHost(), nil)
	w.clusterAPI = true
	data, err := os.ReadFile("testdata/clusterapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for document := range bytes.SplitSeq(data, []byte("\n---\n")) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(document, crd); err != nil {
			t.Fatal(err)
		}
		if crd.Name != "" {
			crds = append(crds, crd)
		}
	}
	if err := operatorkit.EnsureCRDs(t.Context(), w.cluster.RESTConfig(), "test", crds...); err != nil {
		t.Fatal(err)
	}
	return w
}

func reference(kind, name string) map[string]any {
	return map[string]any{"apiGroup": v1alpha1.Group, "kind": kind, "name": name}
}

// aCAPICluster returns a Cluster of Cluster API that refers to a Cluster.
func (w *suite) aCAPICluster(name, refersTo string) *unstructured.Unstructured {
	return w.aCAPIObject("Cluster", name, map[string]any{
		"infrastructureRef": reference("Cluster", refersTo), "controlPlaneRef": reference("Cluster", refersTo),
	})
}

func (w *suite) aPool(name, cluster, group string, replicas int64) *unstructured.Unstructured {
	return w.aCAPIObject("MachinePool", name, map[string]any{
		"clusterName": cluster, "replicas": replicas,
		"template": map[string]any{"spec": map[string]any{"infrastructureRef": reference("InstanceGroup", group)}},
	})
}

func (w *suite) aCAPIObject(kind, name string, spec map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetAPIVersion("cluster.x-k8s.io/v1beta2")
	obj.SetKind(kind)
	obj.SetNamespace(w.namespace)
	obj.SetName(name)
	return obj
}

// own makes an object of Cluster API the owner of another object, as its controllers do.
func (w *suite) own(owner, owned client.Object) {
	w.t.Helper()
	w.rewrite(owned, func() {
		if err := controllerutil.SetOwnerReference(owner, owned, w.client.Scheme()); err != nil {
			w.t.Fatal(err)
		}
		owned.SetLabels(map[string]string{v1alpha1.ClusterAPINameLabel: owner.GetName()})
	})
}

// rewrite reads an object, changes it and writes the difference.
func (w *suite) rewrite(obj client.Object, change func()) {
	w.t.Helper()
	if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
		w.t.Fatal(err)
	}
	before := obj.DeepCopyObject().(client.Object)
	change()
	if err := w.client.Patch(w.t.Context(), obj, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *suite) setPaused(owner *unstructured.Unstructured, paused bool) {
	w.t.Helper()
	w.rewrite(owner, func() {
		if err := unstructured.SetNestedField(owner.Object, paused, "spec", "paused"); err != nil {
			w.t.Fatal(err)
		}
	})
}

func TestClusterAPIDrivesACluster(t *testing.T) {
	w := newClusterAPISuite(t)
	w.start()
	owner, cluster, group := w.aCAPICluster("one", "one"), w.aCluster("one"), w.aGroup("nodes", "one")
	pool := w.aPool("pool", "one", "nodes", 3)
	w.create(owner, cluster, group, pool)
	w.own(owner, cluster)
	w.own(pool, group)

	w.condition(cluster, conditions.Available, metav1.ConditionTrue, "Available")
	w.condition(cluster, operatorkit.ConditionReady, metav1.ConditionTrue, "")
	w.condition(cluster, conditions.ClusterAPI, metav1.ConditionTrue, clusterapi.ReasonFollowed)
	w.condition(cluster, conditions.CAPIPaused, metav1.ConditionFalse, "NotPaused")
	if is := cluster.Status.Initialization; is == nil || !is.Provisioned || !is.ControlPlaneInitialized {
		t.Errorf("initialization %+v", is)
	}
	if external := cluster.Status.ExternalManagedControlPlane; external == nil || !*external {
		t.Error("Cluster API would expect Machines")
	}
	endpoint := cluster.Spec.ControlPlaneEndpoint
	if endpoint == nil || endpoint.Port != 6443 || !strings.Contains(cluster.Status.Endpoint, endpoint.Host) {
		t.Errorf("endpoint %+v, want that of %s", endpoint, cluster.Status.Endpoint)
	}
	secret, err := w.secret("one-kubeconfig")
	if err != nil {
		t.Fatal(err)
	}
	label := secret.Labels[v1alpha1.ClusterAPINameLabel]
	if secret.Type != v1alpha1.ClusterAPISecretType || label != "one" || len(secret.Data["value"]) == 0 {
		t.Errorf("the kubeconfig has type %s and labels %v", secret.Type, secret.Labels)
	}

	w.nodesInPool(group, 3)
	w.rewrite(pool, func() { _ = unstructured.SetNestedField(pool.Object, int64(2), "spec", "replicas") })
	w.nodesInPool(group, 2)
	w.rewrite(pool, func() { _ = unstructured.SetNestedField(pool.Object, int64(9), "spec", "replicas") })
	refused := w.condition(group, conditions.ClusterAPI, metav1.ConditionFalse, clusterapi.ReasonWriteRefused)
	if !strings.Contains(refused.Message, "replicas must be between minSize and maxSize") {
		t.Errorf("message %q", refused.Message)
	}
	w.rewrite(pool, func() { _ = unstructured.SetNestedField(pool.Object, int64(2), "spec", "replicas") })
	w.condition(group, conditions.ClusterAPI, metav1.ConditionTrue, clusterapi.ReasonFollowed)

	w.setPaused(owner, true)
	for _, obj := range []conditioned{cluster, group} {
		synced := w.condition(obj, operatorkit.ConditionSynced, metav1.ConditionUnknown, operatorkit.ReasonPaused)
		if !strings.Contains(synced.Message, "spec.paused of the Cluster one of Cluster API") {
			t.Errorf("message %q", synced.Message)
		}
		w.condition(obj, conditions.CAPIPaused, metav1.ConditionTrue, "Paused")
	}
	w.setPaused(owner, false)
	w.condition(group, operatorkit.ConditionReady, metav1.ConditionTrue, "")
	w.condition(group, operatorkit.ConditionSynced, metav1.ConditionTrue, "")
	w.condition(cluster, operatorkit.ConditionSynced, metav1.ConditionTrue, "")

	w.rewrite(cluster, func() { cluster.Annotations = map[string]string{v1alpha1.ClusterAPIPausedAnnotation: ""} })
	w.condition(cluster, conditions.CAPIPaused, metav1.ConditionTrue, "Paused")
	w.condition(group, conditions.CAPIPaused, metav1.ConditionTrue, "Paused")
	w.rewrite(cluster, func() { cluster.Annotations = nil })
	w.condition(cluster, operatorkit.ConditionSynced, metav1.ConditionTrue, "")
	w.condition(group, operatorkit.ConditionSynced, metav1.ConditionTrue, "")

	w.rewrite(cluster, func() {
		cluster.OwnerReferences = nil
	})
	w.eventually("the Cluster has nothing of Cluster API", func() error {
		if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
			return err
		}
		if cluster.Status.Initialization != nil || operatorkit.FindCondition(cluster, conditions.Available) != nil ||
			operatorkit.FindCondition(cluster, conditions.ClusterAPI) != nil {
			return fmt.Errorf("%+v %s", cluster.Status.Initialization, describeConditions(cluster.Status.Conditions))
		}
		return nil
	})
}

// nodesInPool waits until a group reports as many nodes to its MachinePool, by the IDs of their instances.
func (w *suite) nodesInPool(group *v1alpha1.InstanceGroup, nodes int) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%d nodes are in the pool", nodes), func() error {
		if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(group), group); err != nil {
			return err
		}
		status := group.Status
		if len(group.Spec.ProviderIDList) != nodes || status.Replicas == nil || int(*status.Replicas) != nodes || !status.ReadyForPool ||
			status.Initialization == nil || !status.Initialization.Provisioned {
			return fmt.Errorf("%v, %+v %v %v %s", group.Spec.ProviderIDList, status.Initialization, status.ReadyForPool, group.Spec.Replicas,
				describeConditions(status.Conditions))
		}
		return nil
	})
	for _, id := range group.Spec.ProviderIDList {
		if !strings.HasPrefix(id, "aws:///eu-central-1") || !strings.Contains(id, "/i-") {
			w.t.Errorf("provider ID %s", id)
		}
	}
}

// An author of Clusters may write any owner reference. It must get them neither a Secret of another
// cluster nor a say in it.
func TestClusterAPIOwnerMustReferToTheCluster(t *testing.T) {
	w := newClusterAPISuite(t)
	w.start()
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "victim-kubeconfig", Namespace: w.namespace}}
	theirs.Data = map[string][]byte{"value": []byte("theirs")}
	elsewhere := w.aCAPICluster("victim", "victim")
	w.create(theirs, elsewhere)
	for name, test := range map[string]struct {
		owner  *unstructured.Unstructured
		change func(*metav1.OwnerReference)
		reason string
	}{
		"other":   {elsewhere, func(*metav1.OwnerReference) {}, clusterapi.ReasonNotReferenced},
		"renamed": {w.aCAPICluster("another", "renamed"), func(*metav1.OwnerReference) {}, clusterapi.ReasonNameDiffers},
		"forged":  {w.aCAPICluster("forged", "forged"), func(o *metav1.OwnerReference) { o.UID = "of-a-deleted-one" }, ""},
	} {
		if test.owner != elsewhere {
			w.create(test.owner)
		}
		cluster := w.aCluster(name)
		if err := controllerutil.SetOwnerReference(test.owner, cluster, w.client.Scheme()); err != nil {
			t.Fatal(err)
		}
		test.change(&cluster.OwnerReferences[0])
		w.create(cluster)
		if test.reason != "" {
			w.condition(cluster, conditions.ClusterAPI, metav1.ConditionFalse, test.reason)
		}
		w.condition(cluster, conditions.API, metav1.ConditionTrue, "")
		if cluster.Status.Initialization != nil || cluster.Spec.ControlPlaneEndpoint != nil ||
			operatorkit.FindCondition(cluster, conditions.Available) != nil {
			t.Errorf("%s follows its owner: %+v", name, cluster.Status.Initialization)
		}
		if secret, err := w.secret(name + "-kubeconfig"); err != nil || secret.Type != corev1.SecretTypeOpaque {
			t.Errorf("%s has a kubeconfig of type %s, %v", name, secret.Type, err)
		}
	}
	if secret, err := w.secret("victim-kubeconfig"); err != nil || string(secret.Data["value"]) != "theirs" {
		t.Errorf("another Secret has been overwritten: %v", err)
	}
}

func TestClusterThatClusterAPITakesOverGetsItsKubeconfig(t *testing.T) {
	w := newClusterAPISuite(t)
	w.start()
	owner, cluster := w.aCAPICluster("one", "one"), w.aCluster("one")
	w.create(cluster)
	w.condition(cluster, operatorkit.ConditionReady, metav1.ConditionTrue, "")
	before, err := w.secret("one-kubeconfig")
	if err != nil || before.Type != corev1.SecretTypeOpaque {
		t.Fatalf("type %s, %v", before.Type, err)
	}
	w.create(owner)
	w.own(owner, cluster)
	w.eventually("the kubeconfig has the type of Cluster API", func() error {
		secret, err := w.secret("one-kubeconfig")
		if err == nil && (secret.Type != v1alpha1.ClusterAPISecretType || !metav1.IsControlledBy(secret, cluster)) {
			err = errors.New(string(secret.Type))
		}
		return err
	})
}
