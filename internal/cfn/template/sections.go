package template

import (
	"slices"
	"strconv"
	"strings"
)

// sections are the allowed names at a template's top level, from
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-anatomy.html; Globals
// belongs to the AWS::Serverless transform.
var sections = []string{
	"AWSTemplateFormatVersion", "Conditions", "Description", "Globals", "Hooks", "Mappings", "Metadata",
	"Outputs", "Parameters", "Resources", "Rules", "Transform",
}

func (p *parser) template(root *Node) *Template {
	t := &Template{File: p.file}
	if root.Kind != Map {
		p.problem(root.Pos, "", "a template is a map of sections, not a "+root.Kind.String(), "")
		return t
	}
	for _, field := range root.Fields {
		p.section(t, field)
	}
	return t
}

func (p *parser) section(t *Template, field Field) {
	value := field.Value
	switch field.Key {
	case "AWSTemplateFormatVersion":
		t.FormatVersion = p.text(field, "")
	case "Description":
		t.Description = p.text(field, "")
	case "Transform":
		p.transforms(t, value)
	case "Metadata":
		t.Metadata = p.mapOnly(value, "Metadata")
	case "Parameters":
		t.Parameters = members(p, t, field, p.parameter)
	case "Mappings":
		t.Mappings = p.mapOnly(value, "Mappings")
	case "Conditions":
		t.Conditions = members(p, t, field, func(_ string, member Field) *Node { return member.Value })
	case "Rules":
		t.Rules = p.mapOnly(value, "Rules")
	case "Hooks":
		t.Hooks = p.mapOnly(value, "Hooks")
	case "Globals":
		t.Globals = p.mapOnly(value, "Globals")
	case "Resources":
		t.Resources = members(p, t, field, p.resource)
	case "Outputs":
		t.Outputs = members(p, t, field, p.output)
	default:
		if IsMacroKey(field.Key) {
			t.addMacro("", field)
			return
		}
		p.problem(field.KeyPos, field.Key, "a template has no section "+field.Key, Closest(field.Key, sections))
	}
}

func (t *Template) addMacro(section string, field Field) {
	if t.Macros == nil {
		t.Macros = map[string][]Field{}
	}
	t.Macros[section] = append(t.Macros[section], field)
}

// members parses a section whose members have arbitrary names.
func members[T any](p *parser, t *Template, section Field, read func(path string, member Field) T) map[string]T {
	if section.Value.Kind == Intrinsic && IsMacroKey(section.Value.Func) {
		t.addMacro(section.Key, Field{Key: section.Value.Func, KeyPos: section.Value.Pos, Value: section.Value.Arg})
		return nil
	}
	node := p.mapOnly(section.Value, section.Key)
	if node == nil {
		return nil
	}
	all := make(map[string]T, len(node.Fields))
	for _, member := range node.Fields {
		if IsMacroKey(member.Key) {
			t.addMacro(section.Key, member)
			continue
		}
		all[member.Key] = read(section.Key+"/"+member.Key, member)
	}
	return all
}

func (p *parser) transforms(t *Template, value *Node) {
	switch value.Kind {
	case String:
		t.Transforms = []string{value.Text}
	case List:
		for _, item := range value.Items {
			if item.Kind == String {
				t.Transforms = append(t.Transforms, item.Text)
				continue
			}
			t.addMacro("Transform", Field{Key: "", KeyPos: item.Pos, Value: item})
		}
	case Map:
		t.addMacro("Transform", Field{Key: "", KeyPos: value.Pos, Value: value})
	default:
		p.problem(value.Pos, "Transform", "Transform must be a name or a list of names, not a "+value.Kind.String(), "")
	}
}

func (p *parser) mapOnly(value *Node, path string) *Node {
	switch {
	case value.Kind == Map:
		return value
	case value.Kind == Intrinsic && IsMacroKey(value.Func):
		return value
	default:
		p.problem(value.Pos, path, path+" must be a map, not a "+value.Kind.String(), "")
		return nil
	}
}

func (p *parser) text(field Field, path string) string {
	text, ok := field.Value.Scalar()
	if !ok {
		p.problem(field.Value.Pos, join(path, field.Key), field.Key+" must be a string, not a "+field.Value.Kind.String(), "")
	}
	return text
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}

var resourceAttributes = []string{
	"Type", "Properties", "DependsOn", "Condition", "DeletionPolicy", "UpdateReplacePolicy",
	"CreationPolicy", "UpdatePolicy", "Metadata",
}

func (p *parser) resource(path string, member Field) *Resource {
	r := &Resource{LogicalID: member.Key, Pos: member.KeyPos}
	node := p.mapOnly(member.Value, path)
	if node == nil {
		return r
	}
	for _, field := range node.Fields {
		p.resourceAttribute(r, path, field)
	}
	if node.Kind == Map && r.Type == "" && node.Get("Fn::Transform") == nil {
		p.problem(member.KeyPos, path, "resource "+member.Key+" has no Type", "")
	}
	return r
}

func (p *parser) resourceAttribute(r *Resource, path string, field Field) {
	switch field.Key {
	case "Type":
		r.Type = p.text(field, path)
	case "Properties":
		r.Properties = p.mapOnly(field.Value, path+"/Properties")
	case "DependsOn":
		r.DependsOn = p.dependsOn(path, field)
	case "Condition":
		r.Condition = p.text(field, path)
	case "DeletionPolicy":
		r.DeletionPolicy = p.text(field, path)
	case "UpdateReplacePolicy":
		r.UpdateReplacePolicy = p.text(field, path)
	case "CreationPolicy":
		r.CreationPolicy = p.mapOnly(field.Value, path+"/CreationPolicy")
	case "UpdatePolicy":
		r.UpdatePolicy = p.mapOnly(field.Value, path+"/UpdatePolicy")
	case "Metadata":
		r.Metadata = field.Value
	default:
		p.problem(field.KeyPos, path+"/"+field.Key, "resource "+r.LogicalID+" has an unknown attribute "+field.Key,
			Closest(field.Key, resourceAttributes))
	}
}

func (p *parser) dependsOn(path string, field Field) []string {
	if field.Value.Kind != List {
		return []string{p.text(field, path)}
	}
	var names []string
	for _, item := range field.Value.Items {
		names = append(names, p.text(Field{Key: field.Key, Value: item}, path))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

var outputAttributes = []string{"Description", "Value", "Export", "Condition"}

func (p *parser) output(path string, member Field) *Output {
	o := &Output{Name: member.Key, Pos: member.KeyPos}
	node := p.mapOnly(member.Value, path)
	if node == nil {
		return o
	}
	for _, field := range node.Fields {
		switch field.Key {
		case "Description":
			o.Description = p.text(field, path)
		case "Value":
			o.Value = field.Value
		case "Condition":
			o.Condition = p.text(field, path)
		case "Export":
			if o.ExportName = field.Value.Get("Name"); o.ExportName == nil || len(field.Value.Fields) != 1 {
				p.problem(field.Value.Pos, path+"/Export", "Export must be a map of one Name", "")
			}
		default:
			p.problem(field.KeyPos, path+"/"+field.Key, "output "+o.Name+" has an unknown attribute "+field.Key,
				Closest(field.Key, outputAttributes))
		}
	}
	if o.Value == nil {
		p.problem(member.KeyPos, path, "output "+o.Name+" has no Value", "")
	}
	return o
}

var parameterAttributes = []string{
	"Type", "Default", "AllowedValues", "AllowedPattern", "ConstraintDescription", "Description",
	"MinLength", "MaxLength", "MinValue", "MaxValue", "NoEcho",
}

func (p *parser) parameter(path string, member Field) *Parameter {
	param := &Parameter{Name: member.Key, Pos: member.KeyPos}
	node := p.mapOnly(member.Value, path)
	if node == nil {
		return param
	}
	for _, field := range node.Fields {
		p.parameterAttribute(param, path, field)
	}
	if param.Type == "" {
		p.problem(member.KeyPos, path, "parameter "+param.Name+" has no Type", "")
	}
	return param
}

func (p *parser) parameterAttribute(param *Parameter, path string, field Field) {
	switch field.Key {
	case "Type":
		param.Type = p.text(field, path)
	case "Default":
		if param.Default = field.Value; !field.Value.IsScalar() {
			p.problem(field.Value.Pos, path+"/Default", "the Default of parameter "+param.Name+" must be a string or a number, not a "+
				field.Value.Kind.String(), "")
		}
	case "AllowedValues":
		if field.Value.Kind != List {
			p.problem(field.Value.Pos, path+"/AllowedValues", "AllowedValues must be a list", "")
		}
		for _, item := range field.Value.Items {
			param.AllowedValues = append(param.AllowedValues, p.text(Field{Key: field.Key, Value: item}, path))
		}
	case "AllowedPattern":
		param.AllowedPattern = p.text(field, path)
	case "ConstraintDescription":
		param.ConstraintDescription = p.text(field, path)
	case "Description":
		param.Description = p.text(field, path)
	case "MinLength":
		param.MinLength = number(p, path, field, strconv.Atoi)
	case "MaxLength":
		param.MaxLength = number(p, path, field, strconv.Atoi)
	case "MinValue":
		param.MinValue = number(p, path, field, parseFloat)
	case "MaxValue":
		param.MaxValue = number(p, path, field, parseFloat)
	case "NoEcho":
		param.NoEcho = strings.EqualFold(p.text(field, path), "true")
	default:
		p.problem(field.KeyPos, path+"/"+field.Key, "parameter "+param.Name+" has an unknown attribute "+field.Key,
			Closest(field.Key, parameterAttributes))
	}
}

func parseFloat(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

func number[T int | float64](p *parser, path string, field Field, read func(string) (T, error)) *T {
	text, _ := field.Value.Scalar()
	value, err := read(text)
	if err != nil || !jsonNumber(text) {
		p.problem(field.Value.Pos, path+"/"+field.Key, field.Key+" must be a number", "")
		return nil
	}
	return &value
}
