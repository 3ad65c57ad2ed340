package model

import (
	"maps"
	"slices"
	"strings"
	"text/template/parse"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
)

// scope contains the names that a template may use.
type scope struct {
	spec *apiextensionsv1.JSONSchemaProps
	// values are the names without fields; groups are the fields of the others. A nil group has any
	// field.
	values []string
	groups map[string][]string
	// functions are the functions and keywords that a template may use; nil if there is no limit. With
	// one, spec is nil.
	functions []string
}

// stackScope contains the names in the template of a stack, in parameters, and in the names of
// referenced objects.
func (m *Model) stackScope() *scope {
	s := &scope{
		spec:   m.specSchema(),
		values: []string{"name", "namespace", "kind", "region", "accountID", "partition", "dnsSuffix", "clusterName"},
		groups: map[string][]string{"references": {}, "siblings": {}},
	}
	for _, r := range m.References {
		s.groups["references"] = append(s.groups["references"], r.Name)
		s.groups["siblings"] = append(s.groups["siblings"], r.Name)
	}
	if m.ExecutionRole != "" {
		s.groups["role"] = []string{"name", "arn"}
	}
	for _, f := range m.Foreign {
		s.groups["siblings"] = append(s.groups["siblings"], f.Name)
	}
	return s
}

// additionalScope contains the names in the texts of additional resources.
func (m *Model) additionalScope() *scope {
	s := m.stackScope()
	s.groups["output"], s.groups["services"] = []string{}, []string{}
	for _, o := range m.Outputs {
		s.groups["output"] = append(s.groups["output"], o.Name)
	}
	for _, service := range m.Services {
		if service.ID != "" {
			s.groups["services"] = append(s.groups["services"], service.ID)
		}
	}
	return s
}

// unknown returns the first part of a path that does not exist, as an expression, and the
// expression that was probably meant. Both are empty if all parts exist or may exist.
func (s *scope) unknown(path []string) (wrong, meant string) {
	if len(path) == 0 || slices.Contains(s.values, path[0]) {
		return "", ""
	}
	if path[0] == "spec" && s.functions == nil {
		return unknownField(s.spec, path)
	}
	names, ok := s.groups[path[0]]
	switch {
	case !ok:
		all := slices.Concat(s.values, slices.Collect(maps.Keys(s.groups)))
		if s.functions == nil {
			all = append(all, "spec")
		}
		return expression(path[:1]), suggest(nil, path[0], all)
	case len(path) > 1 && !slices.Contains(names, path[1]):
		return expression(path[:2]), suggest(path[:1], path[1], names)
	}
	return "", ""
}

// unknownField is unknown for a path whose first part is the spec.
func unknownField(s *apiextensionsv1.JSONSchemaProps, path []string) (wrong, meant string) {
	for i, name := range path[1:] {
		switch child, ok := s.Properties[name]; {
		case ok:
			s = &child
		case name == element && s.Items != nil && s.Items.Schema != nil:
			s = s.Items.Schema
		case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
			s = s.AdditionalProperties.Schema
		case name == element, s.AdditionalProperties != nil && s.AdditionalProperties.Allows,
			s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields, s.XEmbeddedResource:
			return "", ""
		default:
			return expression(path[:i+2]), suggest(path[:i+1], name, slices.Collect(maps.Keys(s.Properties)))
		}
	}
	return "", ""
}

// element is the part of a path that stands for an element of a list.
const element = "*"

func expression(path []string) string {
	return strings.ReplaceAll("."+strings.Join(path, "."), "."+element, "[]")
}

func suggest(path []string, name string, candidates []string) string {
	closest := cfntemplate.Closest(name, candidates)
	if closest == "" {
		return ""
	}
	return expression(append(slices.Clone(path), closest))
}

// nameCheck finds the names in one template that do not exist.
type nameCheck struct {
	file, source string
	scope        *scope
	problems     cfntemplate.Problems
	// used are the paths of the names that exist.
	used [][]string
}

// names checks the names of a text.
func (s *scope) names(t *Text) *nameCheck {
	c := &nameCheck{source: t.source, scope: s}
	if t.literal {
		return c
	}
	c.file = t.tmpl.Name()
	c.list(t.tmpl.Root, []string{})
	return c
}

// list checks the nodes of a list. Dot is the path that the dot stands for, nil if that is not
// known.
func (c *nameCheck) list(list *parse.ListNode, dot []string) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.ActionNode:
			c.pipe(n.Pipe, dot)
		case *parse.TemplateNode:
			c.limit(n.Pos, "template")
			c.pipe(n.Pipe, dot)
		case *parse.IfNode:
			c.pipe(n.Pipe, dot)
			c.list(n.List, dot)
			c.list(n.ElseList, dot)
		case *parse.WithNode:
			c.list(n.List, c.pipe(n.Pipe, dot))
			c.list(n.ElseList, dot)
		case *parse.RangeNode:
			c.limit(n.Pos, "range")
			below := c.pipe(n.Pipe, dot)
			if below != nil {
				below = append(slices.Clone(below), element)
			}
			c.list(n.List, below)
			c.list(n.ElseList, dot)
		}
	}
}

// pipe checks a pipeline. It returns the path of its value, nil if that is not known.
func (c *nameCheck) pipe(pipe *parse.PipeNode, dot []string) []string {
	if pipe == nil {
		return nil
	}
	var last []string
	for _, command := range pipe.Cmds {
		last = c.command(command, dot)
	}
	if len(pipe.Cmds) == 1 {
		return last
	}
	return nil
}

func (c *nameCheck) command(command *parse.CommandNode, dot []string) []string {
	var paths [][]string
	for _, argument := range command.Args {
		paths = append(paths, c.argument(argument, dot))
	}
	if len(paths) == 1 {
		return paths[0]
	}
	function, ok := command.Args[0].(*parse.IdentifierNode)
	if !ok || function.Ident != "get" || len(paths) != 3 || paths[2] == nil {
		return nil
	}
	if fields, ok := command.Args[1].(*parse.StringNode); ok {
		return c.path(function.Pos, slices.Concat(paths[2], strings.Split(fields.Text, ".")))
	}
	return nil
}

func (c *nameCheck) argument(node parse.Node, dot []string) []string {
	switch n := node.(type) {
	case *parse.DotNode:
		return dot
	case *parse.IdentifierNode:
		c.limit(n.Pos, n.Ident)
	case *parse.FieldNode:
		if dot != nil {
			return c.path(n.Pos, slices.Concat(dot, n.Ident))
		}
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			return c.path(n.Pos, slices.Concat([]string{}, n.Ident[1:]))
		}
	case *parse.PipeNode:
		return c.pipe(n, dot)
	case *parse.ChainNode:
		if below := c.argument(n.Node, dot); below != nil {
			return c.path(n.Pos, slices.Concat(below, n.Field))
		}
	}
	return nil
}

// limit checks a function or keyword.
func (c *nameCheck) limit(pos parse.Pos, name string) {
	if c.scope.functions != nil && !slices.Contains(c.scope.functions, name) {
		c.problems = append(c.problems, cfntemplate.Problem{
			Pos: positionAt(c.file, c.source, int(pos)), Message: name + " is not allowed",
		})
	}
}

// path checks one path. It returns nil if a part of it does not exist.
func (c *nameCheck) path(pos parse.Pos, path []string) []string {
	wrong, meant := c.scope.unknown(path)
	if wrong == "" {
		c.used = append(c.used, path)
		return path
	}
	c.problems = append(c.problems, cfntemplate.Problem{
		Pos: positionAt(c.file, c.source, int(pos)), Message: "there is no " + wrong, Suggestion: meant,
	})
	return nil
}

// positionAt returns the position of an offset of a text.
func positionAt(file, text string, offset int) cfntemplate.Position {
	before := text[:min(offset, len(text))]
	lineStart := strings.LastIndexByte(before, '\n') + 1
	return cfntemplate.Position{File: file, Line: strings.Count(before, "\n") + 1, Column: len([]rune(before[lineStart:])) + 1}
}

// checkNames checks the names in all templates of the model.
func (m *Model) checkNames() cfntemplate.Problems {
	stack, additional := m.stackScope(), m.additionalScope()
	problems := stack.names(m.Template).problems
	check := func(s *scope, texts ...*Text) {
		for _, t := range texts {
			problems = append(problems, s.names(t).problems...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Parameters)) {
		check(stack, m.Parameters[name])
	}
	for _, r := range m.References {
		check(stack, r.ObjectName)
	}
	for _, f := range m.Foreign {
		check(stack, f.ARN)
	}
	for _, t := range []*Text{m.RoleSource, m.RoleOnlyIf} {
		if t != nil {
			check(stack, t)
		}
	}
	for _, level := range m.AccessLevels {
		for _, statement := range level.Statements {
			check(stack, statement.Resources...)
		}
	}
	check(additional, m.additionalTexts()...)
	for _, field := range m.DynamicReferences {
		if wrong, meant := stack.unknown(append([]string{"spec"}, strings.Split(field, ".")...)); wrong != "" {
			p := problem(m.Name, "spec.dynamicReferences", "there is no "+wrong)
			p[0].Suggestion = meant
			problems = append(problems, p...)
		}
	}
	return problems
}

// additionalTexts returns the texts of additional resources.
func (m *Model) additionalTexts() []*Text {
	var texts []*Text
	for _, data := range slices.Concat(m.ConfigMaps, m.Secrets) {
		texts = append(texts, data.Name)
		for _, key := range slices.Sorted(maps.Keys(data.Values)) {
			texts = append(texts, data.Values[key])
		}
	}
	for _, s := range m.Services {
		texts = append(texts, s.Name, s.ExternalName, s.Port)
	}
	return texts
}

// usedOutputs returns those of the named outputs that the texts of additional resources use.
func (m *Model) usedOutputs(names []string) []string {
	s := m.additionalScope()
	s.groups["output"] = names
	var used []string
	for _, text := range m.additionalTexts() {
		for _, path := range s.names(text).used {
			if len(path) > 1 && path[0] == "output" {
				used = append(used, path[1])
			}
		}
	}
	return used
}
