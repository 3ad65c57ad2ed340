package trial

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

//go:embed free.yaml
var freeTemplate string

//go:embed roles.yaml
var rolesTemplate string

var free = tier{
	name: "free", creates: "a change set that is never executed", price: "nothing",
	rows: []string{
		"sts-caller-identity", "cfn-describe-missing", "cfn-delete-missing", "cfn-validate-template", "cfn-template-limits",
		"cfn-capabilities", "cfn-change-set", "cfn-change-set-create", "cfn-review-untagged", "cfn-change-set-missing",
		"cfn-ssm-parameter-type", "cfn-deleted-by-id", "ec2-image-parameters", "ec2-image-missing", "ec2-offerings", "ssm-put",
	},
	check: func(ctx context.Context, r *runner) error {
		for _, check := range []func(*runner, context.Context) error{
			(*runner).identity, (*runner).missingStack, (*runner).templates, (*runner).capabilities, (*runner).unexecuted,
			(*runner).offerings,
		} {
			if err := check(r, ctx); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return nil
	},
}

// identity checks what GetCallerIdentity returns.
func (r *runner) identity(ctx context.Context) error {
	out, err := r.clients.STS(awsapi.Target{}).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		r.failed("sts-caller-identity", err)
		return nil
	}
	r.expect("sts-caller-identity", aws.ToString(out.Account) != "" && aws.ToString(out.UserId) != "" &&
		strings.Contains(aws.ToString(out.Arn), ":"+aws.ToString(out.Account)+":"), "The call returned account, ARN and user ID.")
	return nil
}

// missingStack checks how CloudFormation answers for a stack that does not exist.
func (r *runner) missingStack(ctx context.Context) error {
	_, err := r.cloudformation().DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: aws.String(noStack)})
	r.refused("cfn-describe-missing", err, "does not exist", "ValidationError")
	if _, err := r.cloudformation().DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: aws.String(noStack)}); err != nil {
		r.failed("cfn-delete-missing", err)
		return nil
	}
	r.found("cfn-delete-missing", held, "DeleteStack of %s succeeded.", noStack)
	return nil
}

// templates checks what CloudFormation refuses in templates.
func (r *runner) templates(ctx context.Context) error {
	validate := func(body string) (*cloudformation.ValidateTemplateOutput, error) {
		return r.clients.Templates(awsapi.Target{}).ValidateTemplate(ctx, &cloudformation.ValidateTemplateInput{TemplateBody: &body})
	}
	if out, err := validate(rolesTemplate); err != nil {
		r.failed("cfn-capabilities", err)
	} else {
		r.expect("cfn-capabilities", slices.Contains(out.Capabilities, types.CapabilityCapabilityIam),
			"ValidateTemplate reports %v for a role.", out.Capabilities)
	}
	_, err := validate(`{"Resources": {"Queue": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {"Ref": "Nothing"}}}}}`)
	r.refused("cfn-validate-template", err, "", "ValidationError")

	padding := strings.Repeat("#", template.MaxInlineBytes)
	_, err = validate(freeTemplate + padding)
	r.refused("cfn-template-limits", err, "51200", "ValidationError")
	return nil
}

// capabilities checks that a role needs an acknowledgement, if ValidateTemplate reports so.
func (r *runner) capabilities(ctx context.Context) error {
	if r.findings["cfn-capabilities"].result != held {
		return nil
	}
	_, err := r.cloudformation().CreateChangeSet(ctx, &cloudformation.CreateChangeSetInput{
		StackName: aws.String(stackName), ChangeSetName: aws.String(stackName), ChangeSetType: types.ChangeSetTypeCreate,
		TemplateBody: &rolesTemplate, Tags: tags(),
	})
	r.refused("cfn-capabilities", err, "", "InsufficientCapabilitiesException")
	if err == nil { // the next change set needs the name
		return r.cleanUp(ctx)
	}
	return nil
}

// unexecuted creates a change set for a stack that never gets resources, and deletes the stack.
func (r *runner) unexecuted(ctx context.Context) error {
	parameter, err := imageParameter()
	if err != nil {
		return err
	}
	out, err := r.changeSet(ctx, &cloudformation.CreateChangeSetInput{
		ChangeSetName: aws.String(stackName), ChangeSetType: types.ChangeSetTypeCreate, TemplateBody: &freeTemplate,
		Parameters: []types.Parameter{{ParameterKey: aws.String("Image"), ParameterValue: &parameter}},
	})
	if err != nil {
		r.failed("cfn-change-set", err)
		return nil
	}
	adds := len(out.Changes) == 1 && out.Changes[0].ResourceChange != nil && out.Changes[0].ResourceChange.Action == types.ChangeActionAdd
	r.expect("cfn-change-set", out.Status == types.ChangeSetStatusCreateComplete && adds, "The change set is %s with %d changes. %s",
		out.Status, len(out.Changes), aws.ToString(out.StatusReason))
	r.resolvedImage(ctx, parameter, out.Parameters)
	_, err = r.cloudformation().DescribeChangeSet(ctx, &cloudformation.DescribeChangeSetInput{
		StackName: out.StackId, ChangeSetName: aws.String("none"),
	})
	r.refused("cfn-change-set-missing", err, "", "ChangeSetNotFound")

	stack, err := r.stack(ctx, aws.ToString(out.StackId))
	if err != nil || stack == nil {
		return err
	}
	resources, err := r.resources(ctx, aws.ToString(out.StackId))
	if err != nil {
		return err
	}
	r.expect("cfn-review-untagged", len(stack.Tags) == 0 && isTagged(out.Tags), "The stack has %d tags, its change set %d.",
		len(stack.Tags), len(out.Tags))
	review := stack.StackStatus
	if err := r.cleanUp(ctx); err != nil {
		return err
	}
	r.expect("cfn-change-set-create", review == types.StackStatusReviewInProgress && len(resources) == 0 && len(r.left) == 0,
		"The stack was %s with %d resources, and DeleteStack deleted it.", review, len(resources))
	return r.deletedByID(ctx, aws.ToString(out.StackId))
}

// deletedByID checks that a deleted stack is found by its ID.
func (r *runner) deletedByID(ctx context.Context, id string) error {
	stack, err := r.stack(ctx, id)
	switch {
	case err != nil:
		r.failed("cfn-deleted-by-id", err)
	case stack == nil:
		r.found("cfn-deleted-by-id", differed, "The deleted stack is not found by its ID.")
	default:
		r.expect("cfn-deleted-by-id", stack.StackStatus == types.StackStatusDeleteComplete, "The stack is %s.", stack.StackStatus)
	}
	return nil
}

// resolvedImage checks the image to which CloudFormation resolved a public parameter.
func (r *runner) resolvedImage(ctx context.Context, parameter string, parameters []types.Parameter) {
	image := ""
	for _, one := range parameters {
		image = aws.ToString(one.ResolvedValue)
	}
	r.expect("cfn-ssm-parameter-type", strings.HasPrefix(image, "ami-"), "%s resolves to %q.", parameter, image)
	if !strings.HasPrefix(image, "ami-") {
		return
	}
	api := r.clients.EC2(awsapi.Target{})
	out, err := api.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{image}})
	if err != nil {
		r.failed("ec2-image-parameters", err)
		return
	}
	r.expect("ec2-image-parameters", len(out.Images) == 1 && out.Images[0].Architecture == ec2types.ArchitectureValuesX8664,
		"DescribeImages of %s returns %d images of architecture x86_64.", image, len(out.Images))
}

// offerings checks what EC2 and Systems Manager answer about what exists and what does not.
func (r *runner) offerings(ctx context.Context) error {
	api := r.clients.EC2(awsapi.Target{})
	_, err := api.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{"ami-00000000000000000"}})
	r.refused("ec2-image-missing", err, "", "InvalidAMIID.NotFound", "InvalidAMIID.Malformed", "InvalidAMIID.Unavailable")

	out, err := api.DescribeInstanceTypeOfferings(ctx, &ec2.DescribeInstanceTypeOfferingsInput{
		LocationType: ec2types.LocationTypeAvailabilityZone,
		Filters:      []ec2types.Filter{{Name: aws.String("instance-type"), Values: []string{"m6i.large"}}},
	})
	if err != nil {
		r.failed("ec2-offerings", err)
	} else {
		var zones []string
		for i := range out.InstanceTypeOfferings {
			zones = append(zones, aws.ToString(out.InstanceTypeOfferings[i].Location))
		}
		slices.Sort(zones)
		inRegion := !slices.ContainsFunc(zones, func(zone string) bool { return !strings.HasPrefix(zone, r.region) })
		r.expect("ec2-offerings", len(zones) > 0 && inRegion, "m6i.large is offered in %s.", strings.Join(zones, ", "))
	}
	_, err = r.clients.SSM(awsapi.Target{}).
		DeleteParameter(ctx, &ssm.DeleteParameterInput{Name: aws.String("/cluster-operator/" + stackName + "/none")})
	r.refused("ssm-put", err, "", "ParameterNotFound")
	return nil
}

// imageParameter returns the parameter of the image from which the newest built-in release boots.
func imageParameter() (string, error) {
	releases, err := release.Builtin()
	if err != nil {
		return "", fmt.Errorf("read the releases: %w", err)
	}
	for _, one := range releases {
		if one.Spec.State == v1alpha1.ReleaseActive {
			return one.Spec.Images[v1alpha1.AMD64].Parameter, nil
		}
	}
	return "", errors.New("no release is active")
}
