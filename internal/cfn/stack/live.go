package stack

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// differences are the properties that the template sets and that the resources to import have with
// another value, by logical ID. A resource that cannot be compared is missing.
type differences map[string][]diff.PropertyChange

// compareLive compares the resources to import with the template. CloudFormation does not:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/import-resources-manually.html
//
// Properties that AWS computes when it creates the resource, and those that it does not return, are
// unknown. Types that Cloud Control API cannot read are not compared.
func (v *visit) compareLive(ctx context.Context) (differences, step) {
	found := differences{}
	for _, id := range slices.Sorted(maps.Keys(v.desired.Import.Resources)) {
		r := v.desired.Template.Resources[id]
		t, ok := v.engine.options.Registry.Type(r.Type)
		if !ok {
			continue
		}
		properties, err := v.engine.Read(ctx, v.target, v.desired.RoleARN, r.Type, t.IdentifierText(v.desired.Import.Resources[id]))
		switch awsapi.Code(err) {
		case "":
			if err != nil {
				return nil, v.failed(err)
			}
		case "UnsupportedActionException", "TypeNotFoundException":
			continue
		case "ResourceNotFoundException":
			if v.desired.Import.Create {
				v.createInstead = true
				return nil, proceed()
			}
			return nil, end(v.stall(reasonImportFailed, fmt.Sprintf("The object cannot adopt the resource: there is no %s %s.",
				r.Type, t.IdentifierText(v.desired.Import.Resources[id]))))
		default:
			return nil, v.failed(err)
		}
		desired := diff.Side{Template: v.desired.Template, Parameters: v.desired.Parameters}
		if changes, ok := diff.Live(properties, id, desired, v.engine.options.Registry); ok {
			found[id] = diff.Sets(changes)
		}
	}
	return found, proceed()
}

// Read returns the properties of a resource of a CloudFormation type as JSON, as Cloud Control API returns
// them. With a role, CloudFormation reads the resource with its permissions. The error is that of AWS.
func (e *Engine) Read(ctx context.Context, target awsapi.Target, role, kind, identifier string) (properties string, err error) {
	out, err := e.options.Clients.CloudControl(target).GetResource(ctx, &cloudcontrol.GetResourceInput{
		TypeName: aws.String(kind), Identifier: aws.String(identifier), RoleArn: optional(role),
	})
	if err != nil {
		return "", err //nolint:wrapcheck // callers ask for its code
	}
	return aws.ToString(out.ResourceDescription.Properties), nil
}

// checkLive refuses an import if a property that replaces the resource when it changes, or may, has
// another value than in the template. The template of the import has these properties, so that no
// update would change them afterwards.
func (v *visit) checkLive(ctx context.Context) step {
	found, s := v.compareLive(ctx)
	if s.done {
		return s
	}
	var wrong []string
	for _, id := range slices.Sorted(maps.Keys(found)) {
		for i := range found[id] {
			if p := &found[id][i]; (p.ForcesReplacement || p.MayReplace) && literal(p.New) {
				wrong = append(wrong, fmt.Sprintf("its %s is %s, not %s", p.Path, diff.Show(p.Old), diff.Show(p.New)))
			}
		}
	}
	if len(wrong) == 0 {
		return proceed()
	}
	return end(v.stall(reasonImportFailed, fmt.Sprintf(
		"The object cannot adopt the resource: %s, and a change of that can replace the resource. Write what the resource has.", listed(wrong),
	)))
}

// literal reports whether a value has no function, whose result is unknown.
func literal(n *template.Node) bool {
	switch {
	case n == nil:
		return true
	case n.Kind == template.Intrinsic:
		return false
	}
	for _, field := range n.Fields {
		if !literal(field.Value) {
			return false
		}
	}
	return !slices.ContainsFunc(n.Items, func(item *template.Node) bool { return !literal(item) })
}

// keepDifferences removes from a proposal what the imported resources have already. It reports
// whether nothing remains to be approved.
func (found differences) keepDifferences(p *Proposal) (nothing bool) {
	nothing = true
	for i := range p.Changes {
		change := &p.Changes[i]
		of, compared := found[change.Resource]
		if !compared || !isModify(change) || change.Warning != "" {
			nothing = false
			continue
		}
		change.Properties = slices.DeleteFunc(change.Properties, func(path string) bool {
			return path != "Tags" && !slices.ContainsFunc(of, func(d diff.PropertyChange) bool { return overlap(d.Path, path) })
		})
		nothing = nothing && len(change.Properties) == 0
	}
	return nothing
}

// overlap reports whether a path is another, or is within it.
func overlap(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}
