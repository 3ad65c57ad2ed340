package yamltree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Document is one document of a file.
type Document struct {
	// File is the name of the file, for people.
	File string
	// Number is which document of the file it is, from 1, not counting empty ones.
	Number int
	// Value is what it holds.
	Value *Value
}

// Limits, so that a few lines of aliases do not become gigabytes: of a document, and of the values of a
// file, in addition to one for each of its bytes.
const (
	maxDepth  = 200
	maxValues = 300_000
)

// Parse returns the documents of a file; those that hold nothing are left out. The error is
// Problems.
func Parse(file string, data []byte) ([]Document, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var documents []Document
	room := maxValues + len(data)
	for {
		var root yaml.Node
		err := decoder.Decode(&root)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		number := len(documents) + 1
		if err != nil {
			return nil, Problems{malformed(file, number, err)}
		}
		c := converter{file: file, document: number, room: room}
		value := c.value(&root, 0)
		if len(c.problems) > 0 {
			return nil, c.problems
		}
		room = c.room
		if value.Kind != Null {
			documents = append(documents, Document{File: file, Number: number, Value: value})
		}
	}
}

// yamlLine finds the line in the yaml package's messages, which have no structure.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func malformed(file string, document int, err error) Problem {
	p := Problem{File: file, Document: document, Message: err.Error()}
	if match := yamlLine.FindStringSubmatch(p.Message); match != nil {
		p.Message = strings.TrimPrefix(p.Message, match[0])
		p.Line, _ = strconv.Atoi(match[1]) // no line is line 0
	}
	p.Message = "this is not YAML: " + p.Message
	return p
}

// converter makes a Value of a yaml.Node, without aliases and merges.
type converter struct {
	file     string
	document int
	room     int // how many more values the file may have
	problems Problems
}

func (c *converter) problem(line int, message string) {
	c.problems = append(c.problems, Problem{File: c.file, Document: c.document, Line: line, Message: message})
}

func (c *converter) value(n *yaml.Node, depth int) *Value {
	c.room--
	if depth > maxDepth || c.room < 0 {
		if len(c.problems) == 0 {
			c.problem(n.Line, "the file is nested too deeply or too large: use fewer aliases")
		}
		return &Value{Line: n.Line}
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return c.value(n.Content[0], depth+1)
	case yaml.AliasNode:
		return c.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		v := &Value{Kind: List, Line: n.Line}
		for _, item := range n.Content {
			v.Items = append(v.Items, c.value(item, depth+1))
		}
		return v
	case yaml.MappingNode:
		return c.mapping(n, depth)
	case yaml.ScalarNode:
		return c.scalar(n)
	}
	return &Value{Line: n.Line}
}

func (c *converter) mapping(n *yaml.Node, depth int) *Value {
	v := &Value{Kind: Map, Line: n.Line}
	lines := map[string]int{}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Tag == "!!merge" {
			merged = append(merged, value)
			continue
		}
		for key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			c.problem(key.Line, "the key of a map must be a string")
			continue
		}
		if line := lines[key.Value]; line > 0 {
			c.problem(key.Line, fmt.Sprintf("%s is defined twice, first in line %d", key.Value, line))
			continue
		}
		lines[key.Value] = key.Line
		v.Entries = append(v.Entries, Entry{Key: key.Value, Line: key.Line, Value: c.value(value, depth+1)})
	}
	for _, from := range merged {
		c.merge(v, from, depth)
	}
	return v
}

// merge adds what a "<<" names and the map does not have itself.
func (c *converter) merge(v *Value, from *yaml.Node, depth int) {
	other := c.value(from, depth+1)
	sources := []*Value{other}
	if other.Kind == List {
		sources = other.Items
	}
	for _, source := range sources {
		if source.Kind != Map {
			c.problem(from.Line, "<< requires a map or a list of maps")
			return
		}
		for _, entry := range source.Entries {
			if v.Field(entry.Key) == nil {
				v.Entries = append(v.Entries, entry)
			}
		}
	}
}

// words are what YAML 1.1 takes for booleans, besides true and false.
var words = map[string]bool{"yes": true, "no": true, "on": true, "off": true}

func (c *converter) scalar(n *yaml.Node) *Value {
	v := &Value{Kind: String, Line: n.Line, Text: n.Value}
	plain := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
	switch n.ShortTag() {
	case "!!null":
		v.Kind = Null
	case "!!bool":
		v.Kind = Bool
	case "!!int", "!!float":
		v.Kind = Number
	case "!!str":
		lower := strings.ToLower(n.Value)
		v.word, v.letter = plain && words[lower], plain && (lower == "y" || lower == "n")
	case "!!timestamp", "!!binary":
	default:
		c.problem(n.Line, "the tag "+n.Tag+" is not supported here: remove it")
	}
	return v
}
