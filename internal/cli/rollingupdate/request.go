package rollingupdate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// In a management cluster, the operator replaces all instances on request: when the text in
// spec.roll of an InstanceGroup or in spec.controlPlane.roll of the Cluster changes. The command
// and the operator must not both replace instances of a group.

// usesOperator reports whether the operator replaces the instances of a group on request.
func (u *update) usesOperator(t *target) bool {
	return u.force && u.managed && t.owner != ownerCommand && !u.paused()
}

// paused reports whether the cluster is paused.
func (u *update) paused() bool {
	return u.cluster.Spec.Paused || operatorkit.HasPausedAnnotation(u.cluster, v1alpha1.PausedAnnotation)
}

// checkRequest returns an error if the operator cannot do what the flags request.
func (u *update) checkRequest(asked []*target) error {
	if len(asked) == 0 {
		return nil
	}
	var problems []error
	for _, flag := range []struct {
		given         bool
		name, instead string
	}{
		{u.cloudOnly, "--cloudonly", "the operator needs the cluster's API; pause the cluster to replace instances without it"},
		{u.failOnDrain, "--fail-on-drain-error", "the operator uses spec.rollingUpdate.onDrainTimeout"},
		{u.batchSize != "", "--batch-size", "the operator uses spec.rollingUpdate.batchSize"},
	} {
		if flag.given {
			problems = append(
				problems,
				fmt.Errorf("%s cannot be used if the operator replaces the instances of %s: %s. Nothing was changed",
					flag.name, namesOf(asked), flag.instead),
			)
		}
	}
	slots := 0
	for _, t := range asked {
		switch {
		case t.Role == rollout.RoleControlPlane:
			slots++
		case u.groupNamed(t.Name) == nil:
			problems = append(
				problems, fmt.Errorf("the InstanceGroup %s, by which the operator is asked, does not exist. Nothing was changed", t.Name),
			)
		}
	}
	if slots > 0 && slots < u.slots() {
		problems = append(
			problems,
			fmt.Errorf(
				"the operator replaces the instances of all %d slots, one after another: select them with --instance-group-roles control-plane. Nothing was changed",
				u.slots(),
			),
		)
	}
	return errors.Join(problems...)
}

// request requests the replacement of all instances of groups from the operator, unless an earlier
// request is in progress, and follows it until the cluster is ready.
func (u *update) request(ctx context.Context, asked []*target, lines *progressLog) error {
	if len(asked) == 0 {
		return nil
	}
	text := u.clock.Now().UTC().Format(time.RFC3339)
	for _, one := range u.requests(asked) {
		switch running, err := one.isRunning(); {
		case err != nil:
			return err
		case running:
			lines.say("%s: the operator is already replacing the instances.", one.name)
			continue
		}
		was, ok := one.object.DeepCopyObject().(client.Object)
		if !ok {
			return fmt.Errorf("%T is not a Kubernetes object", one.object)
		}
		*one.roll = text
		if err := u.objects.Patch(ctx, one.object, client.MergeFrom(was)); err != nil {
			return fmt.Errorf("ask the operator to replace the instances of %s: %w", one.name, err)
		}
		lines.say("%s: the operator was asked to replace all instances, with %s: %s.", one.name, one.field, text)
	}
	if err := u.follow(); err != nil {
		return err
	}
	lines.say("All instances of %s are replaced.", namesOf(asked))
	return nil
}

// requested is an object whose change requests a replacement from the operator.
type requested struct {
	name, field string
	object      client.Object
	// roll points to the text in the object. rollout is the last rollout of its instances, nil if
	// there was none. stacks are the stacks whose instances the text replaces.
	roll    *string
	rollout *v1alpha1.RolloutStatus
	stacks  []*v1alpha1.StackStatus
}

// requests returns the objects of groups, each once.
func (u *update) requests(asked []*target) []requested {
	var all []requested
	control := false
	for _, t := range asked {
		if t.Role == rollout.RoleControlPlane {
			control = true
			continue
		}
		if group := u.groupNamed(t.Name); group != nil {
			all = append(
				all,
				requested{t.Name, "spec.roll", group, &group.Spec.Roll, group.Status.Rollout, []*v1alpha1.StackStatus{group.Status.Stack}},
			)
		}
	}
	if control {
		one := requested{
			"control-plane",
			"spec.controlPlane.roll",
			u.cluster,
			&u.cluster.Spec.ControlPlane.Roll,
			u.cluster.Status.Rollout,
			nil,
		}
		for slot := range u.slots() {
			one.stacks = append(one.stacks, record.Find(u.cluster, model.SlotStackName(u.cluster.Name, slot)))
		}
		all = append([]requested{one}, all...)
	}
	return all
}

// isRunning reports whether an earlier request is not complete, or all instances are being replaced
// for another reason. A failed rollout is not running: a new request retries it.
func (r *requested) isRunning() (bool, error) {
	if r.rollout != nil {
		switch r.rollout.State {
		case v1alpha1.RolloutRolling:
			return true, nil
		case v1alpha1.RolloutRolledBack, v1alpha1.RolloutStopped:
			return false, nil
		case v1alpha1.RolloutRollingBack, v1alpha1.RolloutDone: // It may have been another one: the text tells.
		}
	}
	for _, status := range r.stacks {
		known, err := record.Decode(status)
		if err != nil {
			return false, fmt.Errorf("%s: %w", r.name, err)
		}
		if made := known.History().Now; *r.roll != "" && (made == nil || made.Roll != *r.roll) {
			return true, nil
		}
	}
	return false, nil
}

func namesOf(groups []*target) string {
	names := make([]string, len(groups))
	for i, t := range groups {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}
