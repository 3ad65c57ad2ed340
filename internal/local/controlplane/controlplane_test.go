package controlplane_test

import (
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/aws-operator/aws-operator/internal/local/controlplane"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

func TestServesByItsKubeconfig(t *testing.T) {
	cluster := controlplanetest.Shared(t)
	config, err := clientcmd.RESTConfigFromKubeConfig(cluster.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	clients := clientsFor(t, config)
	if _, err := clients.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Errorf("the default namespace, which most people apply to first: %v", err)
	}
}

func TestRejectsUnknownClients(t *testing.T) {
	cluster := controlplanetest.Shared(t)
	config := cluster.RESTConfig()
	config.CertData, config.KeyData = nil, nil
	_, err := clientsFor(t, config).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsUnauthorized(err) {
		t.Errorf("a client without a certificate got %v, want 401 Unauthorized", err)
	}
}

func TestCollectsWhatAnObjectOwned(t *testing.T) {
	cluster := controlplanetest.SharedWithControllers(t)
	clients := clientsFor(t, cluster.RESTConfig())
	maps := clients.CoreV1().ConfigMaps(controlplanetest.Namespace(t, cluster))
	owner := makeMap(t, maps, "owner", "", "")
	owned := makeMap(t, maps, "owned", owner.Name, owner.UID)
	if err := maps.Delete(t.Context(), owner.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		_, err := maps.Get(t.Context(), owned.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the owned object is still there")
		case <-ticker.C:
		}
	}
}

func TestStopLeavesNothingBehind(t *testing.T) {
	cluster, err := controlplane.Start(t.Context(), controlplane.Options{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(cluster.Dir()); !os.IsNotExist(err) {
		t.Errorf("its folder: %v, want it removed", err)
	}
	if _, err := clientsFor(t, cluster.RESTConfig()).Discovery().ServerVersion(); err == nil {
		t.Error("its API still serves")
	}
}

func TestReportsWhyAComponentDoesNotStart(t *testing.T) {
	_, err := controlplane.Start(t.Context(), controlplane.Options{
		Binaries: controlplane.Binaries{Etcd: "/bin/false", APIServer: "/bin/false"},
	})
	if err == nil {
		t.Fatal("started without a working etcd")
	}
	t.Log(err)
}

func clientsFor(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

func makeMap(t *testing.T, maps typedcorev1.ConfigMapInterface, name, owner string, uid types.UID) *corev1.ConfigMap {
	t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if owner != "" {
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner, UID: uid}}
	}
	made, err := maps.Create(t.Context(), m, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}
