package inprocess_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/inprocess"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// A run ends before the nodes of a stage were replaced, so it refuses to rotate CAs and to add encryption; a cluster that
// is deleted needs neither.
func TestStagesAreRefused(t *testing.T) {
	t.Parallel()
	w := newSuite(t)
	w.must(w.run(w.options(inprocess.Ready)))
	edit(w, aCluster(""), func(c *v1alpha1.Cluster) { c.Spec.Certificates = &v1alpha1.Certificates{Rotate: "1"} })
	if err := w.run(w.options(inprocess.Ready)); err == nil || !strings.Contains(err.Error(), "spec.certificates.rotate requires an operator") {
		t.Errorf("a run with a request for a rotation returns %v", err)
	}
	edit(w, aCluster(""), func(c *v1alpha1.Cluster) { c.Spec.Certificates, c.Spec.API.Encryption = nil, &v1alpha1.Encryption{} })
	if err := w.run(w.options(inprocess.Ready)); err == nil || !strings.Contains(err.Error(), "spec.api.encryption cannot be added") {
		t.Errorf("a run that adds encryption returns %v", err)
	}
	w.must(w.run(w.options(inprocess.Gone)))
}

// A cluster is made, and a second run finds nothing to do; an edit is carried out; deleted, nothing
// is left of it in AWS or the state.
func TestClusterIsCreatedChangedAndDeleted(t *testing.T) {
	t.Parallel()
	w := newSuite(t)
	w.must(w.run(w.options(inprocess.Ready)))
	made := w.stacks()
	if want := []string{"demo", "demo-control-plane-0", "demo-workers"}; !slices.Equal(slices.Sorted(maps.Keys(made)), want) {
		t.Fatalf("there are stacks %v, not %v", made, want)
	}
	if queues := w.queues(); len(queues) > 0 {
		t.Errorf("the run created queues, which no later run would delete: %v", queues)
	}
	if names := w.state.names(); !slices.Contains(names, "Secret/demo-kubeconfig") || !slices.Contains(names, "Secret/demo-ca") {
		t.Errorf("the state lacks the cluster's Secrets: %v", names)
	}

	before := w.sim.Calls()
	w.must(w.run(w.options(inprocess.Ready)))
	for call, count := range w.sim.Calls() {
		for _, verb := range []string{"/Create", "/Update", "/Put", "/Delete"} {
			if strings.Contains(call, verb) && count != before[call] {
				t.Errorf("a second run calls %s: %d times, %d times before", call, count, before[call])
			}
		}
	}

	edit(w, aGroup(), func(g *v1alpha1.InstanceGroup) { g.Spec.MinSize = 3 })
	w.must(w.run(w.options(inprocess.Ready)))
	if !maps.Equal(w.stacks(), made) {
		t.Errorf("an edit changed which stacks there are: %v, before %v", w.stacks(), made)
	}

	w.must(w.run(w.options(inprocess.Gone)))
	if left := w.stacks(); len(left) > 0 {
		t.Errorf("stacks are left: %v", left)
	}
	for _, name := range w.state.names() {
		if !strings.HasPrefix(name, "Release/") {
			t.Errorf("%s is left in the state", name)
		}
	}
}

// The next run continues after an interruption at any point.
func TestInterruptedRunContinues(t *testing.T) {
	t.Parallel()
	w := newSuite(t)
	interrupted := errors.New("the user pressed Ctrl-C")
	until := func(goal inprocess.Goal, holds func(inprocess.Progress) bool) {
		t.Helper()
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		o := w.options(goal)
		o.Observe = func(p inprocess.Progress) {
			if holds(p) {
				cancel(interrupted)
			}
		}
		if err := w.runIn(ctx, o); !errors.Is(err, interrupted) {
			t.Fatalf("an interrupted run ends with %v", err)
		}
	}
	until(inprocess.Ready, func(p inprocess.Progress) bool { return len(p.Cluster.Status.Stacks) > 0 })
	first := w.stacks()
	until(inprocess.Ready, func(p inprocess.Progress) bool { return p.Cluster.Status.Endpoint != "" })
	w.must(w.run(w.options(inprocess.Ready)))
	for name, id := range first {
		if now := w.stacks()[name]; now != id {
			t.Errorf("stack %s was made again: %s, at first %s", name, now, id)
		}
	}
	if stacks := w.stacks(); len(stacks) != 3 {
		t.Errorf("there are stacks %v", stacks)
	}
	until(inprocess.Gone, func(p inprocess.Progress) bool { return len(p.Groups) == 0 })
	w.must(w.run(w.options(inprocess.Gone)))
	if left := w.stacks(); len(left) > 0 {
		t.Errorf("stacks are left: %v", left)
	}
}

// A run ends with one sentence when a user must act: it does not retry, and makes no
// further changes.
func TestRunEndsWhenAUserMustAct(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(w *suite, o *inprocess.Options)
		want    string
	}{
		"the state cannot be written": {
			func(w *suite, _ *inprocess.Options) { w.state.fail = errors.New("the disk is full") }, "the disk is full",
		},
		"another client changes the cluster": {
			func(w *suite, _ *inprocess.Options) { w.state.locked = "rolling-update" }, "it is locked for rolling-update",
		},
		"the release is not known": {
			func(w *suite, _ *inprocess.Options) {
				edit(w, aCluster(""), func(c *v1alpha1.Cluster) { c.Spec.Release = "v9" })
			}, `Cluster demo: There is no Release "v9"`,
		},
		"the cluster is paused": {
			func(w *suite, _ *inprocess.Options) {
				edit(w, aCluster(""), func(c *v1alpha1.Cluster) { c.Spec.Paused = true })
			}, "Cluster demo: It is paused",
		},
		"the credentials have expired": {
			func(w *suite, _ *inprocess.Options) {
				w.faults.Add(fault.Rule{Service: "sts", Operation: "GetCallerIdentity", Code: "ExpiredToken", Status: 403, Message: "The security token included in the request is expired"})
			}, "expired",
		},
		"a permission is missing": {
			func(w *suite, _ *inprocess.Options) {
				w.faults.Add(fault.Rule{Service: "cloudformation", Operation: "CreateStack", Deny: true})
			}, "cloudformation:CreateStack",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSuite(t)
			o := w.options(inprocess.Ready)
			c.prepare(w, &o)
			err := w.run(o)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the run ends with %v, not with one line about %q", err, c.want)
			}
			if stacks := w.stacks(); len(stacks) > 0 {
				t.Errorf("there are stacks %v", stacks)
			}
		})
	}
}

// An earlier run may have ended before it learned that an instance waits to be drained, and no
// other program drains it.
func TestRunDrainsTheInstanceOfAnEarlierRun(t *testing.T) {
	t.Parallel()
	w := newSuite(t)
	w.must(w.run(w.options(inprocess.Ready)))
	groups := autoscaling.NewFromConfig(w.aws())
	leaving := func() (ids []string) {
		found, err := groups.DescribeAutoScalingInstances(t.Context(), &autoscaling.DescribeAutoScalingInstancesInput{})
		w.must(err)
		for _, one := range found.AutoScalingInstances {
			if strings.HasPrefix(*one.LifecycleState, "Terminating") {
				ids = append(ids, *one.InstanceId)
			}
		}
		return ids
	}
	found, err := groups.DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{
		Filters: []types.Filter{{Name: aws.String("tag:aws:cloudformation:stack-name"), Values: []string{"demo-workers"}}},
	})
	w.must(err)
	_, err = groups.TerminateInstanceInAutoScalingGroup(t.Context(), &autoscaling.TerminateInstanceInAutoScalingGroupInput{
		InstanceId: found.AutoScalingGroups[0].Instances[0].InstanceId, ShouldDecrementDesiredCapacity: aws.Bool(false),
	})
	w.must(err)
	if len(leaving()) != 1 {
		t.Fatalf("the instances %v are leaving", leaving())
	}
	w.must(w.run(w.options(inprocess.Ready)))
	if left := leaving(); len(left) > 0 {
		t.Errorf("the run ended, and nothing drains the instances %v", left)
	}
}
