package controller_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
)

// aFleet returns a fleet of all clusters of the namespace, with a canary wave.
func (w *suite) aFleet(name, release string) *v1alpha1.Fleet {
	return &v1alpha1.Fleet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace},
		Spec: v1alpha1.FleetSpec{
			Template: v1alpha1.FleetTemplate{Release: release},
			Rollout: v1alpha1.FleetRollout{MaxConcurrent: new(intstr.FromInt32(1)), Waves: []v1alpha1.FleetWave{{
				Name: "canary", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "canary"}},
				Soak: &metav1.Duration{Duration: 2 * time.Second},
			}}},
		},
	}
}

// watchFleet records violations of a fleet's order until the test ends: more than one cluster in change, or a cluster of
// the last wave that is changed while the canary is not.
func (w *suite) watchFleet(release, canary string) *violations {
	found := &violations{}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	w.t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		tick := time.NewTicker(30 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			list := &v1alpha1.ClusterList{}
			if err := w.client.List(ctx, list, client.InNamespace(w.namespace)); err == nil {
				found.observe(list.Items, release, canary)
			}
		}
	}()
	return found
}

type violations struct {
	mu    sync.Mutex
	texts []string
}

func (v *violations) observe(clusters []v1alpha1.Cluster, release, canary string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var changing []string
	canaryDone, others := false, false
	for i := range clusters {
		c := &clusters[i]
		done := c.Status.Release == release && meta.IsStatusConditionTrue(c.Status.Conditions, "Ready") && c.Status.ObservedGeneration == c.Generation
		if c.Spec.Release != release {
			continue
		}
		if c.Name == canary {
			canaryDone = done
		} else {
			others = true
		}
		if !done {
			changing = append(changing, c.Name)
		}
	}
	if len(changing) > 1 || others && !canaryDone {
		v.texts = append(v.texts, fmt.Sprintf("in change: %v, the canary is done: %t", changing, canaryDone))
	}
}

// A fleet's release reaches the canary first and then the others one by one. A cluster whose slot is rolled back stops the
// fleet, until it is corrected. A field that a cluster's author has set stays.
func TestFleetRollsAReleaseOut(t *testing.T) {
	w := newSuite(t, fake.New(fake.Options{BootTime: 3 * time.Second}), nil)
	w.start()
	former := aRelease(formerRelease)
	former.Spec.Kubernetes = formerRelease
	if err := w.client.Create(t.Context(), former); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	fleet := w.aFleet("production", formerRelease)
	w.create(fleet)
	w.condition(fleet, "Ready", metav1.ConditionTrue, "RolledOut")
	names := []string{"canary", "a", "b", "c"}
	clusters := map[string]*v1alpha1.Cluster{}
	for _, name := range names {
		cluster := w.aCluster(name)
		cluster.Spec.Release, cluster.Spec.ControlPlane.Replicas = "", 1
		if name == "canary" {
			cluster.Labels = map[string]string{"tier": "canary"}
		}
		w.create(cluster)
		clusters[name] = cluster
	}
	for _, cluster := range clusters { // The fleet gives all of them a release, since they have none.
		w.condition(cluster, "Ready", metav1.ConditionTrue, "")
		if cluster.Spec.Release != formerRelease {
			t.Errorf("the release of %s is %q", cluster.Name, cluster.Spec.Release)
		}
	}
	w.patch(clusters["c"], `{"spec":{"backup":{"keep":5}}}`)

	found := w.watchFleet("v1.36.3", "canary")
	w.patch(fleet, `{"spec":{"template":{"release":"v1.36.3","backup":{"keep":10}}}}`)
	w.eventually("the slot of a is being updated", func() error {
		if status := w.stacks(account, region)["a-control-plane-0"]; status != "UPDATE_IN_PROGRESS" {
			return fmt.Errorf("it is %s", status)
		}
		return nil
	})
	if _, err := w.cloudFormation().CancelUpdateStack(t.Context(), &cloudformation.CancelUpdateStackInput{
		StackName: aws.String("a-control-plane-0"),
	}); err != nil {
		t.Fatal(err)
	}
	stopped := w.condition(fleet, "Stalled", metav1.ConditionTrue, "RolloutStopped")
	if !strings.Contains(stopped.Message, "The update of Cluster a failed, so that no further Clusters are changed.") {
		t.Errorf("the message is %s", stopped.Message)
	}
	if counts := fleet.Status.Clusters; counts.Summary != "1/4" || counts.Failed != 1 || counts.Waiting != 2 || fleet.Status.Wave != "rest" {
		t.Errorf("the counts are %+v in wave %s", counts, fleet.Status.Wave)
	}
	for _, name := range []string{"b", "c"} {
		if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(clusters[name]), clusters[name]); err != nil ||
			clusters[name].Spec.Release != formerRelease {
			t.Errorf("the release of %s is %q, %v", name, clusters[name].Spec.Release, err)
		}
	}

	w.patch(clusters["a"], `{"spec":{"tags":{"another":"try"}}}`)
	done := w.condition(fleet, "RolledOut", metav1.ConditionTrue, "RolledOut")
	if !strings.Contains(done.Message, "is rolled out to 4 Clusters. 1 Cluster is overridden by other clients.") {
		t.Errorf("the message is %s", done.Message)
	}
	for _, cluster := range clusters {
		w.keeps(cluster, map[bool]int32{true: 5, false: 10}[cluster.Name == "c"])
	}
	found.mu.Lock()
	defer found.mu.Unlock()
	if len(found.texts) > 0 {
		t.Errorf("the fleet violated its order %d times, such as: %s", len(found.texts), found.texts[0])
	}
	if got := w.events(fleet, "WaveStarted"); len(got) < 2 {
		t.Errorf("the Events of waves are %v", got)
	}
}

// keeps tests that a cluster runs the new release and keeps a number of backups.
func (w *suite) keeps(cluster *v1alpha1.Cluster, backups int32) {
	w.t.Helper()
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	if cluster.Status.Release != "v1.36.3" || cluster.Spec.Backup.Keep != backups {
		w.t.Errorf("%s runs %s and keeps %d backups", cluster.Name, cluster.Status.Release, cluster.Spec.Backup.Keep)
	}
}

// A cluster without a release waits for one, and its deletion needs nothing from the operator. A release cannot be removed.
func TestClusterWithoutAReleaseWaits(t *testing.T) {
	w := newSuite(t, simulatedHost(), nil)
	w.start()
	cluster := w.aCluster("demo")
	cluster.Spec.Release = ""
	w.create(cluster)
	waits := w.condition(cluster, "Ready", metav1.ConditionFalse, "ReleaseMissing")
	if !strings.Contains(waits.Message, "create a Fleet that selects the cluster") || len(cluster.Finalizers) > 0 {
		t.Errorf("the message is %s, the finalizers are %v", waits.Message, cluster.Finalizers)
	}
	if err := w.client.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.waitDeleted(cluster)
	if stacks := w.stacks(account, region); len(stacks) > 0 {
		t.Errorf("there are the stacks %v", stacks)
	}
}
