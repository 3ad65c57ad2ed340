package template

import (
	"maps"
	"slices"
	"strings"
)

// Check reports problems that the template alone shows: undefined names, functions with wrong
// arguments or in the wrong place, dependency cycles, and exceeded limits of CloudFormation.
// Package schema checks whether resource types and properties exist.
func (t *Template) Check() Problems {
	c := &checker{t: t, expanded: len(t.Macros) > 0, extended: len(t.Transforms) > 0 || len(t.Macros) > 0}
	for _, name := range t.Transforms {
		c.expanded = c.expanded || name != languageExtensions
	}
	c.sections()
	c.limits()
	c.cycles()
	SortProblems(c.problems)
	return c.problems
}

// checker collects problems.
type checker struct {
	t        *Template
	problems Problems
	// expanded means that a macro may add what the template does not contain, so that an undefined
	// name may still exist.
	expanded bool
	// extended means that functions are allowed where CloudFormation otherwise requires literals.
	extended bool
}

// languageExtensions is the transform that adds functions and loops, but no names except those of
// its loops:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/transform-aws-languageextensions.html.
const languageExtensions = "AWS::LanguageExtensions"

func (c *checker) problem(pos Position, path, message, suggestion string) {
	c.problems = append(c.problems, Problem{Pos: pos, Path: path, Message: message, Suggestion: suggestion})
}

// scope says what the values in a part of the template may use.
type scope struct {
	// path is the position of the value in the template.
	path string
	// resources means that values may refer to resources.
	resources bool
	// conditions means that values may compute conditions: Fn::And and similar.
	conditions bool
	// rules means that values may use the functions of the Rules section.
	rules bool
	// loop means that the value is inside Fn::ForEach, which binds names.
	loop bool
}

func (s scope) at(name string) scope {
	s.path = join(s.path, name)
	return s
}

func (c *checker) sections() {
	t := c.t
	if t.FormatVersion != "" && t.FormatVersion != "2010-09-09" {
		c.problem(Position{File: t.File, Line: 1, Column: 1}, "AWSTemplateFormatVersion",
			"AWSTemplateFormatVersion "+t.FormatVersion+" is unknown; the only version is 2010-09-09", "")
	}
	if len(t.Resources) == 0 && !c.expanded {
		c.problem(Position{File: t.File, Line: 1, Column: 1}, "Resources", "a template needs at least one resource", "")
	}
	for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
		c.parameter(t.Parameters[name])
	}
	for _, name := range slices.Sorted(maps.Keys(t.Conditions)) {
		condition := t.Conditions[name]
		c.value(condition, scope{path: "Conditions/" + name, conditions: true})
		c.isCondition(condition, "Conditions/"+name)
	}
	c.value(t.Rules, scope{path: "Rules", conditions: true, rules: true})
	for _, id := range slices.Sorted(maps.Keys(t.Resources)) {
		c.resource(t.Resources[id])
	}
	for _, name := range slices.Sorted(maps.Keys(t.Outputs)) {
		output := t.Outputs[name]
		s := scope{path: "Outputs/" + name, resources: true}
		c.alphanumeric(output.Pos, s.path, "output", name)
		c.value(output.Value, s.at("Value"))
		c.value(output.ExportName, s.at("Export/Name"))
		c.condition(output.Condition, output.Pos, s.path)
	}
}

var deletionPolicies = []string{"Delete", "Retain", "RetainExceptOnCreate", "Snapshot"}

// updateReplacePolicies are those of
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-updatereplacepolicy.html.
var updateReplacePolicies = []string{"Delete", "Retain", "Snapshot"}

func (c *checker) resource(r *Resource) {
	s := scope{path: "Resources/" + r.LogicalID, resources: true}
	c.alphanumeric(r.Pos, s.path, "resource", r.LogicalID)
	c.value(r.Properties, s.at("Properties"))
	c.value(r.Metadata, s.at("Metadata"))
	c.value(r.CreationPolicy, s.at("CreationPolicy"))
	c.value(r.UpdatePolicy, s.at("UpdatePolicy"))
	c.condition(r.Condition, r.Pos, s.path)
	c.oneOf(r.DeletionPolicy, deletionPolicies, r, "DeletionPolicy")
	c.oneOf(r.UpdateReplacePolicy, updateReplacePolicies, r, "UpdateReplacePolicy")
	c.snapshot(r, "DeletionPolicy", r.DeletionPolicy)
	c.snapshot(r, "UpdateReplacePolicy", r.UpdateReplacePolicy)
	for _, id := range r.DependsOn {
		switch {
		case id == r.LogicalID:
			c.problem(r.Pos, s.path, "resource "+id+" depends on itself", "")
		case c.t.Resources[id] == nil && !c.expanded:
			c.problem(r.Pos, s.path+"/DependsOn", "resource "+r.LogicalID+" depends on "+id+", which is not a resource of this template",
				Closest(id, c.resourceNames()))
		}
	}
}

// snapshot checks that a resource with the policy Snapshot supports it.
func (c *checker) snapshot(r *Resource, attribute, policy string) {
	if policy == "Snapshot" && !r.SupportsSnapshot() {
		c.problem(r.Pos, "Resources/"+r.LogicalID+"/"+attribute, attribute+" Snapshot of resource "+r.LogicalID+
			": CloudFormation takes no snapshot of this "+r.Type, "Retain")
	}
}

func (c *checker) oneOf(value string, allowed []string, r *Resource, attribute string) {
	if value == "" || slices.Contains(allowed, value) {
		return
	}
	c.problem(r.Pos, "Resources/"+r.LogicalID+"/"+attribute,
		attribute+" "+value+" of resource "+r.LogicalID+" is not one of "+strings.Join(allowed, ", "), Closest(value, allowed))
}

func (c *checker) alphanumeric(pos Position, path, what, name string) {
	if name != "" && strings.IndexFunc(name, notAlphanumeric) < 0 {
		return
	}
	c.problem(pos, path, "the name of "+what+" "+name+" may hold only letters and digits", "")
}

func notAlphanumeric(r rune) bool {
	return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

func (c *checker) resourceNames() []string { return slices.Collect(maps.Keys(c.t.Resources)) }

// condition checks that a condition's name is defined.
func (c *checker) condition(name string, pos Position, path string) {
	if name == "" || c.t.Conditions[name] != nil || c.expanded {
		return
	}
	c.problem(pos, path, "there is no condition "+name, Closest(name, slices.Collect(maps.Keys(c.t.Conditions))))
}

func (c *checker) isCondition(n *Node, path string) {
	if n == nil || n.Kind == Bool || c.extended {
		return
	}
	if n.Kind == Intrinsic {
		switch n.Func {
		case "Condition", "Fn::And", "Fn::Or", "Fn::Not", "Fn::Equals", "Fn::Transform", "Fn::FindInMap",
			"Fn::Contains", "Fn::EachMemberEquals", "Fn::EachMemberIn":
			return
		}
	}
	c.problem(n.Pos, path, "a condition is one of Fn::And, Fn::Equals, Fn::Not, Fn::Or and Condition, not "+n.describe(), "")
}

// describe names a node's kind, or its function.
func (n *Node) describe() string {
	if n.Kind == Intrinsic {
		return n.Func
	}
	return "a " + n.Kind.String()
}

// value checks n and everything below it.
func (c *checker) value(n *Node, s scope) {
	if n == nil {
		return
	}
	switch n.Kind {
	case Null:
		c.problem(n.Pos, s.path, "null values are not allowed in templates", "")
	case List:
		for i, item := range n.Items {
			c.value(item, s.at(itoa(i)))
		}
	case Map:
		for _, field := range n.Fields {
			below := s.at(field.Key)
			below.loop = s.loop || strings.HasPrefix(field.Key, forEachPrefix)
			c.value(field.Value, below)
		}
	case Intrinsic:
		c.call(n, s)
	default:
		// Scalars contain nothing to check.
	}
}

// pseudoParameters are the pseudo parameters of
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/pseudo-parameter-reference.html.
var pseudoParameters = []string{
	"AWS::AccountId", "AWS::NoValue", "AWS::NotificationARNs", "AWS::Partition", "AWS::Region",
	"AWS::StackId", "AWS::StackName", "AWS::URLSuffix",
}

// reference checks that the target of a Ref or a Fn::Sub variable exists.
func (c *checker) reference(ref Reference, s scope) {
	switch {
	case c.expanded || s.loop:
		return
	case ref.Attribute == "" && slices.Contains(pseudoParameters, ref.Target):
		return
	case ref.Attribute == "" && c.t.Parameters[ref.Target] != nil:
		return
	case c.t.Resources[ref.Target] != nil && s.resources:
		return
	case c.t.Resources[ref.Target] != nil:
		c.problem(
			ref.Pos,
			s.path,
			"conditions and rules cannot refer to a resource such as "+ref.Target+"; they can refer only to parameters",
			"",
		)
		return
	}
	if ref.Attribute != "" {
		c.problem(ref.Pos, s.path, "there is no resource "+ref.Target, Closest(ref.Target, c.resourceNames()))
		return
	}
	candidates := slices.Concat(slices.Collect(maps.Keys(c.t.Parameters)), pseudoParameters)
	what := "parameter or pseudo parameter"
	if s.resources {
		candidates = append(candidates, c.resourceNames()...)
		what = "parameter or resource"
	}
	c.problem(ref.Pos, s.path, "there is no "+what+" "+ref.Target, Closest(ref.Target, candidates))
}
