package dynamodb

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// longTypes are the names of types in errors about update expressions.
var longTypes = map[string]string{
	"S": "STRING", "N": "NUMBER", "B": "BINARY", "BOOL": "BOOLEAN", "NULL": "NULL", "M": "MAP", "L": "LIST",
	"SS": "STRING_SET", "NS": "NUMBER_SET", "BS": "BINARY_SET",
}

// parseUpdate parses an update expression; an empty text is an update of nothing.
func parseUpdate(text *string, given *placeholders) (*update, error) {
	u := &update{}
	if text == nil {
		return u, nil
	}
	p, err := newParser(updateExpression, *text, given)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for p.peek().kind != tokenEnd {
		section := strings.ToUpper(p.peek().text)
		if seen[section] {
			return nil, p.refuse("The %q section can only be used once in an update expression;", section)
		}
		seen[section] = true
		if err := p.section(section, u); err != nil {
			return nil, err
		}
	}
	return u, checkDisjoint(updateExpression, u.paths)
}

func (p *parser) section(section string, u *update) error {
	actions := map[string]func(*update, path) error{
		"SET": p.setAction, "REMOVE": p.removeAction, "ADD": p.addAction, "DELETE": p.deleteAction,
	}
	action, known := actions[section]
	if !known || p.peek().kind != tokenWord {
		return p.syntaxError()
	}
	p.take()
	for {
		to, err := p.path()
		if err != nil {
			return err
		}
		u.paths = append(u.paths, to)
		if err := action(u, to); err != nil {
			return err
		}
		if !p.accept(",") {
			return nil
		}
	}
}

func (p *parser) setAction(u *update, to path) error {
	if err := p.expect("="); err != nil {
		return err
	}
	left, err := p.source()
	if err != nil {
		return err
	}
	if t := p.peek(); t.text == "+" || t.text == "-" {
		p.take()
		right, err := p.source()
		if err != nil {
			return err
		}
		if err := p.checkSources(t.text, "N", left, right); err != nil {
			return err
		}
		left = arithmetic{minus: t.text == "-", left: left, right: right}
	}
	u.set = append(u.set, assignment{to, left})
	return nil
}

func (p *parser) removeAction(u *update, to path) error {
	u.remove = append(u.remove, to)
	return nil
}

func (p *parser) addAction(u *update, to path) error {
	v, err := p.actionValue("ADD", "ALLOWED_FOR_ADD_OPERAND", "N SS NS BS")
	u.add = append(u.add, delta{to, v})
	return err
}

func (p *parser) deleteAction(u *update, to path) error {
	v, err := p.actionValue("DELETE", "ALLOWED_FOR_DELETE_OPERAND", "SS NS BS")
	u.without = append(u.without, delta{to, v})
	return err
}

func (p *parser) actionValue(operator, typeSet, allowed string) (types.AttributeValue, error) {
	if p.peek().kind != tokenValue {
		return nil, p.syntaxError()
	}
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	if !strings.Contains(" "+allowed+" ", " "+typeOf(v)+" ") {
		return nil, p.refuse("Incorrect operand type for operator or function; operator: %s, operand type: %s, typeSet: %s",
			operator, longTypes[typeOf(v)], typeSet)
	}
	return v, nil
}

// source parses an operand of SET: a value, a path or a function of them.
func (p *parser) source() (source, error) {
	switch {
	case p.peek().kind == tokenValue:
		v, err := p.value()
		return literal{v}, err
	case p.accept("("):
		inner, err := p.source()
		if err != nil {
			return nil, err
		}
		return inner, p.expect(")")
	case p.atFunction():
		return p.sourceFunction()
	}
	return p.path()
}

func (p *parser) sourceFunction() (source, error) {
	name := p.take().text
	if name != "if_not_exists" && name != "list_append" {
		if _, known := functionArity[name]; known || name == "size" {
			return nil, p.refuse("The function is not allowed in an update expression; function: %s", name)
		}
		return nil, p.refuse("Invalid function name; function: %s", name)
	}
	p.take()
	args, err := p.sources()
	if err != nil {
		return nil, err
	}
	if len(args) != 2 {
		return nil, p.refuse(
			"Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", name, len(args),
		)
	}
	if name == "list_append" {
		return listAppend{args[0], args[1]}, p.checkSources(name, "L", args...)
	}
	at, isPath := args[0].(path)
	if !isPath {
		return nil, p.refuse("Operator or function requires a document path; operator or function: %s", name)
	}
	return ifNotExists{at, args[1]}, nil
}

func (p *parser) sources() ([]source, error) {
	var out []source
	for {
		s, err := p.source()
		if err != nil {
			return nil, err
		}
		out = append(out, s)
		if !p.accept(",") {
			return out, p.expect(")")
		}
	}
}

// checkSources rejects values of types that the operator does not accept.
func (p *parser) checkSources(operator, want string, of ...source) error {
	for _, s := range of {
		if l, ok := s.(literal); ok && typeOf(l.value) != want {
			return p.refuse(
				"Incorrect operand type for operator or function; operator or function: %s, operand type: %s", operator, typeOf(l.value),
			)
		}
	}
	return nil
}
