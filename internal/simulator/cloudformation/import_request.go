package cloudformation

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// importable reports whether resources of a type can be imported: those that CloudFormation can read, and
// does not implement itself.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/resource-import-supported-resources.html
// https://github.com/aws-solutions/aws-waf-security-automations/issues/226
func (s *stack) importable(kind string) bool {
	t, known := s.engine.registry.Type(kind)
	_, own := s.own(kind)
	return known && !own && len(t.PrimaryIdentifier) > 0 && s.engine.HasHandler(kind, "read")
}

// checkImportRequest returns CloudFormation's error for a request that is not of an import alone:
// an import creates, changes and deletes nothing, and changes neither the outputs nor the tags nor
// the role of the stack.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/import-resources-manually.html
// https://github.com/awslabs/aws-security-assessment-solution/issues/6 has the message about outputs,
// https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/1607 that about
// resources of the stack.
func (s *stack) checkImportRequest(cs *changeSet, in *awscfn.CreateChangeSetInput) error {
	if cs.kind != types.ChangeSetTypeImport {
		if len(cs.imports) > 0 {
			return invalid("Resources to import can be specified only for change sets of type IMPORT")
		}
		return nil
	}
	if len(cs.imports) == 0 {
		return invalid("Must Provide at least one resource to import")
	}
	named := map[string]bool{}
	for i, r := range cs.imports {
		id := aws.ToString(r.LogicalResourceId)
		if named[id] {
			return invalid("Every resource to import must have unique LogicalResourceId")
		}
		named[id] = true
		if len(r.ResourceIdentifier) == 0 {
			return invalid("1 validation error detected: Value null at 'resourcesToImport.%d.member.resourceIdentifier' "+
				"failed to satisfy constraint: Member must not be null", i+1)
		}
	}
	if err := s.checkImportEntries(cs); err != nil {
		return err
	}
	if err := s.checkImportedOnly(cs, named); err != nil {
		return err
	}
	if err := s.checkImportSettings(cs, in); err != nil {
		return err
	}
	return s.checkNothingModified(cs, named)
}

// checkImportEntries checks what each resource to import has to fulfill alone.
func (s *stack) checkImportEntries(cs *changeSet) error {
	var missing []string
	for _, r := range cs.imports {
		if id := aws.ToString(r.LogicalResourceId); cs.revision.template.Resources[id] == nil {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		return invalid("The logical resource ids [%s] provided in ResourceToImport do not exist in the template.", sorted(missing))
	}
	for _, r := range cs.imports {
		id, kind := aws.ToString(r.LogicalResourceId), aws.ToString(r.ResourceType)
		if !s.importable(kind) {
			return invalid("ResourceTypes [%s] are not supported for Import", kind)
		}
		t, _ := s.engine.registry.Type(kind)
		identified := len(r.ResourceIdentifier) == len(t.PrimaryIdentifier)
		for _, name := range t.PrimaryIdentifier {
			_, given := r.ResourceIdentifier[name]
			identified = identified && given
		}
		if !identified {
			return invalid("Invalid resource identifier for resource type %s. Expected [%s]", kind, strings.Join(t.PrimaryIdentifier, ", "))
		}
		if declared := cs.revision.template.Resources[id].Type; declared != kind {
			return invalid("Resource type of [%s] passed in ResourceToImport does not match with resource type defined in the template. "+
				"Resource type in ResourceToImport: %s; Resource type in Template: %s.", id, kind, declared)
		}
	}
	return nil
}

// checkImportedOnly rejects new resources that are not imported, and imports of resources that are not
// new.
func (s *stack) checkImportedOnly(cs *changeSet, named map[string]bool) error {
	var added, held, unprotected []string
	fresh := false
	for id := range cs.revision.activeIDs() {
		switch {
		case s.members[id] == nil && !named[id]:
			added = append(added, id)
		case s.members[id] == nil:
			fresh = true
		}
	}
	for id := range named {
		if s.members[id] != nil {
			held = append(held, id)
		}
		if cs.revision.template.Resources[id].DeletionPolicy == "" {
			unprotected = append(unprotected, id)
		}
	}
	switch {
	case len(added) > 0:
		return invalid("Resources [%s] is missing from ResourceToImport list", sorted(added))
	case !fresh:
		return invalid("The template should contain at least one new resource to import.")
	case len(held) > 0:
		return invalid("Resources [%s] passed in ResourceToImport are already in a stack and cannot be imported.", sorted(held))
	case len(unprotected) > 0:
		return invalid("The following resources to import [%s] must have DeletionPolicy attribute specified in the template.",
			sorted(unprotected))
	}
	return nil
}

// checkNothingModified rejects changes of the stack's resources.
func (s *stack) checkNothingModified(cs *changeSet, named map[string]bool) error {
	var modified []string
	changes, _, err := s.plan(cs.revision, nil)
	if err != nil {
		return refused(err)
	}
	for i := range changes {
		if id := aws.ToString(changes[i].LogicalResourceId); !named[id] {
			modified = append(modified, id)
		}
	}
	if len(modified) > 0 {
		return invalid("You have modified resources [%s] in your template that are not being imported. "+
			"Update, create or delete operations cannot be executed during import operations.", sorted(modified))
	}
	return nil
}

// checkImportSettings rejects changes of what is not a resource.
func (s *stack) checkImportSettings(cs *changeSet, in *awscfn.CreateChangeSetInput) error {
	var changed []string
	var before []types.Tag
	if s.revision != nil && s.status != types.StackStatusReviewInProgress {
		before = s.revision.tags
	}
	if s.outputsDiffer(cs.revision) {
		changed = append(changed, "Outputs")
	}
	if in.RoleARN != nil && *in.RoleARN != s.settings.roleARN {
		changed = append(changed, "RoleArn")
	}
	if !sameTags(before, cs.revision.tags) {
		changed = append(changed, "Tags")
	}
	if len(changed) > 0 {
		return invalid("As part of the import operation, you cannot modify or add [%s]", strings.Join(changed, ", "))
	}
	return nil
}

// outputsDiffer compares the outputs of a revision with those of the stack, as written.
func (s *stack) outputsDiffer(rev *revision) bool {
	texts := func(of *revision) map[string]string {
		out := map[string]string{}
		for name, o := range of.template.Outputs {
			out[name] = compact(map[string]any{"value": o.Value.Interface(), "condition": o.Condition})
		}
		return out
	}
	have := map[string]string{}
	if s.revision != nil {
		have = texts(s.revision)
	}
	want := texts(rev)
	if len(have) != len(want) {
		return true
	}
	for name, text := range want {
		if have[name] != text {
			return true
		}
	}
	return false
}

func sorted(ids []string) string {
	slices.Sort(ids)
	return strings.Join(ids, ", ")
}
