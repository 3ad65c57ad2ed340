package yamltree

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Format prints a value as YAML in one way: keys in their order, indented by two, no comments,
// aliases or merges; the digits of numbers as they were written.
func Format(v *Value) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(node(v)); err != nil {
		return nil, fmt.Errorf("print YAML: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("print YAML: %w", err)
	}
	return out.Bytes(), nil
}

var tags = [...]string{Null: "!!null", Bool: "!!bool", Number: "!!int", String: "!!str", List: "!!seq", Map: "!!map"}

// numeric matches text that some reader of YAML takes for a number, also one of base 60 or with
// underscores.
var numeric = regexp.MustCompile(`^[-+.0-9][-+.:_0-9a-fA-FxXoO]*$`)

// mistakable reports whether a reader of YAML 1.1 takes a text without quotes for something else.
func mistakable(text string) bool {
	lower := strings.ToLower(text)
	return words[lower] || lower == "y" || lower == "n" || numeric.MatchString(text)
}

func node(v *Value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: tags[v.Kind], Value: v.Text}
	switch v.Kind {
	case Null:
		n.Value = "null"
	case Bool:
		n.Value = strings.ToLower(v.Text)
	case Number:
		if _, ok := v.Int(); !ok {
			n.Tag = "!!float"
		}
	case String:
		switch {
		case v.word: // as it was: who reads it next may take it for a boolean, as YAML 1.1 does
		case mistakable(v.Text):
			n.Style = yaml.DoubleQuotedStyle
		case strings.Contains(v.Text, "\n"):
			n.Style = yaml.LiteralStyle
		}
	case List:
		n.Kind = yaml.SequenceNode
		for _, item := range v.Items {
			n.Content = append(n.Content, node(item))
		}
	case Map:
		n.Kind = yaml.MappingNode
		entries := slices.SortedFunc(slices.Values(v.Entries), func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
		for _, entry := range entries {
			key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: entry.Key}
			if mistakable(entry.Key) {
				key.Style = yaml.DoubleQuotedStyle
			}
			n.Content = append(n.Content, key, node(entry.Value))
		}
	}
	return n
}
