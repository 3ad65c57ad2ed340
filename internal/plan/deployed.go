package plan

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	cfnstack "github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
)

// placeholderCA stands for a certificate that does not exist yet. Its key was discarded.
//
//go:embed placeholder.crt
var placeholderCA []byte

// sideOf returns a rendered stack as a side of a comparison.
func sideOf(rendered *render.Stack) *diff.Side {
	return &diff.Side{Template: rendered.Template, Parameters: rendered.Parameters, Tags: rendered.Tags}
}

// atOnce is how many stacks are read in parallel.
const atOnce = 8

// parallel calls a function with 0 to n-1, some at once. It returns the error of the first number that has one.
func parallel(n int, call func(i int) error) error {
	errs := make([]error, n)
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = call(i)
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// fetch reads the deployed stacks that are not known from CloudFormation, in two calls each.
func (d *draft) fetch(ctx context.Context) error {
	if len(d.pending) == 0 {
		return nil
	}
	if d.options.Clients == nil {
		return fmt.Errorf("stack %s differs from its desired state; the comparison needs AWS to read the deployed template", d.subjects[d.pending[0].subject].Name)
	}
	known, err := d.list(ctx, len(d.pending))
	if err != nil {
		return err
	}
	if err := parallel(len(d.pending), func(i int) (err error) {
		s := &d.subjects[d.pending[i].subject]
		s.Deployed, err = deployed(ctx, d.options.Clients.CloudFormation(d.target), d.pending[i].id, known)
		return err
	}); err != nil {
		return err
	}
	for _, one := range d.pending {
		if s := &d.subjects[one.subject]; s.Deployed == nil && !one.guessed {
			d.note("Stack %s was created before and no longer exists.", s.Name)
		}
		d.subjects[one.subject].keepManagement()
	}
	d.pending = nil
	return nil
}

// keepManagement copies the management cluster's tag from the deployed stack: the operator keeps
// it, so it is not a change.
func (s *Subject) keepManagement() {
	if s.Deployed == nil || s.Wanted == nil || s.Deployed.Tags[cfnstack.ManagementTag] == "" {
		return
	}
	wanted := *s.Wanted
	wanted.Tags = maps.Clone(wanted.Tags)
	if wanted.Tags == nil {
		wanted.Tags = map[string]string{}
	}
	wanted.Tags[cfnstack.ManagementTag] = s.Deployed.Tags[cfnstack.ManagementTag]
	s.Wanted = &wanted
}

// many is the number of stacks from which on a list of all is cheaper than a call for each.
const many = 20

// list returns all stacks of the account and region by name and by ID; nil if only a few are to be read.
func (d *draft) list(ctx context.Context, reads int) (map[string]*types.Stack, error) {
	if reads < many {
		return nil, nil //nolint:nilnil // then a call reads each
	}
	known := map[string]*types.Stack{}
	pages := cloudformation.NewDescribeStacksPaginator(d.options.Clients.CloudFormation(d.target), &cloudformation.DescribeStacksInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awsapi.Explain(err)
		}
		for i := range page.Stacks {
			known[aws.ToString(page.Stacks[i].StackName)], known[aws.ToString(page.Stacks[i].StackId)] = &page.Stacks[i], &page.Stacks[i]
		}
	}
	return known, nil
}

// describe returns a stack; nil if it does not exist. Known are all stacks, or nil.
func describe(ctx context.Context, client awsapi.StackReader, id string, known map[string]*types.Stack) (*types.Stack, error) {
	if known != nil {
		return known[id], nil
	}
	found, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: aws.String(id)})
	if isMissing(err) || err == nil && len(found.Stacks) == 0 {
		return nil, nil //nolint:nilnil // nil is a valid result
	}
	if err != nil {
		return nil, awsapi.Explain(err)
	}
	return &found.Stacks[0], nil
}

// deployed reads a deployed stack; nil if it does not exist or is empty. Known are all stacks, or nil.
func deployed(ctx context.Context, client awsapi.StackReader, id string, known map[string]*types.Stack) (*diff.Side, error) {
	stack, err := describe(ctx, client, id, known)
	if stack == nil || err != nil {
		return nil, err
	}
	if isEmpty(stack.StackStatus) {
		return nil, nil //nolint:nilnil // as above
	}
	out, err := client.GetTemplate(ctx, &cloudformation.GetTemplateInput{StackName: aws.String(id)})
	if err != nil {
		return nil, awsapi.Explain(err)
	}
	parsed, err := template.Parse("the template of stack "+aws.ToString(stack.StackName), []byte(aws.ToString(out.TemplateBody)))
	if err != nil {
		return nil, fmt.Errorf("the template that is deployed cannot be read: %w", err)
	}
	side := &diff.Side{Template: parsed, Parameters: map[string]string{}, Tags: map[string]string{}}
	for _, p := range stack.Parameters {
		side.Parameters[aws.ToString(p.ParameterKey)] = aws.ToString(p.ParameterValue)
	}
	for _, t := range stack.Tags {
		side.Tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return side, nil
}

// isEmpty reports whether a stack with the status has no resources.
func isEmpty(status types.StackStatus) bool {
	switch status { //nolint:exhaustive // all others have resources
	case types.StackStatusDeleteComplete, types.StackStatusRollbackComplete, types.StackStatusReviewInProgress:
		return true
	}
	return false
}

// isMissing reports whether CloudFormation's error means that a stack does not exist:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html
func isMissing(err error) bool {
	message := awsapi.AWSMessage(err)
	return awsapi.Code(err) == "ValidationError" && strings.HasPrefix(message, "Stack") && strings.Contains(message, "does not exist")
}
