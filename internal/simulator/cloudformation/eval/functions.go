package eval

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/simulator/property"
)

// call evaluates an intrinsic function.
func (s *Scope) call(n *template.Node) (any, error) {
	functions := map[string]func(*template.Node) (any, error){
		"Ref": s.ref, "Condition": s.condition, "Fn::GetAtt": s.getAtt, "Fn::Sub": s.sub, "Fn::Join": s.join,
		"Fn::Select": s.selectItem, "Fn::Split": s.split, "Fn::FindInMap": s.findInMap, "Fn::If": s.choose,
		"Fn::Base64": s.base64, "Fn::Cidr": s.cidr, "Fn::GetAZs": s.getAZs, "Fn::ImportValue": s.importValue,
		"Fn::Length": s.length, "Fn::ToJsonString": s.toJSONString,
	}
	if f, ok := functions[n.Func]; ok {
		return f(n.Arg)
	}
	switch n.Func {
	case "Fn::Equals", "Fn::And", "Fn::Or", "Fn::Not":
		return s.truth(n)
	case "Fn::Transform":
		return nil, Errorf("Transform %s is not supported", transformName(n.Arg))
	}
	return nil, Errorf("Template format error: Unrecognized intrinsic function %s", n.Func)
}

func transformName(n *template.Node) string {
	if name := n.Get("Name"); name != nil {
		return name.Text
	}
	return "Fn::Transform"
}

func (s *Scope) ref(arg *template.Node) (any, error) {
	if arg == nil || arg.Kind != template.String {
		return nil, Errorf("Template format error: All Ref values must be strings")
	}
	return s.refName(arg.Text)
}

func (s *Scope) refName(name string) (any, error) {
	if name == "AWS::NoValue" {
		return NoValue{}, nil
	}
	if v, ok := s.Pseudo[name]; ok {
		return v, nil
	}
	if v, ok := s.Parameters[name]; ok {
		return v, nil
	}
	if s.Ref == nil || s.Template.Resources[name] == nil {
		return nil, Errorf(
			"Template format error: Unresolved dependencies [%s]. Cannot reference resources in the Conditions block of the template", name,
		)
	}
	return s.Ref(name)
}

func (s *Scope) getAtt(arg *template.Node) (any, error) {
	if arg == nil || len(arg.Items) != 2 {
		return nil, Errorf(
			"Template error: every Fn::GetAtt object requires two non-empty parameters, the resource name and the resource attribute",
		)
	}
	attribute, unknown, err := s.String(arg.Items[1], "Fn::GetAtt")
	if err != nil || unknown != nil {
		return orUnknown(unknown), err
	}
	name := arg.Items[0].Text
	if s.GetAtt == nil || s.Template.Resources[name] == nil {
		return nil, Errorf("Template error: instance of Fn::GetAtt references undefined resource %s", name)
	}
	return s.GetAtt(name, attribute)
}

func orUnknown(u *Unknown) any {
	if u == nil {
		return nil
	}
	return *u
}

// sub implements Fn::Sub with and without a map of variables.
func (s *Scope) sub(arg *template.Node) (any, error) {
	const malformed = "Template error: One or more Fn::Sub intrinsic functions don't specify expected arguments. " +
		"Specify a string as first argument, and an optional second argument to specify a mapping of values to replace in the string"
	text, variables := arg, (*template.Node)(nil)
	if arg != nil && arg.Kind == template.List {
		if len(arg.Items) != 2 || arg.Items[1].Kind != template.Map {
			return nil, Errorf(malformed)
		}
		text, variables = arg.Items[0], arg.Items[1]
	}
	if text == nil || text.Kind != template.String {
		return nil, Errorf(malformed)
	}
	var out strings.Builder
	rest := text.Text
	for {
		before, after, found := strings.Cut(rest, "${")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name, tail, closed := strings.Cut(after, "}")
		if !closed {
			out.WriteString("${" + after)
			return out.String(), nil
		}
		rest = tail
		if literal, escaped := strings.CutPrefix(name, "!"); escaped {
			out.WriteString("${" + literal + "}")
			continue
		}
		v, err := s.variable(strings.TrimSpace(name), variables)
		if err != nil {
			return nil, err
		}
		if u, ok := v.(Unknown); ok {
			return u, nil
		}
		piece, ok := property.Text(v)
		if !ok {
			return nil, Errorf("Template error: variable %s in Fn::Sub expression does not resolve to a string", name)
		}
		out.WriteString(piece)
	}
}

func (s *Scope) variable(name string, variables *template.Node) (any, error) {
	if variables != nil {
		if v := variables.Get(name); v != nil {
			return s.Value(v)
		}
	}
	if logicalID, attribute, ok := strings.Cut(name, "."); ok {
		if s.GetAtt == nil || s.Template.Resources[logicalID] == nil {
			return nil, Errorf("Template error: instance of Fn::Sub references invalid resource attribute %s", name)
		}
		return s.GetAtt(logicalID, attribute)
	}
	return s.refName(name)
}

func (s *Scope) join(arg *template.Node) (any, error) {
	const malformed = "Template error: every Fn::Join object requires two parameters, " +
		"(1) a string delimiter and (2) a list of strings to be joined or a function that returns a list of strings (such as Fn::GetAZs) to be joined."
	if arg == nil || len(arg.Items) != 2 || arg.Items[0].Kind != template.String {
		return nil, Errorf(malformed)
	}
	items, unknown, err := s.listOf(arg.Items[1], malformed)
	if err != nil || unknown != nil {
		return orUnknown(unknown), err
	}
	pieces := make([]string, 0, len(items))
	for _, item := range items {
		if u, unknown := item.(Unknown); unknown {
			return u, nil
		}
		piece, scalar := property.Text(item)
		if !scalar {
			return nil, Errorf(malformed)
		}
		pieces = append(pieces, piece)
	}
	return strings.Join(pieces, arg.Items[0].Text), nil
}

// listOf evaluates an argument that must be a list; malformed is the error message if it is not.
func (s *Scope) listOf(arg *template.Node, malformed string) ([]any, *Unknown, error) {
	v, err := s.Value(arg)
	if err != nil {
		return nil, nil, err
	}
	if u, ok := v.(Unknown); ok {
		return nil, &u, nil
	}
	items, ok := v.([]any)
	if !ok {
		return nil, nil, Errorf("%s", malformed)
	}
	return items, nil, nil
}

func (s *Scope) selectItem(arg *template.Node) (any, error) {
	const malformed = "Template error: every Fn::Select object requires two non-empty parameters, " +
		"the first one being a string that represents the index and the second one being a list."
	if arg == nil || len(arg.Items) != 2 {
		return nil, Errorf(malformed)
	}
	position, unknown, err := s.String(arg.Items[0], "Fn::Select")
	if err != nil || unknown != nil {
		return orUnknown(unknown), err
	}
	items, unknown, err := s.listOf(arg.Items[1], malformed)
	if err != nil || unknown != nil {
		return orUnknown(unknown), err
	}
	index, err := strconv.Atoi(position)
	if err != nil {
		return nil, Errorf(malformed)
	}
	if index < 0 || index >= len(items) {
		return nil, Errorf("Template error: Fn::Select cannot select nonexistent value at index %d", index)
	}
	return items[index], nil
}

func (s *Scope) split(arg *template.Node) (any, error) {
	if arg == nil || len(arg.Items) != 2 || arg.Items[0].Kind != template.String {
		return nil, Errorf(
			"Template error: every Fn::Split object requires two parameters, (1) a string delimiter and (2) a string to be split or a function that returns a string to be split.",
		)
	}
	text, unknown, err := s.String(arg.Items[1], "Fn::Split")
	if err != nil || unknown != nil {
		return orUnknown(unknown), err
	}
	parts := strings.Split(text, arg.Items[0].Text)
	out := make([]any, len(parts))
	for i, p := range parts {
		out[i] = p
	}
	return out, nil
}

// findInMap implements Fn::FindInMap, with the default value that AWS::LanguageExtensions adds.
func (s *Scope) findInMap(arg *template.Node) (any, error) {
	if arg == nil || len(arg.Items) < 3 {
		return nil, Errorf(
			"Template error: every Fn::FindInMap object requires three parameters, the map name, map key and the attribute for return value",
		)
	}
	var keys [3]string
	for i := range keys {
		key, unknown, err := s.String(arg.Items[i], "Fn::FindInMap")
		if err != nil || unknown != nil {
			return orUnknown(unknown), err
		}
		keys[i] = key
	}
	found := s.Template.Mappings
	for _, key := range keys {
		if found == nil || found.Kind != template.Map {
			found = nil
			break
		}
		found = found.Get(key)
	}
	if found != nil {
		return s.Value(found)
	}
	if len(arg.Items) > 3 {
		if fallback := arg.Items[3].Get("DefaultValue"); fallback != nil {
			return s.Value(fallback)
		}
	}
	return nil, Errorf("Template error: Unable to get mapping for %s::%s::%s", keys[0], keys[1], keys[2])
}

func (s *Scope) base64(arg *template.Node) (any, error) {
	text, unknown, err := s.String(arg, "Fn::Base64")
	if err != nil || unknown != nil {
		return orUnknown(unknown), err
	}
	return base64.StdEncoding.EncodeToString([]byte(text)), nil
}

func (s *Scope) getAZs(arg *template.Node) (any, error) {
	region, unknown, err := s.String(arg, "Fn::GetAZs")
	if err != nil || unknown != nil {
		return orUnknown(unknown), err
	}
	if region == "" {
		region, _ = property.Text(s.Pseudo["AWS::Region"])
	}
	var out []any
	for _, zone := range s.Zones(region) {
		out = append(out, zone)
	}
	return out, nil
}

func (s *Scope) importValue(arg *template.Node) (any, error) {
	name, unknown, err := s.String(arg, "Fn::ImportValue")
	if err != nil || unknown != nil {
		return orUnknown(unknown), err
	}
	if s.Import == nil {
		return nil, Errorf("No export named %s found", name)
	}
	return s.Import(name)
}

func (s *Scope) length(arg *template.Node) (any, error) {
	items, unknown, err := s.listOf(arg, "Template error: Fn::Length expects a list")
	if err != nil || unknown != nil {
		return orUnknown(unknown), err
	}
	return json.Number(strconv.Itoa(len(items))), nil
}

func (s *Scope) toJSONString(arg *template.Node) (any, error) {
	v, err := s.Value(arg)
	if err != nil {
		return nil, err
	}
	if u, ok := Contains(v); ok {
		return u, nil
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, Errorf("Template error: Fn::ToJsonString: %v", err)
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}
