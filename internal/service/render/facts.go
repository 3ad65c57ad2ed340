package render

import (
	"fmt"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/partition"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// Facts are what the operator knows besides the object.
type Facts struct {
	// Region and AccountID are those of the stack.
	Region, AccountID string
	// ClusterName separates the operators of one account.
	ClusterName string
	// References contains each referenced object, by the reference's name in the model: its name
	// and its outputs.
	References map[string]map[string]any
	// Siblings contains, by the reference's name in the model, the references of every object of
	// the same kind that references the same object, including this one, sorted by name.
	Siblings map[string][]any
	// Secrets are the values of Secrets for which texts stand in the spec.
	Secrets []Secret
	// Tags are those that users give to the stack and its resources.
	Tags map[string]string
	// Limits restrict what the object may make the operator do; nil where users act with their own
	// credentials.
	Limits *Limits
}

// Spec decodes an object's spec without spec.writeTo and spec.valuesFrom, which do not describe the
// resource: no stack may depend on them. Integers are int64.
func Spec(obj *v1alpha1.Object) (map[string]any, error) {
	spec, err := wholeSpec(obj)
	delete(spec, model.WriteToField)
	delete(spec, model.ValuesFromField)
	return spec, err
}

// wholeSpec decodes an object's spec.
func wholeSpec(obj *v1alpha1.Object) (map[string]any, error) {
	spec := map[string]any{}
	if len(obj.Spec) == 0 || string(obj.Spec) == "null" {
		return spec, nil
	}
	if err := utiljson.Unmarshal(obj.Spec, &spec); err != nil {
		return nil, fmt.Errorf("read the spec: %w", err)
	}
	return spec, nil
}

// scope is the data of templates.
func scope(obj *v1alpha1.Object, m *model.Model, spec map[string]any, facts Facts) map[string]any {
	name, dnsSuffix := partition.Of(facts.Region)
	references := map[string]any{}
	for name, outputs := range facts.References {
		references[name] = outputs
	}
	siblings := map[string]any{}
	for name, list := range facts.Siblings {
		siblings[name] = list
	}
	data := map[string]any{
		"name": obj.Name, "namespace": obj.Namespace, "kind": m.Kind, "spec": spec,
		"references": references, "siblings": siblings,
		"region": facts.Region, "accountID": facts.AccountID, "partition": name, "dnsSuffix": dnsSuffix,
		"clusterName": facts.ClusterName,
	}
	if m.ExecutionRole != "" && hasRole(m, data) {
		role := Role{ClusterName: facts.ClusterName, Kind: m.Kind, Namespace: obj.Namespace, Name: obj.Name}
		data["role"] = map[string]any{"name": role.RoleName(), "arn": role.ARN(facts.AccountID, facts.Region)}
	}
	return data
}

// Reference is an object that another one references.
type Reference struct {
	// Name is the reference's name in the model.
	Name string
	// Kind and ObjectName identify the object, which is in the namespace of the referencing object.
	Kind, ObjectName string
	// PhysicalID is the output that must be the physical ID of a resource in the object's stack, or
	// empty.
	PhysicalID string
	// ResourceType is the type of that resource; empty for any.
	ResourceType string
}

// Foreign is an AWS resource that an object references and that its namespace did not create.
type Foreign struct {
	// Name is the reference's name in the model, ARN the resource.
	Name, ARN string
}

// ForeignResources lists the AWS resources that an object references and its namespace did not
// create. ARNs may depend on the account and region of the facts. The error is a *RefusedError if
// facts.Limits do not allow the object to reference one of them.
func ForeignResources(m *model.Model, obj *v1alpha1.Object, facts Facts) ([]Foreign, error) {
	if len(m.Foreign) == 0 {
		return nil, nil
	}
	spec, err := Spec(obj)
	if err != nil {
		return nil, err
	}
	return facts.Limits.foreign(m, obj.Namespace, scope(obj, m, spec, facts))
}

// References lists the objects that an object references.
func References(m *model.Model, obj *v1alpha1.Object) ([]Reference, error) {
	if len(m.References) == 0 {
		return nil, nil
	}
	spec, err := Spec(obj)
	if err != nil {
		return nil, err
	}
	data := scope(obj, m, spec, Facts{})
	var references []Reference
	for _, r := range m.References {
		name, err := r.ObjectName.Execute(data)
		if err != nil {
			return nil, fmt.Errorf("find the name of the %s: %w", r.Kind, err)
		}
		if name = strings.TrimSpace(name); name != "" {
			references = append(references, Reference{
				Name: r.Name, Kind: r.Kind, ObjectName: name, PhysicalID: r.PhysicalID, ResourceType: r.ResourceType,
			})
		}
	}
	return references, nil
}

// ReferenceFacts is the data of a referenced object for templates.
func ReferenceFacts(obj *v1alpha1.Object) map[string]any {
	facts := map[string]any{"name": obj.Name}
	if spec, err := Spec(obj); err == nil { // the object's own reconcile reports the error
		facts["spec"] = spec
	}
	for name, value := range obj.Status.Output {
		facts[name] = value.Text
	}
	return facts
}
