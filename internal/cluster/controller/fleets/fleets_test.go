package fleets_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// A canary soaks for an hour, a failure stops the fleet, and the previous template brings all back.
func TestWavesSoakStopAndGoBack(t *testing.T) {
	w := newSuite(t)
	w.start()
	rollout := "{maxConcurrent: 2, progressDeadline: 10m, waves: [{name: canary, selector: {matchLabels: {tier: canary}}, soak: 1h}]}"
	w.clusters(rollout, "a", "b", "c", "canary")
	w.mark(w.get("canary"), `{"metadata":{"labels":{"tier":"canary"}}}`)
	next := func(release string) {
		w.mustApply("author", "Fleet", "all", "{selector: {}, template: {release: "+release+"}, rollout: "+rollout+"}")
	}
	next("v1.0.1")
	w.have("v1.0.1", "canary")
	w.heal("canary")
	soaking := w.reason("all", "Soaking")
	if soaking.Status.Wave != "canary" || soaking.Status.Clusters.Summary != "1/4" {
		t.Errorf("the status is %+v", soaking.Status)
	}
	w.pass("all", 59*time.Minute)
	w.reason("all", "Soaking")
	w.pass("all", 2*time.Minute)
	w.have("v1.0.1", "a", "b", "canary")
	w.heal("a")
	w.have("v1.0.1", "a", "b", "c", "canary")
	w.heal("c")
	w.pass("all", 11*time.Minute)
	stopped := w.reason("all", "RolloutStopped")
	if detail := stopped.Status.Details[0]; detail.Name != "b" || detail.State != v1alpha1.FleetFailed ||
		!strings.Contains(detail.Message, "was not Ready within 10m") {
		t.Errorf("the detail is %+v", detail)
	}

	next("v1.0.0")
	w.have("v1.0.0", "b", "canary") // b is broken, so that it does not wait for the canary
	w.heal("b")
	w.heal("canary")
	w.reason("all", "Soaking")
	w.pass("all", 61*time.Minute)
	w.have("v1.0.0", "a", "b", "c", "canary")
	w.heal("a")
	w.heal("c")
	w.reason("all", "RolledOut")
	w.eventually("there are Events", func() error {
		reasons := w.events("all")
		for _, want := range []string{"WaveStarted", "RolloutStopped", "RolledOut"} {
			if !slices.Contains(reasons, want) {
				return fmt.Errorf("they are %v, want %s", reasons, want)
			}
		}
		return nil
	})

	if err := w.client.Delete(t.Context(), w.fleet("all")); err != nil {
		t.Fatal(err)
	}
	w.eventually("the fleet is deleted", func() error {
		return client.IgnoreNotFound(w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "all"}, &v1alpha1.Fleet{}))
	})
	w.have("v1.0.0", "a", "b", "c", "canary")
}

// The fields of other field managers stay, whichever way they were set, and can be handed to the fleet.
func TestFieldsOfOthersStay(t *testing.T) {
	w := newSuite(t)
	w.start()
	own := strings.Replace(bare, "{", "{release: v1.0.0, backup: {keep: 3}, ", 1)
	w.mustApply("gitops", "Cluster", "applied", own)
	created := w.get("applied")
	created.ObjectMeta = metav1.ObjectMeta{Name: "created", Namespace: w.namespace}
	if err := w.client.Create(t.Context(), created); err != nil {
		t.Fatal(err)
	}
	w.heal("applied")
	w.heal("created")
	template := "{selector: {}, template: {release: %s, backup: {keep: 9, interval: 1h}}, rollout: " + limit(1) + "}"
	w.mustApply("author", "Fleet", "all", fmt.Sprintf(template, "v1.0.0")) // what they have
	for _, name := range []string{"applied", "created"} {
		w.eventually("the interval is set", func() error { return equal(w.get(name).Spec.Backup.Interval != nil, true) })
		w.heal(name)
	}
	w.eventually("both are overridden", func() error {
		status := w.reason("all", "RolledOut").Status
		return equal(fmt.Sprintf("%d %s %v", status.Clusters.Overridden, status.Clusters.Summary, status.Details[0].Overridden), "2 2/2 [.spec.backup.keep]")
	})

	w.mustApply("author", "Fleet", "all", fmt.Sprintf(template, "v1.0.1"))
	w.eventually("the release is overridden", func() error {
		status := w.reason("all", "RolledOut").Status
		return equal(fmt.Sprint(status.Details[0].Overridden), "[.spec.backup.keep .spec.release]")
	})
	w.have("v1.0.0", "applied", "created")

	// The author of one no longer sets it, which needs the fleet to own the same value first.
	w.mustApply("author", "Fleet", "all", fmt.Sprintf(template, "v1.0.0"))
	w.reason("all", "RolledOut")
	w.eventually("the author gives the field up", func() error { return w.apply("gitops", "Cluster", "applied", bare) })
	w.mustApply("author", "Fleet", "all", fmt.Sprintf(template, "v1.0.1"))
	w.have("v1.0.1", "applied")
	w.heal("applied")
	// The other one lets the fleet take it.
	w.mark(w.get("created"), `{"metadata":{"annotations":{"cluster-operator.aws/fleet-owns":"spec.release"}}}`)
	w.have("v1.0.1", "applied", "created")
	w.heal("created")
	w.reason("all", "RolledOut")
	for name, want := range map[string]int32{"applied": 9, "created": 3} {
		if keep := w.get(name).Spec.Backup.Keep; keep != want {
			t.Errorf("%s keeps %d backups, want %d", name, keep, want)
		}
	}
}

// Addons of the template are added to those of a Cluster, and removed with the template's.
func TestAddonsOfTheTemplate(t *testing.T) {
	w := newSuite(t)
	w.start()
	w.mustApply("author", "Cluster", "a", strings.Replace(bare, "{", "{release: v1.0.0, addons: [{name: cilium, values: {debug: true}}], ", 1))
	w.heal("a")
	with := func(template string) {
		w.mustApply("author", "Fleet", "all", "{selector: {}, template: "+template+"}")
	}
	with("{addons: [{name: cilium, values: {debug: false, hubble: {enabled: true}, ports: [1, 2]}}, {name: coredns, disabled: true}]}")
	names := func() string {
		var found []string
		for _, addon := range w.get("a").Spec.Addons {
			values := ""
			if addon.Values != nil {
				values = string(addon.Values.Raw)
			}
			found = append(found, addon.Name+values)
		}
		slices.Sort(found)
		return strings.Join(found, " ")
	}
	w.eventually("the addons are merged", func() error {
		return equal(names(), `cilium{"debug":true,"hubble":{"enabled":true},"ports":[1,2]} coredns`)
	})
	w.heal("a")
	if got := w.reason("all", "RolledOut").Status.Details[0].Overridden; fmt.Sprint(got) != `[.spec.addons[name="cilium"].values.debug]` {
		t.Errorf("overridden are %v", got)
	}
	generation := w.get("a").Generation
	with("{addons: [{name: cilium, values: {hubble: {enabled: true}}}]}")
	w.eventually("the others are removed", func() error { return equal(names(), `cilium{"debug":true,"hubble":{"enabled":true}}`) })
	w.heal("a")
	w.reason("all", "RolledOut")
	if got := w.get("a").Generation; got != generation+1 {
		t.Errorf("the spec was changed %d times, want once", got-generation)
	}
}

// The template's fields of InstanceGroups reach the groups in the turns of their Clusters, and none of another Cluster.
// Fields of their authors stay, and what the template no longer has is removed.
func TestInstanceGroupsOfTheTemplate(t *testing.T) {
	w := newSuite(t)
	w.start()
	w.clusters(limit(1), "a", "b", "other")
	w.mark(w.fleet("all"), `{"spec":{"selector":{"matchExpressions":[{"key":"other","operator":"DoesNotExist"}]}}}`)
	w.mark(w.get("other"), `{"metadata":{"labels":{"other":""}}}`)
	for name, spec := range map[string]string{
		"a1": "cluster: a", "a2": "cluster: a", "b1": "cluster: b, rollingUpdate: {pause: 1m}", "other1": "cluster: other",
	} {
		w.mustApply("author", "InstanceGroup", name, "{"+spec+", minSize: 1, maxSize: 3, instanceTypes: [m6i.large]}")
	}
	w.mark(w.group("a2"), `{"metadata":{"labels":{"pool":"large"}}}`)
	for _, name := range []string{"a1", "a2", "b1", "other1"} {
		w.healGroup(name)
	}
	w.reason("all", "RolledOut")

	template := `{"spec":{"template":{"instanceGroups":[
		{"name":"large","selector":{"matchLabels":{"pool":"large"}},"roll":"large"},
		{"name":"all","roll":"CVE","rollingUpdate":{"pause":"5m","batchSize":2}}]}}}`
	w.mark(w.fleet("all"), template)
	w.eventually("the groups of a have the fields", func() error {
		return equal(w.settings("a1", "a2", "b1", "other1"), "a1 CVE 5m0s 2, a2 large - -, b1 - 1m0s -, other1 - - -")
	})
	if status := w.fleet("all").Status; status.Clusters.Updating != 1 || status.Clusters.Waiting != 1 {
		t.Errorf("the status is %+v", status.Clusters)
	}
	w.healGroup("a1")
	w.pass("all", time.Second)
	w.eventually("a waits for its other group", func() error {
		status := w.fleet("all").Status
		return equal(fmt.Sprintf("%d %s %d", len(status.Updating), status.Updating[0].Name, status.Clusters.Waiting), "1 a 1")
	})
	if got := w.settings("b1"); got != "b1 - 1m0s -" {
		t.Errorf("b was changed before a was Ready: %s", got)
	}
	w.healGroup("a2")
	w.eventually("the group of b has the fields", func() error {
		return equal(w.settings("b1", "other1"), "b1 CVE 1m0s 2, other1 - - -")
	})
	w.healGroup("b1")
	status := w.reason("all", "RolledOut").Status
	if len(status.Details) != 1 || fmt.Sprint(status.Details[0].Overridden) != "[b1.spec.rollingUpdate.pause]" {
		t.Errorf("the details are %+v", status.Details)
	}

	w.mark(w.fleet("all"), `{"spec":{"template":{"instanceGroups":null}}}`)
	for _, groups := range [][]string{{"a1", "a2"}, {"b1"}} {
		for _, name := range groups {
			w.eventually("the fields of "+name+" are removed", func() error { return equal(w.group(name).Spec.Roll, "") })
		}
		for _, name := range groups {
			w.healGroup(name)
		}
	}
	w.reason("all", "RolledOut")
	if got := w.settings("a1", "a2", "b1"); got != "a1 - - -, a2 - - -, b1 - 1m0s -" {
		t.Errorf("left: %s", got)
	}
}

// A Cluster whose InstanceGroup the API server refuses with the template stops the fleet.
func TestRefusedInstanceGroupStops(t *testing.T) {
	w := newSuite(t)
	w.start()
	w.clusters(limit(1), "a", "b")
	for _, name := range []string{"a", "b"} {
		w.mustApply("author", "InstanceGroup", name+"1", "{cluster: "+name+", minSize: 1, maxSize: 3, instanceTypes: [m6i.large]}")
		w.healGroup(name + "1")
	}
	w.mark(w.fleet("all"), `{"spec":{"template":{"instanceGroups":[{"name":"all","image":"ami-none"}]}}}`)
	stopped := w.reason("all", "RolloutStopped")
	if message := stopped.Status.Details[0].Message; !strings.Contains(message, "InstanceGroup a1: The API server refuses the template") ||
		!strings.Contains(message, "write the ID of an AMI") {
		t.Errorf("the message is %s", message)
	}
	w.mark(w.fleet("all"), `{"spec":{"template":{"instanceGroups":[{"name":"all","selector":{"matchLabels":{"-":"?"}}}]}}}`)
	invalid := w.reason("all", "InvalidSelector")
	if message := meta.FindStatusCondition(invalid.Status.Conditions, "Ready").Message; !strings.Contains(message, "spec.template cannot be used: instanceGroups[all]: selector: ") {
		t.Errorf("the message is %s", message)
	}
}

// A Cluster whose spec the API server refuses with the template stops the fleet. Corrected, it continues.
func TestRefusedTemplateStops(t *testing.T) {
	w := newSuite(t)
	w.start()
	w.clusters(limit(1), "a", "b")
	w.mark(w.fleet("all"), `{"spec":{"template":{"controlPlane":{"instanceType":"no type"}}}}`)
	stopped := w.reason("all", "RolloutStopped")
	if message := stopped.Status.Details[0].Message; !strings.Contains(message, "write an instance type, for example m6i.large") {
		t.Errorf("the message is %s", message)
	}
	w.mark(w.fleet("all"), `{"spec":{"template":{"controlPlane":{"instanceType":"m6i.xlarge"}}}}`)
	for _, name := range []string{"a", "b"} {
		w.eventually("the type is changed", func() error { return equal(w.get(name).Spec.ControlPlane.InstanceType, "m6i.xlarge") })
		w.heal(name)
	}
	w.reason("all", "RolledOut")
	if err := w.apply("author", "Fleet", "all", "{selector: {}, template: {backup: {keep: 9}}}"); err == nil ||
		!strings.Contains(err.Error(), "release cannot be removed") {
		t.Errorf("the release was removed: %v", err)
	}
}

// Statuses that another client forges, and labels that it changes, make the fleet change no Cluster out of turn. Paused Clusters are
// skipped, and those that wait for approval keep their places.
func TestForgedStatusesAndLabels(t *testing.T) {
	w := newSuite(t)
	w.start()
	w.clusters("{maxConcurrent: 1, waves: [{name: first, selector: {matchLabels: {wave: first}}}]}", "a", "b", "c", "d")
	w.mark(w.get("a"), `{"metadata":{"labels":{"wave":"first"}}}`)
	w.mark(w.get("d"), `{"metadata":{"annotations":{"aws-operator/paused":"true"}}}`)
	w.mark(w.fleet("all"), `{"spec":{"template":{"release":"v1.0.1"}}}`)
	w.have("v1.0.1", "a")
	w.conclude("a", func(c *v1alpha1.Cluster) {
		c.Status.PendingChanges = []v1alpha1.PendingChange{{Stack: "a"}}
		set(c, "Ready", metav1.ConditionFalse, "ApprovalNeeded")
	})
	w.eventually("a waits for approval", func() error {
		status := w.fleet("all").Status
		return equal(len(status.Details) > 0 && status.Details[0].State == v1alpha1.FleetApproving, true)
	})

	// Another client forges the fleet's record, and claims that the wave is complete.
	w.eventually("the status is forged", func() error {
		forged := w.fleet("all")
		forged.Status.Updating = nil
		for _, name := range []string{"b", "c", "d"} {
			forged.Status.Updating = append(forged.Status.Updating, v1alpha1.FleetUpdate{
				Name: name, UID: w.get(name).UID, Since: metav1.NewTime(w.clock.Now()),
			})
		}
		forged.Status.Waves[0].Completed = new(metav1.NewTime(w.clock.Now().Add(-time.Hour)))
		return w.client.Status().Update(t.Context(), forged)
	})
	w.eventually("the forged record is replaced", func() error {
		for _, one := range w.fleet("all").Status.Updating {
			if one.UID != w.get("a").UID {
				return fmt.Errorf("it has %s", one.Name)
			}
		}
		return nil
	})
	if err := w.only("v1.0.1", "a"); err != nil {
		t.Error(err)
	}
	// Its wave changes amid its update: it still counts, so that no other is changed.
	w.mark(w.get("a"), `{"metadata":{"labels":{"wave":"none"}}}`)
	w.pass("all", time.Second)
	w.eventually("the wave is rest", func() error { return equal(w.fleet("all").Status.Wave, "rest") })
	if err := w.only("v1.0.1", "a"); err != nil {
		t.Error(err)
	}
	w.heal("a")
	w.have("v1.0.1", "a", "b")
	w.heal("b")
	w.have("v1.0.1", "a", "b", "c")
	w.heal("c")
	if message := w.reason("all", "RolledOut").Status.Conditions[0].Message; !strings.Contains(message, "is rolled out to 3 Clusters. 1 Cluster is paused.") {
		t.Errorf("the message is %s", message)
	}
	w.mark(w.get("d"), `{"metadata":{"annotations":{"aws-operator/paused":null}}}`)
	w.have("v1.0.1", "a", "b", "c", "d")
}

// Several processes share the fleets, and see the Clusters of all. A process that ends amid a rollout is followed by one that
// continues, within the limit.
func TestRestartsAndShardsKeepTheLimit(t *testing.T) {
	w := newSuite(t)
	w.shards = 3
	w.start()
	names := []string{"a", "b", "c", "d", "e", "f"}
	w.clusters(limit(2), names...)
	uids := map[types.UID]bool{}
	w.mark(w.fleet("all"), `{"spec":{"template":{"release":"v1.0.1"}}}`)
	for round := 1; len(uids) < len(names); round++ {
		w.eventually("two more are changed", func() error {
			count := 0
			for _, name := range names {
				if c := w.get(name); c.Spec.Release == "v1.0.1" && !uids[c.UID] {
					count++
				}
			}
			return equal(count, 2)
		})
		w.stop()
		w.start()
		w.mark(w.fleet("all"), fmt.Sprintf(`{"metadata":{"annotations":{"round":"%d"}}}`, round))
		w.eventually("the fleet is reconciled", func() error {
			return equal(fmt.Sprint(len(w.fleet("all").Status.Updating), w.fleet("all").Status.Clusters.Waiting), fmt.Sprint(2, 6-2*round))
		})
		for _, name := range names {
			if c := w.get(name); c.Spec.Release == "v1.0.1" && !uids[c.UID] {
				uids[c.UID] = true
				w.heal(name)
			}
		}
	}
	w.reason("all", "RolledOut")
}

// A Cluster that is stalled with the new release stops the fleet at once.
func TestStalledClusterStops(t *testing.T) {
	w := newSuite(t)
	w.start()
	w.clusters(limit(1), "a", "b")
	w.mark(w.fleet("all"), `{"spec":{"template":{"release":"v1.0.1"}}}`)
	w.have("v1.0.1", "a")
	w.stall("a", "The quota is exceeded.")
	if message := w.reason("all", "RolloutStopped").Status.Conditions[0].Message; !strings.Contains(message, "The quota is exceeded.") {
		t.Errorf("the message is %s", message)
	}
	w.heal("a")
	w.have("v1.0.1", "a", "b")
}
