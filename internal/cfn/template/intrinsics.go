package template

import "strings"

// place is where a function is allowed.
type place int

const (
	// conditionsAndRules are the Conditions and Rules sections, and nested functions in them. The
	// zero value allows a function everywhere.
	conditionsAndRules place = iota + 1
	// rulesOnly is the Rules section.
	rulesOnly
)

// intrinsic describes one of CloudFormation's functions. The list is that of
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html
// and, for rules,
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-rules.html.
type intrinsic struct {
	// name is the long form.
	name string
	// place is where it is allowed.
	place place
	// minArgs and maxArgs limit the length of the argument list; 0, 0 means a single value.
	minArgs, maxArgs int
	// usage shows the syntax.
	usage string
}

var intrinsics = []intrinsic{
	{name: "Ref", usage: "!Ref Name"},
	{name: "Condition", place: conditionsAndRules, usage: "!Condition Name"},
	{name: "Fn::Base64", usage: "!Base64 value"},
	{name: "Fn::Cidr", minArgs: 2, maxArgs: 3, usage: "!Cidr [block, count, bits]"},
	{name: "Fn::FindInMap", minArgs: 3, maxArgs: 4, usage: "!FindInMap [Map, topKey, secondKey]"},
	{name: "Fn::GetAtt", minArgs: 2, maxArgs: 2, usage: "!GetAtt Resource.Attribute"},
	{name: "Fn::GetAZs", usage: "!GetAZs region"},
	{name: "Fn::If", minArgs: 3, maxArgs: 3, usage: "!If [Condition, then, else]"},
	{name: "Fn::And", place: conditionsAndRules, minArgs: 2, maxArgs: 10, usage: "!And [condition, condition, …]"},
	{name: "Fn::Or", place: conditionsAndRules, minArgs: 2, maxArgs: 10, usage: "!Or [condition, condition, …]"},
	{name: "Fn::Not", place: conditionsAndRules, minArgs: 1, maxArgs: 1, usage: "!Not [condition]"},
	{name: "Fn::Equals", place: conditionsAndRules, minArgs: 2, maxArgs: 2, usage: "!Equals [value, value]"},
	{name: "Fn::ImportValue", usage: "!ImportValue name"},
	{name: "Fn::Join", minArgs: 2, maxArgs: 2, usage: "!Join [delimiter, list]"},
	{name: "Fn::Select", minArgs: 2, maxArgs: 2, usage: "!Select [index, list]"},
	{name: "Fn::Split", minArgs: 2, maxArgs: 2, usage: "!Split [delimiter, text]"},
	{name: "Fn::Sub", usage: "!Sub text or !Sub [text, {Name: value}]"},
	{name: "Fn::Transform", usage: "!Transform {Name: macro, Parameters: {…}}"},
	{name: "Fn::Length", usage: "Fn::Length: list"},
	{name: "Fn::ToJsonString", usage: "Fn::ToJsonString: value"},
	{name: "Fn::Contains", place: rulesOnly, minArgs: 2, maxArgs: 2, usage: "Fn::Contains: [list, value]"},
	{name: "Fn::EachMemberEquals", place: rulesOnly, minArgs: 2, maxArgs: 2, usage: "Fn::EachMemberEquals: [list, value]"},
	{name: "Fn::EachMemberIn", place: rulesOnly, minArgs: 2, maxArgs: 2, usage: "Fn::EachMemberIn: [list, list]"},
	{name: "Fn::RefAll", place: rulesOnly, usage: "Fn::RefAll: parameter type"},
	{name: "Fn::ValueOf", place: rulesOnly, minArgs: 2, maxArgs: 2, usage: "Fn::ValueOf: [parameter, attribute]"},
	{name: "Fn::ValueOfAll", place: rulesOnly, minArgs: 2, maxArgs: 2, usage: "Fn::ValueOfAll: [parameter type, attribute]"},
}

// forEachPrefix begins a map key that CloudFormation expands to several: "Fn::ForEach::LoopName".
// It stays a member of its map.
const forEachPrefix = "Fn::ForEach::"

var (
	intrinsicByName  = indexIntrinsics(func(i intrinsic) string { return i.name })
	intrinsicByShort = indexIntrinsics(func(i intrinsic) string { return strings.TrimPrefix(i.name, "Fn::") })
)

func indexIntrinsics(key func(intrinsic) string) map[string]*intrinsic {
	index := make(map[string]*intrinsic, len(intrinsics))
	for i := range intrinsics {
		index[key(intrinsics[i])] = &intrinsics[i]
	}
	return index
}

// IsMacroKey reports whether a map's key represents keys that CloudFormation inserts before it
// reads the map: Fn::ForEach loops, and Fn::Transform beside other keys.
func IsMacroKey(key string) bool {
	return strings.HasPrefix(key, forEachPrefix) || key == "Fn::Transform"
}

// takesConditions reports whether a function's arguments are conditions, so
// that {"Condition": "X"} among them names one.
func takesConditions(function string) bool {
	return function == "Fn::And" || function == "Fn::Or" || function == "Fn::Not"
}

// getAttArgument normalizes the argument of Fn::GetAtt to a list of logical ID and attribute. It
// returns nil if it is neither form.
func getAttArgument(arg *Node) *Node {
	switch arg.Kind {
	case String:
		logicalID, attribute, found := strings.Cut(arg.Text, ".")
		if !found || logicalID == "" || attribute == "" {
			return nil
		}
		return getAttPair(arg.Pos, &Node{Kind: String, Pos: arg.Pos, Text: logicalID},
			&Node{Kind: String, Pos: arg.Pos, Text: attribute})
	case List:
		if len(arg.Items) < 2 || arg.Items[0].Kind != String || arg.Items[0].Text == "" {
			return nil
		}
		if len(arg.Items) == 2 && arg.Items[1].Kind == Intrinsic {
			return arg
		}
		parts := make([]string, 0, len(arg.Items)-1)
		for _, item := range arg.Items[1:] {
			text, ok := item.Scalar()
			if !ok || text == "" {
				return nil
			}
			parts = append(parts, text)
		}
		return getAttPair(arg.Pos, arg.Items[0],
			&Node{Kind: String, Pos: arg.Items[1].Pos, Text: strings.Join(parts, ".")})
	default:
		return nil
	}
}

func getAttPair(pos Position, logicalID, attribute *Node) *Node {
	return &Node{Kind: List, Pos: pos, Items: []*Node{logicalID, attribute}}
}
