package diff

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// Compare returns what changes in AWS if desired replaces deployed. A deployed side without a
// template means that there is no stack: everything is added.
//
// Parameters, mappings and conditions are resolved on both sides before comparing, so that a change
// appears at the resources it affects. A resource that refers to a replaced one changes too,
// because the identifier changes. Compare omits changes that have no effect in CloudFormation, such
// as DependsOn alone.
func Compare(deployed, desired Side, reg *schema.Registry) *Plan {
	before, after := values(deployed, desired)
	c := &comparison{
		old: newSide(deployed.Template, before), new: newSide(desired.Template, after),
		registry: reg, changes: map[string]*Change{},
	}
	for _, id := range union(c.old.resources, c.new.resources) {
		c.resource(id)
	}
	c.propagate()
	plan := &Plan{TagsChanged: !maps.Equal(deployed.Tags, desired.Tags), ParametersChanged: changedKeys(before, after)}
	for _, id := range slices.Sorted(maps.Keys(c.changes)) {
		change := c.changes[id]
		sortProperties(change.Properties)
		plan.Changes = append(plan.Changes, *change)
	}
	plan.Outputs = c.outputs()
	plan.OutputsChanged = len(plan.Outputs) > 0
	plan.SectionsChanged = c.sections()
	return plan
}

// side is one of the two states, with all known values resolved.
type side struct {
	template *template.Template
	resolver *resolver
	// resources that exist: those whose condition is not known to be false.
	resources map[string]*template.Resource
	// properties of these, resolved.
	properties map[string]*template.Node
}

func newSide(t *template.Template, values map[string]string) *side {
	if t == nil {
		t = &template.Template{}
	}
	s := &side{
		template: t, resolver: newResolver(t, values),
		resources: map[string]*template.Resource{}, properties: map[string]*template.Node{},
	}
	for id, resource := range t.Resources {
		if resource.Condition != "" && s.resolver.condition(resource.Condition) == no {
			continue
		}
		s.resources[id] = resource
		s.properties[id] = s.resolver.node(resource.Properties)
		if s.properties[id] == nil {
			s.properties[id] = &template.Node{Kind: template.Map, Pos: resource.Pos}
		}
	}
	return s
}

// Resolve returns the resources of a stack that exist as far as known, by logical ID. In their
// properties, parameters, mappings and conditions are resolved as Compare does it. It does not
// change the template.
func Resolve(of Side) map[string]*template.Resource {
	known, _ := values(of, of)
	s := newSide(of.Template, known)
	all := make(map[string]*template.Resource, len(s.resources))
	for id, r := range s.resources {
		resolved := *r
		resolved.Properties = s.properties[id]
		all[id] = &resolved
	}
	return all
}

// comparison collects changes.
type comparison struct {
	old, new *side
	registry *schema.Registry
	changes  map[string]*Change
}

func union[T any](a, b map[string]T) []string {
	keys := slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b)))
	slices.Sort(keys)
	return slices.Compact(keys)
}

func changedKeys(a, b map[string]string) []string {
	var changed []string
	for _, key := range union(a, b) {
		old, had := a[key]
		value, has := b[key]
		if had != has || old != value {
			changed = append(changed, key)
		}
	}
	return changed
}

func (c *comparison) resource(id string) {
	old, desired := c.old.resources[id], c.new.resources[id]
	switch {
	case old == nil:
		c.changes[id] = &Change{LogicalID: id, Type: desired.Type, Action: Add, Stateful: schema.IsStateful(desired.Type)}
		return
	case desired == nil:
		c.changes[id] = &Change{
			LogicalID: id, Type: old.Type, Action: Remove, Stateful: schema.IsStateful(old.Type), OldResource: fateOnRemoval(old),
		}
		return
	}
	change := &Change{LogicalID: id, Type: desired.Type, Action: Update, Stateful: schema.IsStateful(old.Type)}
	if old.Type != desired.Type {
		change.OldType, change.Action = old.Type, Replace
	}
	known, _ := c.registry.Type(desired.Type)
	w := &properties{t: known}
	if old.Type == desired.Type {
		w.compare(nil, c.old.properties[id], c.new.properties[id])
	}
	w.attributes(c.old, c.new, id)
	change.Properties = w.changes
	if len(change.Properties) == 0 && change.OldType == "" {
		return
	}
	c.changes[id] = change
	c.settle(change)
}

// settle derives a change's action from its properties.
func (c *comparison) settle(change *Change) {
	for _, property := range change.Properties {
		switch {
		case property.ForcesReplacement:
			change.Action = Replace
		case property.MayReplace && change.Action == Update:
			change.Action = MayReplace
		}
	}
	if change.Action == Replace || change.Action == MayReplace {
		change.OldResource = cmp.Or(c.new.resources[change.LogicalID].UpdateReplacePolicy, "Delete")
		c.name(change)
	}
}

// name sets the name of a resource that must be replaced, if the name stays.
func (c *comparison) name(change *Change) {
	known, ok := c.registry.Type(change.Type)
	if !ok || change.OldType != "" {
		return
	}
	certain := slices.ContainsFunc(change.Properties, func(p PropertyChange) bool {
		return p.ForcesReplacement || p.MayReplace && p.Cause == "" && p.Old != nil && known.ReplacesExisting()
	})
	if !certain || known.CustomName() == "" {
		return
	}
	before, _ := c.old.properties[change.LogicalID].Get(known.CustomName()).Scalar()
	after, _ := c.new.properties[change.LogicalID].Get(known.CustomName()).Scalar()
	if before == after {
		change.FixedName, change.NameProperty = after, known.CustomName()
	}
}

// fateOnRemoval returns what happens to a resource that is removed from the template:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-deletionpolicy.html.
func fateOnRemoval(r *template.Resource) string {
	switch r.DeletionPolicy {
	case "":
		inCluster := r.Properties.Get("DBClusterIdentifier") != nil
		if r.Type == "AWS::RDS::DBCluster" || r.Type == "AWS::RDS::DBInstance" && !inCluster {
			return "Snapshot"
		}
		return "Delete"
	case "RetainExceptOnCreate":
		return "Retain"
	default:
		return r.DeletionPolicy
	}
}

func (c *comparison) outputs() []string {
	active := func(s *side) map[string]*template.Output {
		all := map[string]*template.Output{}
		for name, output := range s.template.Outputs {
			if output.Condition == "" || s.resolver.condition(output.Condition) != no {
				all[name] = output
			}
		}
		return all
	}
	old, desired := active(c.old), active(c.new)
	var changed []string
	for _, name := range union(old, desired) {
		a, b := old[name], desired[name]
		if a == nil || b == nil || a.Description != b.Description ||
			!equal(c.old.resolver.node(a.Value), c.new.resolver.node(b.Value), nil) ||
			!equal(c.old.resolver.node(a.ExportName), c.new.resolver.node(b.ExportName), nil) {
			changed = append(changed, name)
		}
	}
	return changed
}

// sections lists the other sections of the template that change.
func (c *comparison) sections() []string {
	a, b := c.old.template, c.new.template
	var changed []string
	if a.Description != b.Description {
		changed = append(changed, "Description")
	}
	for _, section := range []struct {
		name string
		a, b *template.Node
	}{{"Metadata", a.Metadata, b.Metadata}, {"Rules", a.Rules, b.Rules}, {"Hooks", a.Hooks, b.Hooks}, {"Globals", a.Globals, b.Globals}} {
		if !template.Equal(section.a, section.b) {
			changed = append(changed, section.name)
		}
	}
	if !slices.Equal(a.Transforms, b.Transforms) {
		changed = append(changed, "Transform")
	}
	for _, name := range union(a.Macros, b.Macros) {
		macros := func(t *template.Template) *template.Node {
			return &template.Node{Kind: template.Map, Fields: t.Macros[name]}
		}
		if !template.Equal(macros(a), macros(b)) {
			changed = append(changed, strings.TrimPrefix(name+"/Fn::Transform", "/"))
		}
	}
	return changed
}

func sortProperties(changes []PropertyChange) {
	slices.SortStableFunc(changes, func(a, b PropertyChange) int { return cmp.Compare(a.Path, b.Path) })
}

func itoa(i int) string { return strconv.Itoa(i) }
