package approval

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// IsManual reports whether any of the update policies requires approval: the stricter one of an
// InstanceGroup and its Cluster applies.
func IsManual(policies ...v1alpha1.UpdatePolicy) bool {
	return slices.Contains(policies, v1alpha1.UpdateManual)
}

// Review returns how changes to a stack of the object are approved, nil if they need no approval.
func Review(obj client.Object, manual bool, stackName string) *stack.Review {
	if !manual {
		return nil
	}
	review := &stack.Review{Approved: stack.ParseApproved(obj.GetAnnotations()[stack.ApproveAnnotation])}
	if shown := pendingChange(obj, stackName); shown != nil {
		review.Shown = shown.Digest
	}
	return review
}

// pendingChanges returns the status list of changes that wait for approval, nil for other kinds.
func pendingChanges(obj client.Object) *[]v1alpha1.PendingChange {
	switch obj := obj.(type) {
	case *v1alpha1.Cluster:
		return &obj.Status.PendingChanges
	case *v1alpha1.InstanceGroup:
		return &obj.Status.PendingChanges
	default:
		return nil
	}
}

// pendingChange returns the status entry of a stack's pending change, nil if there is none.
func pendingChange(obj client.Object, stackName string) *v1alpha1.PendingChange {
	list := pendingChanges(obj)
	if list == nil {
		return nil
	}
	i := slices.IndexFunc(*list, func(one v1alpha1.PendingChange) bool { return one.Stack == stackName })
	if i < 0 {
		return nil
	}
	return &(*list)[i]
}

// Show updates the pending changes in the object's status to a stack's result. Parts are the parts
// of the instances' bundle that differ, if known.
func Show(obj client.Object, stackName string, result *stack.Result, parts []string) {
	list := pendingChanges(obj)
	if list == nil {
		return
	}
	if shown := pendingChange(obj, stackName); shown != nil && shown.Digest == result.Record.Proposal && result.Proposal == nil {
		return
	}
	*list = slices.DeleteFunc(*list, func(one v1alpha1.PendingChange) bool { return one.Stack == stackName })
	if result.Proposal != nil {
		*list = append(*list, pendingFrom(obj, stackName, result.Proposal, parts))
		slices.SortFunc(*list, func(a, b v1alpha1.PendingChange) int { return strings.Compare(a.Stack, b.Stack) })
	}
	if len(*list) == 0 {
		*list = nil
	}
}

func pendingFrom(obj client.Object, stackName string, proposal *stack.Proposal, parts []string) v1alpha1.PendingChange {
	sentence := rollSentence(obj, proposal)
	if sentence != "" && len(parts) > 0 {
		sentence += " What changes on the nodes: " + strings.Join(parts, ", ") + "."
	}
	pending := v1alpha1.PendingChange{Stack: stackName, Digest: proposal.Digest, Summary: proposal.Summary(sentence)}
	for i := range proposal.Changes {
		change := &proposal.Changes[i]
		pending.Changes = append(pending.Changes, v1alpha1.ResourceChange{
			Resource: change.Resource, Type: change.Type, PhysicalID: change.PhysicalID, Action: change.Action,
			Replacement: change.Replacement, Properties: change.Properties, Warning: change.Warning,
		})
	}
	return pending
}

// rollSentence describes which instances a change replaces, "" if it replaces none.
func rollSentence(obj client.Object, proposal *stack.Proposal) string {
	if !slices.ContainsFunc(proposal.Changes, func(c stack.ResourceChange) bool { return replacesMachines(&c) }) {
		return ""
	}
	group, ok := obj.(*v1alpha1.InstanceGroup)
	if !ok {
		return "Replaces the instance of this control-plane slot after draining its node."
	}
	switch count := group.Status.Nodes.Desired; count {
	case 0:
		return "The change applies to instances launched later; the group has none now."
	case 1:
		return "Replaces the group's instance after draining its node."
	default:
		return fmt.Sprintf("Replaces the group's %d instances a few at a time, draining each node first.", count)
	}
}

// replacesMachines reports whether a change makes CloudFormation replace a group's instances: a new
// launch template version or other subnets.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-updatepolicy.html
func replacesMachines(change *stack.ResourceChange) bool {
	within := func(names ...string) bool {
		return slices.ContainsFunc(change.Properties, func(path string) bool {
			name, _, _ := strings.Cut(path, "/")
			return slices.Contains(names, name)
		})
	}
	switch change.Type {
	case "AWS::EC2::LaunchTemplate":
		return change.Action == "Modify" && within("LaunchTemplateData")
	case "AWS::AutoScaling::AutoScalingGroup":
		return change.Action == "Modify" && within("VPCZoneIdentifier", "AvailabilityZones")
	default:
		return false
	}
}

// Wait returns the outcome of a stack change that waits for approval or for its turn.
func Wait(obj client.Object, stackName string, result *stack.Result) operatorkit.Outcome {
	message := result.Message
	if pending := pendingChange(obj, stackName); pending != nil {
		message += " " + pending.Summary
	}
	return operatorkit.Wait(0, result.Reason, message).About(outcomes.StackSubject(stackName)).Degraded()
}

// WithCommand appends the command that approves all pending changes to the outcome's message.
func WithCommand(obj client.Object, kind string, outcome operatorkit.Outcome) operatorkit.Outcome {
	if !isUnapproved(outcome) {
		return outcome
	}
	var digests []string
	for _, one := range *pendingChanges(obj) {
		digests = append(digests, one.Digest)
	}
	return outcome.Explain(outcome.Reason(), fmt.Sprintf("%s To approve it: kubectl annotate --overwrite -n %s %s.%s/%s %s=%s",
		outcome.Message(), obj.GetNamespace(), kind, v1alpha1.Group, obj.GetName(), stack.ApproveAnnotation, strings.Join(digests, ",")))
}

// isUnapproved reports whether a change waits for a user's approval.
func isUnapproved(outcome operatorkit.Outcome) bool {
	return outcome.Reason() == stack.ReasonApprovalNeeded || outcome.Reason() == stack.ReasonApprovalStale
}
