package template

import (
	"bytes"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlRoot parses a YAML document.
func (p *parser) yamlRoot(data []byte) *Node {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		p.problem(Position{File: p.file, Line: 1, Column: 1}, "", "the template is empty", "")
		return nil
	case err != nil:
		p.yamlError(err)
		return nil
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		if err != nil {
			p.yamlError(err)
			return nil
		}
		p.problem(
			Position{File: p.file, Line: 1, Column: 1},
			"",
			"the file contains more than one YAML document; a template must be one document",
			"",
		)
		return nil
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 {
		p.problem(Position{File: p.file, Line: 1, Column: 1}, "", "the template is empty", "")
		return nil
	}
	return p.yamlValue(document.Content[0], 0, false)
}

// yamlLine finds the line in the yaml package's messages, which have no structure.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func (p *parser) yamlError(err error) {
	pos := Position{File: p.file, Line: 1, Column: 1}
	message := err.Error()
	if match := yamlLine.FindStringSubmatch(message); match != nil {
		message = strings.TrimPrefix(message, match[0])
		if line, convErr := strconv.Atoi(match[1]); convErr == nil {
			pos.Line = line
		}
	}
	p.problem(pos, "", "malformed YAML: "+message, "")
}

func (p *parser) yamlPosition(n *yaml.Node) Position {
	return Position{File: p.file, Line: n.Line, Column: n.Column}
}

func (p *parser) yamlValue(n *yaml.Node, depth int, amongConditions bool) *Node {
	pos := p.yamlPosition(n)
	if depth > maxDepth {
		p.problem(pos, "", "the template is nested too deeply", "")
		return &Node{Kind: Null, Pos: pos}
	}
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") && n.Tag != "!" {
		return p.yamlShortForm(n, depth, amongConditions)
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return p.yamlScalar(n, pos)
	case yaml.SequenceNode:
		node := &Node{Kind: List, Pos: pos}
		for _, item := range n.Content {
			node.Items = append(node.Items, p.yamlValue(item, depth+1, amongConditions))
		}
		return node
	case yaml.MappingNode:
		return p.yamlMap(n, depth, amongConditions)
	case yaml.AliasNode:
		// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-formats.html
		p.problem(pos, "", "CloudFormation has no YAML aliases; write the value of *"+n.Value+" out", "")
	default:
		p.problem(pos, "", "CloudFormation does not support this YAML", "")
	}
	return &Node{Kind: Null, Pos: pos}
}

func (p *parser) yamlMap(n *yaml.Node, depth int, amongConditions bool) *Node {
	node := &Node{Kind: Map, Pos: p.yamlPosition(n)}
	seen := make(map[string]Position, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, keyPos := n.Content[i], p.yamlPosition(n.Content[i])
		if key.Kind != yaml.ScalarNode || strings.HasPrefix(key.Tag, "!") && !strings.HasPrefix(key.Tag, "!!") {
			p.problem(keyPos, "", "a key must be a plain string", "")
			continue
		}
		if key.Tag == "!!merge" {
			p.problem(keyPos, "", "CloudFormation has no YAML merge keys; write the merged keys out", "")
			continue
		}
		below := amongConditions || takesConditions(key.Value) || depth == 0 && conditionSection(key.Value)
		value := p.yamlValue(n.Content[i+1], depth+1, below)
		p.addField(node, seen, Field{Key: key.Value, KeyPos: keyPos, Value: value})
	}
	return p.finishMap(node, amongConditions)
}

// yamlShortForm parses !Ref and the other short forms.
func (p *parser) yamlShortForm(n *yaml.Node, depth int, amongConditions bool) *Node {
	pos := p.yamlPosition(n)
	short := strings.TrimPrefix(n.Tag, "!")
	function := intrinsicByShort[short]
	if function == nil {
		p.problem(pos, "", "there is no function "+n.Tag, suggestTag(short))
		return &Node{Kind: Null, Pos: pos}
	}
	plain := *n
	plain.Tag = ""
	if n.Kind == yaml.ScalarNode {
		plain.Tag = "!!str"
	}
	arg := p.yamlValue(&plain, depth+1, amongConditions || takesConditions(function.name))
	if function.name == "Condition" && !amongConditions {
		return &Node{Kind: Map, Pos: pos, Fields: []Field{{Key: "Condition", KeyPos: pos, Value: arg}}}
	}
	if function.name == "Fn::GetAtt" {
		if pair := getAttArgument(arg); pair != nil {
			arg = pair
		}
	}
	call := &Node{Kind: Intrinsic, Pos: pos, Func: function.name, Arg: arg}
	p.checkGetAtt(call)
	return call
}

func suggestTag(short string) string {
	names := make([]string, 0, len(intrinsicByShort))
	for name := range intrinsicByShort {
		names = append(names, name)
	}
	if nearest := Closest(short, names); nearest != "" {
		return "!" + nearest
	}
	return ""
}

// yamlScalar parses a scalar by the rules of YAML 1.1, which CloudFormation uses: yes, no, on and
// off are booleans. There are two exceptions: dates are strings (such as an IAM policy's Version),
// and so are numbers with leading zeros (such as an account ID).
func (p *parser) yamlScalar(n *yaml.Node, pos Position) *Node {
	text := &Node{Kind: String, Pos: pos, Text: n.Value}
	switch n.ShortTag() {
	case "!!null":
		return &Node{Kind: Null, Pos: pos}
	case "!!bool":
		value, ok := yamlBool(n.Value)
		if ok {
			return &Node{Kind: Bool, Pos: pos, Bool: value}
		}
		p.problem(pos, "", n.Value+" is not a boolean", "")
	case "!!int", "!!float":
		if literal := yamlNumber(n.Value); literal != "" {
			return &Node{Kind: Number, Pos: pos, Text: literal}
		}
	case "!!str":
		if value, ok := yamlBool(n.Value); ok && n.Style == 0 {
			return &Node{Kind: Bool, Pos: pos, Bool: value}
		}
	case "!!binary", "!!omap", "!!pairs", "!!set":
		p.problem(pos, "", "CloudFormation does not support the YAML tag "+n.ShortTag(), "")
	}
	return text
}

// yamlBool parses YAML 1.1's words for booleans, except y and n, which parsers do not accept in
// practice.
func yamlBool(text string) (value, ok bool) {
	switch text {
	case "true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON":
		return true, true
	case "false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF":
		return false, true
	default:
		return false, false
	}
}

// yamlNumber returns the JSON literal of a YAML number, or "" if it must stay a string.
func yamlNumber(text string) string {
	plain := strings.TrimPrefix(strings.ReplaceAll(text, "_", ""), "+")
	if jsonNumber(plain) {
		return plain
	}
	digits := strings.TrimPrefix(plain, "-")
	if strings.HasPrefix(digits, "0x") || strings.HasPrefix(digits, "0o") || strings.HasPrefix(digits, "0b") {
		if value, err := strconv.ParseInt(plain, 0, 64); err == nil {
			return strconv.FormatInt(value, 10)
		}
		return ""
	}
	if len(digits) > 1 && digits[0] == '0' && digits[1] != '.' {
		return ""
	}
	if value, err := strconv.ParseFloat(plain, 64); err == nil && !math.IsInf(value, 0) && !math.IsNaN(value) {
		return strconv.FormatFloat(value, 'g', -1, 64)
	}
	return ""
}
