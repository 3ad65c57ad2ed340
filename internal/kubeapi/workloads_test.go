package kubeapi_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/aws-operator/aws-operator/internal/kubeapi"
	"github.com/aws-operator/aws-operator/internal/patience"
)

// suite is a cluster of simulated nodes on a clock that is stepped.
type suite struct {
	*kubernetes.Clientset

	t      *testing.T
	server *kubeapi.Server
	clock  *testclock.FakeClock
}

func newSuite(t *testing.T, o kubeapi.Options) *suite {
	t.Helper()
	clk := testclock.NewFakeClock(time.Now())
	o.Clock = clk
	server, admin := serveWith(t, o)
	return &suite{kubernetes.NewForConfigOrDie(admin), t, server, clk}
}

// node adds a node that is Ready, or changes it.
func (w *suite) node(name string, change ...func(*corev1.Node)) {
	w.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}}
	for _, fn := range change {
		fn(node)
	}
	if err := w.server.Put(node); err != nil {
		w.t.Fatal(err)
	}
}

func (w *suite) deployment(replicas int32, change ...func(*corev1.PodTemplateSpec)) {
	w.t.Helper()
	labels := map[string]string{"app": "web"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
	for _, fn := range change {
		fn(&template)
	}
	_, err := w.AppsV1().Deployments("default").Create(w.t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *suite) budget(name string, change func(*policyv1.PodDisruptionBudgetSpec)) {
	w.t.Helper()
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name}}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	change(&budget.Spec)
	if _, err := w.PolicyV1().PodDisruptionBudgets("default").Create(w.t.Context(), budget, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// pods are the pods of a namespace that are not on their way out.
func (w *suite) pods(ready bool) []corev1.Pod {
	w.t.Helper()
	list, err := w.CoreV1().Pods("default").List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) != ready
	})
}

func (w *suite) evict(pod string) error {
	return w.CoreV1().
		Pods("default").
		EvictV1(w.t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: pod}})
}

// eventually waits until check is content, a second of the cluster's clock after another.
func (w *suite) eventually(what string, check func() bool) {
	w.t.Helper()
	ctx := patience.Context(w.t)
	for !check() {
		if ctx.Err() != nil {
			w.t.Fatalf("did not see that %s", what)
		}
		w.clock.Step(time.Second)
	}
}

// spread is how many pods are on each node.
func spread(pods []corev1.Pod) map[string]int {
	on := map[string]int{}
	for i := range pods {
		on[pods[i].Spec.NodeName]++
	}
	return on
}

func TestEvictedPodIsReplacedOnASuitableNode(t *testing.T) {
	w := newSuite(t, kubeapi.Options{PodStart: 3 * time.Second, PodStop: 2 * time.Second})
	for _, name := range []string{"a", "b", "c"} {
		w.node(name)
	}
	w.node("tainted", func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}
	})
	w.deployment(3)
	if now := len(w.pods(true)); now != 0 {
		t.Errorf("%d pods are ready before they had time to start", now)
	}
	w.eventually("three pods are ready", func() bool { return len(w.pods(true)) == 3 })
	if on := spread(w.pods(true)); !maps.Equal(on, map[string]int{"a": 1, "b": 1, "c": 1}) {
		t.Errorf("the pods are on %v, want one on each node that may take them", on)
	}
	if _, err := w.CoreV1().Nodes().Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	on, err := w.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=a"})
	if err != nil || len(on.Items) != 1 {
		t.Fatalf("pods on a: %v, %v", on, err)
	}
	if err := w.evict(on.Items[0].Name); err != nil {
		t.Fatal(err)
	}
	leaving, err := w.CoreV1().Pods("default").Get(t.Context(), on.Items[0].Name, metav1.GetOptions{})
	if err != nil || leaving.DeletionTimestamp == nil || ptr.Deref(leaving.DeletionGracePeriodSeconds, 0) != 30 {
		t.Errorf("the evicted pod takes no time to end: %v, %v", leaving, err)
	}
	w.eventually("the pod no longer exists and another is ready elsewhere", func() bool {
		_, err := w.CoreV1().Pods("default").Get(t.Context(), on.Items[0].Name, metav1.GetOptions{})
		now := spread(w.pods(true))
		return apierrors.IsNotFound(err) && now["a"] == 0 && now["b"]+now["c"] == 3
	})
}

// As in Kubernetes: https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/
func TestServicesAreSelectedByType(t *testing.T) {
	w := newSuite(t, kubeapi.Options{})
	for name, kind := range map[string]corev1.ServiceType{"inside": corev1.ServiceTypeClusterIP, "outside": corev1.ServiceTypeLoadBalancer} {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Type: kind}}
		if _, err := w.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	found, err := w.CoreV1().Services("").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.type=LoadBalancer"})
	if err != nil || len(found.Items) != 1 || found.Items[0].Name != "outside" {
		t.Errorf("it returned %v, %v", found, err)
	}
}

func TestEvictionsAreRefusedLikeByTheAPIServer(t *testing.T) {
	const most = "Cannot evict pod as it would violate the pod's disruption budget."
	unavailable := func(n int) func(*policyv1.PodDisruptionBudgetSpec) {
		return func(s *policyv1.PodDisruptionBudgetSpec) { s.MaxUnavailable = new(intstr.FromInt(n)) }
	}
	for name, test := range map[string]struct {
		budgets map[string]func(*policyv1.PodDisruptionBudgetSpec)
		// sick makes a pod not ready, and that one is evicted.
		sick           bool
		code           int32
		message, cause string
	}{
		"without a budget it goes":     {},
		"one may be unavailable":       {budgets: map[string]func(*policyv1.PodDisruptionBudgetSpec){"web": unavailable(1)}},
		"a quarter is one, rounded up": {budgets: map[string]func(*policyv1.PodDisruptionBudgetSpec){"web": func(s *policyv1.PodDisruptionBudgetSpec) { s.MaxUnavailable = new(intstr.FromString("25%")) }}},
		"all are needed": {
			budgets: map[string]func(*policyv1.PodDisruptionBudgetSpec){"web": func(s *policyv1.PodDisruptionBudgetSpec) { s.MinAvailable = new(intstr.FromInt(2)) }},
			code:    429, message: most, cause: "The disruption budget web needs 2 healthy pods and has 2 currently",
		},
		"a sick pod of a service that is whole without it goes": {
			budgets: map[string]func(*policyv1.PodDisruptionBudgetSpec){"web": unavailable(1)}, sick: true,
		},
		"a sick pod of a service that is not whole stays": {
			budgets: map[string]func(*policyv1.PodDisruptionBudgetSpec){"web": unavailable(0)}, sick: true,
			code: 429, message: most, cause: "The disruption budget web needs 2 healthy pods and has 1 currently",
		},
		"a sick pod that may always go goes": {
			budgets: map[string]func(*policyv1.PodDisruptionBudgetSpec){"web": func(s *policyv1.PodDisruptionBudgetSpec) {
				unavailable(0)(s)
				s.UnhealthyPodEvictionPolicy = ptr.To(policyv1.AlwaysAllow)
			}}, sick: true,
		},
		"two budgets are one too many": {
			budgets: map[string]func(*policyv1.PodDisruptionBudgetSpec){"web": unavailable(1), "web2": unavailable(1)},
			code:    500, message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSuite(t, kubeapi.Options{})
			w.node("a")
			w.node("b")
			w.deployment(2)
			for name, change := range test.budgets {
				w.budget(name, change)
			}
			victim := w.pods(true)[0]
			if test.sick {
				victim.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
				if _, err := w.CoreV1().Pods("default").UpdateStatus(t.Context(), &victim, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			err := w.evict(victim.Name)
			if test.code == 0 {
				if err != nil {
					t.Errorf("the eviction was refused: %v", err)
				}
				return
			}
			status, ok := err.(apierrors.APIStatus)
			if !ok || status.Status().Code != test.code || status.Status().Message != test.message {
				t.Fatalf("the eviction ended with %v, want %d %s", err, test.code, test.message)
			}
			if test.cause == "" {
				return
			}
			cause, ok := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause)
			if !ok || cause.Message != test.cause {
				t.Errorf("the cause is %q, want %q", cause.Message, test.cause)
			}
		})
	}
}

func TestBudgetStatusFollowsItsPods(t *testing.T) {
	w := newSuite(t, kubeapi.Options{PodStart: time.Minute})
	w.node("a")
	w.node("b")
	w.deployment(2)
	w.budget("web", func(s *policyv1.PodDisruptionBudgetSpec) { s.MaxUnavailable = new(intstr.FromInt(1)) })
	allowed := func() string {
		budget, err := w.PolicyV1().PodDisruptionBudgets("default").Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s := budget.Status
		return fmt.Sprintf("%d of %d, %d needed, %d allowed", s.CurrentHealthy, s.ExpectedPods, s.DesiredHealthy, s.DisruptionsAllowed)
	}
	expectStatus := func(want string) {
		t.Helper()
		if got := allowed(); got != want {
			t.Errorf("status: %s, want %s", got, want)
		}
	}
	expectStatus("0 of 2, 1 needed, 0 allowed")
	w.eventually("both are ready", func() bool { return len(w.pods(true)) == 2 })
	expectStatus("2 of 2, 1 needed, 1 allowed")
	first, second := w.pods(true)[0].Name, w.pods(true)[1].Name
	if err := w.evict(first); err != nil {
		t.Fatal(err)
	}
	expectStatus("1 of 2, 1 needed, 0 allowed")
	if err := w.evict(second); !apierrors.IsTooManyRequests(err) {
		t.Errorf("the second eviction ended with %v", err)
	}
	w.eventually("both are ready again", func() bool { return len(w.pods(true)) == 2 })
	if err := w.evict(second); err != nil {
		t.Errorf("the second eviction is refused when the first pod is back: %v", err)
	}
}

func TestPodIsKilledAfterItsGracePeriod(t *testing.T) {
	w := newSuite(t, kubeapi.Options{})
	w.node("a")
	w.deployment(1, func(p *corev1.PodTemplateSpec) {
		p.Annotations = map[string]string{kubeapi.StopsAfter: "never"}
		p.Spec.TerminationGracePeriodSeconds = ptr.To[int64](600)
	})
	name := w.pods(true)[0].Name
	if err := w.evict(name); err != nil {
		t.Fatal(err)
	}
	began := w.clock.Now()
	w.eventually("the pod no longer exists", func() bool {
		_, err := w.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if took := w.clock.Since(began); took < 599*time.Second {
		t.Errorf("the pod was ended after %s", took)
	}
}

func TestDeletionCanShortenTheGracePeriod(t *testing.T) {
	w := newSuite(t, kubeapi.Options{})
	w.node("a")
	w.deployment(1, func(p *corev1.PodTemplateSpec) { p.Annotations = map[string]string{kubeapi.StopsAfter: "never"} })
	name := w.pods(true)[0].Name
	for _, grace := range []int64{30, 0} {
		if err := w.CoreV1().Pods("default").Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &grace}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a pod that was deleted with no time is there: %v", err)
	}
}

func TestDaemonSetPodsAreDeletedWithTheirNode(t *testing.T) {
	w := newSuite(t, kubeapi.Options{})
	w.node("a")
	labels := map[string]string{"app": "agent"}
	_, err := w.AppsV1().DaemonSets("default").Create(t.Context(), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{
				MatchLabels: labels,
			}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.node("b", func(n *corev1.Node) { n.Spec.Unschedulable = true })
	if on := spread(w.pods(true)); !maps.Equal(on, map[string]int{"a": 1, "b": 1}) {
		t.Errorf("the pods are on %v, want one on each node, cordoned or not", on)
	}
	if err := w.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if on := spread(w.pods(true)); !maps.Equal(on, map[string]int{"b": 1}) {
		t.Errorf("the pods are on %v after a is deleted", on)
	}
	if err := w.AppsV1().DaemonSets("default").Delete(t.Context(), "agent", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.eventually("the pods go with their DaemonSet", func() bool { return len(w.pods(true)) == 0 })
}

func TestPodOfAStatefulSetIsReplacedUnderItsName(t *testing.T) {
	w := newSuite(t, kubeapi.Options{PodStop: 5 * time.Second})
	w.node("a")
	labels := map[string]string{"app": "db"}
	_, err := w.AppsV1().StatefulSets("default").Create(t.Context(), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := w.pods(true)
	if len(before) != 2 || before[0].Name != "db-0" || before[1].Name != "db-1" {
		t.Fatalf("pods: %v", before)
	}
	if err := w.evict("db-0"); err != nil {
		t.Fatal(err)
	}
	w.eventually("db-0 is another pod", func() bool {
		now := w.pods(true)
		return len(now) == 2 && now[0].UID != before[0].UID
	})
}

func TestPodsOfANotReadyNodeMoveAfterATimeout(t *testing.T) {
	w := newSuite(t, kubeapi.Options{})
	w.node("a")
	w.deployment(1)
	w.node("b")
	silent := func(status corev1.ConditionStatus) {
		t.Helper()
		if err := w.server.SetNodeReady("a", status, "NodeStatusUnknown", "Kubelet stopped posting node status."); err != nil {
			t.Fatal(err)
		}
	}
	silent(corev1.ConditionUnknown)
	if n := len(w.pods(true)); n != 0 {
		t.Errorf("%d pods are ready on a dead node", n)
	}
	silent(corev1.ConditionTrue)
	if n := len(w.pods(true)); n != 1 {
		t.Errorf("%d pods are ready when the node is back", n)
	}
	silent(corev1.ConditionUnknown)
	began := w.clock.Now()
	w.eventually("another pod is ready on the other node", func() bool { return spread(w.pods(true))["b"] == 1 })
	if took := w.clock.Since(began); took < 5*time.Minute {
		t.Errorf("the pod moved after %s", took)
	}
	list, err := w.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=a"})
	if err != nil || len(list.Items) != 1 || list.Items[0].DeletionTimestamp == nil {
		t.Errorf("something other than its kubelet ended the old pod: %v, %v", list, err)
	}
}
