package drain_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

func TestANodeIsEmptiedBeforeItsMachineGoes(t *testing.T) {
	w := newSuite(t)
	instance := w.group("g", 1, false)[0]
	w.pod("web", instance)
	w.pod("slow", instance, func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = aws.Int64(3600) })
	w.pod("mirror", instance, func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "1"} })
	w.pod("agent", instance, w.ofDaemonSet())
	w.terminate("g", instance)
	w.drains.Begin(w.order("g", instance))
	w.eventually("the web server is evicted", func() error {
		if pods := w.pods(); slices.Contains(pods, "web") {
			return fmt.Errorf("there are %v", pods)
		}
		return nil
	})
	node := w.read(instance)
	_, excluded := node.Labels["node.kubernetes.io/exclude-from-external-load-balancers"]
	if began := node.Annotations["cluster-operator.aws/draining"]; !node.Spec.Unschedulable || !excluded ||
		began != "2026-01-02T03:04:05Z" {
		t.Errorf("cordoned %t, excluded from load balancers %t, draining since %q", node.Spec.Unschedulable, excluded, began)
	}
	w.eventually("one pod is left", func() error {
		if p := w.drains.Of(w.cluster, "g"); len(p) != 1 || p[0].Pods != 1 || p[0].Node != node.Name {
			return fmt.Errorf("%+v", p)
		}
		return nil
	})
	if state := w.states("g")[instance]; state != "Terminating:Wait" {
		t.Fatalf("the machine is %s although a pod still ends", state)
	}
	if err := w.kube.CoreV1().Pods(w.namespace).Delete(t.Context(), "slow", metav1.DeleteOptions{GracePeriodSeconds: aws.Int64(0)}); err != nil { // as its kubelet does
		t.Fatal(err)
	}
	w.reaches(instance, drain.Empty)
	w.terminates("g", instance)
	if pods := w.pods(); !slices.Equal(pods, []string{"agent", "mirror"}) {
		t.Errorf("there are %v", pods)
	}
	if left := w.drains.Of(w.cluster, "g"); len(left) > 0 {
		t.Errorf("still draining: %+v", left)
	}
	w.reported("Drained")
}

// Until EC2 says which instance a node runs on, an instance that a node claims is not empty.
func TestANodeThatEC2HasNotIdentifiedYetIsEmptied(t *testing.T) {
	w := newSuite(t)
	instance := w.group("g", 1, false)[0]
	w.pod("web", instance)
	w.stop()
	var lookups atomic.Int32
	var answers atomic.Bool
	w.identify = func(context.Context, types.NamespacedName, []string) (map[string]workload.Identity, error) {
		lookups.Add(1)
		if !answers.Load() {
			return nil, errNotYet
		}
		return map[string]workload.Identity{
			instance: {PrivateDNSName: w.nodeName(instance), Group: "g", Slot: workload.NoSlot},
		}, nil
	}
	w.start()
	tried := func(times int32) func() error {
		return func() error {
			if lookups.Load() < times {
				return errNotYet
			}
			return nil
		}
	}
	w.eventually("EC2 is asked and fails", tried(2))
	w.terminate("g", instance)
	w.drains.Begin(w.order("g", instance))
	w.eventually("EC2 fails again", tried(lookups.Load()+2))
	answers.Store(true)
	w.reaches(instance, drain.Empty)
	if pods := w.pods(); slices.Contains(pods, "web") {
		t.Errorf("the instance was terminated with %v", pods)
	}
}

// An empty node passes on the connections of load balancers until it is deregistered. The cloud
// controller manager begins that when the node is excluded, and network load balancers take minutes:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/edit-target-group-attributes.html
func TestAnEmptyNodeIsHeldWhileLoadBalancersUseIt(t *testing.T) {
	w := newSuite(t)
	services := w.kube.CoreV1().Services(w.namespace)
	_, err := services.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Annotations: map[string]string{"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"}},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // other tests share the API server
		if err := services.Delete(context.WithoutCancel(t.Context()), "shop", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	instance := w.group("g", 1, false)[0]
	w.terminate("g", instance)
	w.drains.Begin(w.order("g", instance))
	w.eventually("the drain waits for the load balancer", func() error {
		p, _ := w.drains.Get(instance)
		if p.State != drain.Draining || !strings.Contains(p.Message, "waits until 03:09:35 UTC") {
			return fmt.Errorf("it is %s: %s", p.State, p.Message)
		}
		return nil
	})
	if state := w.states("g")[instance]; state != "Terminating:Wait" {
		t.Fatalf("the instance is %s although load balancers use its node", state)
	}
	w.stop() // another operator takes over, and keeps the time
	w.clock.Step(5*time.Minute + 20*time.Second)
	w.start()
	w.drains.Begin(w.order("g", instance))
	w.eventually("the drain still waits", func() error {
		if p, _ := w.drains.Get(instance); !strings.Contains(p.Message, "waits until 03:09:35 UTC") {
			return fmt.Errorf("it is %s: %s", p.State, p.Message)
		}
		return nil
	})
	w.clock.Step(10 * time.Second)
	w.reaches(instance, drain.Empty)
	w.terminates("g", instance)
}

// ofDaemonSet has a pod belong to a DaemonSet that exists.
func (w *suite) ofDaemonSet() func(*corev1.Pod) {
	w.t.Helper()
	labels := map[string]string{"app": "agent"}
	set, err := w.kube.AppsV1().DaemonSets(w.namespace).Create(w.t.Context(), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent"},
		Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b"}}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
	}
}

func TestABudgetThatBlocksIsNamedUntilItAllowsMore(t *testing.T) {
	w := newSuite(t)
	instance := w.group("g", 1, false)[0]
	w.pod("web", instance)
	w.budget("web-budget", "web", 0)
	w.terminate("g", instance)
	w.drains.Begin(w.order("g", instance))
	w.blocked(instance, "web-budget")
	w.eventually("the drain waits to tell", func() error {
		w.clock.Step(time.Second)
		if p, _ := w.drains.Get(instance); w.clock.Since(p.Began) < 16*time.Second {
			return errNotYet
		}
		return nil
	})
	if notice := w.reported("DrainBlocked"); !notice.Warning || !strings.Contains(notice.Message, w.namespace+"/web-budget") {
		t.Errorf("the notice is %q, a warning: %t", notice.Message, notice.Warning)
	}
	w.budget("web-budget", "web", 1)
	w.eventually("the instance terminates", func() error {
		w.restore("web-budget")
		w.clock.Step(time.Second)
		if p, _ := w.drains.Get(instance); p.State != drain.Empty {
			return fmt.Errorf("it is %s: %s", p.State, p.Message)
		}
		return nil
	})
	w.terminates("g", instance)
}

func TestTwoBudgetsOfOnePodAreBothNamed(t *testing.T) {
	w := newSuite(t)
	instance := w.group("g", 1, false)[0]
	w.pod("web", instance)
	w.budget("one", "web", 1)
	w.budget("two", "web", 1)
	w.drains.Begin(w.order("g", instance))
	w.blocked(instance, "one", "two")
	if p, _ := w.drains.Get(instance); !strings.Contains(p.Message, "more than one PodDisruptionBudget selects it") {
		t.Errorf("the message is %q", p.Message)
	}
}

func TestAfterTheTimeoutTheMachineGoes(t *testing.T) {
	w := newSuite(t)
	instance := w.group("g", 1, false)[0]
	w.pod("web", instance)
	w.budget("web-budget", "web", 0)
	w.terminate("g", instance)
	w.drains.Begin(w.order("g", instance))
	w.blocked(instance, "web-budget")
	w.clock.Step(10 * time.Minute)
	w.reaches(instance, drain.TimedOut)
	w.terminates("g", instance)
	if notice := w.reported("DrainTimedOut"); !notice.Warning || notice.Pods != 1 {
		t.Errorf("the notice is %+v", notice)
	}
}

func TestAnInstanceIsKeptUntilItsPodsAreEvicted(t *testing.T) {
	w := newSuite(t)
	instance := w.group("g", 1, true)[0]
	w.pod("web", instance)
	w.budget("web-budget", "web", 0)
	w.terminate("g", instance)
	order := w.order("g", instance)
	order.Policy = drain.Abandon
	w.drains.Begin(order)
	w.blocked(instance, "web-budget")
	w.clock.Step(10 * time.Minute)
	w.reaches(instance, drain.Kept)
	w.eventually("Auto Scaling keeps the machine", func() error {
		if state := w.states("g")[instance]; state != "Terminating:Retained" {
			return fmt.Errorf("it is %q", state)
		}
		return nil
	})
	if notice := w.reported("MachineKept"); !strings.Contains(notice.Message, "web-budget") ||
		!strings.Contains(notice.Message, w.nodeName(instance)) {
		t.Errorf("the notice is %q", notice.Message)
	}

	// The next operator learns from a sweep that it is kept, and continues.
	w.stop()
	w.start()
	order.Retained = true
	w.drains.Begin(order)
	w.reaches(instance, drain.Kept)
	w.budget("web-budget", "web", 1)
	w.eventually("the pod is evicted", func() error {
		w.restore("web-budget")
		w.clock.Step(10 * time.Second)
		if p, _ := w.drains.Get(instance); p.State != drain.Empty {
			return fmt.Errorf("it is %s: %s", p.State, p.Message)
		}
		return nil
	})
	w.eventually("the machine is ended, which the hook holds once more", func() error {
		if state := w.states("g")[instance]; state != "Terminating:Wait" {
			return fmt.Errorf("it is %q", state)
		}
		return nil
	})
	order.Retained, order.Token = false, "another"
	w.drains.Begin(order)
	w.terminates("g", instance)
}

func TestAnOperatorThatTakesOverKeepsToTheDeadline(t *testing.T) {
	w := newSuite(t)
	instance := w.group("g", 1, false)[0]
	w.pod("web", instance)
	w.budget("web-budget", "web", 0)
	w.terminate("g", instance)
	w.drains.Begin(w.order("g", instance))
	w.blocked(instance, "web-budget")
	first, _ := w.drains.Get(instance)
	w.stop()
	w.clock.Step(4 * time.Minute)
	w.start()
	w.drains.Begin(w.order("g", instance))
	w.blocked(instance, "web-budget")
	if second, _ := w.drains.Get(instance); !second.Began.Equal(first.Began) || !second.Deadline.Equal(first.Deadline) {
		t.Errorf(
			"the first operator drained from %s to %s, the second from %s to %s",
			first.Began,
			first.Deadline,
			second.Began,
			second.Deadline,
		)
	}
	w.clock.Step(6 * time.Minute)
	w.reaches(instance, drain.TimedOut)
	w.terminates("g", instance)
}

func TestDuplicateOrdersAreOneDrain(t *testing.T) {
	w := newSuite(t)
	instance := w.group("g", 1, false)[0]
	w.pod("web", instance)
	w.terminate("g", instance)
	order := w.order("g", instance)
	order.Token = "token"
	// A rollout drains the node, then a lifecycle hook holds the instance, and its event arrives
	// twice, the second time late.
	first := order
	first.Hook, first.Token, first.AutoScalingGroup = "", "", ""
	w.drains.Begin(first)
	w.drains.Begin(order)
	w.drains.Begin(order)
	w.reaches(instance, drain.Empty)
	w.terminates("g", instance)
	w.drains.Begin(order)
	if p, _ := w.drains.Get(instance); p.State != drain.Empty {
		t.Errorf("the late event began another drain: %+v", p)
	}
}

func TestAnInstanceWithoutANodeTerminatesAtOnce(t *testing.T) {
	w := newSuite(t)
	instance := w.group("g", 1, false)[0]
	if err := w.kube.CoreV1().Nodes().Delete(t.Context(), w.nodeName(instance), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.terminate("g", instance)
	w.drains.Begin(w.order("g", instance))
	w.terminates("g", instance)
}

func TestASpotInstanceHasTwoMinutesWhateverThePolicy(t *testing.T) {
	w := newSuite(t)
	instance := w.group("g", 1, true)[0]
	w.pod("web", instance)
	w.pod("db", instance)
	w.budget("db-budget", "db", 0)
	order := w.order("g", instance)
	order.AutoScalingGroup, order.Hook, order.Policy = "", "", drain.Abandon
	order.Reason, order.Deadline = drain.SpotInterruption, w.clock.Now().Add(2*time.Minute)
	w.drains.Begin(order)
	w.blocked(instance, "db-budget")
	if pods := w.pods(); !slices.Equal(pods, []string{"db"}) {
		t.Errorf("there are %v", pods)
	}
	w.clock.Step(2 * time.Minute)
	w.reaches(instance, drain.TimedOut)
}

// heldBack returns an instance whose drain a budget holds back.
func (w *suite) heldBack() string {
	w.t.Helper()
	instance := w.group("g", 1, false)[0]
	w.pod("web", instance)
	w.budget("web-budget", "web", 0)
	w.drains.Begin(w.order("g", instance))
	w.blocked(instance, "web-budget")
	return instance
}

func TestAMachineThatStaysIsOpenAgain(t *testing.T) {
	w := newSuite(t)
	instance := w.heldBack()
	w.drains.Cancel(instance)
	w.eventually("the node is open", func() error { return w.isOpen(instance) })
}

// isOpen returns an error if a drain has left a trace on an instance's node.
func (w *suite) isOpen(instance string) error {
	w.t.Helper()
	node := w.read(instance)
	_, excluded := node.Labels["node.kubernetes.io/exclude-from-external-load-balancers"]
	if node.Spec.Unschedulable || excluded || node.Annotations["cluster-operator.aws/draining"] != "" {
		return fmt.Errorf("cordoned %t, labels %v, annotations %v", node.Spec.Unschedulable, node.Labels, node.Annotations)
	}
	return nil
}

// A command ends as soon as its rollout has stopped.
func TestAProgramThatEndsUncordonsTheNodesOfCancelledDrains(t *testing.T) {
	w := newSuite(t)
	instance := w.heldBack()
	w.drains.Cancel(instance)
	w.stop()
	if err := w.isOpen(instance); err != nil {
		t.Error(err)
	}
}

// The API of the workload cluster refuses, for example since it is overloaded.
func TestANodeThatCannotBeUncordonedAtFirstIsUncordonedLater(t *testing.T) {
	w := newSuite(t)
	instance := w.heldBack()
	w.refuses.Store(true)
	w.drains.Cancel(instance)
	w.eventually("the API has refused", func() error {
		if w.refused.Load() == 0 {
			return errors.New("it was not asked")
		}
		return nil
	})
	w.refuses.Store(false)
	w.eventually("the node is open", func() error {
		w.clock.Step(time.Second)
		return w.isOpen(instance)
	})
}

func TestManyNodesOfManyGroupsAtOnce(t *testing.T) {
	w := newSuite(t)
	for g := range 5 {
		group := fmt.Sprintf("g%d", g)
		for i, instance := range w.group(group, 4, false) {
			for p := range 3 {
				w.pod(fmt.Sprintf("%s-%d-%d", group, i, p), instance)
			}
			w.drains.Begin(w.order(group, instance))
		}
	}
	w.eventually("all nodes are empty", func() error {
		if pods := w.pods(); len(pods) > 0 {
			return fmt.Errorf("there are %v", pods)
		}
		for g := range 5 {
			if left := w.drains.Of(w.cluster, fmt.Sprintf("g%d", g)); len(left) > 0 {
				return fmt.Errorf("still draining: %+v", left)
			}
		}
		return nil
	})
}
