package clusterapi_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// TestClusterAPI applies the example and follows it through its life with the controllers of Cluster API.
func TestClusterAPI(t *testing.T) {
	if os.Getenv("TEST_CLUSTER_API") == "" {
		t.Skip("set TEST_CLUSTER_API=1, or run make test-cluster-api")
	}
	e := newEnvironment(t)
	e.apply("../../examples/clusterapi/cluster.yaml")
	name := metav1.ObjectMeta{Namespace: e.namespace, Name: "shop"}
	workers := metav1.ObjectMeta{Namespace: e.namespace, Name: "shop-workers"}
	owner, cluster := &clusterv1.Cluster{ObjectMeta: name}, &v1alpha1.Cluster{ObjectMeta: name}
	pool, group := &clusterv1.MachinePool{ObjectMeta: workers}, &v1alpha1.InstanceGroup{ObjectMeta: workers}

	e.until("Cluster API says that the cluster is available", owner, func() error {
		if owner.Status.Phase != string(clusterv1.ClusterPhaseProvisioned) {
			return fmt.Errorf("phase %q\n\t%w", owner.Status.Phase, isTrue(owner.Status.Conditions, clusterv1.ClusterAvailableCondition))
		}
		return isTrue(owner.Status.Conditions, clusterv1.ClusterAvailableCondition, clusterv1.ClusterControlPlaneInitializedCondition,
			clusterv1.ClusterInfrastructureReadyCondition, clusterv1.ClusterControlPlaneAvailableCondition,
			clusterv1.ClusterRemoteConnectionProbeCondition)
	})
	e.get(cluster)
	if endpoint := owner.Spec.ControlPlaneEndpoint; endpoint.Port != 6443 || !strings.Contains(cluster.Status.Endpoint, endpoint.Host) {
		t.Errorf("Cluster API has the endpoint %v, want that of %s", endpoint, cluster.Status.Endpoint)
	}
	e.hasNodes(pool, group, 2)

	t.Run("kubeconfig", func(t *testing.T) { e.kubeconfigWorks(t) })
	t.Run("describe", func(t *testing.T) {
		out := e.runClusterctl("describe", "cluster", "shop", "--show-conditions", "all")
		t.Log("\n" + out)
		for _, want := range []string{
			`ControlPlaneInitialized +True`, `RemoteConnectionProbe +True`, `APIReachable +True`, `Cluster .*/shop`, `MachinePool .*/shop-workers`,
		} {
			if !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("clusterctl describe lacks %q", want)
			}
		}
	})

	e.edit(pool, func() { pool.Spec.Replicas = new(int32(4)) })
	e.hasNodes(pool, group, 4)
	e.edit(pool, func() { pool.Spec.Replicas = new(int32(1)) })
	e.hasNodes(pool, group, 1)

	e.pauses(owner, cluster, group)

	if err := e.client.Delete(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	patience.Until(t, "Cluster API has deleted the cluster", func() error {
		for _, obj := range []client.Object{owner, pool, cluster, group} {
			err := e.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)
			if !apierrors.IsNotFound(err) {
				return errors.Join(err, fmt.Errorf("%T %s exists: %v\n%v", obj, obj.GetName(), owner.Status.Conditions, cluster.Status.Conditions))
			}
		}
		return nil
	})
	if stacks, instances := e.stacks(), e.instances(); len(stacks) > 0 || len(instances) > 0 {
		t.Errorf("AWS still has stacks %v and instances %v", stacks, instances)
	}
}

// hasNodes waits until the MachinePool refers to as many Nodes, of instances that run.
func (e *environment) hasNodes(pool *clusterv1.MachinePool, group *v1alpha1.InstanceGroup, nodes int) {
	e.t.Helper()
	e.until(fmt.Sprintf("the MachinePool has %d nodes", nodes), pool, func() error {
		e.get(group)
		status := pool.Status
		if len(status.NodeRefs) != nodes || len(pool.Spec.ProviderIDList) != nodes || status.Replicas == nil || int(*status.Replicas) != nodes ||
			status.Phase != string(clusterv1.MachinePoolPhaseRunning) {
			return fmt.Errorf("phase %s, nodes %v, provider IDs %v, replicas %v\n\t%w", status.Phase, status.NodeRefs, pool.Spec.ProviderIDList,
				status.Replicas, isTrue(group.Status.Conditions, operatorkit.ConditionReady))
		}
		return nil
	})
	instances := e.instances()
	for _, id := range pool.Spec.ProviderIDList {
		if !slices.Contains(instances, id[strings.LastIndex(id, "/")+1:]) {
			e.t.Errorf("the MachinePool has %s, which is none of the instances %v", id, instances)
		}
	}
}

// kubeconfigWorks reads the nodes of the cluster with what clusterctl returns.
func (e *environment) kubeconfigWorks(t *testing.T) {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(e.runClusterctl("get", "kubeconfig", "shop")))
	if err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	list, err := clients.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 5 {
		t.Fatalf("the cluster has %d nodes, want 5: %v", len(list.Items), err)
	}
	owned := 0
	for i := range list.Items {
		if list.Items[i].Annotations[clusterv1.OwnerNameAnnotation] == "shop-workers" {
			owned++
		}
	}
	if owned != 2 {
		t.Errorf("Cluster API has annotated %d nodes, want 2", owned)
	}
}

// pauses pauses the cluster in Cluster API, changes the group, and sees that nothing happens until it is resumed.
func (e *environment) pauses(owner *clusterv1.Cluster, cluster *v1alpha1.Cluster, group *v1alpha1.InstanceGroup) {
	e.t.Helper()
	e.edit(owner, func() { owner.Spec.Paused = new(true) })
	for _, obj := range []interface {
		client.Object
		GetConditions() []metav1.Condition
	}{cluster, group} {
		e.until(fmt.Sprintf("%T is paused", obj), obj, func() error {
			return isTrue(obj.GetConditions(), clusterv1.PausedCondition)
		})
	}
	e.edit(group, func() { group.Spec.Tags = map[string]string{"team": "shop"} })
	e.until("the operator has seen the change, and is paused", group, func() error {
		synced := meta.FindStatusCondition(group.Status.Conditions, operatorkit.ConditionSynced)
		if synced == nil || synced.Reason != operatorkit.ReasonPaused || synced.ObservedGeneration != group.Generation {
			return fmt.Errorf("%+v", synced)
		}
		return nil
	})
	e.edit(owner, func() { owner.Spec.Paused = new(false) })
	e.until("the group is changed", group, func() error {
		synced := meta.FindStatusCondition(group.Status.Conditions, operatorkit.ConditionSynced)
		if synced == nil || synced.ObservedGeneration != group.Generation {
			return fmt.Errorf("%+v", synced)
		}
		return isTrue(group.Status.Conditions, operatorkit.ConditionReady, operatorkit.ConditionSynced)
	})
}
