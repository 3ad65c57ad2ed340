package trial

import (
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

//go:embed cents.yaml
var centsTemplate string

// queuePrefix begins the names of queues and event rules.
const queuePrefix = "aws-operator-events-trial-"

// Tokens of the operations, as CloudFormation reports them with each event.
const (
	createToken = "aws-operator-trial-create"
	updateToken = "aws-operator-trial-update"
	failToken   = "aws-operator-trial-fail"
)

var cents = tier{
	name:    "cents",
	creates: "stack " + stackName + " with a queue, an event rule, a bucket, and a network load balancer in a VPC of its own",
	// https://aws.amazon.com/elasticloadbalancing/pricing/
	price: "about 0.03 USD: an hour of the load balancer, and some requests",
	rows: []string{
		"cfn-create-complete", "cfn-request-token", "cfn-already-exists", "cfn-no-echo", "cfn-get-template", "cfn-stack-tags", "cfn-names",
		"elb-mixed-case-name", "cfn-no-updates", "cfn-cancel-update", "cfn-signal-unique-id", "cfn-change-set", "cfn-change-set-changes",
		"cfn-change-set-empty", "cfn-change-set-obsolete", "cfn-busy", "cfn-events-order", "cfn-token-in-events", "cfn-failed-update",
		"cfn-handler-reason", "s3-conditional-write", "s3-conditional-delete", "s3-consistent", "ev-stack-status", "ev-pattern-suffix",
		"ev-queue-policy", "cfn-termination-protection", "cfn-delete-failed", "s3-delete-bucket", "cfn-deleted-by-id",
	},
	check: func(ctx context.Context, r *runner) error {
		c := &centsChecks{runner: r, queue: queuePrefix + strings.ToLower(rand.Text()[:8])}
		for _, check := range []func(*centsChecks, context.Context) error{
			(*centsChecks).creation, (*centsChecks).description, (*centsChecks).idle, (*centsChecks).changeSets, (*centsChecks).update,
			(*centsChecks).failure, (*centsChecks).objects, (*centsChecks).events, (*centsChecks).deletion,
		} {
			if err := check(c, ctx); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return nil
	},
}

// centsChecks are the checks of one stack.
type centsChecks struct {
	*runner

	// queue is the name of the queue, id that of the stack.
	queue, id string
	outputs   map[string]string
	// last is the stack after its last operation.
	last *types.Stack
	// changeSetID is a change set that an update makes obsolete.
	changeSetID string
}

// parameters are those of the stack.
func (c *centsChecks) parameters(visibilityTimeout, anotherRange string) []types.Parameter {
	return []types.Parameter{
		{ParameterKey: aws.String("QueueName"), ParameterValue: &c.queue},
		{ParameterKey: aws.String("Secret"), ParameterValue: aws.String("a secret")},
		{ParameterKey: aws.String("VisibilityTimeout"), ParameterValue: &visibilityTimeout},
		{ParameterKey: aws.String("SubnetInAnotherRange"), ParameterValue: &anotherRange},
	}
}

func (c *centsChecks) create(ctx context.Context, token string) (*cloudformation.CreateStackOutput, error) {
	return c.cloudformation().CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: aws.String(stackName), TemplateBody: &centsTemplate, Parameters: c.parameters("30", "no"), Tags: tags(),
		ClientRequestToken: &token, EnableTerminationProtection: aws.Bool(true),
	})
}

func (c *centsChecks) sendUpdate(ctx context.Context, token, visibilityTimeout, anotherRange string) error {
	_, err := c.cloudformation().UpdateStack(ctx, &cloudformation.UpdateStackInput{
		StackName: &c.id, TemplateBody: &centsTemplate, Parameters: c.parameters(visibilityTimeout, anotherRange), Tags: tags(),
		ClientRequestToken: &token,
	})
	return err
}

// creation creates the stack, and checks how CloudFormation answers repeated requests.
func (c *centsChecks) creation(ctx context.Context) error {
	c.say("Creating stack %s …", stackName)
	made, err := c.create(ctx, createToken)
	if err != nil {
		c.failed("cfn-create-complete", err)
		return err
	}
	c.id = aws.ToString(made.StackId)
	stack, err := c.settled(ctx, c.id)
	if err != nil {
		return err
	}
	c.last = stack
	c.outputs = map[string]string{}
	for _, output := range stack.Outputs {
		c.outputs[aws.ToString(output.OutputKey)] = aws.ToString(output.OutputValue)
	}
	complete := stack.StackStatus == types.StackStatusCreateComplete && c.outputs["Queue"] != "" && c.outputs["Bucket"] != ""
	c.expect("cfn-create-complete", complete, "The stack is %s with %d outputs. %s",
		stack.StackStatus, len(c.outputs), aws.ToString(stack.StackStatusReason))
	if !complete {
		return fmt.Errorf("the stack is %s: %s", stack.StackStatus, aws.ToString(stack.StackStatusReason))
	}
	again, err := c.create(ctx, createToken)
	switch code := awsapi.Code(err); {
	case err == nil:
		c.expect("cfn-request-token", aws.ToString(again.StackId) == c.id, "The repeated request returned %s.", aws.ToString(again.StackId))
	case code == "AlreadyExistsException", code == "TokenAlreadyExistsException":
		c.found("cfn-request-token", held, "The repeated request is refused with %s.", answer(err))
	default:
		c.failed("cfn-request-token", err)
	}
	_, err = c.create(ctx, createToken+"-other")
	c.refused("cfn-already-exists", err, "", "AlreadyExistsException")
	return nil
}

// description checks what CloudFormation reports about the stack.
func (c *centsChecks) description(ctx context.Context) error {
	stack, err := c.stack(ctx, c.id)
	if err != nil || stack == nil {
		return err
	}
	for _, parameter := range stack.Parameters {
		if aws.ToString(parameter.ParameterKey) == "Secret" {
			c.expect("cfn-no-echo", aws.ToString(parameter.ParameterValue) == "****", "The parameter is shown as %s.",
				aws.ToString(parameter.ParameterValue))
		}
	}
	body, err := c.cloudformation().GetTemplate(ctx, &cloudformation.GetTemplateInput{StackName: &c.id})
	if err != nil {
		c.failed("cfn-get-template", err)
	} else {
		c.expect("cfn-get-template", aws.ToString(body.TemplateBody) == centsTemplate, "GetTemplate returned %d bytes of %d.",
			len(aws.ToString(body.TemplateBody)), len(centsTemplate))
	}
	c.propagatedTags(ctx)
	c.expect("cfn-names", strings.HasPrefix(c.outputs["Bucket"], stackName+"-"), "The bucket is named %s.", c.outputs["Bucket"])
	address := c.outputs["Address"]
	c.expect("elb-mixed-case-name", address != strings.ToLower(address), "The load balancer's DNS name is %s.", address)
	return nil
}

// propagatedTags checks the tags of a resource of the stack.
func (c *centsChecks) propagatedTags(ctx context.Context) {
	out, err := c.clients.EC2(awsapi.Target{}).DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{c.outputs["VPC"]}})
	if err != nil {
		c.failed("cfn-stack-tags", err)
		return
	}
	found := map[string]string{}
	for i := range out.Vpcs {
		for _, tag := range out.Vpcs[i].Tags {
			found[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
		}
	}
	c.expect("cfn-stack-tags", found[tagName] != "" && found["aws:cloudformation:stack-id"] == c.id, "The VPC has the tags %v.", found)
}

// idle checks what CloudFormation refuses while no operation runs.
func (c *centsChecks) idle(ctx context.Context) error {
	c.refused("cfn-no-updates", c.sendUpdate(ctx, updateToken+"-none", "30", "no"), "No updates are to be performed", "ValidationError")
	_, err := c.cloudformation().CancelUpdateStack(ctx, &cloudformation.CancelUpdateStackInput{StackName: &c.id})
	c.refused("cfn-cancel-update", err, "CancelUpdateStack cannot be called", "ValidationError")
	_, err = c.cloudformation().SignalResource(ctx, &cloudformation.SignalResourceInput{
		StackName: &c.id, LogicalResourceId: aws.String("Queue"), UniqueId: aws.String("i-00000000000000000"),
		Status: types.ResourceSignalStatusSuccess,
	})
	c.refused("cfn-signal-unique-id", err, "cannot be signaled", "ValidationError")
	return nil
}

// changeSets checks what change sets of the stack report.
func (c *centsChecks) changeSets(ctx context.Context) error {
	in := func(name, visibilityTimeout string) *cloudformation.CreateChangeSetInput {
		return &cloudformation.CreateChangeSetInput{
			ChangeSetName: &name, ChangeSetType: types.ChangeSetTypeUpdate, TemplateBody: &centsTemplate,
			Parameters: c.parameters(visibilityTimeout, "no"),
		}
	}
	out, err := c.changeSet(ctx, in("change", "31"))
	if err != nil {
		c.failed("cfn-change-set", err)
		return err
	}
	c.changeSetID = aws.ToString(out.ChangeSetId)
	c.expect("cfn-change-set", out.Status == types.ChangeSetStatusCreateComplete, "The change set is %s. %s",
		out.Status, aws.ToString(out.StatusReason))
	var described []string
	inPlace := false
	for i := range out.Changes {
		change := out.Changes[i].ResourceChange
		if change == nil {
			continue
		}
		described = append(described, fmt.Sprintf(
			"%s %s (replacement %s)", change.Action, aws.ToString(change.LogicalResourceId), change.Replacement,
		))
		if aws.ToString(change.LogicalResourceId) == "Queue" {
			inPlace = change.Action == types.ChangeActionModify && change.Replacement == types.ReplacementFalse &&
				slices.ContainsFunc(change.Details, func(detail types.ResourceChangeDetail) bool {
					return detail.Target != nil && strings.HasSuffix(aws.ToString(detail.Target.Path), "/VisibilityTimeout")
				})
		}
	}
	c.expect("cfn-change-set-changes", inPlace, "Another timeout of the queue: %s.", strings.Join(described, ", "))

	empty, err := c.changeSet(ctx, in("empty", "30"))
	if err != nil {
		c.failed("cfn-change-set-empty", err)
		return nil
	}
	reason := aws.ToString(empty.StatusReason)
	known := strings.Contains(reason, "The submitted information didn't contain changes") ||
		strings.Contains(reason, "No updates are to be performed")
	c.expect("cfn-change-set-empty", empty.Status == types.ChangeSetStatusFailed && known, "The change set is %s: %s", empty.Status, reason)
	return nil
}

// update updates the stack, and checks that other operations have to wait.
func (c *centsChecks) update(ctx context.Context) error {
	c.say("Updating the stack …")
	if err := c.busy(ctx); err != nil {
		return err
	}
	stack, err := c.operated(ctx)
	if err != nil {
		return err
	}
	if stack.StackStatus != types.StackStatusUpdateComplete {
		return fmt.Errorf("the stack is %s after an update: %s", stack.StackStatus, aws.ToString(stack.StackStatusReason))
	}
	out, err := c.cloudformation().DescribeChangeSet(ctx, &cloudformation.DescribeChangeSetInput{
		StackName: &c.id, ChangeSetName: &c.changeSetID,
	})
	if err != nil {
		c.failed("cfn-change-set-obsolete", err)
		return nil
	}
	c.expect("cfn-change-set-obsolete", out.ExecutionStatus == types.ExecutionStatusObsolete, "After the update, the change set is %s.",
		out.ExecutionStatus)
	return nil
}

// busy updates the stack, and sends another update meanwhile. If the first one has ended before the other
// one arrives, which a slow network or a throttled call causes, it tries again with other values.
func (c *centsChecks) busy(ctx context.Context) error {
	const tries = 5
	for try := range tries {
		value := func(i int) string { return strconv.Itoa(31 + 2*try + i) }
		token := fmt.Sprintf("%s-%d", updateToken, try)
		if err := c.sendUpdate(ctx, token, value(0), "no"); err != nil {
			return err
		}
		if err := c.sendUpdate(ctx, token+"-second", value(1), "no"); err != nil {
			c.refused("cfn-busy", err, "state and can not be", "ValidationError")
			return nil
		}
		if _, err := c.operated(ctx); err != nil {
			return err
		}
	}
	c.found("cfn-busy", notChecked, "The first update had always ended when the second one arrived.")
	return nil
}

// operated waits until the operation of the stack has ended, and returns the stack.
func (c *centsChecks) operated(ctx context.Context) (*types.Stack, error) {
	stack, err := c.ended(ctx, c.last)
	if err == nil {
		c.last = stack
	}
	return stack, err
}

// failure updates the stack with a resource that cannot be created.
func (c *centsChecks) failure(ctx context.Context) error {
	c.say("Updating the stack with a subnet that cannot be created …")
	if err := c.sendUpdate(ctx, failToken, "45", "yes"); err != nil {
		return err
	}
	stack, err := c.operated(ctx)
	if err != nil {
		return err
	}
	former := slices.ContainsFunc(stack.Parameters, func(parameter types.Parameter) bool {
		return aws.ToString(parameter.ParameterKey) == "SubnetInAnotherRange" && aws.ToString(parameter.ParameterValue) == "no"
	})
	c.expect("cfn-failed-update", stack.StackStatus == types.StackStatusUpdateRollbackComplete && former,
		"The stack is %s; its parameters are the former ones: %t.", stack.StackStatus, former)
	return c.readEvents(ctx)
}

// readEvents checks the events of the failed update.
func (c *centsChecks) readEvents(ctx context.Context) error {
	out, err := c.cloudformation().DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: &c.id})
	if err != nil {
		c.failed("cfn-events-order", err)
		return nil
	}
	events := out.StackEvents
	newestFirst := slices.IsSortedFunc(events, func(a, b types.StackEvent) int {
		return aws.ToTime(b.Timestamp).Compare(aws.ToTime(a.Timestamp))
	})
	own, begins, tokens := false, false, true
	for i := range events {
		event := &events[i]
		tokens = tokens && aws.ToString(event.ClientRequestToken) == failToken
		if event.ResourceStatus == types.ResourceStatusCreateFailed {
			c.expect("cfn-handler-reason", strings.HasPrefix(aws.ToString(event.ResourceStatusReason), `Resource handler returned message: "`),
				"%s", aws.ToString(event.ResourceStatusReason))
		}
		if aws.ToString(event.PhysicalResourceId) == c.id {
			own = own || i == 0
			if begins = event.ResourceStatus == types.ResourceStatusUpdateInProgress; begins {
				break
			}
		}
	}
	c.expect("cfn-events-order", newestFirst && own && begins,
		"The newest event is first: %t. It is the stack's own: %t. The operation begins with UPDATE_IN_PROGRESS: %t.", newestFirst, own, begins)
	c.expect("cfn-token-in-events", tokens, "All events of the update have its token: %t.", tokens)
	return nil
}

// deletion deletes the stack, against its protection and with a bucket that is not empty.
func (c *centsChecks) deletion(ctx context.Context) error {
	c.say("Deleting the stack …")
	_, err := c.cloudformation().DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &c.id})
	c.refused("cfn-termination-protection", err, "TerminationProtection is enabled", "ValidationError")
	if err == nil { // it is being deleted, with the object that the checks below need
		return c.cleanUp(ctx)
	}
	if err := c.unprotect(ctx, c.id); err != nil {
		return err
	}
	if _, err := c.cloudformation().DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &c.id}); err != nil {
		return err
	}
	stack, err := c.operated(ctx)
	if err != nil {
		return err
	}
	resources, err := c.resources(ctx, c.id)
	if err != nil {
		return err
	}
	var refusing []string
	for i := range resources {
		if resources[i].ResourceStatus == types.ResourceStatusDeleteFailed {
			refusing = append(refusing, aws.ToString(resources[i].LogicalResourceId)+": "+aws.ToString(resources[i].ResourceStatusReason))
		}
	}
	bucket := slices.ContainsFunc(refusing, func(one string) bool { return strings.HasPrefix(one, "Bucket: ") })
	c.expect("cfn-delete-failed", stack.StackStatus == types.StackStatusDeleteFailed && len(refusing) > 0, "The stack is %s. %s",
		stack.StackStatus, strings.Join(refusing, "; "))
	c.expect("s3-delete-bucket", bucket, "Refused the deletion: %s.", strings.Join(refusing, "; "))
	if err := c.cleanUp(ctx); err != nil {
		return err
	}
	return c.deletedByID(ctx, c.id)
}
