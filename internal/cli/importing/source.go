package importing

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/service/adopt"
)

// finding are the flags that select resources of an account.
type finding struct {
	types, tags []string
	name        string
}

// source reads resources, and remembers what it left out.
type source struct {
	clients *awsapi.Clients
	// skipped are the resources that were left out, steps what to do with those that were not.
	skipped []skipped
	steps   []string
}

func (s *source) skip(r adopt.Resource, format string, args ...any) {
	s.skipped = append(s.skipped, skipped{
		strings.TrimSpace(r.Type + " " + r.Identifier), strings.TrimSuffix(fmt.Sprintf(format, args...), "."),
	})
}

// ofAccount returns the resources that the flags select, in the order of their types and identifiers.
func (s *source) ofAccount(ctx context.Context, find *finding, ofBuiltIn map[string]string) ([]adopt.Resource, error) {
	kinds, err := find.expand(ofBuiltIn)
	if err != nil {
		return nil, err
	}
	if _, err := path.Match(find.name, ""); err != nil {
		return nil, fmt.Errorf("--name %q is no pattern; use * for any text and ? for any character", find.name)
	}
	var listed []adopt.Resource
	for _, kind := range kinds {
		identifiers, err := s.list(ctx, kind)
		if err != nil {
			return nil, err
		}
		for _, identifier := range identifiers {
			if find.named(identifier) {
				listed = append(listed, adopt.Resource{Type: kind, Identifier: identifier})
			}
		}
	}
	read, err := s.read(ctx, listed)
	if err != nil {
		return nil, err
	}
	tagged := slices.DeleteFunc(read, func(r adopt.Resource) bool { return !find.tagged(r.Tags()) })
	return s.outsideOfStacks(ctx, tagged)
}

// expand returns the types that --type names, or those of the built-in kinds, sorted.
func (f *finding) expand(ofBuiltIn map[string]string) ([]string, error) {
	if len(f.types) == 0 {
		return slices.Compact(slices.Sorted(maps.Values(ofBuiltIn))), nil
	}
	var found []string
	for _, pattern := range f.types {
		matching, err := typesLike(pattern, ofBuiltIn)
		if err != nil {
			return nil, err
		}
		found = append(found, matching...)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// typesLike returns the types of a kind, or that match a pattern.
func typesLike(pattern string, ofBuiltIn map[string]string) (found []string, err error) {
	for kind, name := range ofBuiltIn {
		if strings.EqualFold(pattern, kind) {
			found = append(found, name)
		}
	}
	for _, name := range schema.Default().Names() {
		kind := strings.ReplaceAll(strings.TrimPrefix(name, "AWS::"), "::", "")
		matches, err := path.Match(pattern, name)
		if err != nil {
			return nil, fmt.Errorf("--type %q is no pattern; use * for any text and ? for any character", pattern)
		}
		if matches || strings.EqualFold(pattern, kind) {
			found = append(found, name)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	suggestion := ""
	if near := schema.Default().Suggest(pattern); near != "" {
		suggestion = "; did you mean " + near + "?"
	}
	return nil, fmt.Errorf("--type %s: there is no such kind or CloudFormation type%s", pattern, suggestion)
}

// named reports whether the name in an identifier, or all of it, matches --name.
func (f *finding) named(identifier string) bool {
	if f.name == "" {
		return true
	}
	name := identifier[strings.LastIndexAny(identifier, "/:|")+1:]
	short, _ := path.Match(f.name, name)
	whole, _ := path.Match(f.name, identifier)
	return short || whole
}

// tagged reports whether the tags have all of --tag.
func (f *finding) tagged(tags map[string]string) bool {
	return !slices.ContainsFunc(f.tags, func(wanted string) bool {
		key, value, given := strings.Cut(wanted, "=")
		has, ok := tags[key]
		return !ok || given && has != value
	})
}

// list returns the identifiers of the resources of a type, sorted. A type that AWS cannot list is left out.
func (s *source) list(ctx context.Context, kind string) ([]string, error) {
	pages := cloudcontrol.NewListResourcesPaginator(s.clients.Inventory(awsapi.Target{}), &cloudcontrol.ListResourcesInput{TypeName: &kind})
	var identifiers []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		switch awsapi.Code(err) {
		case "UnsupportedActionException", "TypeNotFoundException":
			s.skip(adopt.Resource{Type: kind}, "AWS cannot list resources of this type")
			return nil, nil
		case "InvalidRequestException":
			s.skip(adopt.Resource{Type: kind}, "AWS lists resources of this type only for one resource that contains them")
			return nil, nil
		}
		if err != nil {
			return nil, awsapi.Explain(err)
		}
		for _, found := range page.ResourceDescriptions {
			identifiers = append(identifiers, aws.ToString(found.Identifier))
		}
	}
	slices.Sort(identifiers)
	return identifiers, nil
}

// read reads the properties of resources. Those that cannot be read are left out.
func (s *source) read(ctx context.Context, listed []adopt.Resource) ([]adopt.Resource, error) {
	reasons, errs := make([]string, len(listed)), make([]error, len(listed))
	atATime(len(listed), func(i int) { reasons[i], errs[i] = s.readOne(ctx, &listed[i]) })
	var found []adopt.Resource
	for i, r := range listed {
		switch {
		case errs[i] != nil:
			return nil, errs[i]
		case reasons[i] != "":
			s.skip(r, "%s", reasons[i])
		default:
			found = append(found, r)
		}
	}
	return found, nil
}

// readOne reads the properties of a resource, or says why there are none.
func (s *source) readOne(ctx context.Context, r *adopt.Resource) (why string, err error) {
	out, err := s.clients.CloudControl(awsapi.Target{}).GetResource(ctx, &cloudcontrol.GetResourceInput{
		TypeName: aws.String(r.Type), Identifier: aws.String(r.Identifier),
	})
	switch awsapi.Code(err) {
	case "ResourceNotFoundException", "ValidationException":
		return "AWS has none with this identifier", nil
	case "UnsupportedActionException", "TypeNotFoundException":
		return "AWS cannot read resources of this type", nil
	}
	if err != nil {
		return "", awsapi.Explain(err)
	}
	r.Properties = aws.ToString(out.ResourceDescription.Properties)
	return "", nil
}

// outsideOfStacks returns the resources that belong to no stack. CloudFormation refuses to import the others
// into another stack.
func (s *source) outsideOfStacks(ctx context.Context, read []adopt.Resource) ([]adopt.Resource, error) {
	owners, errs := make([]string, len(read)), make([]error, len(read))
	atATime(len(read), func(i int) { owners[i], errs[i] = s.owner(ctx, read[i]) })
	var found []adopt.Resource
	for i, r := range read {
		switch {
		case errs[i] != nil:
			return nil, errs[i]
		case owners[i] != "":
			s.skip(r, "it belongs to stack %s", owners[i])
		default:
			found = append(found, r)
		}
	}
	return found, nil
}

// owner returns the name of the stack to which a resource belongs; empty if there is none.
func (s *source) owner(ctx context.Context, r adopt.Resource) (string, error) {
	physicalID := r.Identifier
	if r.Type == "AWS::Events::Rule" { // Ref returns its name, or that of its bus, | and its name
		_, name, _ := strings.Cut(physicalID, ":rule/")
		physicalID = strings.Replace(name, "/", "|", 1)
	}
	out, err := s.clients.StackFinder(awsapi.Target{}).DescribeStackResources(ctx, &cloudformation.DescribeStackResourcesInput{
		PhysicalResourceId: &physicalID,
	})
	if noStack(err) {
		return "", nil
	}
	if err != nil {
		return "", awsapi.Explain(err)
	}
	for _, one := range out.StackResources {
		if aws.ToString(one.PhysicalResourceId) == physicalID && aws.ToString(one.ResourceType) == r.Type {
			return aws.ToString(one.StackName), nil
		}
	}
	return "", nil
}

// atATime calls do for the numbers below n, for some of them at once.
func atATime(n int, do func(i int)) {
	const atOnce = 8
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			do(i)
		})
	}
	all.Wait()
}

// noStack reports whether CloudFormation knows no stack of that name, or none of that resource.
func noStack(err error) bool {
	return awsapi.Code(err) == "ValidationError" && strings.Contains(awsapi.AWSMessage(err), "does not exist")
}

// resourcesOf returns the resources of a stack.
func (s *source) resourcesOf(ctx context.Context, stack string) ([]types.StackResourceSummary, error) {
	pages := cloudformation.NewListStackResourcesPaginator(
		s.clients.CloudFormation(awsapi.Target{}), &cloudformation.ListStackResourcesInput{StackName: &stack},
	)
	var all []types.StackResourceSummary
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, page.StackResourceSummaries...)
	}
	return all, nil
}

// ofStack returns the resources of a stack.
func (s *source) ofStack(ctx context.Context, stack string) ([]adopt.Resource, error) {
	all, err := s.resourcesOf(ctx, stack)
	if noStack(err) {
		return nil, fmt.Errorf("--stack %s: there is no such stack in region %s", stack, s.clients.Region(awsapi.Target{}))
	}
	if err != nil {
		return nil, awsapi.Explain(err)
	}
	var listed []adopt.Resource
	for _, one := range all {
		r := adopt.Resource{Type: aws.ToString(one.ResourceType), Identifier: aws.ToString(one.PhysicalResourceId)}
		if _, known := schema.Default().Type(r.Type); !known || r.Identifier == "" {
			s.skip(r, "it is no resource of AWS")
			continue
		}
		listed = append(listed, r)
	}
	s.steps = []string{fmt.Sprintf("Stack %s still has these resources, and CloudFormation manages a resource in one stack only. "+
		"Set their DeletionPolicy to Retain in its template and update the stack. Then remove the resources from the template or delete "+
		"the stack, and apply the manifests after that.", stack)}
	return s.read(ctx, listed)
}
