package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/internal/grant"
	services "github.com/aws-operator/aws-operator/internal/service/controller"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

const (
	// warm is the day at whose end the operator is first measured: what it caches for all objects is
	// there. It is earlier if there are fewer than twice as many days.
	warm = 5
	// ready limits how long the changes of a day may take, in virtual time.
	ready = 6 * time.Hour
	// tenant is the account of the roles with which temporary Clusters are created.
	tenant = "210987654321"
)

// Tolerances between the first and the last measurement. Goroutines and calls vary with the moment of
// the measurement; the heap is sampled.
const (
	moreGoroutines = 0.05
	moreHeap       = 0.15
	moreCalls      = 0.10
)

// bounded are caches that grow up to a limit, with the limit. What they hold must not exceed it.
var bounded = map[string]int{
	"api/cluster/v1alpha1.BackupStatus.Backups":                64,  // 28 of each cluster
	"golang.org/x/net/http2/hpack.headerFieldTable.ents":       512, // 4 KiB of each direction of each connection
	"internal/awsevents.recentIDs.known":                       4096,
	"internal/cfn/stack.checkedTemplates.verdicts":             4096,
	"internal/cluster/controller/instances.terminations.known": 8192,
	"internal/cluster/controller/instances.terminations.askAt": 8192,
	"internal/service/controller.interner.known":               4096,
}

// What an operator holds and does on a day does not depend on how many objects there have been before.
// Each day brings services, an InstanceGroup, and a Cluster with a role and in a region of its own, all
// with new names, which are changed and deleted before the day ends.
func TestChurn(t *testing.T) {
	if os.Getenv("CHURN_DAYS") == "" {
		t.Skip("30 virtual days take 15 minutes: make churn")
	}
	count, seed := number(t, "CHURN_DAYS", 0), uint64(number(t, "SIMULATION_SEED", 1))
	if count < 2 {
		t.Fatalf("CHURN_DAYS is %d: set it to at least 2", count)
	}
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = sampled
	nodeup := nodeupFiles(t)
	synctest.Test(t, func(t *testing.T) { runChurn(t, seed, count, nodeup) })
}

// churn is an operator that runs for days.
type churn struct {
	*run

	parts    *parts
	calls    counter
	registry *prometheus.Registry
}

func runChurn(t *testing.T, seed uint64, count int, nodeup string) {
	t.Helper()
	c := &churn{
		run:      &run{suite: newSuite(t, nodeup, seed), scenario: draw(seed), struck: map[string]bool{}, between: between},
		registry: prometheus.NewRegistry(),
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("SIMULATION_SEED=%d CHURN_DAYS=%d go test ./test/simulation -run TestChurn repeats this", seed, count)
		}
	})
	c.check(workload.CountTogether(c.config))
	c.prepare()
	c.start()
	c.create(c.releases()...)
	c.scenario.slots, c.scenario.release = 1, newRelease
	c.scenario.group = v1alpha1.InstanceGroupSpec{
		Cluster: cluster, MinSize: 1, MaxSize: 2, InstanceTypes: []string{"m6i.large"},
		Architecture: v1alpha1.AMD64, UpdatePolicy: v1alpha1.UpdateAutomatic,
	}
	c.create(c.scenario.theCluster(), c.scenario.theGroup())
	c.until(made, "the cluster is ready", c.isSettled)
	measures := make([]measure, 0, count)
	for day := 1; day <= count; day++ {
		began := time.Now()
		c.day(day)
		c.await(began.Add(24 * time.Hour))
		measures = append(measures, c.measure())
		t.Logf("day %d: %s", day, &measures[day-1])
	}
	first := min(warm, count/2)
	compare(t, count-first, &measures[first-1], &measures[count-1])
}

// prepare lets the operator create services, and use roles of another account.
func (c *churn) prepare() {
	c.t.Helper()
	root := simulatortest.Root("http://aws.test", account, region)
	root.HTTPClient = &http.Client{Transport: inProcess{c.sim.Observer()}}
	user := simulatortest.User(c.t, root, "operator", simulatortest.Administrator) // root users may not assume roles
	c.credentials = credentials.NewStaticCredentialsProvider(user.AccessKeyID, user.SecretAccessKey, "")
	c.calls.next = c.transport
	c.transport = &c.calls
	c.roles = []grant.Grant{{Namespace: "*", Pattern: "arn:aws:iam::" + tenant + ":role/*"}}
	c.suite.registry = c.registry
	c.extend = func(ctx context.Context, p *parts) error {
		c.parts = p
		return services.Setup(ctx, p.manager, services.Options{
			Engine: p.engine, Events: p.events, Region: region, AccountID: account, ClusterName: clusterName, Metrics: p.metrics,
		})
	}
}

// role creates a role that the operator may assume.
func (c *churn) role(name string) string {
	c.t.Helper()
	root := simulatortest.Root("http://aws.test", tenant, region)
	root.HTTPClient = &http.Client{Transport: inProcess{c.sim.Observer()}}
	return simulatortest.Role(c.t, root, name, account, "", simulatortest.Administrator)
}

// servicesOfADay are the services of day 0.
const servicesOfADay = `
{apiVersion: service-operator.aws/v1alpha1, kind: SNSTopic, metadata: {name: shipments-0}, spec: {displayName: a}}
---
{apiVersion: service-operator.aws/v1alpha1, kind: SQSQueue, metadata: {name: labels-0}, spec: {visibilityTimeout: 30}}
---
{apiVersion: service-operator.aws/v1alpha1, kind: SQSQueue, metadata: {name: invoices-0}, spec: {visibilityTimeout: 30}}
---
apiVersion: service-operator.aws/v1alpha1
kind: SNSSubscription
metadata: {name: shipments-to-labels-0}
spec: {topicName: shipments-0, protocol: sqs, endpoint: labels-0}
---
apiVersion: service-operator.aws/v1alpha1
kind: DynamoDB
metadata: {name: sessions-0}
spec: {hashAttribute: {name: user, type: S}, readCapacityUnits: 10, writeCapacityUnits: 5}
`

// services returns the services of a day.
func (c *churn) services(day int) []*unstructured.Unstructured {
	c.t.Helper()
	text := strings.ReplaceAll(servicesOfADay, "-0", fmt.Sprintf("-%d", day))
	var all []*unstructured.Unstructured
	for reader := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), len(text)); ; {
		object := &unstructured.Unstructured{}
		err := reader.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return all
		}
		c.check(err)
		object.SetNamespace(namespace)
		all = append(all, object)
	}
}

// day creates, changes and deletes the objects of a day.
func (c *churn) day(day int) {
	c.t.Helper()
	temporary, workers, extra := c.scenario.theCluster(), c.scenario.theGroup(), c.scenario.theGroup()
	temporary.Name = fmt.Sprintf("temporary-%d", day)
	temporary.Spec.Region, temporary.Spec.Network.Zones = "eu-west-1", []string{"eu-west-1a"}
	temporary.Spec.VolumePolicy = v1alpha1.VolumesDelete
	temporary.Spec.Role = &v1alpha1.AssumedRole{ARN: c.role(temporary.Name)}
	workers.Name, workers.Spec.Cluster = temporary.Name+"-workers", temporary.Name
	extra.Name = fmt.Sprintf("extra-%d", day)
	objects := []client.Object{temporary, workers, extra}
	changed := c.services(day)
	for _, object := range changed {
		objects = append(objects, object)
	}
	c.create(objects...)
	c.until(ready, "the objects of the day are ready", func() string { return c.unready(objects) })

	for _, object := range changed {
		if object.GetKind() == "SQSQueue" {
			c.edit(object, func() { c.check(unstructured.SetNestedField(object.Object, int64(60), "spec", "visibilityTimeout")) })
		}
	}
	c.edit(extra, func() { extra.Spec.Labels = map[string]string{"example.com/day": fmt.Sprint(day)} })
	c.endWorker()
	c.until(ready, "the changed objects are ready", func() string { return c.unready(objects) })

	for _, object := range slices.Backward(objects) {
		c.check(client.IgnoreNotFound(c.client.Delete(c.t.Context(), object)))
	}
	c.until(ready, "the deleted objects do not exist", func() string {
		for _, object := range objects {
			if err := c.client.Get(c.t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
				return fmt.Sprintf("%s: %v, %v", object.GetName(), conditionsOf(object), err)
			}
		}
		return ""
	})
	c.until(ready, "the cluster is ready", c.isSettled)
}

// edit changes the spec of an object.
func (c *churn) edit(object client.Object, change func()) {
	c.t.Helper()
	c.check(c.client.Get(c.t.Context(), client.ObjectKeyFromObject(object), object))
	change()
	c.update(object)
}

// unready describes an object that is not Ready in its current generation, or returns "".
func (c *churn) unready(objects []client.Object) string {
	c.t.Helper()
	for _, object := range objects {
		c.check(c.client.Get(c.t.Context(), client.ObjectKeyFromObject(object), object))
		found := meta.FindStatusCondition(conditionsOf(object), "Ready")
		if found == nil || found.Status != metav1.ConditionTrue || found.ObservedGeneration != object.GetGeneration() {
			return fmt.Sprintf("%s: %v", object.GetName(), conditionsOf(object))
		}
	}
	return ""
}

func conditionsOf(object client.Object) []metav1.Condition {
	switch object := object.(type) {
	case *v1alpha1.Cluster:
		return object.Status.Conditions
	case *v1alpha1.InstanceGroup:
		return object.Status.Conditions
	case *unstructured.Unstructured:
		list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		var conditions []metav1.Condition
		for _, item := range list {
			entry, _ := item.(map[string]any)
			generation, _ := entry["observedGeneration"].(int64)
			conditions = append(conditions, metav1.Condition{
				Type: fmt.Sprint(entry["type"]), Status: metav1.ConditionStatus(fmt.Sprint(entry["status"])), ObservedGeneration: generation,
				Reason: fmt.Sprint(entry["reason"]), Message: fmt.Sprint(entry["message"]),
			})
		}
		return conditions
	}
	return nil
}

// await lets time pass until a moment.
func (c *churn) await(moment time.Time) {
	time.Sleep(time.Until(moment))
	synctest.Wait()
}

// measure is what an operator holds at the end of a day, and did on it.
type measure struct {
	goroutines int
	heap       float64        // bytes that the operator allocated and holds
	process    uint64         // bytes that the process holds, with the simulator's
	calls      map[string]int // of AWS, by operation
	depth      float64        // of all work queues
	series     map[string]int // of metrics, by name and labels
	held       map[string]int // entries, see census
}

// String describes the measurement.
func (m *measure) String() string {
	const mebi = 1 << 20
	return fmt.Sprintf(
		"%d goroutines, %.1f MiB of %.1f, %d calls of AWS, %d entries, %d series of metrics, %.0f objects in work queues",
		m.goroutines, m.heap/mebi, float64(m.process)/mebi, total(m.calls), total(m.held), total(m.series), m.depth,
	)
}

func total(counts map[string]int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

func (c *churn) measure() measure {
	c.t.Helper()
	m := measure{calls: c.calls.reset(), goroutines: runtime.NumGoroutine(), series: map[string]int{}}
	for range 3 { // finalizers release more, and the profile is of the last but one
		runtime.GC()
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	m.process, m.heap = memory.HeapAlloc, heapOfOperator()
	for _, registry := range []prometheus.Gatherer{c.registry, metrics.Registry} {
		families, err := registry.Gather()
		c.check(err)
		for _, family := range families {
			for _, one := range family.GetMetric() {
				m.series[fmt.Sprint(family.GetName(), one.GetLabel())]++
				if family.GetName() == "workqueue_depth" {
					m.depth += one.GetGauge().GetValue()
				}
			}
		}
	}
	p := c.parts
	m.held = take(p.manager, p.clients, p.engine, p.events, p.workload, p.cleanup, p.metrics)
	return m
}

// compare fails if the last measurement exceeds the first by more than the tolerances. A counter that
// grows with each day grows by at least the number of days between.
func compare(t *testing.T, between int, first, last *measure) {
	t.Helper()
	within := func(what string, before, after, tolerance float64) {
		if after > before*(1+tolerance) {
			t.Errorf("%s grew from %.0f to %.0f in %d days, by more than %.0f%%", what, before, after, between, 100*tolerance)
		}
	}
	within("the number of goroutines", float64(first.goroutines), float64(last.goroutines), moreGoroutines)
	within("the operator's heap", first.heap, last.heap, moreHeap)
	within("the number of AWS calls a day", float64(total(first.calls)), float64(total(last.calls)), moreCalls)
	later := slices.DeleteFunc(slices.Sorted(maps.Keys(last.series)), func(name string) bool {
		// A call may fail with each of AWS's codes for the first time on any day.
		return first.series[name] > 0 || strings.HasPrefix(name, "aws_operator_api_requests_total[")
	})
	if len(later) >= between {
		t.Errorf("%d series of metrics came later:\n%s", len(later), strings.Join(later, "\n"))
	}
	if last.depth > 0 {
		t.Errorf("%.0f objects are in work queues although nothing changes", last.depth)
	}
	for _, field := range slices.Sorted(maps.Keys(last.held)) {
		before, after := first.held[field], last.held[field]
		limit, isBounded := bounded[field]
		if isBounded && after <= limit || strings.HasPrefix(field, "github.com/prometheus/") { // what series consist of
			continue
		}
		if after-before >= between {
			t.Errorf("%s grew from %d entries to %d in %d days", field, before, after, between)
		}
	}
	for _, operation := range slices.Sorted(maps.Keys(last.calls)) {
		t.Logf("calls of %s: %d on the first day, %d on the last", operation, first.calls[operation], last.calls[operation])
	}
}

// sampled is how many allocated bytes have one sample in the profile.
const sampled = 4 << 10

// surroundings are parts of the names of functions that are not the operator's: those of AWS, of
// machines, of API servers, and of the test.
var surroundings = []string{
	"/internal/simulator", "/internal/machines", "/internal/kubeapi", "simulation.(*churn)", "simulation.(*run)", "simulation.(*listener)",
	"simulation.(*network)", "simulation.inProcess", "simulation.(*census)", "simulation.newManagement", "net/http.(*conn).serve",
	"net/http.(*Server)",
}

// heapOfOperator returns how many bytes of the heap were allocated by functions of the operator. The
// simulator holds deleted stacks, as AWS does, in the same process.
func heapOfOperator() float64 {
	records := make([]runtime.MemProfileRecord, 0)
	for n, ok := runtime.MemProfile(nil, false); !ok; n, ok = runtime.MemProfile(records, false) {
		records = make([]runtime.MemProfileRecord, n+n/8)
	}
	sum := 0.0
	for i := range records {
		one := &records[i]
		if one.InUseObjects() <= 0 || isOfSurroundings(one.Stack()) {
			continue
		}
		size := float64(one.InUseBytes()) / float64(one.InUseObjects())
		sum += float64(one.InUseBytes()) / (1 - math.Exp(-size/sampled))
	}
	return sum
}

func isOfSurroundings(stack []uintptr) bool {
	for frames := runtime.CallersFrames(stack); ; {
		frame, more := frames.Next()
		if slices.ContainsFunc(surroundings, func(part string) bool { return strings.Contains(frame.Function, part) }) {
			return true
		}
		if !more {
			return false
		}
	}
}

// counter counts calls of AWS by operation.
type counter struct {
	next http.RoundTripper

	mu    sync.Mutex
	calls map[string]int
}

// RoundTrip counts a call and passes it on.
func (c *counter) RoundTrip(request *http.Request) (*http.Response, error) {
	name := operationOf(request)
	c.mu.Lock()
	if c.calls == nil {
		c.calls = map[string]int{}
	}
	c.calls[name]++
	c.mu.Unlock()
	return c.next.RoundTrip(request)
}

// reset returns the counts and begins new ones.
func (c *counter) reset() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls
	c.calls = nil
	return calls
}

// operationOf returns the operation of a call, or its method if only its path tells.
func operationOf(request *http.Request) string {
	if target := request.Header.Get("X-Amz-Target"); target != "" {
		return target
	}
	if request.GetBody != nil && strings.HasPrefix(request.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		if body, err := request.GetBody(); err == nil {
			text, _ := io.ReadAll(body) // A body in memory is read without an error.
			for part := range bytes.SplitSeq(text, []byte("&")) {
				if name, ok := bytes.CutPrefix(part, []byte("Action=")); ok {
					return string(name)
				}
			}
		}
	}
	return request.Method
}
