package rollingupdate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// leastTokenLife is the minimum remaining lifetime of the bootstrap token of new instances.
const leastTokenLife = 15 * time.Minute

// progressLog prints lines with their time.
type progressLog struct {
	mu  sync.Mutex
	out io.Writer
	now func() time.Time
}

func (n *progressLog) say(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, _ = fmt.Fprintf(n.out, "%s %s\n", n.now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// roll replaces instances.
func (u *update) roll(ctx context.Context) error {
	lines := &progressLog{out: u.out, now: func() time.Time { return u.clock.Now() }}
	s, err := u.observe(ctx, func(n drain.Notice) {
		if n.What != "Draining" { // The engine reports its own actions.
			lines.say("%s", n.Message)
		}
	})
	if err != nil {
		return err
	}
	groups, asked, others := u.selectGroups(s)
	for _, line := range u.othersNotes(others) {
		lines.say("%s", line)
	}
	if err := u.checkRequest(asked); err != nil {
		return err
	}
	if err := u.replace(ctx, s, groups, lines); err != nil {
		return err
	}
	switch {
	case len(groups) > 0:
		lines.say("All instances of %s are up to date.", namesOf(groups))
	case len(asked) == 0:
		lines.say("No instance needs to be replaced by rolling-update.")
	}
	return u.request(ctx, asked, lines)
}

// replace replaces the instances of groups.
func (u *update) replace(ctx context.Context, s *observation, groups []*target, lines *progressLog) error {
	if len(groups) == 0 {
		return u.forced(ctx, s, lines, func() error { return nil })
	}
	if err := errors.Join(u.checkStacks(ctx, groups), u.checkAPI(ctx, s, groups)); err != nil {
		return err
	}
	err := u.forced(ctx, s, lines, func() error { return u.runEngine(ctx, s, groups, lines) })
	if ctx.Err() != nil {
		return exit.Interruption("Interrupted. The Auto Scaling groups' tags have the progress; run the same command to continue.")
	}
	return err
}

// forced runs work. If all instances must be replaced, tags on the groups record which groups are
// done; they are removed when all groups are done.
func (u *update) forced(ctx context.Context, s *observation, lines *progressLog, work func() error) error {
	if !u.force {
		return work()
	}
	var all []rollout.Group
	for _, t := range s.targets {
		if !u.usesOperator(t) {
			all = append(all, t.Group)
		}
	}
	if s.begun {
		lines.say("%s", s.forceNote(true))
	}
	if err := s.roller.BeginForced(ctx, all, s.before); err != nil {
		return awsapi.Known(err)
	}
	if err := work(); err != nil {
		return err
	}
	return awsapi.Known(s.roller.EndForced(ctx, all))
}

// checkAPI returns an error if the rollout needs the API and it is unavailable, or if new instances
// of instance groups could not join.
func (u *update) checkAPI(ctx context.Context, s *observation, groups []*target) error {
	asked, workers, replacing := false, false, false
	for _, t := range groups {
		replacing = replacing || t.Role == rollout.RoleControlPlane && s.rolling(t.Name)
		asked = asked || !t.CloudOnly
		workers = workers || t.Role == rollout.RoleWorker && !t.CloudOnly
	}
	switch {
	case !asked:
		return nil
	case s.apiProblem != "" && replacing && s.connection != nil:
		return nil // An earlier run terminated the slot's instance. The API is back when the slot is.
	case s.apiProblem != "":
		return fmt.Errorf("the API of cluster %s does not answer: %s. Nothing was changed; --cloudonly uses only AWS and drains no nodes",
			u.cluster.Name, strings.TrimSuffix(s.apiProblem, "."))
	case !workers:
		return nil
	}
	api := live.Ask(ctx, s.connection, u.slots())
	if api.Problem == "" && api.TokenUntil.Before(u.clock.Now().Add(leastTokenLife)) {
		return fmt.Errorf(
			"new instances of cluster %s could not join, since no bootstrap token is valid for another %s. Nothing was changed; apply the cluster's definition to create one, or check why its slots do not",
			u.cluster.Name,
			leastTokenLife,
		)
	}
	return nil
}

// rolling reports whether a rollout of a group is in progress.
func (s *observation) rolling(group string) bool {
	return slices.ContainsFunc(s.rows, func(row rollout.Row) bool { return row.Name == group && row.Status == "Rolling" })
}

func (u *update) slots() int { return int(model.SpecOf(u.cluster).ControlPlane.Replicas) }

// runEngine runs the rollout of groups until all are done, one stops, or the context ends.
func (u *update) runEngine(ctx context.Context, s *observation, groups []*target, lines *progressLog) error {
	work, end := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { _ = s.drains.Start(work) })
	defer running.Wait()
	defer end()
	iterations := make(chan struct{}, 1)
	iterateNow := func() {
		select {
		case iterations <- struct{}{}:
		default: // An iteration is due already.
		}
	}
	u.session.Connections().Subscribe(func(workload.Change) { iterateNow() })
	s.drains.Subscribe(func(drain.Progress) { iterateNow() })
	patience := time.Duration(0)
	for _, t := range groups {
		patience = max(patience, t.DrainTimeout+t.ReadyTimeout+t.Pause)
	}
	return s.roller.Run(ctx, &rollout.RunOptions{
		Groups: plainOf(groups), Slots: func(ctx context.Context) (map[int]string, error) { return u.unhealthySlots(ctx, s) },
		Trigger: iterations, Poll: u.poll, Patience: u.patience + patience,
	}, func(p rollout.Progress) {
		for _, did := range p.Did {
			lines.say("%s: %s", p.Group, did)
		}
		if last := len(p.Did) - 1; p.Why != "" && (last < 0 || p.Did[last] != p.Why) {
			lines.say("%s: %s", p.Group, p.Why)
		}
	})
}

// unhealthySlots returns the problems of unhealthy slots, from the cluster's own API or, without
// it, from the health checks of its load balancer, which include etcd.
func (u *update) unhealthySlots(ctx context.Context, s *observation) (map[int]string, error) {
	if !u.cloudOnly {
		return s.connection.SlotProblems(ctx, u.slots()), nil
	}
	found, err := u.session.Find(ctx)
	if err != nil {
		return nil, awsapi.Known(err)
	}
	return found.UnhealthySlots(u.slots()), nil
}
