package rollingupdate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
)

const (
	// slotReadyTimeout is how long the node of a slot's new instance may take to become Ready, the
	// same as with CloudFormation.
	slotReadyTimeout = 20 * time.Minute
	// slotDrainTimeout is how long draining a slot's node may take: it runs few pods besides the
	// control plane.
	slotDrainTimeout = 10 * time.Minute
)

// owner is the party that replaces the instances of a group when their configuration changes.
type owner string

const (
	// ownerCommand is this command.
	ownerCommand owner = "rolling-update"
	// ownerCloudFormation is the update of the group's stack.
	ownerCloudFormation owner = "CloudFormation"
	// ownerOperator is the operator in the management cluster.
	ownerOperator owner = "Operator"
)

// target is a selected group.
type target struct {
	rollout.Group

	owner owner
	// stack is the CloudFormation stack that owns it, empty if none does.
	stack string
}

// ownerOf returns the party that replaces a group's instances. The bastions' group has no update
// policy.
func ownerOf(found *live.Group, spec *v1alpha1.InstanceGroup, managed bool) owner {
	switch {
	case found.Stack == "" || found.Bastion():
		return ownerCommand
	case spec == nil || spec.Spec.RollingUpdate.Engine != v1alpha1.RollOperator:
		return ownerCloudFormation
	case managed:
		return ownerOperator
	default:
		return ownerCommand
	}
}

// roles are the accepted names of roles, including those of kops.
var roles = map[string]rollout.Role{
	"control-plane": rollout.RoleControlPlane, "controlplane": rollout.RoleControlPlane, "master": rollout.RoleControlPlane,
	"worker": rollout.RoleWorker, "node": rollout.RoleWorker, "bastion": rollout.RoleBastion,
}

// chosen returns the selected groups in AWS. It returns an error for unknown names.
func (c *choice) chosen(found *live.Cluster) ([]*live.Group, error) {
	wanted := map[rollout.Role]bool{}
	for _, name := range c.roles {
		role, ok := roles[strings.ToLower(name)]
		if !ok {
			return nil, fmt.Errorf("--instance-group-roles %s is unknown; use control-plane, worker or bastion", name)
		}
		wanted[role] = true
	}
	var names []string
	var groups []*live.Group
	for i := range found.Groups {
		g := &found.Groups[i]
		names = append(names, g.Name)
		if (len(c.groups) == 0 || slices.Contains(c.groups, g.Name)) && (len(wanted) == 0 || wanted[g.Role]) {
			groups = append(groups, g)
		}
	}
	for _, name := range c.groups {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("cluster %s has no group %s in AWS; it has %s", found.Name, name, strings.Join(names, ", "))
		}
	}
	return groups, nil
}

// groupNamed returns the InstanceGroup of a name, nil if it no longer exists.
func (u *update) groupNamed(name string) *v1alpha1.InstanceGroup {
	for _, group := range u.groups {
		if group.Name == name {
			return group
		}
	}
	return nil
}

// target describes the rollout of a group.
func (u *update) target(found *live.Cluster, from *live.Group) (*target, error) {
	var spec *v1alpha1.InstanceGroup
	if from.Role == rollout.RoleWorker {
		spec = u.groupNamed(from.Name)
	}
	t := &target{owner: ownerOf(from, spec, u.managed), stack: from.Stack, Group: rollout.Group{
		Name: from.Name, AutoScalingGroup: from.AutoScalingGroup, Role: from.Role, Slot: from.Slot,
		Cluster: types.NamespacedName{Namespace: u.cluster.Namespace, Name: u.cluster.Name}, Target: found.Target,
	}}
	settings, err := u.settings(from, spec)
	if err != nil {
		return nil, err
	}
	t.Settings = *settings
	return t, nil
}

// settings returns how to replace the instances of a group.
func (u *update) settings(from *live.Group, spec *v1alpha1.InstanceGroup) (*rollout.Settings, error) {
	s := &rollout.Settings{
		Attempt: "terminal-" + strconv.FormatInt(u.clock.Now().Unix(), 36), BatchSize: 1, ReadyTimeout: slotReadyTimeout, DrainTimeout: slotDrainTimeout, //nolint:mnd // short
		OnDrainTimeout: drain.Continue, AnswerHooks: true, CloudOnly: u.cloudOnly || from.Bastion(), ValidateCount: u.validateCount,
	}
	if from.Role == rollout.RoleWorker {
		if spec == nil { // It exists in AWS but no longer in the state: use the defaults.
			spec = &v1alpha1.InstanceGroup{}
			spec.Spec.MinSize, spec.Spec.MaxSize = int32(from.Min), int32(max(1, from.Max)) //nolint:gosec // sizes are int32 in AWS
		}
		if u.batchSize != "" {
			spec = spec.DeepCopy()
			spec.Spec.RollingUpdate.BatchSize = new(intstr.Parse(u.batchSize))
		}
		r, err := model.RollingOf(spec)
		if err != nil {
			return nil, fmt.Errorf("instance group %s: %w", from.Name, err)
		}
		s.BatchSize, s.MinInService, s.Surge, s.Canary = int(r.BatchSize), int(r.MinInService), int(r.Surge), int(r.Canary)
		s.Pause, s.ReadyTimeout, s.DrainTimeout, s.OnDrainTimeout = r.Pause, r.ReadyTimeout, r.DrainTimeout, drain.Policy(r.OnDrainTimeout)
	}
	if u.failOnDrain {
		s.OnDrainTimeout = drain.Abandon
	}
	return s, nil
}
