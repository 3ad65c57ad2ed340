package stack

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/policy"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// hidden is what DescribeStacks returns instead of the value of a NoEcho parameter:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/parameters-section-structure.html
const hidden = "****"

// inspect reads what is deployed from CloudFormation, and compares it with what is desired.
func (v *visit) inspect(ctx context.Context) step {
	if !v.refreshed {
		return v.refresh(ctx)
	}
	parsed, s := v.template(ctx, "what an update would change")
	if s.done {
		return s
	}
	v.deployed = &diff.Side{Template: parsed, Parameters: v.found.parameters, Tags: unmarked(v.found.tags)}
	if v.deploysDesired() {
		v.record.Digest = v.digest
		v.engine.memory.put(memoryKey{stackID: v.record.StackID}, v.digest, v.desired.side())
	}
	v.recognize()
	return proceed()
}

// template reads the deployed template, to determine something.
func (v *visit) template(ctx context.Context, what string) (*template.Template, step) {
	out, err := v.cloudformation().GetTemplate(ctx, &cloudformation.GetTemplateInput{StackName: aws.String(v.record.StackID)})
	if err != nil {
		return nil, v.failed(err)
	}
	parsed, err := template.Parse("the template of stack "+v.desired.Name, []byte(aws.ToString(out.TemplateBody)))
	if err != nil {
		return nil, end(v.stall(
			reasonUnreadable, "The deployed template cannot be parsed, so the operator cannot determine "+what+": "+err.Error(),
		))
	}
	return parsed, proceed()
}

// deploysDesired reports whether nothing at all differs. The value of a NoEcho parameter cannot be
// compared; in that case an update is sent, and CloudFormation decides.
func (v *visit) deploysDesired() bool {
	if v.moved || v.deployed.Template.Digest() != v.desired.Template.Digest() || digestMap(v.deployed.Tags) != digestMap(v.desired.Tags) {
		return false
	}
	for name, parameter := range v.desired.Template.Parameters {
		deployed, ok := v.deployed.Parameters[name]
		wanted, given := v.desired.Parameters[name]
		switch {
		case !ok || deployed == hidden || parameter.NoEcho:
			return false
		case given && deployed != wanted:
			return false
		case !given && (parameter.Default == nil || parameter.Default.Text != deployed):
			return false
		}
	}
	return true
}

// makePlan compares what is deployed with what is desired. It returns false if what is deployed is
// not cached after all.
func (v *visit) makePlan() bool {
	deployed := v.deployed
	if deployed == nil {
		side, ok := v.engine.memory.get(memoryKey{stackID: v.record.StackID}, v.record.Digest)
		if !ok {
			v.engine.memory.forget(v.record.StackID)
			return false
		}
		deployed = &side
	}
	v.compared = deployed
	v.plan = diff.Compare(*deployed, v.desired.side(), v.engine.options.Registry)
	return true
}

// refusal checks the policy and returns its refusals as sentences, or "".
func (v *visit) refusal() string {
	var sentences []string
	for _, refused := range policy.Check(v.plan, v.desired.Allow) {
		sentences = append(sentences, refused.Message)
	}
	return strings.Join(sentences, " ")
}
