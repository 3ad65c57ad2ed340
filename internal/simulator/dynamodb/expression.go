package dynamodb

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The names of the expression parameters in error messages.
const (
	conditionExpression    = "ConditionExpression"
	filterExpression       = "FilterExpression"
	keyConditionExpression = "KeyConditionExpression"
	projectionExpression   = "ProjectionExpression"
	updateExpression       = "UpdateExpression"
)

// maxExpression is the maximum length of an expression:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-expression-parameters
const maxExpression = 4096

// placeholders are the names and values of a request's expressions, and which of them are used.
type placeholders struct {
	names       map[string]string
	values      attributes
	used        map[string]bool
	paths       map[string][]path // by kind of expression
	expressions bool
}

// newPlaceholders checks the names and values of a request.
func newPlaceholders(names map[string]string, values attributes) (*placeholders, error) {
	if names != nil && len(names) == 0 {
		return nil, invalid("ExpressionAttributeNames must not be empty")
	}
	if values != nil && len(values) == 0 {
		return nil, invalid("ExpressionAttributeValues must not be empty")
	}
	for key := range names {
		if wordEnd(strings.TrimPrefix(key, "#"), 0) != len(key)-1 || key[0] != '#' {
			return nil, invalid("ExpressionAttributeNames contains invalid key: Syntax error; key: %q", key)
		}
	}
	checked := make(attributes, len(values))
	for key, v := range values {
		if key == "" || key[0] != ':' || wordEnd(key, 1) != len(key) {
			return nil, invalid("ExpressionAttributeValues contains invalid key: Syntax error; key: %q", key)
		}
		c, err := checkedValue(v, 0)
		if err != nil {
			return nil, invalid("ExpressionAttributeValues contains invalid value: %s for key %s", messageOf(err), key)
		}
		checked[key] = c
	}
	return &placeholders{names: names, values: checked, used: map[string]bool{}, paths: map[string][]path{}}, nil
}

// checkUsed rejects placeholders that no expression uses.
func (p *placeholders) checkUsed() error {
	if !p.expressions {
		if len(p.names) > 0 {
			return invalid("ExpressionAttributeNames can only be specified when using expressions")
		}
		if len(p.values) > 0 {
			return invalid("ExpressionAttributeValues can only be specified when using expressions")
		}
	}
	if unused := p.unused(slices.Sorted(maps.Keys(p.values))); unused != "" {
		return invalid("Value provided in ExpressionAttributeValues unused in expressions: keys: {%s}", unused)
	}
	if unused := p.unused(slices.Sorted(maps.Keys(p.names))); unused != "" {
		return invalid("Value provided in ExpressionAttributeNames unused in expressions: keys: {%s}", unused)
	}
	return nil
}

func (p *placeholders) unused(keys []string) string {
	return strings.Join(slices.DeleteFunc(keys, func(key string) bool { return p.used[key] }), ", ")
}

// parser parses one expression by recursive descent.
type parser struct {
	kind   string
	text   string
	tokens []token
	next   int
	given  *placeholders
}

func newParser(kind, text string, given *placeholders) (*parser, error) {
	given.expressions = true
	p := &parser{kind: kind, text: text, given: given}
	if strings.TrimSpace(text) == "" {
		return nil, p.refuse("The expression can not be empty;")
	}
	if len(text) > maxExpression {
		return nil, p.refuse("Expression size has exceeded the maximum allowed size; expression size: %d", len(text))
	}
	var ok bool
	if p.tokens, ok = tokenize(text); !ok {
		p.next = len(p.tokens) - 1
		return nil, p.syntaxError()
	}
	return p, nil
}

func (p *parser) refuse(format string, args ...any) error {
	return invalid("Invalid %s: %s", p.kind, fmt.Sprintf(format, args...))
}

// syntaxError names the unexpected token and its neighbors.
func (p *parser) syntaxError() error {
	t := p.tokens[p.next]
	from, to := t.start, t.end
	if p.next > 0 {
		from = p.tokens[p.next-1].start
	}
	if p.next+1 < len(p.tokens) {
		to = p.tokens[p.next+1].end
	}
	return p.refuse("Syntax error; token: %q, near: %q", t.text, p.text[from:to])
}

func (p *parser) peek() token { return p.tokens[p.next] }

func (p *parser) take() token {
	t := p.tokens[p.next]
	if t.kind != tokenEnd {
		p.next++
	}
	return t
}

// accept consumes the next token if it is the symbol.
func (p *parser) accept(symbol string) bool {
	if t := p.peek(); t.kind == tokenSymbol && t.text == symbol {
		p.next++
		return true
	}
	return false
}

// acceptWord consumes the next token if it is the keyword.
func (p *parser) acceptWord(keyword string) bool {
	if p.peek().is(keyword) {
		p.next++
		return true
	}
	return false
}

func (p *parser) expect(symbol string) error {
	if !p.accept(symbol) {
		return p.syntaxError()
	}
	return nil
}

func (p *parser) expectEnd() error {
	if p.peek().kind != tokenEnd {
		return p.syntaxError()
	}
	return nil
}

// path parses a document path and records it.
func (p *parser) path() (path, error) {
	out, err := p.documentPath()
	p.given.paths[p.kind] = append(p.given.paths[p.kind], out)
	return out, err
}

// documentPath parses name or #name, followed by .name and [n].
func (p *parser) documentPath() (path, error) {
	first, err := p.name()
	if err != nil {
		return nil, err
	}
	out := path{{key: first}}
	for {
		switch {
		case p.accept("."):
			key, err := p.name()
			if err != nil {
				return nil, err
			}
			out = append(out, step{key: key})
		case p.accept("["):
			if p.peek().kind != tokenNumber {
				return nil, p.syntaxError()
			}
			position, err := strconv.Atoi(p.take().text)
			if err != nil {
				return nil, p.refuse("List index is not within the allowable range; index: [%s]", p.tokens[p.next-1].text)
			}
			if err := p.expect("]"); err != nil {
				return nil, err
			}
			out = append(out, step{position: position})
		default:
			return out, nil
		}
	}
}

func (p *parser) name() (string, error) {
	switch t := p.peek(); t.kind {
	case tokenName:
		p.take()
		name, found := p.given.names[t.text]
		if !found {
			return "", p.refuse("An expression attribute name used in the document path is not defined; attribute name: %s", t.text)
		}
		p.given.used[t.text] = true
		return name, nil
	case tokenWord:
		if isReserved(t.text) {
			return "", p.refuse("Attribute name is a reserved keyword; reserved keyword: %s", t.text)
		}
		p.take()
		return t.text, nil
	default:
		return "", p.syntaxError()
	}
}

func (p *parser) value() (types.AttributeValue, error) {
	t := p.take()
	v, found := p.given.values[t.text]
	if !found {
		return nil, p.refuse("An expression attribute value used in expression is not defined; attribute value: %s", t.text)
	}
	p.given.used[t.text] = true
	return v, nil
}

// parseProjection parses a comma-separated list of paths.
func parseProjection(text *string, given *placeholders) ([]path, error) {
	if text == nil {
		return nil, nil
	}
	p, err := newParser(projectionExpression, *text, given)
	if err != nil {
		return nil, err
	}
	var out []path
	for {
		one, err := p.path()
		if err != nil {
			return nil, err
		}
		out = append(out, one)
		if !p.accept(",") {
			break
		}
	}
	if err := p.expectEnd(); err != nil {
		return nil, err
	}
	return out, checkDisjoint(projectionExpression, out)
}
