package cloudformation

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/eval"
	"github.com/aws-operator/aws-operator/internal/simulator/tagging"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Limits: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
const (
	maxBody        = 51200
	maxURLBody     = 1_000_000 // the page says 1 MB, and the error of AWS this number
	maxResources   = 500
	maxItems       = 200 // parameters, outputs, mappings, attributes of a mapping
	maxDescription = 1024
	maxName        = 255 // of a resource, parameter, output or mapping
	maxValue       = 4096
	maxTags        = 50
)

// input holds the parameters of a call that creates or updates a stack.
type input struct {
	templateBody, templateURL string
	usePrevious               bool
	parameters                map[string]eval.Given
	tags                      []types.Tag
	keepTags                  bool // the call sets no tags: keep the stack's tags
	capabilities              []types.Capability
	notificationARNs          []string
	keepTopics                bool
	resourceTypes             []string
	nested                    bool
}

// invalid returns a ValidationError with AWS's message.
func invalid(format string, args ...any) *wire.Error {
	return wire.Errorf("ValidationError", format, args...)
}

// messageOf returns an error's message without its code.
func messageOf(err error) string {
	if wireErr, ok := errors.AsType[*wire.Error](err); ok {
		return wireErr.Message
	}
	return err.Error()
}

// refused converts the errors of evaluation into ValidationErrors.
func refused(err error) error {
	if evalErr, ok := errors.AsType[*eval.Error](err); ok {
		return invalid("%s", evalErr.Message)
	}
	return err
}

// revise creates a revision from a call's input, or returns the error of AWS about the template,
// parameters, conditions, rules, capabilities or limits.
func (e *Engine) revise(ctx context.Context, s *stack, in input, previous *revision) (*revision, error) {
	parsed, err := e.source(ctx, in, previous)
	if err != nil {
		return nil, err
	}
	rev := &revision{
		template: parsed.template, body: parsed.body, processed: parsed.processed, dependencies: parsed.dependencies,
		tags: in.tags, capabilities: in.capabilities, notificationARNs: in.notificationARNs,
	}
	if in.keepTags && previous != nil {
		rev.tags = previous.tags
	}
	if in.keepTopics && previous != nil {
		rev.notificationARNs = previous.notificationARNs
	}
	if err := checkTags(rev.tags); err != nil {
		return nil, err
	}
	var before map[string]eval.ParameterValue
	if previous != nil {
		before = previous.parameters
	}
	if err := checkValues(in.parameters); err != nil {
		return nil, err
	}
	rev.parameters, err = eval.ResolveParameters(eval.ParameterInput{
		Template: rev.template, Given: in.parameters, Previous: before, ReadSSM: e.ssmReader(ctx, s),
	})
	if err != nil {
		return nil, refused(err)
	}
	sc := s.staticScope(rev)
	if err := sc.CheckRules(); err != nil {
		return nil, refused(err)
	}
	if err := sc.EvaluateConditions(); err != nil {
		return nil, refused(err)
	}
	rev.conditions = sc.Conditions
	if err := checkCapabilities(rev, in.capabilities); err != nil {
		return nil, err
	}
	return rev, checkResourceTypes(rev.template, in.resourceTypes)
}

// ssmReader returns a function that reads Parameter Store with the permissions of the call, or, for
// a nested stack, of the call that created it. AWS's message about a denial:
// https://github.com/aws/aws-cdk/issues/20959
func (e *Engine) ssmReader(ctx context.Context, s *stack) func(string) (string, error) {
	if e.options.SSMParameter == nil {
		return nil
	}
	call := wire.CallFrom(ctx)
	caller, key := call.Caller, call.AccessKeyID
	if caller == nil {
		caller, key = s.principal, s.accessKey
	}
	return func(name string) (string, error) {
		const action = "ssm:GetParameters"
		if caller != nil && e.options.Env.Control.Denial(s.asCaller(key, caller.ARN, caller, action)) != "" {
			return "", eval.Errorf("AccessDenied. User doesn't have permission to call %s", action)
		}
		return e.options.SSMParameter(ctx, s.space.Account, s.space.Region, name)
	}
}

// source returns the parsed template of a call.
func (e *Engine) source(ctx context.Context, in input, previous *revision) (*parsedTemplate, error) {
	switch {
	case in.usePrevious && previous != nil:
		if in.templateBody != "" || in.templateURL != "" {
			return nil, invalid("You cannot specify both usePreviousTemplate and Template Body/URL.")
		}
		return e.parse(previous.body)
	case in.templateBody != "" && in.templateURL != "":
		return nil, invalid("Specify exactly one of 'TemplateBody' or 'TemplateUrl'")
	case in.templateBody != "":
		if len(in.templateBody) > maxBody {
			return nil, invalid(
				"1 validation error detected: Value at 'templateBody' failed to satisfy constraint: Member must have length less than or equal to %d",
				maxBody,
			)
		}
		return e.parse(in.templateBody)
	case in.templateURL != "":
		body, err := e.fetch(ctx, in.templateURL)
		if err != nil {
			return nil, err
		}
		if len(body) > maxURLBody {
			return nil, invalid("Template may not exceed %d bytes in size.", maxURLBody)
		}
		return e.parse(body)
	}
	return nil, invalid("Either Template URL or Template Body must be specified.")
}

// fetch reads an S3 object by its URL: virtual-hosted, path style or s3://.
func (e *Engine) fetch(ctx context.Context, address string) (string, error) {
	bucket, key, ok := s3Object(address)
	if !ok {
		return "", invalid("TemplateURL must be a supported URL.")
	}
	if e.options.FetchS3 == nil {
		return "", invalid("S3 error: The specified bucket does not exist")
	}
	body, err := e.options.FetchS3(ctx, bucket, key)
	if err != nil {
		return "", invalid(
			"S3 error: %s\nFor more information check http://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html", messageOf(err),
		)
	}
	return string(body), nil
}

func s3Object(address string) (bucket, key string, ok bool) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "", "", false
	}
	path := strings.TrimPrefix(u.Path, "/")
	if u.Scheme == "s3" {
		return u.Host, path, path != ""
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return "", "", false
	}
	host := u.Hostname()
	if name, rest, found := strings.Cut(host, ".s3"); found && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "-")) {
		return name, path, path != ""
	}
	bucket, key, _ = strings.Cut(path, "/")
	return bucket, key, bucket != "" && key != ""
}

func checkTags(tags []types.Tag) error {
	if len(tags) > maxTags {
		return invalid("Number of tags should not exceed %d", maxTags)
	}
	seen := map[string]bool{}
	for _, t := range tags {
		key := aws.ToString(t.Key)
		switch {
		case seen[key]:
			return invalid("Duplicate tag keys found. Please note that Tag keys are case sensitive.")
		case strings.HasPrefix(strings.ToLower(key), "aws:"):
			return invalid("aws: prefixed tag key names are not allowed for external use.")
		}
		if err := tagLengths.Check(nil, map[string]string{key: aws.ToString(t.Value)}); err != nil {
			return err
		}
		seen[key] = true
	}
	return nil
}

// tagLengths are the errors for the lengths of tags; no words of AWS are on record.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_Tag.html
var tagLengths = tagging.Rules{
	Key:   tagging.LongKey("ValidationError", "key"),
	Value: tagging.LongValue("ValidationError", "value"),
}

// checkValues returns an error if the value of a parameter is too long; no words of AWS are on record.
func checkValues(parameters map[string]eval.Given) error {
	for name, p := range parameters {
		if len(p.Value) > maxValue {
			return invalid("Template error: Value of parameter %s is longer than %d bytes", name, maxValue)
		}
	}
	return nil
}

func checkResourceTypes(t *template.Template, allowed []string) error {
	if len(allowed) == 0 {
		return nil
	}
	for id, r := range t.Resources {
		if !slices.ContainsFunc(allowed, func(pattern string) bool { return typeAllowed(pattern, r.Type) }) {
			return invalid("Resource type %s of resource %s is not in the list of allowed resource types", r.Type, id)
		}
	}
	return nil
}

func typeAllowed(pattern, kind string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(kind, prefix)
	}
	return pattern == kind
}

// capabilitiesOf returns the capabilities that a template needs, and the reason.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/control-access-with-iam.html#using-iam-capabilities
func capabilitiesOf(t *template.Template) ([]types.Capability, string) {
	named := map[string]string{
		"AWS::IAM::Group": "GroupName", "AWS::IAM::InstanceProfile": "InstanceProfileName", "AWS::IAM::Role": "RoleName",
		"AWS::IAM::User": "UserName", "AWS::IAM::ManagedPolicy": "ManagedPolicyName", "AWS::IAM::Policy": "",
		"AWS::IAM::AccessKey": "", "AWS::IAM::UserToGroupAddition": "", "AWS::IAM::RolePolicy": "", "AWS::IAM::UserPolicy": "",
		"AWS::IAM::GroupPolicy": "",
	}
	var found []string
	hasName := false
	for _, r := range t.Resources {
		property, isIAM := named[r.Type]
		if !isIAM {
			continue
		}
		if !slices.Contains(found, r.Type) {
			found = append(found, r.Type)
		}
		if property != "" && r.Properties.Get(property) != nil {
			hasName = true
		}
	}
	var out []types.Capability
	slices.Sort(found)
	reason := ""
	if len(found) > 0 {
		reason = "The following resource(s) require capabilities: [" + strings.Join(found, ", ") + "]"
		if hasName {
			out = append(out, types.CapabilityCapabilityNamedIam)
		} else {
			out = append(out, types.CapabilityCapabilityIam)
		}
	}
	if len(t.Transforms) > 0 {
		out = append(out, types.CapabilityCapabilityAutoExpand)
	}
	return out, reason
}

func checkCapabilities(rev *revision, given []types.Capability) error {
	needed, _ := capabilitiesOf(rev.template)
	for _, capability := range needed {
		have := slices.Contains(given, capability) ||
			capability == types.CapabilityCapabilityIam && slices.Contains(given, types.CapabilityCapabilityNamedIam)
		if capability == types.CapabilityCapabilityAutoExpand && onlyLanguageExtensions(rev.template) {
			have = true
		}
		if !have {
			return wire.Errorf("InsufficientCapabilitiesException", "Requires capabilities : [%s]", capability)
		}
	}
	return nil
}
