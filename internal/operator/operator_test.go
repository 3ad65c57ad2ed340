package operator_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/local/process"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

func TestLeadsServesAndLetsGo(t *testing.T) {
	traces := collect(t)
	cluster := controlplanetest.Shared(t)
	sim := simulatortest.New(t, simulator.Options{})
	server := httptest.NewServer(sim.Handler())
	defer server.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "123456789012")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	ports, err := process.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	probes, metrics := fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1])

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- operator.Run(ctx, operator.Options{
			RESTConfig: cluster.RESTConfig(), Region: "eu-west-1", EndpointURL: server.URL, ClusterName: "blue",
			ProbeAddress: probes, MetricsAddress: metrics, LeaderElect: true, LeaderElectionNamespace: "default",
		})
	}()
	for _, url := range []string{"http://" + probes + "/healthz", "http://" + probes + "/readyz", "http://" + metrics + "/metrics"} {
		await(t, url, ended, func() bool { return answers(t, url) })
	}
	leases := kubernetes.NewForConfigOrDie(cluster.RESTConfig()).CoordinationV1().Leases("default")
	holder := func() string {
		lease, err := leases.Get(t.Context(), "aws-operator-blue", metav1.GetOptions{})
		if err != nil || lease.Spec.HolderIdentity == nil {
			return ""
		}
		return *lease.Spec.HolderIdentity
	}
	await(t, "the lease to be held", ended, func() bool { return holder() != "" })
	await(t, "the operator to make its own stack", ended, func() bool { return sim.Calls()["cloudformation/CreateStack"] > 0 })
	queue := &servicev1alpha1.Object{ObjectMeta: metav1.ObjectMeta{Namespace: controlplanetest.Namespace(t, cluster), Name: "jobs"}}
	create(t, cluster.RESTConfig(), queue)
	checkMetrics(t, "http://"+metrics+"/metrics", queue.Namespace, ended)
	traces.check(t, queue, ended)
	traces.checkExemplars(t, "http://"+metrics+"/metrics", ended)
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the operator's Run returned %v after its context ended", err)
	}
	if by := holder(); by != "" {
		t.Errorf("the lease is still held by %s: the next operator would have to wait for it to run out", by)
	}
}

// create creates an SQSQueue.
func create(t *testing.T, config *rest.Config, queue *servicev1alpha1.Object) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := servicev1alpha1.AddObjectToScheme(scheme, "SQSQueue"); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
}

func answers(t *testing.T, url string) bool {
	t.Helper()
	status, _, err := fetch(t, url, "")
	return err == nil && status == http.StatusOK
}

// fetch returns the status and the body of a response, in the format that a client accepts.
func fetch(t *testing.T, url, accept string) (status int, body string, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

func await(t *testing.T, what string, ended <-chan error, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		select {
		case err := <-ended:
			t.Fatalf("while waiting for %s the operator ended: %v", what, err)
		case <-t.Context().Done():
			t.Fatalf("waited in vain for %s", what)
		case <-ticker.C:
		}
	}
}
