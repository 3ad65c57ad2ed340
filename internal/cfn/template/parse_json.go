package template

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// jsonReader converts JSON tokens to nodes, and tracks positions.
type jsonReader struct {
	*parser
	data    []byte
	decoder *json.Decoder
	// offset, line and column are the last requested position, so that even a document on one line
	// is scanned only once.
	offset, line, column int
}

// errJSON stops the reader; the problem is recorded already.
var errJSON = errors.New("malformed JSON")

// jsonRoot parses a JSON document, and returns false if the text is not JSON.
func (p *parser) jsonRoot(data []byte) (*Node, bool) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	r := &jsonReader{parser: p, data: data, decoder: decoder, line: 1, column: 1}
	if !utf8.Valid(data) {
		p.problem(Position{File: p.file, Line: 1, Column: 1}, "", "the template is not valid UTF-8", "")
		return nil, true
	}
	root, err := r.value(0, false)
	if err != nil {
		return nil, false
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		p.problem(r.next(), "", "unexpected text after the end of the JSON document", "")
		return nil, false
	}
	return root, true
}

// next returns the position of the next token.
func (r *jsonReader) next() Position {
	at := int(r.decoder.InputOffset())
	for at < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[at]) >= 0 {
		at++
	}
	for ; r.offset < at; r.offset++ {
		switch {
		case r.data[r.offset] == '\n':
			r.line++
			r.column = 1
		case utf8.RuneStart(r.data[r.offset]):
			r.column++
		}
	}
	return Position{File: r.file, Line: r.line, Column: r.column}
}

func (r *jsonReader) token() (json.Token, Position, error) {
	pos := r.next()
	token, err := r.decoder.Token()
	if err == nil {
		return token, pos, nil
	}
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		r.problem(pos, "", "malformed JSON: "+syntax.Error(), "")
	default:
		r.problem(pos, "", "the JSON document ends too early", "")
	}
	return nil, pos, errJSON
}

func (r *jsonReader) value(depth int, amongConditions bool) (*Node, error) {
	token, pos, err := r.token()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		r.problem(pos, "", "the template is nested too deeply", "")
		return nil, errJSON
	}
	switch token := token.(type) {
	case nil:
		return &Node{Kind: Null, Pos: pos}, nil
	case bool:
		return &Node{Kind: Bool, Pos: pos, Bool: token}, nil
	case json.Number:
		return &Node{Kind: Number, Pos: pos, Text: token.String()}, nil
	case string:
		return &Node{Kind: String, Pos: pos, Text: token}, nil
	case json.Delim:
		if token == '[' {
			return r.list(pos, depth, amongConditions)
		}
		return r.object(pos, depth, amongConditions)
	default:
		r.problem(pos, "", "malformed JSON", "")
		return nil, errJSON
	}
}

func (r *jsonReader) list(pos Position, depth int, amongConditions bool) (*Node, error) {
	node := &Node{Kind: List, Pos: pos}
	for r.decoder.More() {
		item, err := r.value(depth+1, amongConditions)
		if err != nil {
			return nil, err
		}
		node.Items = append(node.Items, item)
	}
	_, _, err := r.token()
	return node, err
}

func (r *jsonReader) object(pos Position, depth int, amongConditions bool) (*Node, error) {
	node := &Node{Kind: Map, Pos: pos}
	seen := map[string]Position{}
	for r.decoder.More() {
		token, keyPos, err := r.token()
		if err != nil {
			return nil, err
		}
		key, ok := token.(string)
		if !ok {
			r.problem(keyPos, "", "malformed JSON: a key must be a string", "")
			return nil, errJSON
		}
		below := amongConditions || takesConditions(key) || depth == 0 && conditionSection(key)
		value, err := r.value(depth+1, below)
		if err != nil {
			return nil, err
		}
		r.addField(node, seen, Field{Key: key, KeyPos: keyPos, Value: value})
	}
	if _, _, err := r.token(); err != nil {
		return nil, err
	}
	return r.finishMap(node, amongConditions), nil
}

// conditionSection reports whether {"Condition": "X"} in a section names a condition.
func conditionSection(section string) bool {
	return section == "Conditions" || section == "Rules"
}
