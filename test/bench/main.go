package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator"
)

func main() {
	binary := flag.String("operator", "bin/aws-operator", "the operator to measure")
	only := flag.String("only", "", "comma-separated: create, edit, drift, idle, restart, memory, latency, rollout, clusters, fleet, waves, roll, replicas, kills; empty for all but the last")
	objects := flag.Int("objects", 1000, "number of queues in the first measurements")
	many := flag.Int("many", 10000, "number of idle queues for measuring memory")
	some := flag.Int("clusters", 100, "number of clusters in the first measurement of clusters")
	fleet := flag.Int("fleet", 1000, "number of clusters in the measurement of a fleet")
	members := flag.Int("members", 200, "number of clusters in the measurement of the waves of a Fleet")
	every := flag.Duration("every", 40*time.Second, "the longest time between two kills of replicas; the shortest is a quarter of it")
	groups := flag.Int("groups", 200, "number of groups to roll")
	nodes := flag.Int("nodes", 10, "number of nodes in each of these groups")
	boot := flag.Duration("boot", 45*time.Second, "boot time of the machines in these groups")
	identity := flag.Bool("identity", false, "create the queues with an AWSIdentity")
	dir := flag.String("profiles", "", "the folder for Go profiles of the measurements of objects, clusters and memory; none by default")
	flag.Parse()
	// This process simulates AWS and the machines. They are not measured, so they may use more
	// memory and collect garbage less often, unless memory is short.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(300)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := &bench{
		binary:   *binary,
		objects:  *objects,
		many:     *many,
		some:     *some,
		fleet:    *fleet,
		members:  *members,
		every:    *every,
		groups:   *groups,
		nodes:    *nodes,
		boot:     *boot,
		only:     *only,
		profiles: *dir,
		identity: *identity,
	}
	err := b.run(ctx)
	if printErr := b.report.write(os.Stdout); err == nil {
		err = printErr
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

// bench runs the measurements in the order of their dependencies.
type bench struct {
	binary        string
	objects, many int
	some, fleet   int
	members       int
	groups, nodes int
	boot          time.Duration
	only          string
	profiles      string
	every         time.Duration
	identity      bool
	report        report
}

func (b *bench) wants(name string) bool {
	return b.only == "" || slices.Contains(strings.Split(b.only, ","), name)
}

func (b *bench) run(ctx context.Context) error {
	if slices.ContainsFunc([]string{"create", "edit", "drift", "idle", "restart", "memory"}, b.wants) {
		if err := b.zeroLatency(ctx); err != nil {
			return err
		}
	}
	if b.wants("latency") {
		if err := b.realisticLatency(ctx); err != nil {
			return err
		}
	}
	if b.wants("rollout") {
		if err := b.rollout(ctx); err != nil {
			return err
		}
	}
	if b.wants("clusters") {
		if err := b.clusters(ctx, b.some, 0); err != nil {
			return err
		}
	}
	if b.wants("fleet") {
		if err := b.clusters(ctx, b.fleet, 3*time.Minute); err != nil {
			return err
		}
	}
	return b.runLast(ctx)
}

// runLast runs the measurements of a Fleet's waves, of many nodes and of several replicas.
func (b *bench) runLast(ctx context.Context) error {
	if b.wants("waves") {
		if err := b.waves(ctx, b.members); err != nil {
			return err
		}
	}
	if b.wants("roll") {
		if err := b.roll(ctx, b.groups, b.nodes); err != nil {
			return err
		}
	}
	if b.wants("replicas") {
		if err := b.replicas(ctx); err != nil {
			return err
		}
	}
	if b.only != "" && b.wants("kills") {
		return b.kills(ctx)
	}
	return nil
}

func (b *bench) zeroLatency(ctx context.Context) error {
	progress("starting a control plane, a simulator without latency and the operator")
	w, err := newSuite(ctx, b.binary, simulator.Options{}, queues)
	if err != nil {
		return err
	}
	defer w.close()
	if b.identity {
		if err := w.identify(ctx); err != nil {
			return err
		}
	}
	for _, step := range []struct {
		name string
		run  func(context.Context, *suite) error
	}{
		{"create", b.create}, // the others need its objects
		{"edit", b.edit},
		{"drift", b.drift},
		{"idle", b.idle},
		{"restart", b.restart},
		{"memory", b.memory},
	} {
		if step.name != "create" && !b.wants(step.name) {
			continue
		}
		progress(step.name)
		if err := step.run(ctx, w); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// create measures the creation of many objects.
func (b *bench) create(ctx context.Context, w *suite) error {
	before, beforeQueue := w.calls()
	requests, err := w.serverRequests(ctx)
	if err != nil {
		return err
	}
	spent, err := spentNow()
	if err != nil {
		return err
	}
	profiles := &profiles{dir: b.profiles}
	if err := profiles.begin(ctx, w.operator, w.plane.RESTConfig()); err != nil {
		return err
	}
	start := now()
	if err := w.create(ctx, "queue", b.objects); err != nil {
		return err
	}
	if err := w.awaitReady(ctx, b.objects, 10*time.Minute); err != nil {
		return err
	}
	b.report.duration(fmt.Sprintf("%d SQSQueues, apply to all Ready", b.objects), time.Since(start), 15*time.Second, "20 s")
	if err := profiles.end(ctx, w.operator); err != nil {
		return err
	}
	spentAfter, err := spentNow()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(spentAfter)) {
		b.report.note("of it, CPU time: "+name, round(spentAfter[name]-spent[name]).String())
	}
	requestsAfter, err := w.serverRequests(ctx)
	if err != nil {
		return err
	}
	b.report.note("requests at the API server per object", requestsAfter.since(requests, b.objects))
	after, afterQueue := w.calls()
	n := float64(b.objects)
	b.report.number("AWS calls per object created, event polling included", float64(after-before+afterQueue-beforeQueue)/n, 3, "", "9")
	b.report.note("of them, polling of the event queue", fmt.Sprintf("%.2f", float64(afterQueue-beforeQueue)/n))
	return nil
}

// edit measures the time from a user's edit to the UpdateStack call, idle and during a burst.
func (b *bench) edit(ctx context.Context, w *suite) error {
	before, beforeQueue := w.calls()
	quiet, err := b.edits(ctx, w, 200, 31)
	if err != nil {
		return err
	}
	if err := w.awaitReady(ctx, b.objects, time.Minute); err != nil {
		return err
	}
	after, afterQueue := w.calls()
	b.report.duration(
		fmt.Sprintf("edit to UpdateStack, %d idle objects, median", b.objects), percentile(quiet, 50), 25*time.Millisecond, "28 ms",
	)
	b.report.duration("edit to UpdateStack, p99", percentile(quiet, 99), 100*time.Millisecond, "")
	b.report.number("AWS calls per edit, without event polling", float64(after-before)/200, 2, "", "5")
	b.report.note("polling of the event queue per edit, edits one by one", fmt.Sprintf("%.2f", float64(afterQueue-beforeQueue)/200))

	done := make(chan error, 1)
	go func() { done <- w.create(ctx, "other", b.objects) }()
	busy, err := b.edits(ctx, w, 100, 32)
	if err != nil {
		return err
	}
	if err := <-done; err != nil {
		return err
	}
	b.report.duration(
		fmt.Sprintf("edit to UpdateStack while %d others are created, median", b.objects), percentile(busy, 50), 25*time.Millisecond, "",
	)
	b.report.duration("the same, p99", percentile(busy, 99), 100*time.Millisecond, "16 s")
	return w.awaitReady(ctx, 2*b.objects, 5*time.Minute)
}

// edits changes n queues one after another and returns how long each change took to reach AWS.
func (b *bench) edits(ctx context.Context, w *suite, n, value int) ([]time.Duration, error) {
	arrived := make(chan time.Time, 4*n)
	remove := w.onUpdate(func() { arrived <- now() })
	defer remove()
	var all []time.Duration
	for i := range n {
		start := now()
		if err := w.edit(ctx, fmt.Sprintf("queue-%d", i), value); err != nil {
			return nil, err
		}
		select {
		case at := <-arrived:
			all = append(all, at.Sub(start))
		case <-time.After(time.Minute):
			return nil, fmt.Errorf("the edit of queue-%d did not reach AWS within a minute", i)
		}
	}
	return all, nil
}

// idle measures the cost of idle objects, and a reconcile with nothing to do.
func (b *bench) idle(ctx context.Context, w *suite) error {
	const window = 60 * time.Second
	before, _ := w.calls()
	cpu, err := w.operator.cpu()
	if err != nil {
		return err
	}
	if err := pause(ctx, window); err != nil {
		return err
	}
	after, _ := w.calls()
	cpuAfter, err := w.operator.cpu()
	if err != nil {
		return err
	}
	objects := len(w.ready)
	perHour := float64(after-before) / float64(objects) * float64(time.Hour/window)
	b.report.number("AWS calls per idle object and hour, without the sweep", perHour, 0, "", "0")
	b.report.note(fmt.Sprintf("CPU of the operator with %d idle objects", objects),
		fmt.Sprintf("%.2f%% of a core", 100*float64(cpuAfter-cpu)/float64(window)))

	count, sum := "aws_operator_reconcile_duration_seconds_count", "aws_operator_reconcile_duration_seconds_sum"
	counted, err := w.operator.sumOf(ctx, count, `kind="SQSQueue"`)
	if err != nil {
		return err
	}
	spent, err := w.operator.sumOf(ctx, sum, `kind="SQSQueue"`)
	if err != nil {
		return err
	}
	const touches = 500
	for i := range touches {
		if err := w.touch(ctx, fmt.Sprintf("queue-%d", i), fmt.Sprint(now().UnixNano())); err != nil {
			return err
		}
	}
	var countedAfter float64
	if err := waitFor(ctx, time.Minute, "no-change reconciles", func() (bool, error) {
		countedAfter, err = w.operator.sumOf(ctx, count, `kind="SQSQueue"`)
		return countedAfter-counted >= touches, err
	}); err != nil {
		return err
	}
	spentAfter, err := w.operator.sumOf(ctx, sum, `kind="SQSQueue"`)
	if err != nil {
		return err
	}
	mean := time.Duration((spentAfter - spent) / (countedAfter - counted) * float64(time.Second))
	b.report.duration("a reconcile that changes nothing, mean", mean, 200*time.Microsecond, "")
	return nil
}

// restart measures the AWS calls of a restarted operator.
func (b *bench) restart(ctx context.Context, w *suite) error {
	if err := w.operator.stop(15); err != nil {
		return err
	}
	before, _ := w.calls()
	start := now()
	if err := w.operator.start(ctx); err != nil {
		return err
	}
	ready := time.Since(start)
	if err := pause(ctx, 20*time.Second); err != nil {
		return err
	}
	after, _ := w.calls()
	// DescribeStacks returns at most 100 stacks a page; a few more calls find the operator's own
	// queue.
	pages := float64(len(w.ready))/100 + 5
	b.report.number(fmt.Sprintf("AWS calls of a restart with %d objects", len(w.ready)), float64(after-before), pages, "", "4 an object")
	b.report.duration("restart to ready", ready, 0, "")
	return nil
}

// memory measures the operator with many idle objects.
func (b *bench) memory(ctx context.Context, w *suite) error {
	if missing := b.many - len(w.ready); missing > 0 {
		progress(fmt.Sprintf("creating %d more queues", missing))
		if err := w.create(ctx, "idle", missing); err != nil {
			return err
		}
		if err := w.awaitReady(ctx, b.many, 20*time.Minute); err != nil {
			return err
		}
	}
	busy, err := w.operator.residentMB()
	if err != nil {
		return err
	}
	b.report.note(fmt.Sprintf("memory right after creating %d objects", b.many), fmt.Sprintf("%.0f MB", busy))
	if err := w.operator.stop(15); err != nil {
		return err
	}
	if err := w.operator.start(ctx); err != nil {
		return err
	}
	settled, err := w.operator.settle(ctx)
	if err != nil {
		return err
	}
	b.report.note("from the restart until all are reconciled", round(settled).String())
	// The operator checks three times a minute whether there is memory to return.
	if err := pause(ctx, 30*time.Second); err != nil {
		return err
	}
	cpu, err := w.operator.cpu()
	if err != nil {
		return err
	}
	const window = 60 * time.Second
	if err := pause(ctx, window); err != nil {
		return err
	}
	cpuAfter, err := w.operator.cpu()
	if err != nil {
		return err
	}
	idle, err := w.operator.residentMB()
	if err != nil {
		return err
	}
	parts, err := w.operator.residentParts()
	if err != nil {
		return err
	}
	b.report.number(fmt.Sprintf("memory with %d idle objects", b.many), idle, 120, " MB", "150 MB")
	b.report.note("of it", parts)
	b.report.note("CPU of the operator with as many objects",
		fmt.Sprintf("%.2f%% of a core", 100*float64(cpuAfter-cpu)/float64(window)))
	return (&profiles{dir: b.profiles}).heap(ctx, w.operator)
}

// realisticLatency measures the time from the completion of a stack until its object is ready.
func (b *bench) realisticLatency(ctx context.Context) error {
	progress("starting again with the latency of AWS")
	w, err := newSuite(ctx, b.binary, simulator.Options{Latency: likeAWS}, queues)
	if err != nil {
		return err
	}
	defer w.close()
	// The operator's own stack takes time too, once per account.
	if err := waitFor(ctx, 5*time.Minute, "events to be received", func() (bool, error) {
		return w.simulator.Calls()["sqs/ReceiveMessage"] > 0, nil
	}); err != nil {
		return err
	}
	const n = 200
	if err := w.create(ctx, "queue", n); err != nil {
		return err
	}
	if err := w.awaitReady(ctx, n, 10*time.Minute); err != nil {
		return err
	}
	completed, err := w.completions(ctx)
	if err != nil {
		return err
	}
	var all []time.Duration
	for name, ready := range w.ready {
		at, ok := completed[name]
		if !ok {
			return fmt.Errorf("the stack of %s never completed", name)
		}
		all = append(all, ready.Sub(at))
	}
	b.report.duration(fmt.Sprintf("stack complete to Ready, %d objects at realistic latency, median", n), percentile(all, 50), 0, "")
	b.report.duration("the same, p99", percentile(all, 99), time.Second, "")
	return nil
}

// likeAWS is about how long CloudFormation takes to create a queue: a good half minute, spread so
// that the completions do not coincide.
func likeAWS(_, operation string) time.Duration {
	if operation == "Delete" {
		return 10 * time.Second
	}
	return 20*time.Second + rand.N(20*time.Second) //nolint:gosec // not security-relevant
}

// percentile returns the p-th percentile of all.
func percentile(all []time.Duration, p int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[min(len(all)-1, len(all)*p/100)]
}

func now() time.Time {
	return time.Now() //nolint:forbidigo // a benchmark measures real time
}

// pause waits until a measuring window has passed.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func progress(text string) {
	_, _ = fmt.Fprintf(os.Stderr, "bench: %s\n", text)
}
