package stack

import (
	"context"
	"encoding/json"
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
// the update sets all others. Required properties that can change in place have the resource's value.
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
	if _, s := v.templateOfImport(nil); s.done {
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

// importTemplate returns the template of the import. Live are the properties of the resources, as far as they
// are known; nil before they are read. The error is a sentence for the user.
func importTemplate(desired *Desired, registry *schema.Registry, live map[string]*template.Node) (*template.Template, error) {
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
			Properties: fixedProperties(t, r.Properties, live[id]),
		}
		for _, reference := range fixedReferences(one, t, live == nil) {
			if other := reference.Target; from.Resources[other] != nil && desired.Import.Resources[other] == nil {
				return nil, fmt.Errorf("resource %s refers to %s, which does not exist yet", id, other)
			}
		}
		made.Resources[id] = one
	}
	return made, nil
}

// fixedProperties returns the properties that an import must have: the required ones and those
// whose change replaces the resource, or may. The required ones that can change in place have their live
// value, if it is known: otherwise the update after the import would not set them.
func fixedProperties(t *schema.Type, from, live *template.Node) *template.Node {
	if from == nil {
		return nil
	}
	fixed := &template.Node{Kind: template.Map}
	inPlace := requiredInPlace(t, from)
	for _, field := range from.Fields {
		switch {
		case slices.Contains(inPlace, field.Key):
			if value := live.Get(field.Key); value != nil {
				field.Value = value
			}
			fixed.Fields = append(fixed.Fields, field)
		case slices.Contains(replacing(t), field.Key) || slices.Contains(t.Required, field.Key):
			fixed.Fields = append(fixed.Fields, field)
		}
	}
	return fixed
}

// fixedReferences returns the references of a resource to import. Before the live values are read, those of properties that
// get their live values do not count.
func fixedReferences(r *template.Resource, t *schema.Type, unread bool) []template.Reference {
	if !unread || r.Properties == nil {
		return r.References()
	}
	inPlace := requiredInPlace(t, r.Properties)
	kept := *r
	kept.Properties = &template.Node{Kind: template.Map, Fields: slices.DeleteFunc(
		slices.Clone(r.Properties.Fields), func(field template.Field) bool { return slices.Contains(inPlace, field.Key) },
	)}
	return kept.References()
}

// replacing returns the properties that identify a resource, or whose change replaces it, or may.
func replacing(t *schema.Type) []string {
	var names []string
	for _, path := range slices.Concat(t.PrimaryIdentifier, t.CreateOnly, t.ConditionalCreateOnly) {
		name, _, _ := strings.Cut(path, "/")
		names = append(names, name)
	}
	return names
}

// requiredInPlace returns the properties of a resource that the type requires, alone or as alternatives, and
// that can change in place.
func requiredInPlace(t *schema.Type, from *template.Node) []string {
	required := slices.Concat(t.Required, t.Root.RequiredXor, t.Root.RequiredOr)
	return slices.DeleteFunc(required, func(name string) bool {
		return from.Get(name) == nil || slices.Contains(replacing(t), name)
	})
}

// liveForImport reads the properties of the resources to import whose values the template of the import has.
func (v *visit) liveForImport(ctx context.Context) (map[string]*template.Node, step) {
	live := map[string]*template.Node{}
	for id, identifier := range v.desired.Import.Resources {
		r := v.desired.Template.Resources[id]
		t, ok := v.engine.options.Registry.Type(r.Type)
		if !ok || len(requiredInPlace(t, r.Properties)) == 0 {
			continue
		}
		text, err := v.engine.Read(ctx, v.target, v.desired.RoleARN, r.Type, t.IdentifierText(identifier))
		switch {
		case awsapi.Code(err) == "UnsupportedActionException" || awsapi.Code(err) == "TypeNotFoundException" ||
			awsapi.Code(err) == "ResourceNotFoundException":
			continue // CloudFormation refuses the import
		case err != nil:
			return nil, v.failed(err)
		}
		properties := map[string]any{}
		if json.Unmarshal([]byte(text), &properties) != nil {
			continue
		}
		if node := template.FromInterface(properties); !computes(node) {
			live[id] = node
		}
	}
	return live, proceed()
}

// computes reports whether CloudFormation would compute a value: other clients set the properties of a resource,
// and must not make it read something with the operator's permissions.
func computes(n *template.Node) bool {
	switch n.Kind {
	case template.Intrinsic:
		return true
	case template.String:
		return strings.Contains(n.Text, "{{resolve:")
	case template.List:
		return slices.ContainsFunc(n.Items, computes)
	case template.Map:
		return slices.ContainsFunc(n.Fields, func(field template.Field) bool { return computes(field.Value) })
	case template.Null, template.Bool, template.Number:
	}
	return false
}

// checkName refuses to import a resource whose name is not the template's: CloudFormation would not
// notice. A URL or an ARN ends in the name, and those of load balancers and target groups in the name and an ID.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_awselasticloadbalancingv2.html
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
		if strings.HasPrefix(r.Type, "AWS::ElasticLoadBalancingV2::") {
			value = value[:max(strings.LastIndexByte(value, '/'), 0)]
		}
		if value == name || strings.HasSuffix(value, "/"+name) || strings.HasSuffix(value, ":"+name) {
			return nil
		}
	}
	return fmt.Errorf("its template names resource %s %q, but %s does not end in that name",
		r.LogicalID, name, strings.Join(slices.Sorted(maps.Values(identifier)), ", "))
}

// importTemplate returns the template of the import, unless the import is refused.
func (v *visit) importTemplate(ctx context.Context) (*template.Template, step) {
	if v.desired.Import.Refusal != nil {
		return v.templateOfImport(nil)
	}
	live, s := v.liveForImport(ctx)
	if s.done {
		return nil, s
	}
	return v.templateOfImport(live)
}

// templateOfImport is importTemplate with the live properties that are known.
func (v *visit) templateOfImport(live map[string]*template.Node) (*template.Template, step) {
	if refusal := v.desired.Import.Refusal; refusal != nil {
		return nil, end(v.stall(refusal.Reason, refusal.Message))
	}
	t, err := importTemplate(&v.desired, v.engine.options.Registry, live)
	if err != nil {
		return nil, end(v.stall(reasonImportFailed, "The object cannot adopt the resource, because "+err.Error()+"."))
	}
	return t, proceed()
}

// proposeImport sends CreateChangeSet for the import.
func (v *visit) proposeImport(ctx context.Context) step {
	t, s := v.importTemplate(ctx)
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
	t, s := v.importTemplate(ctx)
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
		v.record.PendingDigest, v.record.StatusReason = v.importDigest(), ""
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
	return digest == v.stageDigest(shellTemplate()) || digest == v.importDigest()
}

// importDigest is the digest of the import that is desired, whatever the resources have.
func (v *visit) importDigest() string {
	t, err := importTemplate(&v.desired, v.engine.options.Registry, nil)
	if err != nil {
		return ""
	}
	return v.stageDigest(t)
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
