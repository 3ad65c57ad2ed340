package render

import (
	"fmt"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/partition"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// Facts are what the operator knows beside the object.
type Facts struct {
	// Region and AccountID are where the stack is made.
	Region, AccountID string
	// ClusterName tells operators of one account apart.
	ClusterName string
	// References holds, by the model's name for it, each object that this one names: its name and
	// its outputs.
	References map[string]map[string]any
	// Siblings holds, by the model's name for a reference, the references of every object of the
	// same kind that names the same object there, this one included, in order of name.
	Siblings map[string][]any
	// Limits bound what the object may have the operator do; nil where a person acts with their own credentials.
	Limits *Limits
}

// Spec decodes an object's spec. Whole numbers are int64.
func Spec(obj *v1alpha1.Object) (map[string]any, error) {
	spec := map[string]any{}
	if len(obj.Spec) == 0 || string(obj.Spec) == "null" {
		return spec, nil
	}
	if err := utiljson.Unmarshal(obj.Spec, &spec); err != nil {
		return nil, fmt.Errorf("read the spec: %w", err)
	}
	return spec, nil
}

// scope is what templates see.
func scope(obj *v1alpha1.Object, kind string, spec map[string]any, facts Facts) map[string]any {
	name, dnsSuffix := partition.Of(facts.Region)
	references := map[string]any{}
	for name, outputs := range facts.References {
		references[name] = outputs
	}
	siblings := map[string]any{}
	for name, list := range facts.Siblings {
		siblings[name] = list
	}
	return map[string]any{
		"name": obj.Name, "namespace": obj.Namespace, "kind": kind, "spec": spec,
		"references": references, "siblings": siblings,
		"region": facts.Region, "accountID": facts.AccountID, "partition": name, "dnsSuffix": dnsSuffix,
		"clusterName": facts.ClusterName,
	}
}

// Reference is an object that another one names.
type Reference struct {
	// Name is what the model calls it.
	Name string
	// Kind and ObjectName say which object it is; it is in the namespace of the one that names it.
	Kind, ObjectName string
	// PhysicalID is the output that must be the physical ID of a resource in its stack, empty for none.
	PhysicalID string
}

// Foreign is an AWS resource that an object names and that its namespace did not make.
type Foreign struct {
	// Name is what the model calls it, ARN the resource.
	Name, ARN string
}

// ForeignResources lists the AWS resources that an object names and its namespace did not make. The error is a
// *RefusedError if the object may not name one of them.
func ForeignResources(m *model.Model, obj *v1alpha1.Object, limits *Limits) ([]Foreign, error) {
	if len(m.Foreign) == 0 {
		return nil, nil
	}
	spec, err := Spec(obj)
	if err != nil {
		return nil, err
	}
	return limits.foreign(m, obj.Namespace, scope(obj, m.Kind, spec, Facts{}))
}

// References lists the objects that an object names.
func References(m *model.Model, obj *v1alpha1.Object) ([]Reference, error) {
	if len(m.References) == 0 {
		return nil, nil
	}
	spec, err := Spec(obj)
	if err != nil {
		return nil, err
	}
	data := scope(obj, m.Kind, spec, Facts{})
	var references []Reference
	for _, r := range m.References {
		name, err := r.ObjectName.Execute(data)
		if err != nil {
			return nil, fmt.Errorf("find the name of the %s: %w", r.Kind, err)
		}
		if name = strings.TrimSpace(name); name != "" {
			references = append(references, Reference{Name: r.Name, Kind: r.Kind, ObjectName: name, PhysicalID: r.PhysicalID})
		}
	}
	return references, nil
}

// ReferenceFacts is what templates see of an object that another one names.
func ReferenceFacts(obj *v1alpha1.Object) map[string]any {
	facts := map[string]any{"name": obj.Name}
	for name, value := range obj.Output {
		facts[name] = value.Text
	}
	return facts
}
