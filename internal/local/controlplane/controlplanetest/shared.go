package controlplanetest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/aws-operator/aws-operator/internal/local/controlplane"
)

// shared is the test binary's one control plane.
var shared struct {
	sync.Mutex
	stops   bool // Main is there to stop it
	cluster *controlplane.ControlPlane
	err     error
}

// Main runs the package's tests, then stops what Shared started, and exits with
// the tests' result.
func Main(m *testing.M) {
	shared.Lock()
	shared.stops = true
	shared.Unlock()
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the shared API server:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// MainAtOnce is Main for tests that call t.Parallel and wait more than they compute: by default, so
// many of them run at once for each core. go test -parallel overrides it.
func MainAtOnce(m *testing.M, perCore int) {
	flag.Parse()
	isSet := false
	flag.Visit(func(f *flag.Flag) { isSet = isSet || f.Name == "test.parallel" })
	if !isSet {
		if err := flag.Set("test.parallel", strconv.Itoa(perCore*runtime.GOMAXPROCS(0))); err != nil {
			panic(err) // the testing package has no such flag
		}
	}
	Main(m)
}

func stop() error {
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil {
		return nil
	}
	return shared.cluster.Stop()
}

// Shared returns the API server that all tests of the package share, without
// kube-controller-manager: owned objects stay when their owner goes. It fails
// the test when the package's TestMain does not call Main.
func Shared(tb testing.TB) *controlplane.ControlPlane {
	tb.Helper()
	shared.Lock()
	defer shared.Unlock()
	if !shared.stops {
		tb.Fatal("this package needs: func TestMain(m *testing.M) { controlplanetest.Main(m) }")
	}
	if shared.cluster == nil && shared.err == nil {
		// Not the test's context: others use it after this test has ended.
		shared.cluster, shared.err = controlplane.Start(context.Background(), controlplane.Options{Progress: os.Stderr})
	}
	if shared.err != nil {
		tb.Fatalf("start the shared API server: %v", shared.err)
	}
	return shared.cluster
}

// SharedWithControllers is Shared with kube-controller-manager: owned objects
// go with their owner, and a deleted namespace is emptied.
func SharedWithControllers(tb testing.TB) *controlplane.ControlPlane {
	tb.Helper()
	cluster := Shared(tb)
	if err := cluster.EnsureControllerManager(tb.Context()); err != nil {
		tb.Fatalf("start kube-controller-manager: %v", err)
	}
	return cluster
}

// Namespace makes a namespace for one test and returns its name. It is left
// behind, since a namespace without controllers cannot be emptied; what a test
// makes outside of namespaces it removes itself.
func Namespace(tb testing.TB, cluster *controlplane.ControlPlane) string {
	tb.Helper()
	clients, err := kubernetes.NewForConfig(cluster.RESTConfig())
	if err != nil {
		tb.Fatalf("make a client: %v", err)
	}
	namespace, err := clients.CoreV1().Namespaces().Create(tb.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		tb.Fatalf("make a namespace: %v", err)
	}
	return namespace.Name
}
