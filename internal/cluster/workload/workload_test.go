package workload_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/patience"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// TestNodes watches nodes of a real API server: it reports changes, but not heartbeats.
func TestNodes(t *testing.T) {
	server := controlplanetest.Shared(t)
	clusters := workload.New(workload.Options{Config: func(types.NamespacedName, []byte) (*rest.Config, error) {
		return rest.CopyConfig(server.RESTConfig()), nil
	}})
	news := make(chan workload.Change, 100)
	clusters.Subscribe(func(c workload.Change) { news <- c })
	key := types.NamespacedName{Namespace: "a", Name: "b"}
	cluster, err := clusters.Connect(key, []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	if change := next(t, news); change != (workload.Change{Cluster: key, Whole: true}) {
		t.Errorf("the first news is %+v, not that the cluster is reachable", change)
	}
	if reachable, problem := cluster.Reachable(); !reachable {
		t.Errorf("the cluster is not reachable: %s", problem)
	}
	if same, err := clusters.Connect(key, []byte("one")); same != cluster || err != nil {
		t.Errorf("the same kubeconfig made another connection: %v", err)
	}
	nodes := kubernetes.NewForConfigOrDie(server.RESTConfig()).CoreV1().Nodes()
	node, err := nodes.Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:   "n",
			Labels: map[string]string{"cluster-operator.aws/instance-group": "g", "cluster-operator.aws/bundle": "0123"},
		},
		Spec: corev1.NodeSpec{ProviderID: "aws:///eu-central-1a/i-1"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nodes.Delete(context.Background(), "n", metav1.DeleteOptions{}) })
	if change := next(t, news); change.Group != "g" || change.Whole {
		t.Errorf("a new node makes the news %+v", change)
	}
	for _, heartbeat := range []bool{false, true} {
		node.Status.Conditions = []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()},
		}
		node.Status.NodeInfo.KernelVersion = map[bool]string{true: "beat"}[heartbeat]
		if node, err = nodes.UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if change := next(t, news); change.Group != "g" {
		t.Errorf("a node that is ready makes the news %+v", change)
	}
	if in, found, ok := clusters.NodeOf("i-1"); !ok || in != cluster || !found.Ready || found.Bundle != "0123" ||
		found.Slot != workload.NoSlot {
		t.Errorf("the node of i-1 is %+v", found)
	}
	if err := nodes.Delete(t.Context(), "n", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if change := next(t, news); change.Group != "g" {
		t.Errorf("a node that goes makes the news %+v", change)
	}
	if left := cluster.Nodes(); len(left) != 0 {
		t.Errorf("the heartbeat was news, or nodes are left: %v", left)
	}
	clusters.Close(key)
	if clusters.Get(key) != nil {
		t.Error("the connection is kept after it was closed")
	}
}

// TestUnreachable says why an API does not answer.
func TestUnreachable(t *testing.T) {
	clusters := workload.New(workload.Options{Config: func(types.NamespacedName, []byte) (*rest.Config, error) {
		return &rest.Config{Host: "https://127.0.0.1:1"}, nil
	}})
	cluster, err := clusters.Connect(types.NamespacedName{Name: "b"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer clusters.Close(types.NamespacedName{Name: "b"})
	deadline := time.After(patience.Left(t))
	for {
		reachable, problem := cluster.Reachable()
		if reachable {
			t.Fatal("nothing listens there")
		}
		if problem != "" && problem != "it has not responded yet" {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("the problem is still %q", problem)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func next(t *testing.T, news <-chan workload.Change) workload.Change {
	t.Helper()
	return patience.Receive(t, "a change", news)
}

// TestAPanicCostsOneConnectionNotTheOperator: what a workload cluster answers is not to be trusted.
func TestAPanicCostsOneConnectionNotTheOperator(t *testing.T) {
	server := controlplanetest.Shared(t)
	clusters := workload.New(workload.Options{Config: func(types.NamespacedName, []byte) (*rest.Config, error) {
		return rest.CopyConfig(server.RESTConfig()), nil
	}})
	news := make(chan workload.Change, 100)
	clusters.Subscribe(func(c workload.Change) {
		if c.Group == "hostile" {
			panic("a node that nothing is prepared for")
		}
		news <- c
	})
	key := types.NamespacedName{Namespace: "a", Name: "panics"}
	if _, err := clusters.Connect(key, []byte("one")); err != nil {
		t.Fatal(err)
	}
	defer clusters.Close(key)
	if change := next(t, news); !change.Whole {
		t.Fatalf("the first news is %+v, not that the cluster is reachable", change)
	}
	nodes := kubernetes.NewForConfigOrDie(server.RESTConfig()).CoreV1().Nodes()
	for _, group := range []string{"hostile", "good"} {
		name := "of-" + group
		if _, err := nodes.Create(t.Context(), &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"cluster-operator.aws/instance-group": group}},
			Spec:       corev1.NodeSpec{ProviderID: "aws:///eu-central-1a/i-" + group},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nodes.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	}
	if change := next(t, news); change.Group != "good" {
		t.Errorf("after a panic the news is %+v", change)
	}
}

// A reconcile may request a connection while the process stops. Nothing would close it.
func TestNoConnectionIsMadeAfterTheEnd(t *testing.T) {
	clusters := workload.New(workload.Options{Config: func(types.NamespacedName, []byte) (*rest.Config, error) {
		return &rest.Config{Host: "http://192.0.2.1"}, nil
	}})
	ended, end := context.WithCancel(t.Context())
	end()
	if err := clusters.Start(ended); err != nil {
		t.Fatal(err)
	}
	key := types.NamespacedName{Namespace: "a", Name: "b"}
	if made, err := clusters.Connect(key, []byte("one")); err == nil || clusters.Get(key) != nil {
		t.Errorf("connected to %v after the end", made)
	}
}
