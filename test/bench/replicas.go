package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/internal/simulator"
)

const (
	// shards is the number of shards of the measured replicas, and teams of namespaces with services.
	shards = 3
	teams  = 30
	// readyWithin limits the wait for many objects.
	readyWithin = time.Hour
)

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// replicated is a suite with replicas that share the objects.
type replicated struct {
	*suite

	replicas []*operator
}

// newReplicated starts a number of replicas, or a single operator without shards if it is 0, and watches all namespaces.
func newReplicated(
	ctx context.Context, binary string, count int, options simulator.Options, kinds ...schema.GroupVersionResource,
) (*replicated, error) {
	w, err := newStoppedSuite(ctx, binary, options, kinds...)
	if err != nil {
		return nil, err
	}
	r := &replicated{suite: w}
	if err := r.begin(ctx, count, kinds); err != nil {
		r.end()
		return nil, err
	}
	return r, nil
}

func (r *replicated) begin(ctx context.Context, count int, kinds []schema.GroupVersionResource) error {
	for i := range teams {
		namespace := object(namespaces, "Namespace", team(i), nil)
		if _, err := r.dynamic.Resource(namespaces).Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create namespace %s: %w", team(i), err)
		}
	}
	for range max(1, count) {
		one := *r.operator
		if count > 0 {
			one.flags = []string{fmt.Sprintf("--shards=%d", shards), "--leader-election-namespace=default"}
		}
		if err := one.start(ctx); err != nil {
			return err
		}
		r.replicas = append(r.replicas, &one)
	}
	if count > 0 {
		if err := r.awaitShards(ctx, count); err != nil {
			return err
		}
	}
	for _, kind := range kinds {
		if err := r.watch(r.dynamic.Resource(kind)); err != nil {
			return err
		}
	}
	return nil
}

func (r *replicated) end() {
	for _, one := range r.replicas {
		_ = one.stop(9)
	}
	r.close()
}

func team(i int) string { return fmt.Sprintf("team-%d", i%teams) }

// awaitShards waits until a number of replicas hold the same number of shards.
func (r *replicated) awaitShards(ctx context.Context, count int) error {
	leases := schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	return waitFor(ctx, 2*time.Minute, fmt.Sprintf("%d replicas to share the shards", count), func() (bool, error) {
		list, err := r.dynamic.Resource(leases).Namespace("default").List(ctx, metav1.ListOptions{LabelSelector: "aws-operator/shards,!aws-operator/replica"})
		if err != nil {
			return false, fmt.Errorf("list Leases: %w", err)
		}
		held := map[string]int{}
		for i := range list.Items {
			if holder, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "holderIdentity"); holder != "" {
				held[holder]++
			}
		}
		total := 0
		for _, n := range held {
			if n < shards/count {
				return false, nil
			}
			total += n
		}
		return len(held) == count && total == shards, nil
	})
}

// createEverywhere creates queues in all namespaces of teams.
func (r *replicated) createEverywhere(ctx context.Context, n int) error {
	return parallel(n, func(i int) error {
		queue := object(queues, "SQSQueue", queueName(i), map[string]any{"visibilityTimeout": int64(30)})
		_, err := r.dynamic.Resource(queues).Namespace(team(i)).Create(ctx, queue, metav1.CreateOptions{FieldManager: "bench"})
		return err
	})
}

func queueName(i int) string { return fmt.Sprintf("queue-%d", i) }

// replicas measures one, two and three replicas with three shards, and a single operator without, on the same machine: the
// time for many objects, the CPU time and the memory of each replica, and how long it takes until others serve the objects of one that is
// killed.
func (b *bench) replicas(ctx context.Context) error {
	for count := range 4 {
		progress(fmt.Sprintf("%d replicas", count))
		if err := b.measureReplicas(ctx, count); err != nil {
			return fmt.Errorf("%d replicas: %w", count, err)
		}
	}
	return nil
}

func (b *bench) measureReplicas(ctx context.Context, count int) error {
	r, err := newReplicated(ctx, b.binary, count, simulator.Options{}, queues)
	if err != nil {
		return err
	}
	defer r.end()
	start := now()
	if err := r.createEverywhere(ctx, b.objects); err != nil {
		return err
	}
	if err := r.awaitReady(ctx, b.objects, readyWithin); err != nil {
		return err
	}
	name := fmt.Sprintf("%d replicas with %d shards, %d SQSQueues in %d namespaces", count, shards, b.objects, teams)
	if count == 0 {
		name = fmt.Sprintf("no shards, %d SQSQueues in %d namespaces", b.objects, teams)
	}
	b.report.duration(name+", apply to all Ready", time.Since(start), 0, "")
	if err := pause(ctx, 45*time.Second); err != nil { // The memory is returned three times a minute.
		return err
	}
	var cpu, memory string
	for _, one := range r.replicas {
		used, err := one.cpu()
		if err != nil {
			return err
		}
		resident, err := one.residentMB()
		if err != nil {
			return err
		}
		cpu += " " + round(used).String()
		memory += fmt.Sprintf(" %.0f MB", resident)
	}
	b.report.note("of it, CPU time of each replica, with its start", cpu[1:])
	b.report.note("memory of each replica", memory[1:])
	if count < 2 {
		return nil
	}
	return b.handover(ctx, r, count)
}

// handover kills one replica, and measures when an edit of an object in each namespace has reached AWS.
func (b *bench) handover(ctx context.Context, r *replicated, count int) error {
	arrived := make(chan string, 4*teams)
	r.onRequest(func(form url.Values) {
		if form.Get("Action") == "UpdateStack" {
			arrived <- form.Get("StackName")
		}
	})
	if err := r.replicas[0].stop(9); err != nil {
		return err
	}
	r.replicas = r.replicas[1:]
	start := now()
	for i := range teams {
		patch := []byte(`{"spec":{"visibilityTimeout":31}}`)
		of := r.dynamic.Resource(queues).Namespace(team(i))
		if _, err := of.Patch(ctx, queueName(i), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("edit %s: %w", queueName(i), err)
		}
	}
	seen := map[string]bool{}
	for len(seen) < teams {
		select {
		case name := <-arrived:
			if seen[name] {
				return fmt.Errorf("the stack %s was updated twice", name)
			}
			seen[name] = true
		case <-time.After(2 * time.Minute):
			return fmt.Errorf("%d of %d edits reached AWS", len(seen), teams)
		}
	}
	b.report.duration(fmt.Sprintf("%d replicas, one killed: until an edit in each namespace reached AWS", count), time.Since(start), 15*time.Second, "")
	return nil
}

// kills creates queues and clusters while one of three replicas is killed and started again, over and over.
func (b *bench) kills(ctx context.Context) error {
	progress(fmt.Sprintf("%d queues and %d clusters, with kills", b.many, b.fleet))
	r, err := newReplicated(ctx, b.binary, 3, fleetOptions(b.fleet), queues, clusterKind, groupKind)
	if err != nil {
		return err
	}
	defer r.end()
	start := now()
	killing, stop := context.WithCancel(ctx)
	killed := make(chan error, 1)
	var times atomic.Int64
	go func() { killed <- r.killAtRandom(killing, b.every, &times) }()
	go r.count(killing, &times)
	err = r.createBoth(ctx, b.many, b.fleet)
	if err == nil {
		err = r.awaitReady(ctx, b.many+2*b.fleet, readyWithin)
	}
	stop()
	if killedErr := <-killed; err == nil {
		err = killedErr
	}
	if err != nil {
		return err
	}
	b.report.duration(fmt.Sprintf("%d SQSQueues and %d clusters with 3 replicas, %d times killed: until all were Ready", b.many, b.fleet, times.Load()),
		time.Since(start), 0, "")
	calls := r.simulator.Calls()
	made := b.many + b.fleet*stacksOfCluster + shards
	b.report.note("calls of CreateStack and UpdateStack, and stacks that were made",
		fmt.Sprintf("%d, %d, %d", calls["cloudformation/CreateStack"], calls["cloudformation/UpdateStack"], made))
	return nil
}

// stacksOfCluster are those of a cluster of the fleet: its base, three slots and a group.
const stacksOfCluster = 5

func (r *replicated) createBoth(ctx context.Context, services, clusters int) error {
	r.client = r.dynamic.Resource(clusterKind).Namespace("default")
	var group sync.WaitGroup
	var failures [2]error
	group.Go(func() { failures[0] = r.createEverywhere(ctx, services) })
	group.Go(func() { failures[1] = r.createClusters(ctx, clusters) })
	group.Wait()
	if failures[0] != nil {
		return failures[0]
	}
	return failures[1]
}

// pauseUnlessEnded waits, and reports whether the context has not ended.
func pauseUnlessEnded(ctx context.Context, d time.Duration) bool { return pause(ctx, d) == nil }

// lastError returns the last line of the operators' log that is no record, which is the error with which one ended.
func (r *replicated) lastError() string {
	log, err := os.ReadFile(filepath.Join(r.dir, "operator.log"))
	if err != nil {
		return err.Error()
	}
	last := ""
	for line := range strings.Lines(string(log)) {
		if !strings.HasPrefix(line, "{") {
			last = strings.TrimSpace(line)
		}
	}
	return last
}

// count prints how many queues and clusters there are, every minute until the context ends.
func (r *replicated) count(ctx context.Context, times *atomic.Int64) {
	for pauseUnlessEnded(ctx, time.Minute) {
		var counts [2]int64
		for i, kind := range []schema.GroupVersionResource{queues, clusterKind} {
			list, err := r.dynamic.Resource(kind).List(ctx, metav1.ListOptions{Limit: 1})
			if err != nil {
				return
			}
			counts[i] = int64(len(list.Items))
			if more := list.GetRemainingItemCount(); more != nil {
				counts[i] += *more
			}
		}
		progress(fmt.Sprintf("%d queues and %d clusters exist, %d kills", counts[0], counts[1], times.Load()))
	}
}

// killAtRandom kills a replica and starts it again until the context ends.
func (r *replicated) killAtRandom(ctx context.Context, every time.Duration, times *atomic.Int64) error {
	for {
		// A replica that ended with an error is started again, as a kubelet does.
		for _, one := range r.replicas {
			if _, err := one.residentMB(); err == nil {
				continue
			}
			progress("a replica ended with an error: " + r.lastError())
			_ = one.stop(9)
			if err := one.start(context.WithoutCancel(ctx)); err != nil {
				return err
			}
		}
		if !pauseUnlessEnded(ctx, every/4+rand.N(every*3/4)) { //nolint:gosec,mnd // not security-relevant
			return nil
		}
		victim := r.replicas[rand.IntN(len(r.replicas))] //nolint:gosec // not security-relevant
		if err := victim.stop(9); err != nil {
			return err
		}
		times.Add(1)
		if !pauseUnlessEnded(ctx, rand.N(20*time.Second)) { //nolint:gosec // not security-relevant
			return nil
		}
		if err := victim.start(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
}
