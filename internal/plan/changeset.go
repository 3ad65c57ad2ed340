package plan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
)

const (
	changeSetName = "aws-operator-plan"
	// changeSetFirstPoll is the first polling interval of a change set, which doubles up to
	// changeSetMaxPoll. changeSetTimeout is how long to wait.
	changeSetFirstPoll = 50 * time.Millisecond
	changeSetMaxPoll   = 2 * time.Second
	changeSetTimeout   = 2 * time.Minute
	// maxTemplateBody is CloudFormation's limit for a template that is not in a bucket:
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
	maxTemplateBody = 51_200
)

// ask creates change sets for the stacks that change, and records where they differ from the plan.
// It creates none for stacks that are created or deleted: a change set that creates a stack leaves
// an empty one behind.
func (d *draft) ask(ctx context.Context, p *Plan) error {
	errs := make([]error, len(p.Stacks))
	var all sync.WaitGroup
	for i := range p.Stacks {
		s := &p.Stacks[i]
		if s.Action != Update {
			continue
		}
		if strings.Contains(strings.Join(slices.Collect(maps.Values(d.subjects[i].Wanted.Parameters)), " "), notKnownYet) {
			d.note("There is no change set for stack %s, since it needs outputs that the base stack does not have yet.", s.Name)
			continue
		}
		all.Go(func() {
			var changes []types.Change
			if changes, errs[i] = changeSet(ctx, d.options.Clients.CloudFormation(d.target), d.subjects[i].Wanted); errs[i] == nil {
				s.Asked, s.Differences = true, s.differences(changes)
			}
		})
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("create a change set for stack %s: %w", p.Stacks[i].Name, err)
		}
	}
	return nil
}

// changeSet creates a change set, reads it and deletes it, even if ctx ends in the meantime.
func changeSet(ctx context.Context, client awsapi.StackReviewer, wanted *render.Stack) (changes []types.Change, err error) {
	body := wanted.Template.CanonicalJSON()
	if len(body) > maxTemplateBody {
		return nil, fmt.Errorf(
			"its template has %d bytes, but without a bucket CloudFormation accepts at most %d",
			len(body),
			maxTemplateBody,
		)
	}
	in := &cloudformation.CreateChangeSetInput{
		StackName: &wanted.Name, ChangeSetName: aws.String(changeSetName), ChangeSetType: types.ChangeSetTypeUpdate,
		Description: aws.String("A plan's change set, which is deleted at once."), TemplateBody: aws.String(string(body)),
	}
	for _, name := range slices.Sorted(maps.Keys(wanted.Parameters)) {
		in.Parameters = append(in.Parameters, types.Parameter{ParameterKey: &name, ParameterValue: aws.String(wanted.Parameters[name])})
	}
	for _, name := range slices.Sorted(maps.Keys(wanted.Tags)) {
		in.Tags = append(in.Tags, types.Tag{Key: &name, Value: aws.String(wanted.Tags[name])})
	}
	want := stacks.Desired(wanted)
	for _, capability := range want.Capabilities {
		in.Capabilities = append(in.Capabilities, types.Capability(capability))
	}
	made, err := client.CreateChangeSet(ctx, in)
	if err != nil {
		return nil, awsapi.Explain(err)
	}
	defer func() {
		const enough = 10 * time.Second
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), enough)
		defer cancel()
		_, gone := client.DeleteChangeSet(ctx, &cloudformation.DeleteChangeSetInput{ChangeSetName: made.Id, StackName: &wanted.Name})
		if gone != nil && err == nil {
			err = fmt.Errorf("remove the change set %s: %w", changeSetName, awsapi.Explain(gone))
		}
	}()
	return readChangeSet(ctx, client, aws.ToString(made.Id))
}

// readChangeSet waits until CloudFormation has computed a change set.
func readChangeSet(ctx context.Context, client awsapi.StackReviewer, id string) ([]types.Change, error) {
	ctx, cancel := context.WithTimeout(ctx, changeSetTimeout)
	defer cancel()
	var changes []types.Change
	var next *string
	poll := changeSetFirstPoll
	for {
		out, err := client.DescribeChangeSet(ctx, &cloudformation.DescribeChangeSetInput{ChangeSetName: &id, NextToken: next})
		if err != nil {
			return nil, awsapi.Explain(err)
		}
		switch reason := aws.ToString(out.StatusReason); out.Status { //nolint:exhaustive // all others are in progress
		case types.ChangeSetStatusCreateComplete:
			changes = append(changes, out.Changes...)
			if next = out.NextToken; next == nil {
				return changes, nil
			}
			continue
		case types.ChangeSetStatusFailed:
			if nothingToDo(reason) {
				return nil, nil
			}
			return nil, fmt.Errorf("CloudFormation cannot compute the changes: %s", reason)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("CloudFormation has not computed the changes: %w", context.Cause(ctx))
		case <-time.After(poll):
			poll = min(2*poll, changeSetMaxPoll)
		}
	}
}

// nothingToDo reports whether a reason is CloudFormation's for a change set without changes:
// https://repost.aws/knowledge-center/cloudformation-sam-template-errors
func nothingToDo(reason string) bool {
	return strings.Contains(reason, "didn't contain changes") || strings.Contains(reason, "No updates are to be performed")
}

// differences describes where a change set differs from the plan.
func (s *Stack) differences(changes []types.Change) []string {
	var found []string
	asked, stay := map[string]bool{}, map[string]bool{}
	for i := range changes {
		if change := changes[i].ResourceChange; change != nil && change.Action == types.ChangeActionModify &&
			change.Replacement != types.ReplacementTrue {
			stay[aws.ToString(change.LogicalResourceId)] = true
		}
	}
	for i := range changes {
		change := changes[i].ResourceChange
		if change == nil {
			continue
		}
		id := aws.ToString(change.LogicalResourceId)
		asked[id] = true
		planned := s.Resource(id)
		switch theirs := actionOf(change); {
		case planned == nil && (theirs == Update || theirs == MayReplace) && follows(change, len(s.Tags) > 0, stay):
		case planned == nil:
			found = append(
				found,
				fmt.Sprintf(
					"CloudFormation would %[3]s %[1]s (%[2]s), but the plan leaves it unchanged.",
					id,
					aws.ToString(change.ResourceType),
					styles[theirs].verb,
				),
			)
		case !agree(planned, theirs):
			found = append(
				found,
				fmt.Sprintf(
					"CloudFormation would %[3]s %[1]s (%[2]s), but the plan would %[4]s it.",
					id,
					aws.ToString(change.ResourceType),
					styles[theirs].verb,
					styles[planned.Action].verb,
				),
			)
		}
	}
	for i := range s.Resources {
		if r := &s.Resources[i]; !asked[r.LogicalID] {
			found = append(
				found,
				fmt.Sprintf("CloudFormation would leave %s (%s) unchanged, but the plan would %s it.", r.LogicalID, r.Type, styles[r.Action].verb),
			)
		}
	}
	return found
}

// actionOf returns the action that CloudFormation would take:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ResourceChange.html
func actionOf(change *types.ResourceChange) Action {
	switch change.Action { //nolint:exhaustive // all others change it
	case types.ChangeActionAdd, types.ChangeActionImport:
		return Create
	case types.ChangeActionRemove:
		return Delete
	}
	switch change.Replacement {
	case types.ReplacementTrue:
		return Replace
	case types.ReplacementConditional:
		return MayReplace
	case types.ReplacementFalse:
	}
	return Update
}

// agree reports whether two actions agree. MayReplace agrees with Update and with Replace.
func agree(r *Resource, theirs Action) bool {
	uncertain := r.Action == MayReplace || theirs == MayReplace
	return r.Action == theirs || uncertain && theirs != Create && theirs != Delete && r.Action != Create && r.Action != Delete
}

// follows reports whether a resource changes only with the stack's tags, which the plan shows in
// one line, or because it references an attribute of resources that stay: CloudFormation does not
// know whether the attribute changes.
func follows(change *types.ResourceChange, tags bool, stay map[string]bool) bool {
	for i := range change.Details {
		detail := &change.Details[i]
		cause, _, _ := strings.Cut(aws.ToString(detail.CausingEntity), ".")
		byTags := tags && detail.Target != nil &&
			(detail.Target.Attribute == types.ResourceAttributeTags || aws.ToString(detail.Target.Name) == "Tags")
		if !byTags && (detail.Evaluation != types.EvaluationTypeDynamic || !stay[cause]) {
			return false
		}
	}
	return true
}
