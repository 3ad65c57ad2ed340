package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

const (
	// managerPrefix begins the field manager of a Fleet.
	managerPrefix = "aws-operator-fleet-"
	// revisionBytes is how much of the hash of a template its revision has.
	revisionBytes = 5

	fieldInstanceGroups = "instanceGroups"
	fieldSelector       = "selector"
)

// Manager returns the field manager with which a Fleet applies its fields of Clusters and InstanceGroups.
func Manager(name string) string { return managerPrefix + name }

// Template are the fields that a Fleet sets of Clusters and their InstanceGroups.
type Template struct {
	// Revision identifies the content.
	Revision string
	cluster  *Fields
	groups   []entry
}

// entry are the fields of the InstanceGroups that a selector selects.
type entry struct {
	selector labels.Selector
	fields   *Fields
}

// NewTemplate reads the template of a Fleet. An error is about a selector of InstanceGroups.
func NewTemplate(of *v1alpha1.FleetTemplate) (*Template, error) {
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(of)
	if err != nil {
		return nil, fmt.Errorf("read the template: %w", err)
	}
	content, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode the template: %w", err)
	}
	sum := sha256.Sum256(content)
	delete(spec, fieldInstanceGroups)
	t := &Template{Revision: hex.EncodeToString(sum[:revisionBytes]), cluster: newFields(spec)}
	for i := range of.InstanceGroups {
		one, err := newEntry(&of.InstanceGroups[i])
		if err != nil {
			return nil, fmt.Errorf("instanceGroups[%s]: %w", of.InstanceGroups[i].Name, err)
		}
		t.groups = append(t.groups, one)
	}
	return t, nil
}

func newEntry(of *v1alpha1.FleetInstanceGroups) (entry, error) {
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(of)
	if err != nil {
		return entry{}, fmt.Errorf("read the fields: %w", err)
	}
	delete(spec, fieldName)
	delete(spec, fieldSelector)
	one := entry{selector: labels.Everything(), fields: newFields(spec)}
	if of.Selector != nil {
		if one.selector, err = metav1.LabelSelectorAsSelector(of.Selector); err != nil {
			return entry{}, fmt.Errorf("selector: %w", err)
		}
	}
	return one, nil
}

// object is a Cluster or an InstanceGroup.
type object struct {
	metav1.Object
	kind string
	spec any
}

func objectOf(of metav1.Object) object {
	switch is := of.(type) {
	case *v1alpha1.Cluster:
		return object{is, "Cluster", &is.Spec}
	case *v1alpha1.InstanceGroup:
		return object{is, "InstanceGroup", &is.Spec}
	}
	panic(fmt.Sprintf("a fleet has no %T", of))
}

// String returns the object's kind and name for messages.
func (o object) String() string { return o.kind + " " + o.GetName() }

func (o object) content() (map[string]any, error) {
	return runtime.DefaultUnstructuredConverter.ToUnstructured(o.spec) //nolint:wrapcheck // The caller names the object.
}

// fieldsOf returns the fields that the template sets of an object, which may be none.
func (t *Template) fieldsOf(of object) *Fields {
	if of.kind == "Cluster" {
		return t.cluster
	}
	for _, one := range t.groups {
		if one.selector.Matches(labels.Set(of.GetLabels())) {
			return one.fields
		}
	}
	return newFields(nil)
}

// Comparison is what a Cluster has of a template.
type Comparison struct {
	// Outdated is whether the Cluster lacks a field that no other client has set, or has one that the template no longer
	// has.
	Outdated bool
	// Unclaimed is whether the Fleet does not own a field that has the template's value. Applying it changes nothing but
	// the ownership.
	Unclaimed bool
	// Overridden are the fields that another client has set to another value, as paths such as .spec.release.
	Overridden []string
	// Whole is whether all fields are overridden.
	Whole bool
	// Yielded is whether the Cluster lets the Fleet take a field from another client.
	Yielded bool
}

// Compare compares the template with a Cluster or an InstanceGroup. Conflicts are further fields of others, as the API
// server named them when the template was applied.
func (t *Template) Compare(of metav1.Object, manager string, conflicts []string) (Comparison, error) {
	is := objectOf(of)
	return t.fieldsOf(is).compare(is, manager, conflicts)
}

// CompareAll compares the template with a Cluster and its InstanceGroups.
func (t *Template) CompareAll(cluster *v1alpha1.Cluster, groups []*v1alpha1.InstanceGroup, manager string) (Comparison, error) {
	all, err := t.Compare(cluster, manager, nil)
	if err != nil {
		return all, err
	}
	for _, group := range groups {
		if !group.DeletionTimestamp.IsZero() {
			continue
		}
		one, err := t.Compare(group, manager, nil)
		if err != nil {
			return all, err
		}
		all = all.With(group.Name, one)
	}
	return all, nil
}

// With returns the comparison of a Cluster together with that of one of its InstanceGroups.
func (c Comparison) With(group string, of Comparison) Comparison {
	c.Outdated, c.Unclaimed, c.Whole = c.Outdated || of.Outdated, c.Unclaimed || of.Unclaimed, c.Whole && of.Whole
	c.Overridden = slices.Clip(c.Overridden)
	for _, path := range of.Overridden {
		c.Overridden = append(c.Overridden, group+path)
	}
	return c
}

// Without returns what the template sets of the spec of a Cluster or an InstanceGroup, without some fields.
func (t *Template) Without(of metav1.Object, overridden []string) map[string]any {
	return t.fieldsOf(objectOf(of)).without(overridden)
}

// KindOf returns the kind of a Cluster or an InstanceGroup.
func KindOf(of metav1.Object) string { return objectOf(of).kind }
