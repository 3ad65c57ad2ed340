package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/eksctl"
	"github.com/aws-operator/aws-operator/internal/kops"
	"github.com/aws-operator/aws-operator/internal/translation"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// Source is something to read manifests from.
type Source struct {
	// Name is what messages call it, a file's path as a rule.
	Name string
	// Reader gives its text.
	Reader io.Reader
}

// Options say what may be read.
type Options struct {
	// Kops says how manifests of kops are translated, Eksctl how those of eksctl are.
	Kops   kops.Options
	Eksctl eksctl.Options
	// Others keeps objects of other API groups, as *unstructured.Unstructured; otherwise they are
	// refused.
	Others bool
}

// Manifest is an object that was read.
type Manifest struct {
	// Object is the object: *v1alpha1.Cluster, *v1alpha1.InstanceGroup, *v1alpha1.Release,
	// *v1alpha1.ModelDefinition, *v1alpha1.CloudFormationTemplate, *v1alpha1.Object for any other
	// kind of services, or *unstructured.Unstructured.
	Object client.Object
	// File is the name of its source.
	File string
	// Document is which document of the source it is, from 1.
	Document int
	// Line is where it begins.
	Line int

	// value is what the source has, nil for a translated object.
	value *yamltree.Value
}

// Locate completes a problem of the object: with its source, its kind and name, and the line of the
// field, or of the closest one around it.
func (m *Manifest) Locate(p yamltree.Problem) yamltree.Problem {
	p.File, p.Document, p.Line, p.Object = m.File, m.Document, m.Line, Kind(m.Object)+" "+m.Object.GetName()
	if m.value != nil {
		p.Line = m.value.LineOf(p.Path)
	}
	return p
}

// Set is all that was read.
type Set struct {
	// Manifests are the objects in the order of their sources; translated ones follow the others.
	Manifests []Manifest
	// Notes say what has no counterpart of what was translated.
	Notes []translation.Note
}

// Objects returns the objects of a type, as Objects[*v1alpha1.Cluster](set).
func Objects[T client.Object](s *Set) []T {
	var found []T
	for _, m := range s.Manifests {
		if object, ok := m.Object.(T); ok {
			found = append(found, object)
		}
	}
	return found
}

// Read reads all objects of the sources. The error is yamltree.Problems unless a source cannot be
// read; with it, Read returns the objects without problems.
func Read(sources []Source, options Options) (*Set, error) {
	r := reader{options: options, set: &Set{}}
	for _, source := range sources {
		data, err := io.ReadAll(source.Reader)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", source.Name, err)
		}
		documents, err := yamltree.Parse(source.Name, data)
		if err != nil {
			r.fail(err)
			continue
		}
		for _, document := range documents {
			r.read(document)
		}
	}
	r.translate()
	return r.set, r.problems.Err()
}

type reader struct {
	options  Options
	set      *Set
	kops     []yamltree.Document
	eksctl   []yamltree.Document
	seen     map[string]yamltree.Problem
	problems yamltree.Problems
}

func (r *reader) fail(err error) {
	if problems, ok := errors.AsType[yamltree.Problems](err); ok {
		r.problems = append(r.problems, problems...)
		return
	}
	r.problems = append(r.problems, yamltree.Problem{Message: err.Error()})
}

func (r *reader) problem(d yamltree.Document, v *yamltree.Value, path, suggestion, format string, args ...any) {
	p := yamltree.Problem{
		File:       d.File,
		Document:   d.Number,
		Line:       d.Value.Line,
		Path:       path,
		Message:    fmt.Sprintf(format, args...),
		Suggestion: suggestion,
	}
	if v != nil {
		p.Line = v.Line
	}
	r.problems = append(r.problems, p)
}

// read takes one document: a list of objects, an object of ours, one of kops or eksctl, or another.
func (r *reader) read(d yamltree.Document) {
	if d.Value.Kind != yamltree.Map {
		r.problem(d, d.Value, "", "", "a manifest is a map with apiVersion, kind, metadata and spec; this is %s", d.Value.Kind)
		return
	}
	version, kind := d.Value.Field("apiVersion"), d.Value.Field("kind")
	for i, field := range []*yamltree.Value{version, kind} {
		if field == nil || field.Kind != yamltree.String || field.Text == "" {
			r.problem(
				d,
				field,
				[...]string{"apiVersion", "kind"}[i],
				"",
				"a manifest requires one: write, for example, apiVersion: %s and kind: Cluster",
				clusterv1alpha1.GroupVersion,
			)
			return
		}
	}
	if items := d.Value.Field("items"); items != nil && items.Kind == yamltree.List && strings.HasSuffix(kind.Text, "List") {
		for _, item := range items.Items {
			r.read(yamltree.Document{File: d.File, Number: d.Number, Value: item})
		}
		return
	}
	gv, err := schema.ParseGroupVersion(version.Text)
	if err != nil {
		r.problem(
			d,
			version,
			"apiVersion",
			"",
			"%q is not a group and a version: write, for example, %s",
			version.Text,
			clusterv1alpha1.GroupVersion,
		)
		return
	}
	switch {
	case kops.IsGroup(gv.Group):
		r.kops = append(r.kops, d)
	case gv.Group == eksctl.Group:
		r.eksctl = append(r.eksctl, d)
	case gv.Group == clusterv1alpha1.Group || gv.Group == servicev1alpha1.Group:
		if gv.Version != clusterv1alpha1.Version {
			r.problem(d, version, "apiVersion", gv.Group+"/"+clusterv1alpha1.Version, "unknown version")
			return
		}
		r.own(d, gv.Group, kind)
	default:
		r.other(d, gv, version)
	}
}

// own reads an object of ours.
func (r *reader) own(d yamltree.Document, group string, kind *yamltree.Value) {
	object := newObject(group, kind.Text)
	if group == clusterv1alpha1.Group && kind.Text == "Fleet" {
		r.problem(d, kind, "kind", "", "only an operator rolls fleets out: apply this document to a management cluster with kubectl, and leave it out here")
		return
	}
	if object == nil {
		kinds := []string{"Cluster", "InstanceGroup", "Release"}
		r.problem(
			d,
			kind,
			"kind",
			template.Closest(kind.Text, kinds),
			"there is no kind %s in %s: it has %s",
			kind.Text,
			group,
			strings.Join(kinds, ", "),
		)
		return
	}
	if err := yamltree.Decode(d, object); err != nil {
		r.fail(err)
		return
	}
	if service, ok := object.(*servicev1alpha1.Object); ok {
		if spec := d.Value.Field("spec"); spec != nil { // The schema of its kind decides, on what kubectl would send.
			var err error
			if service.Spec, err = json.Marshal(spec.YAML11()); err != nil {
				r.problem(d, spec, "spec", "", "%v", err)
				return
			}
		}
	}
	r.add(d, object, d.Value)
}

// newObject returns an empty object of a kind, nil if the group does not have it.
func newObject(group, kind string) client.Object {
	if group == servicev1alpha1.Group {
		switch kind {
		case "ModelDefinition":
			return &servicev1alpha1.ModelDefinition{}
		case "CloudFormationTemplate":
			return &servicev1alpha1.CloudFormationTemplate{}
		}
		return &servicev1alpha1.Object{} // a ModelDefinition elsewhere may define the kind
	}
	switch kind {
	case "Cluster":
		return &clusterv1alpha1.Cluster{}
	case "InstanceGroup":
		return &clusterv1alpha1.InstanceGroup{}
	case "Release":
		return &clusterv1alpha1.Release{}
	}
	return nil
}

func (r *reader) other(d yamltree.Document, gv schema.GroupVersion, version *yamltree.Value) {
	if !r.options.Others {
		groups := slices.Concat([]string{clusterv1alpha1.Group, servicev1alpha1.Group, eksctl.Group}, kops.Groups)
		suggestion := template.Closest(gv.Group, groups)
		if suggestion != "" {
			suggestion += "/" + gv.Version
		}
		r.problem(d, version, "apiVersion", suggestion, "%s is not a supported API group: remove the document", version.Text)
		return
	}
	content, _ := d.Value.Interface().(map[string]any)
	r.add(d, &unstructured.Unstructured{Object: content}, d.Value)
}

// add keeps an object, unless it was there already. Value is what the document has of it, nil for a
// translated one.
func (r *reader) add(d yamltree.Document, object client.Object, value *yamltree.Value) {
	if object.GetName() == "" {
		r.problem(d, d.Value.Field("metadata"), "metadata.name", "", "every object needs a name: set one")
		return
	}
	key := fmt.Sprintf(
		"%s/%s/%s/%s", reflect.TypeOf(object), object.GetObjectKind().GroupVersionKind(), object.GetNamespace(), object.GetName(),
	)
	if first, ok := r.seen[key]; ok {
		r.problem(d, nil, "", "", "%s %s is defined twice, first in %s, document %d: remove one",
			object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), first.File, first.Document)
		return
	}
	if r.seen == nil {
		r.seen = map[string]yamltree.Problem{}
	}
	r.seen[key] = yamltree.Problem{File: d.File, Document: d.Number}
	r.set.Manifests = append(r.set.Manifests, Manifest{
		Object: object, File: d.File, Document: d.Number, Line: d.Value.Line, value: value,
	})
}

// translate makes objects of ours from all documents of kops, which refer to each other, and of eksctl.
func (r *reader) translate() {
	if len(r.kops) > 0 {
		translated, notes, err := kops.Translate(r.kops, r.options.Kops)
		if err != nil {
			r.fail(err)
		}
		for _, t := range translated {
			r.add(t.From, t.Object, nil)
		}
		r.set.Notes = append(r.set.Notes, notes...)
	}
	if len(r.eksctl) > 0 {
		translated, notes, err := eksctl.Translate(r.eksctl, r.options.Eksctl)
		if err != nil {
			r.fail(err)
		}
		for _, t := range translated {
			r.add(t.From, t.Object, nil)
		}
		r.set.Notes = append(r.set.Notes, notes...)
	}
}
