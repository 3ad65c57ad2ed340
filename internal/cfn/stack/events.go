package stack

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

const (
	// maxEventPages limits how far back the search for a reason goes.
	maxEventPages = 20
	// maxNesting limits how deep the search follows nested stacks.
	maxNesting = 3
)

// failure is why an operation failed.
type failure struct {
	// sentence names the resource that failed first and its reason.
	sentence string
	// tokens are the client request tokens of the operations in the events that were read.
	tokens map[string]bool
	// own is why the stack was rolled back, if no resource failed.
	own string
}

// rootFailure finds the first failure of the stack's last operation in its events. Later failures
// are mostly consequences of the first ("Resource creation cancelled").
func (v *visit) rootFailure(ctx context.Context, found *live) (failure, error) {
	return searchEvents(ctx, v.cloudformation(), found.id, found.reason, maxNesting)
}

// Failed returns the status of a stack whose last operation failed, and the first failure in its
// events as a sentence. Both are empty for a stack that is changing, unchanged or does not exist.
func Failed(ctx context.Context, api awsapi.StackReader, name string) (status, sentence string, err error) {
	out, err := api.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	if missing(err) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("describe stack %s: %w", name, err)
	}
	for i := range out.Stacks {
		found := &out.Stacks[i]
		status = string(found.StackStatus)
		if !strings.HasSuffix(status, "_FAILED") && !strings.Contains(status, "ROLLBACK") {
			continue
		}
		first, err := searchEvents(ctx, api, aws.ToString(found.StackId), aws.ToString(found.StackStatusReason), maxNesting)
		if err != nil {
			return "", "", fmt.Errorf("read the events of stack %s: %w", name, err)
		}
		return status, first.sentence, nil
	}
	return "", "", nil
}

func searchEvents(ctx context.Context, api awsapi.StackReader, id, fallback string, depth int) (failure, error) {
	result := failure{tokens: map[string]bool{}}
	var first *types.StackEvent
	paginator := cloudformation.NewDescribeStackEventsPaginator(
		api, &cloudformation.DescribeStackEventsInput{StackName: aws.String(id)},
	)
	for pages := 0; paginator.HasMorePages() && pages < maxEventPages; pages++ {
		page, err := paginator.NextPage(ctx)
		if err != nil {
			return failure{}, err
		}
		if earliest := result.scan(page.StackEvents, id, &first); earliest {
			break
		}
	}
	if first == nil {
		result.sentence = CleanReason(cmp.Or(result.own, fallback))
		return result, nil
	}
	if nested := nestedStack(first); nested != "" && nested != id && depth > 0 {
		inner, err := searchEvents(ctx, api, nested, aws.ToString(first.ResourceStatusReason), depth-1)
		if err != nil {
			return failure{}, err
		}
		result.sentence = fmt.Sprintf("In the nested stack %s: %s", aws.ToString(first.LogicalResourceId), inner.sentence)
		return result, nil
	}
	result.sentence = failureSentence(first)
	return result, nil
}

// scan reads events, newest first, keeps the earliest failure and returns true at the operation's
// beginning.
func (f *failure) scan(events []types.StackEvent, id string, first **types.StackEvent) bool {
	for i := range events {
		event := &events[i]
		f.tokens[aws.ToString(event.ClientRequestToken)] = true
		if aws.ToString(event.PhysicalResourceId) == id {
			if beginsOperation(event.ResourceStatus) {
				return true
			}
			if reason := rollbackReason(event); reason != "" {
				f.own, *first = reason, nil // what failed later is a failure of the rollback
			}
			continue
		}
		if strings.HasSuffix(string(event.ResourceStatus), "_FAILED") && !isConsequence(aws.ToString(event.ResourceStatusReason)) {
			*first = event
		}
	}
	return false
}

// beginsOperation reports whether a status of the stack's own event starts an operation that a
// client requested. A rollback does not.
func beginsOperation(status types.ResourceStatus) bool {
	switch status {
	case types.ResourceStatusCreateInProgress,
		types.ResourceStatusUpdateInProgress,
		types.ResourceStatusDeleteInProgress,
		types.ResourceStatusImportInProgress:
		return true
	default:
		return false
	}
}

// rollbackReason returns why CloudFormation rolls a stack back, for example because an output or an
// import cannot be evaluated. It is empty if a resource failed, whose own event says more, or a
// client requested the rollback.
func rollbackReason(event *types.StackEvent) string {
	switch event.ResourceStatus {
	case types.ResourceStatusRollbackInProgress, types.ResourceStatusUpdateRollbackInProgress:
	default:
		return ""
	}
	reason := strings.TrimSpace(strings.TrimSuffix(aws.ToString(event.ResourceStatusReason), "Rollback requested by user."))
	if reason == "User Initiated" || strings.HasPrefix(reason, "The following resource(s) failed to ") {
		return ""
	}
	return reason
}

// isConsequence reports whether a resource failed only because another one did.
func isConsequence(reason string) bool {
	lower := strings.ToLower(reason)
	return reason == "" || strings.Contains(lower, "cancelled") || strings.Contains(lower, "canceled")
}

func nestedStack(event *types.StackEvent) string {
	if aws.ToString(event.ResourceType) != "AWS::CloudFormation::Stack" {
		return ""
	}
	return aws.ToString(event.PhysicalResourceId)
}

func failureSentence(event *types.StackEvent) string {
	return ResourceFailure{
		LogicalID: aws.ToString(event.LogicalResourceId), PhysicalID: aws.ToString(event.PhysicalResourceId),
		Type: aws.ToString(event.ResourceType), Status: string(event.ResourceStatus),
		Reason: CleanReason(aws.ToString(event.ResourceStatusReason)),
	}.String()
}

// String returns the failure as a sentence.
func (f ResourceFailure) String() string {
	return fmt.Sprintf("%s (%s): %s", f.LogicalID, f.Type, f.Reason)
}

// The wrappers that resource handlers put around the reason, for example
//
//	Resource handler returned message: "Queue exists (Service: Sqs, Status Code: 400, Request ID: 5d…)" (RequestToken: 7e…, HandlerErrorCode: AlreadyExists)
var (
	handlerPattern = regexp.MustCompile(`(?s)^Resource handler returned message: "(.*)"(?: \(RequestToken: .*\))?\.?$`)
	servicePattern = regexp.MustCompile(`\s*\((?:Service: [^()]*|RequestToken: [^()]*|SDK Attempt Count: [^()]*|Request ID: [^()]*)\)`)
	spacePattern   = regexp.MustCompile(`\s+`)
)

// CleanReason turns a reason of CloudFormation into a sentence, without request IDs and the names
// of handlers. If access was denied, it names the missing permission.
func CleanReason(reason string) string {
	if match := handlerPattern.FindStringSubmatch(strings.TrimSpace(reason)); match != nil {
		reason = match[1]
	}
	reason = servicePattern.ReplaceAllString(reason, "")
	reason = spacePattern.ReplaceAllString(strings.TrimSpace(reason), " ")
	if principal, action, resource := awsapi.MissingAction(reason); action != "" {
		return awsapi.DeniedSentence(principal, action, resource, reason)
	}
	return awsapi.Sentence(reason)
}

// refusing lists the resources of the stack that are in a status, with their reasons.
func (v *visit) refusing(ctx context.Context, status types.ResourceStatus) ([]ResourceFailure, error) {
	var failures []ResourceFailure
	paginator := cloudformation.NewListStackResourcesPaginator(
		v.cloudformation(), &cloudformation.ListStackResourcesInput{StackName: aws.String(v.record.StackID)},
	)
	for paginator.HasMorePages() {
		page, err := paginator.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for i := range page.StackResourceSummaries {
			if r := &page.StackResourceSummaries[i]; r.ResourceStatus == status {
				failures = append(failures, ResourceFailure{
					LogicalID: aws.ToString(r.LogicalResourceId), PhysicalID: aws.ToString(r.PhysicalResourceId),
					Type:   aws.ToString(r.ResourceType),
					Status: string(r.ResourceStatus), Reason: CleanReason(aws.ToString(r.ResourceStatusReason)),
				})
			}
		}
	}
	return failures, nil
}
