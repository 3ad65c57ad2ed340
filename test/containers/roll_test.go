package containers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/aws-operator/aws-operator/internal/patience"
)

const rolling = `
apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: rolls, namespace: default}
spec:
  release: v1.36.3-containers
  region: eu-central-1
  network: {cidr: 10.20.0.0/16, zones: [eu-central-1a], topology: Public}
  controlPlane: {replicas: 3, instanceType: t3.medium}
---
apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata: {name: rolls-workers, namespace: default}
spec:
  cluster: rolls
  minSize: 2
  maxSize: 3
  instanceTypes: [t3.medium]
  # Otherwise an empty node is held for the 5 minutes of AWS's deregistration delay.
  rollingUpdate: {drainTimeout: 3m}
`

// balancers are the load balancers of an application, by the name of their Service.
var balancers = map[string]map[string]string{
	"shop-classic": nil,
	"shop-network": {"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"},
}

// All nodes are replaced, three slots and two workers, while clients send requests to an application
// through its load balancers and to the cluster's API through that of the control plane. Every request
// is answered; one that fails with its connection is answered on another one.
func TestRollingUpdateUnderLoad(t *testing.T) {
	skip(t)
	env, client := start(t)
	objects := apply(t, client, rolling)
	for _, object := range objects {
		await(t, client, object)
	}
	w, c := connect(t, env, "rolls"), clouds(t, env)
	w.runShop(t)
	before := w.nodes(t)
	if len(before) != 5 {
		t.Fatalf("the cluster has %d nodes, want three slots and two workers", len(before))
	}

	phase := &atomic.Pointer[string]{}
	set := func(text string) { phase.Store(&text) }
	set("nothing changes")
	var loads []*load
	for name := range balancers {
		host := w.balancerOf(t, c, name)
		loads = append(loads, c.shopLoad(host, name, true, phase), c.shopLoad(host, name, false, phase))
	}
	loads = append(loads, w.apiLoad(t, true, phase), w.apiLoad(t, false, phase))
	for _, l := range loads {
		l.start(t)
	}
	began := time.Now()
	roll(t, client, objects)
	patience.Until(t, "all nodes are replaced", func() error {
		nodes, err := w.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		text := describe(nodes.Items, before)
		if text != *phase.Load() {
			t.Logf("after %s: %s", time.Since(began).Round(time.Second), text)
			set(text)
		}
		return replaced(nodes.Items, before)
	})
	for _, object := range objects {
		await(t, client, object)
	}
	t.Logf("three slots and two workers were replaced in %s", time.Since(began).Round(time.Second))
	set("all nodes are replaced")
	for _, l := range loads {
		l.end(t)
	}
	for name := range balancers {
		if err := w.client.CoreV1().Services("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
	for _, object := range slices.Backward(objects) {
		remove(t, client, object)
	}
}

// roll requests the replacement of all nodes.
func roll(t *testing.T, client dynamic.Interface, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		patch := `{"spec": {"roll": "under load"}}`
		if object.GetKind() == "Cluster" {
			patch = `{"spec": {"controlPlane": {"roll": "under load"}}}`
		}
		_, err := client.Resource(kinds[object.GetKind()]).Namespace("default").
			Patch(t.Context(), object.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// nodes returns the UIDs of the nodes by their names.
func (w *workload) nodes(t *testing.T) map[types.UID]string {
	t.Helper()
	nodes, err := w.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[types.UID]string{}
	for i := range nodes.Items {
		found[nodes.Items[i].UID] = nodes.Items[i].Name
	}
	return found
}

// describe describes the nodes, for the log.
func describe(nodes []corev1.Node, before map[types.UID]string) string {
	var list []string
	for i := range nodes {
		node := &nodes[i]
		_, old := before[node.UID]
		text := "new "
		if old {
			text = "old "
		}
		if _, slot := node.Labels["node-role.kubernetes.io/control-plane"]; slot {
			text += "slot "
		}
		text += strings.TrimSuffix(node.Name, ".eu-central-1.compute.internal")
		if node.Spec.Unschedulable {
			text += " is drained"
		} else if !ready(node) {
			text += " is not ready"
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// replaced returns an error unless other nodes serve in place of all those before.
func replaced(nodes []corev1.Node, before map[types.UID]string) error {
	var errs []error
	for i := range nodes {
		node := &nodes[i]
		if name, old := before[node.UID]; old {
			errs = append(errs, fmt.Errorf("%s exists", name))
		} else if node.Spec.Unschedulable || !ready(node) {
			errs = append(errs, fmt.Errorf("%s does not serve", node.Name))
		}
	}
	if len(nodes) != len(before) {
		errs = append(errs, fmt.Errorf("there are %d nodes", len(nodes)))
	}
	return errors.Join(errs...)
}

// runShop runs an application as its operator would who wants no request to fail: a new pod gets
// requests when it answers, an old one ends some time after it gets no new ones, and a drain evicts
// one pod at a time.
// https://kubernetes.io/docs/tutorials/services/pods-and-endpoint-termination-flow/
func (w *workload) runShop(t *testing.T) {
	t.Helper()
	labels := map[string]string{"app": "shop"}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	one := intstr.FromInt32(1)
	pod := corev1.PodSpec{
		TerminationGracePeriodSeconds: new(int64(40)),
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: selector,
		}},
		Containers: []corev1.Container{{
			Name: "shop", Image: image, Ports: []corev1.ContainerPort{{ContainerPort: 8080}},
			ReadinessProbe: &corev1.Probe{
				ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(8080)}},
				PeriodSeconds: 2, TimeoutSeconds: 5,
			},
			Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 15}}},
		}},
	}
	_, err := w.client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)), Selector: selector,
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.client.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: selector},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, annotations := range balancers {
		_, err := w.client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeLoadBalancer, Selector: labels,
				Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	patience.Until(t, "the application is available", func() error {
		shop, err := w.client.AppsV1().Deployments("default").Get(t.Context(), "shop", metav1.GetOptions{})
		if err == nil && shop.Status.AvailableReplicas != 3 {
			err = fmt.Errorf("%d of 3 pods are available", shop.Status.AvailableReplicas)
		}
		return err
	})
}

// balancerOf returns the host name of a Service's load balancer, when requests reach pods through it.
func (w *workload) balancerOf(t *testing.T, c *cloud, name string) string {
	t.Helper()
	host := w.hostOf(t, name)
	patience.Until(t, "the load balancer of the Service "+name+" leads to a pod", func() error {
		_, err := c.get(t.Context(), host, "80")
		return err
	})
	return host
}

// shopLoad sends requests to the application from the host. They are no GETs, because net/http would
// silently repeat those.
func (c *cloud) shopLoad(host, name string, fresh bool, phase *atomic.Pointer[string]) *load {
	return &load{
		name: loadName(name, fresh), fresh: fresh, strict: true, phase: phase,
		client: func() *http.Client {
			return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				addresses, err := c.resolver.LookupHost(ctx, host)
				if err != nil {
					return nil, err
				}
				return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(addresses[0], "80"))
			}}}
		},
		request: func(ctx context.Context) (*http.Request, error) {
			return http.NewRequestWithContext(ctx, http.MethodPost, "http://"+host+"/", strings.NewReader("order"))
		},
	}
}

// apiLoad sends requests to the API that need etcd.
func (w *workload) apiLoad(t *testing.T, fresh bool, phase *atomic.Pointer[string]) *load {
	t.Helper()
	tls, err := rest.TLSConfigFor(w.config)
	if err != nil {
		t.Fatal(err)
	}
	return &load{
		name: loadName("API", fresh), fresh: fresh, phase: phase,
		client: func() *http.Client {
			return &http.Client{Transport: &http.Transport{TLSClientConfig: tls.Clone(), ForceAttemptHTTP2: true}}
		},
		request: func(ctx context.Context) (*http.Request, error) {
			const path = "/api/v1/namespaces/default/services/kubernetes"
			return http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(w.config.Host, "/")+path, http.NoBody)
		},
	}
}

func loadName(name string, fresh bool) string {
	if fresh {
		return name + ", a connection for each request"
	}
	return name + ", a kept connection"
}
