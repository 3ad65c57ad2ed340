package simulation

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/kubeapi"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/simulator/ec2"
)

const (
	// made limits the time until a cluster is ready, and settled the time until one matches its
	// spec after all troubles have ended, in virtual time.
	made    = time.Hour
	settled = 6 * time.Hour
	// between is the interval between checks.
	between = 10 * time.Second
	// runs is the number of seeds unless SIMULATION_RUNS sets another: `make simulate` runs 1,000,
	// in half an hour.
	runs = 24
)

// found are the seeds beyond those of a normal run that found a defect.
var found = []uint64{
	886, // EC2 throttled the lookups of a restarted operator, which replaced a healthy node
}

// Clusters survive seeded series of troubles and finally match their specs; the invariants hold all
// the time.
func TestSimulation(t *testing.T) {
	count := runs
	if testing.Short() {
		count = min(count, 20)
	}
	seeds := seedsOf(t, "SIMULATION", count, found)
	nodeup := nodeupFiles(t)
	for _, seed := range seeds {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				repeat(t, fmt.Sprintf("SIMULATION_SEED=%d go test ./test/simulation -run TestSimulation", seed))
				simulate(t, draw(seed), nodeup)
			})
		})
	}
}

// seedsOf returns the seeds of a campaign: count ones from 1 on, or as many as CAMPAIGN_RUNS says, and
// those that found a defect. With CAMPAIGN_SEED, it is that one, or CAMPAIGN_RUNS ones from it on.
func seedsOf(t *testing.T, campaign string, count int, found []uint64) []uint64 {
	t.Helper()
	first := uint64(number(t, campaign+"_SEED", 1))
	if os.Getenv(campaign+"_SEED") != "" {
		count, found = 1, nil
	}
	seeds := slices.Clone(found)
	for i := range number(t, campaign+"_RUNS", count) {
		seeds = append(seeds, first+uint64(i))
	}
	return slices.Compact(slices.Sorted(slices.Values(seeds)))
}

func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%s is %q: set it to a number", variable, text)
	}
	return n
}

// run is one scenario in its environment.
type run struct {
	*suite

	scenario *scenario
	began    time.Time
	workload kubernetes.Interface
	watcher  *watcher
	pending  []deferred

	// slotDamage and groupDamage mean that injected failures are not repaired yet.
	slotDamage, groupDamage bool
	// away means that no operator runs for some time.
	away   bool
	struck map[string]bool
	// between is the interval between checks.
	between time.Duration
}

// deferred is something to do at a time.
type deferred struct {
	at time.Time
	do func()
}

// repeat logs the command that repeats a failed run.
func repeat(t *testing.T, command string) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s runs this alone", command)
		}
	})
}

// simulate runs a scenario until the cluster finally matches its spec.
func simulate(t *testing.T, s *scenario, nodeup string) *run {
	t.Helper()
	r := &run{suite: newSuite(t, nodeup, s.seed), scenario: s, struck: map[string]bool{}, between: between}
	t.Cleanup(func() {
		r.frozen.Store(false)
		if t.Failed() {
			t.Logf("%s\n%s", s, r.story())
		}
	})
	r.start()
	r.create(r.releases()...)
	r.create(r.scenario.theCluster(), r.scenario.theGroup())
	r.until(made, "the cluster is ready", r.isSettled)
	r.openWorkload()
	r.runApplication()
	r.watcher = newWatcher(r)

	r.began = time.Now()
	for _, trouble := range r.scenario.troubles {
		r.later(trouble.at, func() {
			r.note(trouble.name)
			cause, ok := troubles[trouble.name]
			if !ok {
				cause = severe[trouble.name]
			}
			cause(r)
		})
	}
	for len(r.pending) > 0 {
		r.pass()
	}
	r.note("the troubles have ended")
	r.until(settled, "the cluster matches its spec", r.isSettled)
	r.finish()
	return r
}

// later schedules do after a time.
func (r *run) later(after time.Duration, do func()) {
	r.pending = append(r.pending, deferred{time.Now().Add(after), do})
}

// pass lets some time pass, does what is due and checks the invariants.
func (r *run) pass() {
	r.t.Helper()
	time.Sleep(r.between)
	synctest.Wait()
	due := r.pending
	r.pending = nil
	for _, d := range due {
		if time.Now().Before(d.at) {
			r.pending = append(r.pending, d)
			continue
		}
		d.do()
	}
	if r.watcher != nil {
		r.watcher.check()
	}
	if r.t.Failed() {
		r.t.FailNow()
	}
}

// until lets time pass until a condition holds.
func (r *run) until(limit time.Duration, what string, holds func() string) {
	r.t.Helper()
	deadline := time.Now().Add(limit)
	for {
		missing := holds()
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("after %s, it does not hold that %s: %s", limit, what, missing)
		}
		r.pass()
	}
}

func (r *run) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *run) create(objects ...client.Object) {
	r.t.Helper()
	for _, object := range objects {
		r.check(r.client.Create(r.t.Context(), object))
	}
}

// update writes a spec, even if the operator wrote the object meanwhile.
func (r *run) update(object client.Object) {
	r.t.Helper()
	for {
		err := r.client.Update(r.t.Context(), object)
		if !apierrors.IsConflict(err) {
			r.check(err)
			return
		}
		current, ok := object.DeepCopyObject().(client.Object)
		if !ok {
			r.t.Fatal("a copy of an object is not an object")
		}
		r.check(r.client.Get(r.t.Context(), client.ObjectKeyFromObject(object), current))
		object.SetResourceVersion(current.GetResourceVersion())
	}
}

func (r *run) getCluster() *v1alpha1.Cluster {
	r.t.Helper()
	object := &v1alpha1.Cluster{}
	r.check(r.client.Get(r.t.Context(), types.NamespacedName{Namespace: namespace, Name: cluster}, object))
	return object
}

func (r *run) getGroup() *v1alpha1.InstanceGroup {
	r.t.Helper()
	object := &v1alpha1.InstanceGroup{}
	r.check(r.client.Get(r.t.Context(), types.NamespacedName{Namespace: namespace, Name: group}, object))
	return object
}

// releases returns two releases one minor version apart, for fake machines.
func (r *run) releases() []client.Object {
	r.t.Helper()
	var all []client.Object
	for name, kubernetes := range map[string]string{oldRelease: "v1.35.7", newRelease: "v1.36.3"} {
		release, err := environment.LocalRelease(nil)
		r.check(err)
		release.Name, release.Spec.Kubernetes = name, kubernetes
		all = append(all, release)
	}
	return all
}

// machines returns the instances that are not terminated.
func (r *run) machines() []ec2.Instance { return r.sim.Instances().Instances(account, region) }

// openWorkload creates a client of the cluster from its kubeconfig.
func (r *run) openWorkload() {
	r.t.Helper()
	secret := &corev1.Secret{}
	r.check(r.client.Get(r.t.Context(), types.NamespacedName{Namespace: namespace, Name: cluster + "-kubeconfig"}, secret))
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
	r.check(err)
	config.Dial, config.QPS, config.Timeout = r.network.dial, -1, 10*time.Second
	r.workload, err = kubernetes.NewForConfig(config)
	r.check(err)
}

// runApplication runs an application with a budget.
func (r *run) runApplication() {
	r.t.Helper()
	labels := map[string]string{"app": "shop"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &r.scenario.replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{
					kubeapi.ReadyAfter: "5s", kubeapi.StopsAfter: r.scenario.stops.String(),
				}},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: new(int64(120)),
					Containers:                    []corev1.Container{{Name: "shop", Image: "registry.example.com/shop:1"}},
				},
			},
		},
	}
	_, err := r.workload.AppsV1().Deployments("default").Create(r.t.Context(), deployment, metav1.CreateOptions{})
	r.check(err)
	r.setBudget(1)
	r.until(made, "the application is ready", func() string {
		if ready := r.readyPods(); ready < int(r.scenario.replicas) {
			return fmt.Sprintf("%d of %d pods are ready", ready, r.scenario.replicas)
		}
		return ""
	})
}

// setBudget sets how many of the application's pods may be unavailable.
func (r *run) setBudget(unavailable int32) {
	r.t.Helper()
	budgets := r.workload.PolicyV1().PodDisruptionBudgets("default")
	wanted := intstr.FromInt32(unavailable)
	call := func(ctx context.Context) error {
		budget, err := budgets.Get(ctx, "shop", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = budgets.Create(ctx, &policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Name: "shop"},
				Spec: policyv1.PodDisruptionBudgetSpec{
					MaxUnavailable: &wanted, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop"}},
				},
			}, metav1.CreateOptions{})
			return err
		}
		if err != nil {
			return err
		}
		budget.Spec.MaxUnavailable = &wanted
		_, err = budgets.Update(ctx, budget, metav1.UpdateOptions{})
		return err
	}
	if err := call(r.t.Context()); err != nil { // the only slot may be unavailable; the call is retried
		r.later(time.Minute, func() { r.setBudget(unavailable) })
	}
}

// readyPods counts the application's ready pods, -1 if the API does not answer.
func (r *run) readyPods() int {
	pods, err := r.workload.CoreV1().Pods("default").List(r.t.Context(), metav1.ListOptions{LabelSelector: "app=shop"})
	if err != nil {
		return -1
	}
	ready := 0
	for i := range pods.Items {
		for _, c := range pods.Items[i].Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	return ready
}
