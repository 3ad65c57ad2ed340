package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	clusterv1alpha1 "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

const (
	// olderOperator names the variable with the program of the version to upgrade from.
	olderOperator = "OLDER_OPERATOR"
	// queueCount names the variable with the number of queues.
	queueCount = "QUEUES"
	// restoreProgram is the program with which instances restore etcd; fake machines do not run it.
	restoreProgram = "etcd-restore-linux-"
)

// upgradedClusters returns the manifest of a cluster that is rolled, of two that are restored, one of them from the
// moment of the kill on, and of one that does not change. The group rolling-others does not change either.
func upgradedClusters() string {
	var manifest strings.Builder
	for _, name := range []string{"rolling", "restored", "late", "untouched"} {
		fmt.Fprintf(&manifest, `
apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: %[1]s}
spec:
  release: v1.36.3
  region: eu-central-1
  network: {cidr: 10.0.0.0/16, zones: [eu-central-1a, eu-central-1b, eu-central-1c], topology: Private, nat: Single}
  controlPlane: {replicas: 3, instanceType: m6i.large}
---
apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata: {name: %[1]s-others}
spec: {cluster: %[1]s, minSize: 2, maxSize: 3, instanceTypes: [m6i.large]}
---`, name)
	}
	return manifest.String() + `
apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata: {name: rolling-workers}
spec: {cluster: rolling, minSize: 6, maxSize: 6, instanceTypes: [m6i.large], rollingUpdate: {batchSize: 1, minInService: 5}}
`
}

// restores are the clusters that are restored.
var restores = []string{"restored", "late"}

// The operator of another commit is killed amid a rolling update, two restores of etcd and the creation
// of many queues, and the operator of this commit continues: with its own CustomResourceDefinitions
// and another nodeup, it loses nothing and replaces no instance that does not have to be replaced.
//
// Operators without record.Stack.Planned record a change of a stack of instances after they sent it. If
// the kill hits that moment, this operator replaces the instances of that stack again, and the test
// fails: see TestNewOperatorContinuesAChangeThatItFinds.
func TestOperatorIsUpgradedAmidWork(t *testing.T) {
	older := os.Getenv(olderOperator)
	if older == "" {
		t.Skip("run it by make test-operator-upgrade: it needs the program of another commit")
	}
	count, err := strconv.Atoi(os.Getenv(queueCount))
	if err != nil {
		t.Fatalf("%s: %v", queueCount, err)
	}
	// newCloud applies the definitions of clusters of this commit, which the older operator replaces when it
	// starts. Machines boot slowly enough for the kill to hit the roll and the restore in the middle.
	c := newCloud(t, cloudOptions{latency: 50 * time.Millisecond, program: older, bootTime: 10 * time.Second})
	u := &upgrade{cloud: c, count: count, all: make(chan struct{}), snapshots: map[string]string{}, times: &strings.Builder{}}
	u.table = tabwriter.NewWriter(u.times, 0, 0, 2, ' ', 0)
	u.follow()
	before := c.inventory(account)
	u.begin()
	instances := u.instances()
	updated := u.stackUpdates()
	u.work()
	u.killAmidWork()
	u.program = os.Args[0]
	u.writeNodeup("a newer nodeup")
	c.start()
	u.awaitEnd()
	u.checkKinds()
	u.checkQueues()
	u.checkInstances(instances, u.instances())
	u.checkStacks(updated, u.stackUpdates())
	u.remove(u.objects...)
	u.removeQueues()
	u.mark("deleted everything")
	if diff := cmp.Diff(before, c.inventory(account)); diff != "" {
		t.Errorf("deletion left a trace (-before +after):\n%s", diff)
	}
	if err := u.table.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("upgrade from %s with %d queues:\n%s", filepath.Base(filepath.Dir(older)), count, u.times)
}

// upgrade is the work that an upgrade of the operator interrupts.
type upgrade struct {
	*cloud

	objects []*unstructured.Unstructured // the clusters and groups
	count   int                          // of queues
	queued  cache.SharedIndexInformer
	created errgroup.Group // creates the queues
	all     chan struct{}  // closed when all queues are being created
	// snapshots are restored, by cluster.
	snapshots map[string]string
	rolled    []string // the instances that are replaced

	last  time.Time
	times *strings.Builder
	table *tabwriter.Writer
}

// mark adds a line to the table of times.
func (u *upgrade) mark(what string) {
	u.t.Helper()
	now := time.Now()
	took := now.Sub(u.last).Round(100 * time.Millisecond)
	u.last = now
	fmt.Fprintf(u.table, "%s\t%s\n", what, took)
	u.t.Logf("%s after %s", what, took)
}

// follow watches the queues: to list a thousand of them at each poll would occupy the API server.
func (u *upgrade) follow() {
	u.t.Helper()
	u.last = time.Now()
	u.await(func() string { return "the kinds to be served" }, func() bool {
		_, err := u.client.Resource(queues).Namespace(u.namespace).List(u.t.Context(), metav1.ListOptions{})
		return err == nil
	})
	u.mark("started the older operator")
	u.queued = dynamicinformer.NewFilteredDynamicInformer(u.client, queues, u.namespace, 0, cache.Indexers{}, nil).Informer()
	go u.queued.RunWithContext(u.t.Context())
}

// ready returns the number of queues that are Ready.
func (u *upgrade) ready() (n int) {
	for _, object := range u.queued.GetStore().List() {
		if isReady(object.(*unstructured.Unstructured)) { //nolint:forcetypeassert // the informer has no others
			n++
		}
	}
	return n
}

// begin creates the clusters, and waits for a backup.
func (u *upgrade) begin() {
	u.t.Helper()
	u.writeNodeup("an older nodeup")
	u.objects = u.apply(upgradedClusters())
	u.awaitReady(u.objects...)
	for _, name := range []string{"rolling", "untouched"} {
		write(u.t, u.workload(name), "written", "before")
	}
	for _, name := range restores {
		u.await(func() string { return "the backup of " + name + " to be complete" }, func() bool {
			backups, _, _ := unstructured.NestedSlice(u.object(name).Object, "status", "backup", "backups")
			if len(backups) == 0 {
				return false
			}
			newest, _ := backups[0].(map[string]any)
			u.snapshots[name], _ = newest["snapshot"].(string)
			return newest["state"] == "completed"
		})
	}
	u.mark("older operator: 4 clusters with 5 groups Ready and backed up")
}

// restore starts the restore of a cluster, and waits until the operator deletes its control plane.
func (u *upgrade) restore(name string) {
	u.t.Helper()
	u.edit("Cluster", name, `{"metadata":{"annotations":{"cluster-operator.aws/allow":"remove"}},`+
		`"spec":{"controlPlane":{"restoreSnapshot":"`+u.snapshots[name]+`"}}}`)
	u.await(
		func() string { return "the restore of " + name + " to begin" },
		func() bool { return reason(u.object(name), "Ready") == "Restoring" },
	)
}

// object returns a cluster or group by its name.
func (u *upgrade) object(name string) *unstructured.Unstructured {
	u.t.Helper()
	i := slices.IndexFunc(u.objects, func(o *unstructured.Unstructured) bool { return o.GetName() == name })
	return u.get(u.objects[i])
}

// writeNodeup replaces the programs that the operator has for instances.
func (u *upgrade) writeNodeup(text string) {
	u.t.Helper()
	for _, architecture := range []string{"amd64", "arm64"} {
		for _, name := range []string{"nodeup-linux-", restoreProgram} {
			if err := os.WriteFile(filepath.Join(u.nodeup, name+architecture), []byte(text+" of "+name+architecture), 0o600); err != nil {
				u.t.Fatal(err)
			}
		}
	}
}

// work starts the roll of a group, then the restore of a cluster, and then the creation of the queues.
func (u *upgrade) work() {
	u.t.Helper()
	u.rolled = slices.Sorted(maps.Keys(u.instances()["rolling-workers"]))
	u.edit("InstanceGroup", "rolling-workers", `{"spec":{"labels":{"version":"next"}}}`)
	u.await(func() string { return "two nodes to be replaced" }, func() bool { return u.replaced() >= 2 })
	u.mark("older operator: 2 of 6 nodes of the roll replaced")
	u.restore("restored")
	u.mark("older operator: first restore deletes the control plane")
	u.created.SetLimit(4)
	go func() {
		for n := range u.count {
			u.created.Go(func() error { return u.createQueue(u.t.Context(), n) })
		}
		close(u.all)
	}()
}

func (u *upgrade) createQueue(ctx context.Context, n int) error {
	queue := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": queues.GroupVersion().String(), "kind": "SQSQueue",
		"metadata": map[string]any{"name": fmt.Sprintf("queue-%04d", n)}, "spec": map[string]any{"visibilityTimeout": int64(30)},
	}}
	if _, err := u.client.Resource(queues).Namespace(u.namespace).Create(ctx, queue, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create queue %d: %w", n, err)
	}
	return nil
}

// replaced returns how many of the group's former instances are terminated.
func (u *upgrade) replaced() (n int) {
	u.t.Helper()
	states := u.instances()["rolling-workers"]
	for _, id := range u.rolled {
		if states[id] == ec2types.InstanceStateNameTerminated {
			n++
		}
	}
	return n
}

// killAmidWork kills the operator when a fifth of the queues is Ready, and the second restore has begun.
func (u *upgrade) killAmidWork() {
	u.t.Helper()
	var ready int
	u.await(func() string { return fmt.Sprintf("a fifth of the queues to be Ready; %d are", ready) }, func() bool {
		ready = u.ready()
		return ready >= u.count/5
	})
	u.restore("late")
	u.kill()
	replaced, ready := u.replaced(), u.ready()
	progress := fmt.Sprintf("%d of %d nodes replaced, %d of %d queues Ready", replaced, len(u.rolled), ready, u.count)
	late := replaced >= len(u.rolled) || ready >= u.count
	for _, name := range restores {
		progress += ", restore: " + reason(u.object(name), "Ready")
		late = late || isReady(u.object(name))
	}
	u.mark("killed the older operator: " + progress)
	if late {
		u.t.Fatalf("the kill came too late: %s", progress)
	}
}

func reason(object *unstructured.Unstructured, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if fields, ok := c.(map[string]any); ok && fields["type"] == kind {
			found, _ := fields["reason"].(string)
			return found
		}
	}
	return ""
}

// awaitEnd waits until the newer operator has completed all work.
func (u *upgrade) awaitEnd() {
	u.t.Helper()
	<-u.all
	if err := u.created.Wait(); err != nil {
		u.t.Fatal(err)
	}
	left := map[string]func() bool{
		fmt.Sprintf("%d queues Ready", u.count): func() bool { return u.ready() == u.count },
		"first restored cluster Ready":          func() bool { return u.isDone("restored") },
		"second restored cluster Ready":         func() bool { return u.isDone("late") },
		"6 of 6 nodes of the roll replaced":     func() bool { return u.isDone("rolling-workers") && u.replaced() == len(u.rolled) },
	}
	for len(left) > 0 {
		var done string
		u.await(func() string { return strings.Join(slices.Sorted(maps.Keys(left)), ", ") }, func() bool {
			for what, holds := range left {
				if holds() {
					done = what
					return true
				}
			}
			return false
		})
		delete(left, done)
		fmt.Fprintf(u.table, "newer operator: %s\t%s\n", done, time.Since(u.last).Round(100*time.Millisecond))
		u.t.Logf("newer operator: %s after %s", done, time.Since(u.last).Round(100*time.Millisecond))
	}
	u.awaitReady(u.objects...)
	u.mark("newer operator: everything Ready")
}

func (u *upgrade) isDone(name string) bool { return isReady(u.object(name)) }

// instances returns the states of all instances that EC2 has launched, also of terminated ones, by
// their group and ID. Slots are in the group that is named after their cluster.
func (u *upgrade) instances() map[string]map[string]ec2types.InstanceStateName {
	u.t.Helper()
	found := map[string]map[string]ec2types.InstanceStateName{}
	pages := ec2.NewDescribeInstancesPaginator(ec2.NewFromConfig(u.config(account)), &ec2.DescribeInstancesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(u.t.Context())
		if err != nil {
			u.t.Fatal(err)
		}
		for _, reservation := range page.Reservations {
			for i := range reservation.Instances {
				instance := &reservation.Instances[i]
				tags := map[string]string{}
				for _, tag := range instance.Tags {
					tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
				}
				group := tags[model.TagInstanceGroup]
				if group == "" {
					group = tags[model.TagCluster]
				}
				if found[group] == nil {
					found[group] = map[string]ec2types.InstanceStateName{}
				}
				found[group][aws.ToString(instance.InstanceId)] = instance.State.Name
			}
		}
	}
	return found
}

// checkInstances checks that the roll and the restore replaced each of their instances once, and
// that all other instances are those from before.
func (u *upgrade) checkInstances(before, after map[string]map[string]ec2types.InstanceStateName) {
	u.t.Helper()
	for group, was := range before {
		is, replaced := after[group], group == "rolling-workers" || slices.Contains(restores, group)
		running, others := 0, 0
		for id, state := range is {
			_, known := was[id]
			switch {
			case state == ec2types.InstanceStateNameRunning && known != replaced:
				running++
			case known && replaced && state == ec2types.InstanceStateNameTerminated:
			default:
				others++
				u.t.Errorf("instance %s of %s is %s; it was there before: %v", id, group, state, known)
			}
		}
		if running != len(was) {
			u.t.Errorf("%s has %d instances as expected and %d others, want %d", group, running, others, len(was))
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after))); diff != "" {
		u.t.Errorf("groups with instances (-before +after):\n%s", diff)
	}
	for _, name := range []string{"rolling", "untouched"} {
		found, err := u.workload(name).CoreV1().ConfigMaps("default").Get(u.t.Context(), "written", metav1.GetOptions{})
		if err != nil || found.Data["written"] != "before" {
			u.t.Errorf("data from before the upgrade in %s: %v, %v", name, found.Data, err)
		}
	}
}

// stackUpdates returns how often each stack was created and updated, by its name.
func (u *upgrade) stackUpdates() map[string]stackHistory {
	u.t.Helper()
	found := map[string]stackHistory{}
	client := cloudformation.NewFromConfig(u.config(account))
	stacks := cloudformation.NewListStacksPaginator(client, &cloudformation.ListStacksInput{})
	for stacks.HasMorePages() {
		page, err := stacks.NextPage(u.t.Context())
		if err != nil {
			u.t.Fatal(err)
		}
		for i := range page.StackSummaries {
			summary := &page.StackSummaries[i]
			name := aws.ToString(summary.StackName)
			if strings.HasPrefix(name, "aws-operator-events") { // a version may change its own stack
				continue
			}
			history := found[name]
			history.Created++
			if summary.LastUpdatedTime != nil {
				history.Updated += u.countUpdates(client, summary)
			}
			found[name] = history
		}
	}
	return found
}

type stackHistory struct{ Created, Updated int }

func (u *upgrade) countUpdates(client *cloudformation.Client, summary *cfntypes.StackSummary) (n int) {
	u.t.Helper()
	events := cloudformation.NewDescribeStackEventsPaginator(client, &cloudformation.DescribeStackEventsInput{StackName: summary.StackId})
	for events.HasMorePages() {
		page, err := events.NextPage(u.t.Context())
		if err != nil {
			u.t.Fatal(err)
		}
		for i := range page.StackEvents {
			event := &page.StackEvents[i]
			if event.ResourceStatus == cfntypes.ResourceStatusUpdateInProgress &&
				aws.ToString(event.PhysicalResourceId) == aws.ToString(summary.StackId) {
				n++
			}
		}
	}
	return n
}

// checkStacks checks that only the stacks of the roll and of the restore changed, each once, and
// that each queue has had one stack.
func (u *upgrade) checkStacks(before, after map[string]stackHistory) {
	u.t.Helper()
	want := maps.Clone(before)
	change := func(name string, created, updated int) {
		h := want[name]
		want[name] = stackHistory{h.Created + created, h.Updated + updated}
	}
	change("rolling-workers", 0, 1)
	for _, name := range restores {
		change(name, 0, 1)
		for slot := range 3 {
			change(model.SlotStackName(name, slot), 1, 0)
		}
	}
	for _, object := range u.queued.GetStore().List() {
		queue := object.(*unstructured.Unstructured) //nolint:forcetypeassert // the informer has no others
		name, _, _ := unstructured.NestedString(queue.Object, "status", "stackName")
		change(name, 1, 0)
	}
	if diff := cmp.Diff(want, after); diff != "" {
		u.t.Errorf("stacks that were created and updated, by name (-want +got):\n%s", diff)
	}
}

// checkKinds checks that the definitions of the kinds are those of this commit.
func (u *upgrade) checkKinds() {
	u.t.Helper()
	clusters, err := clusterv1alpha1.CustomResourceDefinitions()
	if err != nil {
		u.t.Fatal(err)
	}
	services, err := servicev1alpha1.CustomResourceDefinitions()
	if err != nil {
		u.t.Fatal(err)
	}
	definitions := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	for _, want := range slices.Concat(clusters, services) {
		found, err := u.client.Resource(definitions).Get(u.t.Context(), want.Name, metav1.GetOptions{})
		if err != nil {
			u.t.Errorf("definition %s: %v", want.Name, err)
			continue
		}
		got := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, got); err != nil {
			u.t.Fatal(err)
		}
		if diff := cmp.Diff(want.Spec.Versions[0].Schema, got.Spec.Versions[0].Schema); diff != "" {
			u.t.Errorf("schema of %s (-want +got):\n%s", want.Name, diff)
		}
	}
}

// checkQueues checks that no object was lost.
func (u *upgrade) checkQueues() {
	u.t.Helper()
	if n := len(u.queued.GetStore().List()); n != u.count {
		u.t.Errorf("there are %d queues, want %d", n, u.count)
	}
}

// removeQueues deletes the queues and waits until they are deleted.
func (u *upgrade) removeQueues() {
	u.t.Helper()
	err := u.client.Resource(queues).Namespace(u.namespace).DeleteCollection(
		u.t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{},
	)
	if err != nil {
		u.t.Fatal(err)
	}
	u.await(
		func() string { return fmt.Sprintf("%d queues to be deleted", len(u.queued.GetStore().List())) },
		func() bool { return len(u.queued.GetStore().List()) == 0 },
	)
}
