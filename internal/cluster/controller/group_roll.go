package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/cache"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/models"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/progress"
	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// reasonRollStopped is the reason of a group whose rollout needs a user's action.
const reasonRollStopped = "RollStopped"

// rolls replaces the instances of groups whose engine is Operator.
type rolls struct {
	engine *rollout.Roller
	// done caches the attempt for which a group was found up to date, so that AWS is not asked
	// again.
	done *cache.Keyed[types.UID, string]
	// held caches the token of the operation at whose start the cluster autoscaler was suspended.
	held *cache.Keyed[types.UID, string]
}

// Forget drops what is cached for a deleted group.
func (r *rolls) Forget(uid types.UID) {
	r.done.Drop(uid)
	r.held.Drop(uid)
}

func newRolls(options *Options, drains *drain.Drains) *rolls {
	return &rolls{done: cache.NewKeyed[types.UID, string](), held: cache.NewKeyed[types.UID, string](), engine: rollout.New(rollout.Options{
		AutoScaling: options.Clients.AutoScaling,
		EC2:         func(t awsapi.Target) rollout.EC2 { return options.Clients.EC2(t) },
		Workload: func(key types.NamespacedName) rollout.Workload {
			if connection := options.Workload.Get(key); connection != nil {
				return connection
			}
			return nil
		},
		Drains: drains, Clock: options.Clock,
	})}
}

// groupRollStep replaces a group's instances where CloudFormation does not.
type groupRollStep struct{ *operator }

// Name returns the step's name.
func (s groupRollStep) Name() string { return "roll" }

// EnsureCreated advances the group's rollout as far as possible without waiting. The stack is up to
// date: the group launches instances with the desired configuration.
func (s groupRollStep) EnsureCreated(ctx context.Context, group *v1alpha1.InstanceGroup) operatorkit.Outcome {
	known, err := record.Decode(group.Status.Stack)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if group.Status.AutoScalingGroup == "" || !s.isOurs(group, known.History()) {
		return operatorkit.Done()
	}
	attempt := attemptOf(group, &known)
	if done, ok := s.rolls.done.Get(group.UID); ok && done == attempt {
		return operatorkit.Done()
	}
	roll, outcome := s.rollOf(ctx, group, attempt)
	if roll == nil {
		return outcome
	}
	result, err := s.rolls.engine.Step(ctx, roll)
	if err != nil {
		return outcomes.Failed(err)
	}
	outcome = s.reportRollout(group, &result)
	if result.State == rollout.Done {
		s.rolls.done.Keep(group.UID, attempt)
		return outcome
	}
	_ = groupNodesStep(s).EnsureCreated(ctx, group) // The later steps do not run now.
	operatorkit.SetCondition(
		group,
		metav1.Condition{
			Type:    conditions.Updated,
			Status:  metav1.ConditionFalse,
			Reason:  outcome.Reason(),
			Message: group.Status.Rollout.Message,
		},
	)
	return outcome
}

// EnsureDeleted forgets the group: its instances are deleted with its stack.
func (s groupRollStep) EnsureDeleted(ctx context.Context, group *v1alpha1.InstanceGroup) operatorkit.Outcome {
	s.rolls.done.Drop(group.UID)
	if cluster, err := s.objects.ClusterOf(ctx, group); err == nil && cluster != nil {
		s.rolls.engine.Forget(&rollout.Group{AutoScalingGroup: group.Status.AutoScalingGroup, Target: s.targets.Of(cluster)})
	}
	return operatorkit.Done()
}

// isOurs reports whether the operator replaces a group's instances: because of its spec, or because
// it started a rollout before the spec changed, which CloudFormation would not continue.
func (s groupRollStep) isOurs(group *v1alpha1.InstanceGroup, past *record.History) bool {
	return group.Spec.RollingUpdate.Engine == v1alpha1.RollOperator || past.RolloutToken == "" && record.IsRolling(group.Status.Rollout)
}

// attemptOf identifies the desired state of a group: any edit or any other stack is a new attempt.
func attemptOf(group *v1alpha1.InstanceGroup, known *record.Stack) string {
	const enough = 12
	digest := known.Digest[strings.LastIndexByte(known.Digest, ':')+1:]
	return fmt.Sprintf("%d-%s", group.Generation, digest[:min(len(digest), enough)])
}

// rollOf describes the rollout of a group. It returns nil and an outcome if there can be none.
func (s groupRollStep) rollOf(ctx context.Context, group *v1alpha1.InstanceGroup, attempt string) (*rollout.Group, operatorkit.Outcome) {
	cluster, err := s.objects.ClusterOf(ctx, group)
	if err != nil {
		return nil, operatorkit.Fail(err)
	}
	if cluster == nil {
		return nil, operatorkit.Wait(0, "ClusterNotFound", "The Cluster no longer exists.")
	}
	runs := models.AsRun(cluster)
	release, err := s.objects.Release(ctx, runs)
	if err != nil {
		return nil, operatorkit.Fail(err)
	}
	resolved, err := s.models.Resolve(ctx, runs, release)
	if err != nil {
		return nil, groupStackStep(s).clusterUnresolved(err)
	}
	shape, err := model.ResolveGroup(resolved, group)
	if err != nil {
		return nil, outcomes.Unresolved(err)
	}
	r := &shape.Rolling
	return &rollout.Group{
		Name: group.Name, AutoScalingGroup: group.Status.AutoScalingGroup, Role: rollout.RoleWorker, Slot: rollout.NoSlot,
		Owner: s.owner.ScalingGroupTags(group), Cluster: keyOf(cluster), Target: s.targets.Of(cluster), Bundle: group.Status.Stack.Bundle,
		Settings: rollout.Settings{
			Attempt: attempt, BatchSize: int(r.BatchSize), MinInService: int(r.MinInService), Surge: int(r.Surge), Canary: int(r.Canary),
			Pause: r.Pause, ReadyTimeout: r.ReadyTimeout, DrainTimeout: r.DrainTimeout, OnDrainTimeout: drain.Policy(r.OnDrainTimeout),
			HookDrains: true,
		},
	}, operatorkit.Done()
}

// reportRollout reports the rollout in the group's status and Events, and returns the outcome.
func (s groupRollStep) reportRollout(group *v1alpha1.InstanceGroup, result *rollout.Result) operatorkit.Outcome {
	now := metav1.NewTime(s.options.Clock.Now())
	for _, did := range result.Did {
		s.recorder.Eventf(group, nil, corev1.EventTypeNormal, reasonRolling, "Roll", "%s", did)
	}
	rolloutStatus := group.Status.Rollout
	began := len(result.Did) > 0 || result.State != rollout.Done
	if !began && !record.IsRolling(rolloutStatus) {
		return operatorkit.Done() // Nothing to do.
	}
	if rolloutStatus == nil || rolloutStatus.Finished != nil && result.State == rollout.Rolling {
		rolloutStatus = &v1alpha1.RolloutStatus{Started: &now}
		group.Status.Rollout = rolloutStatus
	}
	if !result.Started.IsZero() {
		rolloutStatus.Started = new(metav1.NewTime(result.Started))
	}
	rolloutStatus.Updated, rolloutStatus.Total = int32(result.Updated), int32(result.Total) //nolint:gosec // at most a thousand nodes
	rolloutStatus.Message = result.Why
	rolloutStatus.Draining = s.draining.Status(clusterKeyOf(group), group.Name)
	switch result.State {
	case rollout.Done:
		rolloutStatus.State = v1alpha1.RolloutDone
	case rollout.Stopped:
		rolloutStatus.State = v1alpha1.RolloutStopped
	default:
		rolloutStatus.State, rolloutStatus.Finished = v1alpha1.RolloutRolling, nil
		words := fmt.Sprintf("%d of %s updated. %s", rolloutStatus.Updated, progress.NumberOfNodes(rolloutStatus.Total), result.Why)
		return operatorkit.Wait(max(result.Again, time.Second), reasonRolling, words)
	}
	if rolloutStatus.Finished == nil {
		rolloutStatus.Finished = &now
	}
	if result.State == rollout.Stopped {
		return operatorkit.Stall(
			reasonRollStopped,
			result.Why+" Instances with the previous configuration stay in service. Change the object to retry.",
		)
	}
	return operatorkit.Done()
}
