package stack

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// Import takes existing resources into a stack that does not exist yet. An existing stack is not
// changed by it.
//
// CloudFormation cannot give a new stack its tags or its role by an import: "As part of the import
// operation, you cannot modify or add [RoleArn, Tags]". The tags prove the stack's owner. So the
// engine creates the stack with a resource that is nothing outside of CloudFormation, imports into
// that stack, and then updates it like any other.
//
// An import changes no property of a resource, and CloudFormation does not compare the template
// with the resource. Later updates change only what differs between two templates. So the template
// of the import has no property besides the required ones and those that cannot change in place:
// the update sets all others.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/import-resources-manually.html
type Import struct {
	// Resources are the primary identifiers, by property, of the resources to import, by logical ID.
	Resources map[string]map[string]string
	// Create lets the stack create the resources if one of them does not exist.
	Create bool
	// Refusal, unless nil, is why the resources must not be imported. It stalls a stack that is not
	// imported yet, and means nothing for others.
	Refusal *Refusal
	// Review, unless nil, holds the first change of the imported resources until it is approved.
	Review *Review
}

// Refusal says why a caller refuses an operation.
type Refusal struct {
	// Reason is a CamelCase word for a condition, Message a sentence for the user.
	Reason, Message string
}

// shellID is the logical ID of the only resource of a stack into which resources are going to be
// imported, and shellType its type: the handle of a wait condition is a URL and needs no permission.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudformation-waitconditionhandle.html
const (
	shellID   = "AwsOperatorImport"
	shellType = "AWS::CloudFormation::WaitConditionHandle"
)

// shellTemplate is the template of a stack before its import.
func shellTemplate() *template.Template {
	return &template.Template{Resources: map[string]*template.Resource{shellID: {LogicalID: shellID, Type: shellType}}}
}

// stage is the progress of an import, as the deployed template shows it.
type stage int

const (
	// stageNone means that nothing is imported, or that an update followed the import.
	stageNone stage = iota
	// stageShell means that the stack is ready for the import.
	stageShell
	// stageImported means that the stack has the resources as they were.
	stageImported
)

func stageOf(t *template.Template) stage {
	shell := t.Resources[shellID]
	switch {
	case shell == nil || shell.Type != shellType:
		return stageNone
	case len(t.Resources) == 1:
		return stageShell
	default:
		return stageImported
	}
}

// stage returns the progress of the import; none also while what is deployed is unknown.
func (v *visit) stage() stage {
	switch {
	case v.desired.Import == nil:
		return stageNone
	case v.deployed != nil:
		return stageOf(v.deployed.Template)
	case v.record.Digest == "":
		return stageNone
	case v.record.Digest == v.stageDigest(shellTemplate()):
		return stageShell
	}
	side, ok := v.engine.memory.get(memoryKey{stackID: v.record.StackID}, v.record.Digest)
	if !ok {
		return stageNone
	}
	return stageOf(side.Template)
}

// stageDigest is the digest of a template that the stack has before the desired one.
func (v *visit) stageDigest(t *template.Template) string { return v.desired.digestWith(t.Digest()) }

// importing reports whether the next change of the stack is the import.
func (v *visit) importing() bool { return !v.createInstead && v.stage() == stageShell }

// recognize records what is deployed if it is the stage of an import.
func (v *visit) recognize() {
	if v.desired.Import == nil || stageOf(v.deployed.Template) == stageNone {
		return
	}
	v.record.Digest = v.stageDigest(v.deployed.Template)
	v.engine.memory.put(memoryKey{stackID: v.record.StackID}, v.record.Digest, *v.deployed)
}

// creation returns the template with which the stack is created. No stack is created for an import
// that is impossible.
func (v *visit) creation(ctx context.Context) (*template.Template, step) {
	if v.desired.Import == nil {
		return v.desired.Template, proceed()
	}
	if _, s := v.importTemplate(); s.done {
		return nil, s
	}
	if s := v.checkLive(ctx); s.done {
		return nil, s
	}
	if v.createInstead {
		return v.desired.Template, proceed()
	}
	return shellTemplate(), proceed()
}

// importTemplate returns the template of the import. The error is a sentence for the user.
func importTemplate(desired *Desired, registry *schema.Registry) (*template.Template, error) {
	from := desired.Template
	if len(from.Transforms) > 0 || len(from.Macros) > 0 {
		return nil, fmt.Errorf("its template has macros, whose result the operator does not know")
	}
	made := shellTemplate()
	made.Parameters, made.Mappings, made.Conditions, made.Rules = from.Parameters, from.Mappings, from.Conditions, from.Rules
	for _, id := range slices.Sorted(maps.Keys(desired.Import.Resources)) {
		r, identifier := from.Resources[id], desired.Import.Resources[id]
		if r == nil {
			return nil, fmt.Errorf("its template has no resource %s", id)
		}
		t, ok := registry.Type(r.Type)
		if !ok {
			return nil, fmt.Errorf("the schema of %s is unknown", r.Type)
		}
		if err := checkName(t, r, identifier); err != nil {
			return nil, err
		}
		one := &template.Resource{
			LogicalID: id, Type: r.Type, Condition: r.Condition, DeletionPolicy: "Retain", UpdateReplacePolicy: r.UpdateReplacePolicy,
			Properties: fixedProperties(t, r.Properties),
		}
		for _, reference := range one.References() {
			if other := reference.Target; from.Resources[other] != nil && desired.Import.Resources[other] == nil {
				return nil, fmt.Errorf("resource %s refers to %s, which does not exist yet", id, other)
			}
		}
		made.Resources[id] = one
	}
	return made, nil
}

// fixedProperties returns the properties that an import must have: the required ones and those
// whose change replaces the resource, or may.
func fixedProperties(t *schema.Type, from *template.Node) *template.Node {
	if from == nil {
		return nil
	}
	fixed := &template.Node{Kind: template.Map}
	first := func(paths []string) []string {
		names := make([]string, 0, len(paths))
		for _, path := range paths {
			name, _, _ := strings.Cut(path, "/")
			names = append(names, name)
		}
		return names
	}
	names := slices.Concat(t.Required, first(t.PrimaryIdentifier), first(t.CreateOnly), first(t.ConditionalCreateOnly))
	for _, field := range from.Fields {
		if slices.Contains(names, field.Key) {
			fixed.Fields = append(fixed.Fields, field)
		}
	}
	return fixed
}

// checkName refuses to import a resource whose name is not the template's: CloudFormation would not
// notice. A URL or an ARN ends in the name.
func checkName(t *schema.Type, r *template.Resource, identifier map[string]string) error {
	property := t.CustomName()
	if property == "" || r.Properties == nil || r.Properties.Get(property) == nil {
		return nil
	}
	name, literal := r.Properties.Get(property).Scalar()
	if !literal {
		return fmt.Errorf("property %s of resource %s is computed, so the operator cannot compare it with the identifier", property, r.LogicalID)
	}
	for _, value := range identifier {
		if value == name || strings.HasSuffix(value, "/"+name) || strings.HasSuffix(value, ":"+name) {
			return nil
		}
	}
	return fmt.Errorf("its template names resource %s %q, but %s does not end in that name",
		r.LogicalID, name, strings.Join(slices.Sorted(maps.Values(identifier)), ", "))
}

// importTemplate returns the template of the import, unless the import is refused.
func (v *visit) importTemplate() (*template.Template, step) {
	if refusal := v.desired.Import.Refusal; refusal != nil {
		return nil, end(v.stall(refusal.Reason, refusal.Message))
	}
	t, err := importTemplate(&v.desired, v.engine.options.Registry)
	if err != nil {
		return nil, end(v.stall(reasonImportFailed, "The object cannot adopt the resource, because "+err.Error()+"."))
	}
	return t, proceed()
}

// proposeImport sends CreateChangeSet for the import.
func (v *visit) proposeImport(ctx context.Context) step {
	t, s := v.importTemplate()
	if s.done {
		return s
	}
	body, url, s := v.templateArgument(ctx, t)
	if s.done {
		return s
	}
	input := &cloudformation.CreateChangeSetInput{
		StackName: aws.String(v.record.StackID), ChangeSetName: aws.String(changeSetName), ChangeSetType: types.ChangeSetTypeImport,
		Description:  aws.String("The resources that the operator imports."),
		TemplateBody: body, TemplateURL: url, Parameters: parameters(v.desired.Parameters), Capabilities: v.capabilities(),
	}
	for _, id := range slices.Sorted(maps.Keys(v.desired.Import.Resources)) {
		input.ResourcesToImport = append(input.ResourcesToImport, types.ResourceToImport{
			LogicalResourceId: aws.String(id), ResourceType: aws.String(t.Resources[id].Type),
			ResourceIdentifier: v.desired.Import.Resources[id],
		})
	}
	return v.proposed(ctx, input)
}

// importBasis identifies what is imported into which stack.
func (v *visit) importBasis() string {
	parts := []string{"import", v.record.StackID, v.record.Changed, v.digest}
	for _, id := range slices.Sorted(maps.Keys(v.desired.Import.Resources)) {
		parts = append(parts, id, digestMap(v.desired.Import.Resources[id]))
	}
	return token(parts...)
}

// importToken is the token of the execution of the import.
func (v *visit) importToken(changed string) string {
	return token("import", v.record.StackID, v.digest, changed)
}

// readImport checks that the change set is exactly the import, so that it may be executed.
func (v *visit) readImport(ctx context.Context, found *cloudformation.DescribeChangeSetOutput) step {
	wrong := len(found.Changes) != len(v.desired.Import.Resources)
	for i := range found.Changes {
		change := found.Changes[i].ResourceChange
		if change == nil || change.Action != types.ChangeActionImport ||
			v.desired.Import.Resources[aws.ToString(change.LogicalResourceId)] == nil {
			wrong = true
		}
	}
	if wrong {
		if s := v.withdraw(ctx); s.done {
			return s
		}
		v.record.FailedDigest = v.digest
		v.record.StatusReason = "CloudFormation would do more than to import the resource."
		return proceed()
	}
	v.proposal = &Proposal{}
	return proceed()
}

// importRefused handles a change set that CloudFormation could not create for the import.
func (v *visit) importRefused(reason string) step {
	if v.desired.Import.Create && notFound(reason) {
		v.createInstead = true
		return proceed()
	}
	v.record.FailedDigest, v.record.StatusReason = v.digest, importReason(reason)
	return proceed()
}

// notFound reports whether a reason says that the resource to import does not exist. The words are
// those of its service: "Resource of type 'AWS::SQS::Queue' with identifier '…' was not found.",
// "Topic does not exist", "Bucket not found", "Table: … does not exist.".
func notFound(reason string) bool {
	return strings.Contains(reason, "not found") || strings.Contains(reason, "does not exist") || strings.Contains(reason, "could not be found")
}

// importReason returns the reason of a failed import as a sentence, with the name of the stack that
// has the resource.
func importReason(reason string) string {
	resource, id, ok := strings.Cut(reason, " already exists in stack ")
	if !ok {
		return CleanReason(reason)
	}
	return fmt.Sprintf("%s belongs to the stack %s (%s), and a resource can be in one stack only. Remove it from that stack first, with DeletionPolicy Retain.",
		resource, nameOf(strings.TrimSuffix(id, ".")), strings.TrimSuffix(id, "."))
}

// executeImport executes the change set that was read in this visit.
func (v *visit) executeImport(ctx context.Context) step {
	t, s := v.importTemplate()
	if s.done {
		return s
	}
	if s := v.prepare(ctx); s.done {
		return s
	}
	sent := v.importToken(v.record.Changed)
	err := v.sendExecute(ctx, sent)
	switch {
	case err == nil, awsapi.Code(err) == "TokenAlreadyExistsException":
		v.record.ChangeSet, v.record.ProposedFrom, v.record.Proposal = "", "", ""
		v.record.PendingDigest, v.record.StatusReason = v.stageDigest(t), ""
		v.began(types.StackStatusImportInProgress, sent)
		side := v.desired.side()
		side.Template = t
		v.engine.memory.put(memoryKey{stackID: v.record.StackID, pending: true}, v.record.PendingDigest, side)
		return end(v.waitForCloudFormation())
	case noChangeSet(err), awsapi.Code(err) == "InvalidChangeSetStatus":
		return v.outdate(ctx)
	case busy(err), missing(err):
		return v.refreshOnce(ctx, err)
	default:
		return v.refused(err)
	}
}

// isStage reports whether a digest is that of a stage of the import of what is desired.
func (v *visit) isStage(digest string) bool {
	if v.desired.Import == nil {
		return false
	}
	t, err := importTemplate(&v.desired, v.engine.options.Registry)
	return digest == v.stageDigest(shellTemplate()) || err == nil && digest == v.stageDigest(t)
}

// review returns how changes of the stack are approved, nil if they need no approval.
func (v *visit) review() *Review {
	switch {
	case v.createInstead: // a creation needs no approval
		return nil
	case v.desired.Review == nil && v.stage() == stageImported:
		return v.desired.Import.Review
	default:
		return v.desired.Review
	}
}
