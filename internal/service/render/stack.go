package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// Desired is the desired stack of an object.
type Desired struct {
	// Name of the stack.
	Name string
	// Template of the stack.
	Template *cfntemplate.Template
	// Parameters of the template.
	Parameters map[string]string
	// Hidden are, for the parameters that hold secrets, texts that change with their values and do not
	// reveal them.
	Hidden map[string]string
	// Tags of the stack.
	Tags map[string]string
	// OwnerTags are the names of the tags that identify the stack's owner.
	OwnerTags []string
	// Capabilities are the IAM capabilities to acknowledge: those of the model.
	Capabilities []string
	// MaxAttempts limits the attempts to create the stack; 0 means the engine's default.
	MaxAttempts int
	// Manual means that changes of the stack wait for approval.
	Manual bool
	// Grants are the logical IDs of the policies of spec.grants, which are no resources of the model.
	Grants []string
}

// Override is a template that a user sets instead of the kind's own.
type Override struct {
	// File is the template's name in messages.
	File string
	// Template is its text.
	Template string
}

// Tags of a stack, which CloudFormation propagates to its resources.
const (
	TagName      = v1alpha1.Group + "/name"
	TagNamespace = v1alpha1.Group + "/namespace"
	TagKind      = v1alpha1.Group + "/kind"
	TagCluster   = v1alpha1.Group + "/cluster"
)

// Tags returns the tags of an object's stack. Together they identify its owner.
func Tags(kind string, obj *v1alpha1.Object, clusterName string) map[string]string {
	return map[string]string{
		TagName: obj.Name, TagNamespace: obj.Namespace, TagKind: kind, TagCluster: clusterName,
	}
}

// Stack renders the stack of an object. Override may be nil. The error is cfntemplate.Problems,
// with positions, if the template is invalid, and a *RefusedError if the object exceeds
// facts.Limits or has a secret as plain text. It needs the values of spec.valuesFrom in the spec, see
// [WithValues].
func Stack(m *model.Model, obj *v1alpha1.Object, facts Facts, override *Override) (*Desired, error) {
	spec, err := Spec(obj)
	if err != nil {
		return nil, err
	}
	desired := &Desired{
		Name:         StackName(facts.ClusterName, m.Kind, obj.Namespace, obj.Name),
		Tags:         maps.Clone(facts.Tags),
		OwnerTags:    []string{TagName, TagNamespace, TagKind, TagCluster},
		Capabilities: m.Capabilities,
		MaxAttempts:  attempts(spec),
		Manual:       spec[updatePolicy] == v1alpha1.UpdateManual,
	}
	if desired.Tags == nil {
		desired.Tags = map[string]string{}
	}
	maps.Copy(desired.Tags, Tags(m.Kind, obj, facts.ClusterName))
	if err := facts.Limits.checkSpec(m, spec); err != nil {
		return nil, err
	}
	data := scope(obj, m, spec, facts)
	grants, err := grantsOf(m, spec)
	if err != nil {
		return nil, err
	}
	if override != nil && data["role"] != nil {
		return nil, &RefusedError{"RoleNeedsTemplateOfKind", fmt.Sprintf("A %s with a role uses the kind's own template, because a template of a user could name the role of another object. "+
			"Remove spec.cloudFormationTemplateName.", m.Kind)}
	}
	if override != nil {
		if err := fromOverride(desired, m, obj, data, spec, facts, override); err != nil {
			return nil, err
		}
		if err := withSnapshots(desired, m.Kind, obj); err != nil {
			return nil, err
		}
		return desired, facts.Limits.checkRendered(m, desired)
	}
	if data["role"] != nil { // to which the template adds policies
		desired.Capabilities = withCapability(desired.Capabilities)
	}
	text, err := m.Template.Execute(data)
	if refusal, ok := errors.AsType[*model.RefusedError](err); ok {
		return nil, &RefusedError{"InvalidSpec", refusal.Message}
	}
	if err != nil {
		return nil, fmt.Errorf("render the template: %w", err)
	}
	if desired.Template, err = cfntemplate.Parse(m.Name+".yaml", []byte(text)); err != nil {
		return nil, fmt.Errorf("parse the rendered template: %w", err)
	}
	m.Locate(desired.Template)
	if err := insert(desired, facts.Secrets, false); err != nil {
		return nil, err
	}
	if err := checkSecrets(m, desired.Template); err != nil {
		return nil, err
	}
	if err := withSnapshots(desired, m.Kind, obj); err != nil {
		return nil, err
	}
	if err := addGrants(desired, m, obj, data, grants, facts.ClusterName); err != nil {
		return nil, err
	}
	return desired, facts.Limits.checkRendered(m, desired)
}

// fromOverride uses a user's template and its parameters.
func fromOverride(
	desired *Desired, m *model.Model, obj *v1alpha1.Object, data, spec map[string]any, facts Facts, override *Override,
) error {
	var err error
	if desired.Template, err = cfntemplate.Parse(override.File, []byte(override.Template)); err != nil {
		return fmt.Errorf("parse the template: %w", err)
	}
	if err := facts.Limits.CheckTemplate(desired.Template); err != nil {
		return err
	}
	if desired.Parameters, err = parameters(m, obj, data, spec, facts, desired.Template); err != nil {
		return err
	}
	return insert(desired, facts.Secrets, true)
}

// attempts reads spec.rollbackCount.
func attempts(spec map[string]any) int {
	count, _ := spec["rollbackCount"].(int64)
	return int(max(count, 0))
}

// updatePolicy is the field that defines whether changes need approval. A change of it does not
// change the resource.
const updatePolicy = "updatePolicy"

// specVersion is a short hash of the part of a spec that describes the resource. It changes only
// with that part.
func specVersion(spec map[string]any) (string, error) {
	if _, ok := spec[updatePolicy].(string); ok { // otherwise it is a property of the resource
		spec = maps.Clone(spec)
		delete(spec, updatePolicy)
	}
	data, err := json.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("encode the spec: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6]), nil
}
