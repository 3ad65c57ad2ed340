package cloudformation_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// slow is a provider whose resources become stable when the test says so.
type slow struct {
	mu        sync.Mutex
	ready     bool
	err       error
	asked     int
	snapshots []string
	deleted   []string
}

func (p *slow) Create(context.Context, resource.Request) (resource.Result, error) {
	return resource.Result{PhysicalID: "vol-1", Attributes: map[string]any{"VolumeId": "vol-1"}}, nil
}

func (p *slow) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	return resource.Result{PhysicalID: r.PhysicalID}, nil
}

func (p *slow) Delete(_ context.Context, r resource.Request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deleted = append(p.deleted, r.PhysicalID)
	return nil
}

func (p *slow) Read(context.Context, resource.Request) (map[string]any, error) { return nil, nil }

func (p *slow) Stable(_ context.Context, r resource.Request) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.PhysicalID != "vol-1" {
		return false, resource.Errorf(resource.InternalFailure, "asked for %q", r.PhysicalID)
	}
	p.asked++
	return p.ready, p.err
}

func (p *slow) Snapshot(_ context.Context, r resource.Request) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.deleted) > 0 {
		return "", resource.Errorf(resource.InvalidRequest, "already deleted")
	}
	p.snapshots = append(p.snapshots, r.PhysicalID)
	return "snap-1", nil
}

func (p *slow) set(ready bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready, p.err = ready, err
}

func (p *slow) times() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// waited describes a condition that did not become true.
func (w *suite) waited() string { return strings.Join(w.events("slow"), "\n") }

const slowStack = `
Resources:
  Volume:
    Type: AWS::EC2::Volume
    DeletionPolicy: Snapshot
    UpdateReplacePolicy: Snapshot
    Properties: {AvailabilityZone: eu-west-1a, Size: %SIZE%}
  Topic:
    Type: AWS::SNS::Topic
    DependsOn: Volume
`

func slowSuite(t *testing.T) (*suite, *slow) {
	t.Helper()
	p := &slow{}
	w := newSuite(t, func(w *suite, o *cloudformation.Options) {
		fakeTime(w, o)
		o.Providers = map[string]resource.Provider{"AWS::EC2::Volume": p}
	})
	return w, p
}

func TestStackWaitsForStabilization(t *testing.T) {
	w, p := slowSuite(t)
	template := strings.ReplaceAll(slowStack, "%SIZE%", "1")
	id := w.create("slow", template)
	w.eventually(func() bool { return p.times() == 1 && w.clock.HasWaiters() }, w.waited)
	w.clock.Step(time.Second)
	w.eventually(func() bool { return p.times() == 2 && w.clock.HasWaiters() }, w.waited)
	if s := w.stack(id); s.StackStatus != types.StackStatusCreateInProgress {
		t.Fatalf("the stack is %s before its volume is stable", s.StackStatus)
	}
	p.set(true, nil)
	w.clock.Step(time.Minute)
	w.waitFor(id, types.StackStatusCreateComplete)

	p.set(false, nil)
	if err := w.update("slow", strings.ReplaceAll(slowStack, "%SIZE%", "2")); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() bool { return w.clock.HasWaiters() }, w.waited)
	p.set(false, resource.Errorf(resource.NotStabilized, "It did not stabilize."))
	w.clock.Step(time.Minute)
	w.eventually(func() bool { return w.stack(id).StackStatus == types.StackStatusUpdateRollbackFailed }, w.waited)
}

func TestResourceThatDoesNotStabilizeFails(t *testing.T) {
	w, p := slowSuite(t)
	p.set(false, resource.Errorf(resource.NotStabilized, "Group did not stabilize."))
	id := w.create("slow", strings.ReplaceAll(slowStack, "%SIZE%", "1"))
	w.eventually(func() bool { return w.stack(id).StackStatus != types.StackStatusCreateInProgress }, w.waited)
	p.set(true, nil)
	w.eventually(func() bool { return w.stack(id).StackStatus != types.StackStatusRollbackInProgress }, w.waited)
	reason := strings.Join(w.events(id), "\n")
	if !strings.Contains(reason, `"Group did not stabilize."`) || !strings.Contains(reason, "HandlerErrorCode: NotStabilized") {
		t.Errorf("the events are %s", reason)
	}
}

func TestSnapshotIsTakenBeforeDeletion(t *testing.T) {
	w, p := slowSuite(t)
	p.set(true, nil)
	w.createAndWait("slow", strings.ReplaceAll(slowStack, "%SIZE%", "1"))
	id := *w.stack("slow").StackId
	p.set(false, nil)
	w.delete("slow")
	w.eventually(func() bool { return w.clock.HasWaiters() }, w.waited)
	p.set(true, nil)
	w.clock.Step(time.Minute)
	w.waitFor(id, types.StackStatusDeleteComplete)
	if len(p.snapshots) != 1 || len(p.deleted) != 1 {
		t.Errorf("snapshots %v, deletions %v", p.snapshots, p.deleted)
	}
}
