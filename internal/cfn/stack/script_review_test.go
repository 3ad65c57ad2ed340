package stack

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// scriptedSet is a change set of the script.
type scriptedSet struct {
	id, name, body string
	tags           []types.Tag
	status         types.ChangeSetStatus
	execution      types.ExecutionStatus
	reason         string
	changes        []types.Change
}

// waiting returns the change sets that a client could execute.
func (one *scripted) waiting() []string {
	var names []string
	for _, set := range one.sets {
		if set.execution == types.ExecutionStatusAvailable || set.execution == types.ExecutionStatusUnavailable {
			names = append(names, set.name)
		}
	}
	return names
}

// obsolete marks the stack's change sets obsolete, as an update does.
func (one *scripted) obsolete() {
	for _, set := range one.sets {
		if set.execution == types.ExecutionStatusAvailable {
			set.execution = types.ExecutionStatusObsolete
		}
	}
}

func (s *script) CreateChangeSet(
	_ context.Context, in *cloudformation.CreateChangeSetInput, _ ...func(*cloudformation.Options),
) (*cloudformation.CreateChangeSetOutput, error) {
	return call(s, "CreateChangeSet", func() (*cloudformation.CreateChangeSetOutput, error) {
		one, err := s.must(aws.ToString(in.StackName))
		if err != nil {
			return nil, err
		}
		if !stable(one.shown.StackStatus) {
			return nil, refuse(
				"ValidationError",
				fmt.Sprintf("Stack:%s is in %s state and can not be updated.", aws.ToString(one.shown.StackId), one.shown.StackStatus),
			)
		}
		name := aws.ToString(in.ChangeSetName)
		if slices.ContainsFunc(one.sets, func(set *scriptedSet) bool { return set.name == name }) {
			return nil, refuse("AlreadyExistsException", "ChangeSet "+name+" already exists")
		}
		s.made++
		set := &scriptedSet{
			id: fmt.Sprintf("arn:aws:cloudformation:eu-central-1:123456789012:changeSet/%s/%d", name, s.made), name: name,
			body: aws.ToString(in.TemplateBody), tags: in.Tags,
			status: types.ChangeSetStatusCreateComplete, execution: types.ExecutionStatusAvailable, changes: s.changes,
		}
		if set.body == one.body && sameTags(one.shown.Tags, in.Tags) {
			set.status, set.execution = types.ChangeSetStatusFailed, types.ExecutionStatusUnavailable
			set.reason = "The submitted information didn't contain changes. Submit different information to create a change set."
		}
		one.sets = append(one.sets, set)
		return &cloudformation.CreateChangeSetOutput{Id: aws.String(set.id), StackId: one.shown.StackId}, nil
	})
}

func (s *script) changeSet(stackName, name *string) (*scripted, *scriptedSet, error) {
	one, err := s.must(aws.ToString(stackName))
	if err != nil {
		return nil, nil, err
	}
	for _, set := range one.sets {
		if set.id == aws.ToString(name) || set.name == aws.ToString(name) {
			return one, set, nil
		}
	}
	return one, nil, refuse("ChangeSetNotFound", "ChangeSet ["+aws.ToString(name)+"] does not exist")
}

func (s *script) DescribeChangeSet(
	_ context.Context, in *cloudformation.DescribeChangeSetInput, _ ...func(*cloudformation.Options),
) (*cloudformation.DescribeChangeSetOutput, error) {
	return call(s, "DescribeChangeSet", func() (*cloudformation.DescribeChangeSetOutput, error) {
		one, set, err := s.changeSet(in.StackName, in.ChangeSetName)
		if err != nil {
			return nil, err
		}
		if s.slow {
			return &cloudformation.DescribeChangeSetOutput{
				StackId:         one.shown.StackId,
				Status:          types.ChangeSetStatusCreateInProgress,
				ExecutionStatus: types.ExecutionStatusUnavailable,
			}, nil
		}
		return &cloudformation.DescribeChangeSetOutput{
			ChangeSetId: aws.String(set.id), StackId: one.shown.StackId, Status: set.status, StatusReason: aws.String(set.reason),
			ExecutionStatus: set.execution, Changes: set.changes,
		}, nil
	})
}

func (s *script) ExecuteChangeSet(
	_ context.Context, in *cloudformation.ExecuteChangeSetInput, _ ...func(*cloudformation.Options),
) (*cloudformation.ExecuteChangeSetOutput, error) {
	return call(s, "ExecuteChangeSet", func() (*cloudformation.ExecuteChangeSetOutput, error) {
		one, set, err := s.changeSet(in.StackName, in.ChangeSetName)
		if err != nil {
			return nil, err
		}
		if set.execution != types.ExecutionStatusAvailable {
			return nil, refuse(
				"InvalidChangeSetStatus",
				fmt.Sprintf("ChangeSet [%s] cannot be executed in its current status of [%s]", set.id, set.execution),
			)
		}
		s.begin(one, types.StackStatusUpdateInProgress, aws.ToString(in.ClientRequestToken))
		one.body, one.shown.Tags, one.shown.LastUpdatedTime = set.body, set.tags, aws.Time(s.clock.Now())
		one.sets, set.execution = []*scriptedSet{set}, types.ExecutionStatusExecuteComplete
		return &cloudformation.ExecuteChangeSetOutput{}, nil
	})
}

func (s *script) DeleteChangeSet(
	_ context.Context, in *cloudformation.DeleteChangeSetInput, _ ...func(*cloudformation.Options),
) (*cloudformation.DeleteChangeSetOutput, error) {
	return call(s, "DeleteChangeSet", func() (*cloudformation.DeleteChangeSetOutput, error) {
		one, gone, err := s.changeSet(in.StackName, in.ChangeSetName)
		if one != nil {
			one.sets = slices.DeleteFunc(one.sets, func(set *scriptedSet) bool { return set == gone })
			err = nil
		}
		return &cloudformation.DeleteChangeSetOutput{}, err
	})
}

func (s *script) SetStackPolicy(
	_ context.Context, in *cloudformation.SetStackPolicyInput, _ ...func(*cloudformation.Options),
) (*cloudformation.SetStackPolicyOutput, error) {
	return call(s, "SetStackPolicy", func() (*cloudformation.SetStackPolicyOutput, error) {
		one, err := s.must(aws.ToString(in.StackName))
		if err != nil {
			return nil, err
		}
		one.policy = aws.ToString(in.StackPolicyBody)
		return &cloudformation.SetStackPolicyOutput{}, nil
	})
}

func (s *script) SignalResource(
	_ context.Context, in *cloudformation.SignalResourceInput, _ ...func(*cloudformation.Options),
) (*cloudformation.SignalResourceOutput, error) {
	return call(s, "SignalResource", func() (*cloudformation.SignalResourceOutput, error) {
		one, err := s.must(aws.ToString(in.StackName))
		if err != nil {
			return nil, err
		}
		if !inProgress(one.shown.StackStatus) {
			return nil, refuse(
				"ValidationError",
				fmt.Sprintf("Stack %s is in %s state and cannot be signaled", aws.ToString(one.shown.StackId), one.shown.StackStatus),
			)
		}
		return &cloudformation.SignalResourceOutput{}, nil
	})
}

func (s *script) CancelUpdateStack(
	_ context.Context, in *cloudformation.CancelUpdateStackInput, _ ...func(*cloudformation.Options),
) (*cloudformation.CancelUpdateStackOutput, error) {
	return call(s, "CancelUpdateStack", func() (*cloudformation.CancelUpdateStackOutput, error) {
		one, err := s.must(aws.ToString(in.StackName))
		if err != nil {
			return nil, err
		}
		if one.shown.StackStatus != types.StackStatusUpdateInProgress {
			return nil, refuse("ValidationError", "CancelUpdateStack cannot be called from current stack status")
		}
		return &cloudformation.CancelUpdateStackOutput{}, nil
	})
}

var _ awsapi.CloudFormation = (*script)(nil)
