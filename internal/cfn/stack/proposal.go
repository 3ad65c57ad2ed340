package stack

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
)

// Proposal is what CloudFormation would do to a stack, for a user to approve. It holds no property
// values, which may be secret.
type Proposal struct {
	// Digest identifies exactly this change: what is deployed, what is desired and what
	// CloudFormation would do.
	Digest string
	// Losses are sentences that describe the data loss.
	Losses []string
	// Overview summarizes the changes in a few sentences.
	Overview string
	// Changes are the resource changes, sorted by logical ID.
	Changes []ResourceChange
}

// ResourceChange is the change of one resource.
type ResourceChange struct {
	// Resource is the logical ID, Type the CloudFormation type, PhysicalID the name in AWS, if any.
	Resource, Type, PhysicalID string
	// Action and Replacement are CloudFormation's terms:
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ResourceChange.html
	Action, Replacement string
	// Properties are the paths of the changed properties, sorted.
	Properties []string
	// Warning is the sentence of Losses about this resource, if any.
	Warning string

	// follows is true if the resource stays in place, whatever Replacement says.
	follows bool
}

const (
	// maxNames is how many resources a sentence names, and maxProperties how many properties of a
	// resource are listed.
	maxNames, maxProperties = 5, 20
	// maxSummary limits a summary, in bytes, so that it fits into an Event together with a command.
	maxSummary = 600
)

// Summary summarizes the changes in a few sentences: losses, then more, then the overview.
func (p *Proposal) Summary(more ...string) string {
	text := strings.Join(
		slices.Concat(p.Losses, slices.DeleteFunc(append(slices.Clone(more), p.Overview), func(s string) bool { return s == "" })), " ",
	)
	if len(text) <= maxSummary {
		return text
	}
	end := strings.LastIndexByte(text[:maxSummary], ' ')
	return text[:max(0, end)] + " …"
}

// digest returns the digest of the proposal that was created from what is deployed and desired.
func (p *Proposal) digest(from string) string {
	h := sha256.New()
	write(h, from)
	for i := range p.Changes {
		c := &p.Changes[i]
		for _, text := range append([]string{c.Resource, c.Type, c.PhysicalID, c.Action, c.Replacement}, c.Properties...) {
			write(h, text)
		}
		write(h, "")
	}
	return hex.EncodeToString(h.Sum(nil))[:digestLength]
}

// propose describes a change set for a user. The plan knows more about the causes than
// CloudFormation reports.
func (e *Engine) propose(changes []types.Change, plan *diff.Plan) *Proposal {
	p := &Proposal{}
	stay := map[string]bool{} // the resources that are changed in place
	for i := range changes {
		if change := changes[i].ResourceChange; change != nil {
			stay[aws.ToString(change.LogicalResourceId)] = change.Action == types.ChangeActionModify &&
				change.Replacement == types.ReplacementFalse
		}
	}
	for i := range changes {
		if change := changes[i].ResourceChange; change != nil {
			planned := plan.Change(aws.ToString(change.LogicalResourceId))
			p.Changes = append(p.Changes, resourceChange(change, planned, follows(change, planned, stay)))
		}
	}
	slices.SortFunc(p.Changes, func(a, b ResourceChange) int { return cmp.Compare(a.Resource, b.Resource) })
	for i := range p.Changes {
		if p.Changes[i].Warning != "" {
			p.Losses = append(p.Losses, p.Changes[i].Warning)
		}
	}
	p.Overview = overview(p.Changes, plan)
	return p
}

// follows reports whether CloudFormation says that a resource may be replaced only because it
// refers to attributes of resources that are all changed in place, while the plan finds no cause.
// An example is a rule that refers to a security group whose tags change.
func follows(change *types.ResourceChange, planned *diff.Change, stay map[string]bool) bool {
	if change.Replacement != types.ReplacementConditional || planned != nil && planned.Action != diff.Update {
		return false
	}
	reasons := 0
	for i := range change.Details {
		detail := &change.Details[i]
		if detail.Target == nil || detail.Target.RequiresRecreation == types.RequiresRecreationNever ||
			detail.Target.RequiresRecreation == "" {
			continue
		}
		cause, _, _ := strings.Cut(aws.ToString(detail.CausingEntity), ".")
		if detail.Evaluation != types.EvaluationTypeDynamic || !stay[cause] {
			return false
		}
		reasons++
	}
	return reasons > 0
}

func resourceChange(change *types.ResourceChange, planned *diff.Change, follows bool) ResourceChange {
	made := ResourceChange{
		follows:  follows,
		Resource: aws.ToString(change.LogicalResourceId), Type: aws.ToString(change.ResourceType),
		PhysicalID: aws.ToString(change.PhysicalResourceId),
		Action:     string(change.Action), Replacement: string(change.Replacement),
	}
	for i := range change.Details {
		if target := change.Details[i].Target; target != nil {
			made.Properties = append(made.Properties, pathOf(target))
		}
	}
	slices.Sort(made.Properties)
	made.Properties = slices.Compact(made.Properties)
	if more := len(made.Properties) - maxProperties; more > 0 {
		made.Properties = append(made.Properties[:maxProperties], fmt.Sprintf("and %d more", more))
	}
	if schema.IsStateful(made.Type) && !follows {
		made.Warning = warning(change, planned)
	}
	return made
}

// pathOf returns the path of the change: "KeySchema/0/AttributeName", or an attribute such as Tags.
func pathOf(target *types.ResourceTargetDefinition) string {
	if target.Attribute != types.ResourceAttributeProperties {
		return string(target.Attribute)
	}
	if path, ok := strings.CutPrefix(aws.ToString(target.Path), "/Properties/"); ok {
		return path
	}
	return aws.ToString(target.Name)
}

// overview summarizes how many resources change how, and what else changes.
func overview(changes []ResourceChange, plan *diff.Plan) string {
	groups := []struct {
		sentence string
		in       func(*ResourceChange) bool
	}{
		{"Replaces %s.", func(c *ResourceChange) bool { return isModify(c) && c.Replacement == string(types.ReplacementTrue) }},
		{"May replace %s.", func(c *ResourceChange) bool { return isModify(c) && mayReplace(c) }},
		{"Changes %s in place.", func(c *ResourceChange) bool {
			return isModify(c) && c.Replacement != string(types.ReplacementTrue) && !mayReplace(c)
		}},
		{"Adds %s.", func(c *ResourceChange) bool { return c.Action == string(types.ChangeActionAdd) }},
		{"Removes %s.", func(c *ResourceChange) bool { return c.Action == string(types.ChangeActionRemove) }},
		{"Imports %s.", func(c *ResourceChange) bool { return c.Action == string(types.ChangeActionImport) }},
		{"May change %s.", func(c *ResourceChange) bool { return c.Action == string(types.ChangeActionDynamic) }},
	}
	var said []string
	for _, group := range groups {
		var names []string
		for i := range changes {
			if changes[i].Warning == "" && group.in(&changes[i]) { // the warning already describes the others
				names = append(names, changes[i].Resource)
			}
		}
		if len(names) > 0 {
			said = append(said, fmt.Sprintf(group.sentence, listed(names)))
		}
	}
	if plan.TagsChanged {
		said = append(said, "Changes the stack's tags.")
	}
	if plan.OutputsChanged && len(plan.Outputs) > 0 {
		said = append(said, fmt.Sprintf("Changes the outputs %s.", listed(plan.Outputs)))
	}
	if len(said) == 0 && len(changes) == 0 {
		said = append(said, "Changes only parts of the template that no resource depends on.")
	}
	return strings.Join(said, " ")
}

func isModify(c *ResourceChange) bool { return c.Action == string(types.ChangeActionModify) }

func mayReplace(c *ResourceChange) bool {
	return c.Replacement == string(types.ReplacementConditional) && !c.follows
}

// listed joins names: "A", "A and B", "A, B and 7 more".
func listed(names []string) string {
	if more := len(names) - maxNames; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), more)
	}
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
