package dynamodb

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// comparators in the order of their spelling.
var comparators = []string{"=", "<>", "<", "<=", ">", ">="}

// functionArity is the number of operands of each function in conditions.
var functionArity = map[string]int{
	"attribute_exists": 1, "attribute_not_exists": 1, "attribute_type": 2, "begins_with": 2, "contains": 2,
}

// parseCondition parses a condition of the given kind; an empty text is no condition.
func parseCondition(kind string, text *string, given *placeholders) (condition, error) {
	if text == nil {
		return nil, nil
	}
	p, err := newParser(kind, *text, given)
	if err != nil {
		return nil, err
	}
	c, err := p.either()
	if err != nil {
		return nil, err
	}
	return c, p.expectEnd()
}

func (p *parser) either() (condition, error) {
	left, err := p.both()
	for err == nil && p.acceptWord("OR") {
		var right condition
		right, err = p.both()
		left = anyOf{left, right}
	}
	return left, err
}

func (p *parser) both() (condition, error) {
	left, err := p.unary()
	for err == nil && p.acceptWord("AND") {
		var right condition
		right, err = p.unary()
		left = allOf{left, right}
	}
	return left, err
}

func (p *parser) unary() (condition, error) {
	if p.acceptWord("NOT") {
		inner, err := p.unary()
		return negated{inner}, err
	}
	if p.peek().text == "(" {
		return p.parenthesized()
	}
	return p.predicate()
}

// parenthesized parses ( condition ). Like DynamoDB, it rejects a second pair of parentheses around
// the same condition.
func (p *parser) parenthesized() (condition, error) {
	open := p.next
	p.take()
	inner, err := p.either()
	if err != nil {
		return nil, err
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	if p.wrapsParentheses(open+1, p.next-2) {
		return nil, p.refuse("The expression has redundant parentheses;")
	}
	return inner, nil
}

// wrapsParentheses reports whether one pair of parentheses encloses the tokens from..to.
func (p *parser) wrapsParentheses(from, to int) bool {
	if p.tokens[from].text != "(" || p.tokens[to].text != ")" {
		return false
	}
	depth := 0
	for i := from; i < to; i++ {
		switch p.tokens[i].text {
		case "(":
			depth++
		case ")":
			depth--
		}
		if depth == 0 {
			return false
		}
	}
	return true
}

func (p *parser) predicate() (condition, error) {
	if p.atFunction() && p.peek().text != "size" {
		return p.function()
	}
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	switch {
	case p.acceptWord("BETWEEN"):
		return p.between(left)
	case p.acceptWord("IN"):
		return p.oneOf(left)
	case p.peek().kind == tokenSymbol && slices.Contains(comparators, p.peek().text):
		return p.comparison(left)
	}
	return nil, p.syntaxError()
}

func (p *parser) atFunction() bool {
	return p.peek().kind == tokenWord && p.tokens[p.next+1].text == "("
}

func (p *parser) comparison(left operand) (condition, error) {
	op := p.take().text
	right, err := p.operand()
	if err != nil {
		return nil, err
	}
	c := compare{op: op, left: left, right: right}
	if op == "=" || op == "<>" {
		return c, nil
	}
	return c, p.checkOrdered(op, left, right)
}

func (p *parser) between(what operand) (condition, error) {
	low, err := p.operand()
	if err != nil {
		return nil, err
	}
	if !p.acceptWord("AND") {
		return nil, p.syntaxError()
	}
	high, err := p.operand()
	if err != nil {
		return nil, err
	}
	if err := p.checkOrdered("BETWEEN", what, low, high); err != nil {
		return nil, err
	}
	return between{what, low, high}, p.checkBounds(low, high)
}

// checkBounds rejects BETWEEN with a lower bound above the upper one.
func (p *parser) checkBounds(low, high operand) error {
	l, lowIsLiteral := low.(literal)
	h, highIsLiteral := high.(literal)
	if !lowIsLiteral || !highIsLiteral {
		return nil
	}
	if typeOf(l.value) != typeOf(h.value) {
		return p.refuse(
			"The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {%s}, upper bound operand: AttributeValue: {%s}",
			describe(l.value),
			describe(h.value),
		)
	}
	if compares(">", l.value, h.value) {
		return p.refuse(
			"The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {%s}, upper bound operand: AttributeValue: {%s}",
			describe(l.value),
			describe(h.value),
		)
	}
	return nil
}

func describe(v types.AttributeValue) string {
	text := ""
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		text = v.Value
	case *types.AttributeValueMemberN:
		text = v.Value
	}
	return typeOf(v) + ":" + text
}

// checkOrdered rejects values of types without an order.
func (p *parser) checkOrdered(op string, operands ...operand) error {
	for _, o := range operands {
		if l, ok := o.(literal); ok {
			if _, ordered := sortKeyOf(l.value); !ordered {
				return p.refuse(
					"Incorrect operand type for operator or function; operator or function: %s, operand type: %s", op, typeOf(l.value),
				)
			}
		}
	}
	return nil
}

func (p *parser) oneOf(what operand) (condition, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	of, err := p.operands()
	if err != nil {
		return nil, err
	}
	if len(of) > 100 {
		return nil, p.refuse("The IN operator is provided with too many operands; number of operands: %d", len(of))
	}
	return oneOf{what, of}, nil
}

// operands parses a comma-separated list up to the closing parenthesis.
func (p *parser) operands() ([]operand, error) {
	var out []operand
	for {
		o, err := p.operand()
		if err != nil {
			return nil, err
		}
		out = append(out, o)
		if !p.accept(",") {
			return out, p.expect(")")
		}
	}
}

func (p *parser) operand() (operand, error) {
	if p.peek().kind == tokenValue {
		v, err := p.value()
		return literal{v}, err
	}
	if !p.atFunction() {
		return p.path()
	}
	if p.peek().text != "size" {
		return nil, p.refuse("The function is not allowed to be used this way in an expression; function: %s", p.peek().text)
	}
	p.next += 2
	args, err := p.operands()
	if err != nil {
		return nil, err
	}
	if len(args) != 1 {
		return nil, p.refuse(
			"Incorrect number of operands for operator or function; operator or function: size, number of operands: %d", len(args),
		)
	}
	if of, ok := args[0].(path); ok {
		return sized{of}, nil
	}
	if l, ok := args[0].(literal); ok && sizeFunction(l.value) != nil {
		return literal{sizeFunction(l.value)}, nil
	}
	return nil, p.refuse(
		"Incorrect operand type for operator or function; operator or function: size, operand type: %s", typeOf(args[0].of(nil)),
	)
}

func (p *parser) function() (condition, error) {
	name := p.take().text
	p.take()
	arity, known := functionArity[name]
	if !known {
		return nil, p.refuse("Invalid function name; function: %s", name)
	}
	args, err := p.operands()
	if err != nil {
		return nil, err
	}
	if len(args) != arity {
		return nil, p.refuse(
			"Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", name, len(args),
		)
	}
	return call{name, args}, p.checkArguments(name, args)
}

func (p *parser) checkArguments(name string, args []operand) error {
	if _, isPath := args[0].(path); !isPath && strings.HasPrefix(name, "attribute_") {
		return p.refuse("Operator or function requires a document path; operator or function: %s", name)
	}
	if len(args) < 2 {
		return nil
	}
	l, isLiteral := args[1].(literal)
	if !isLiteral {
		return nil
	}
	kind := typeOf(l.value)
	switch {
	case name == "begins_with" && kind != "S" && kind != "B",
		name == "attribute_type" && kind != "S":
		return p.refuse("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", name, kind)
	case name == "attribute_type":
		want := l.value.(*types.AttributeValueMemberS).Value
		if !slices.Contains([]string{"S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"}, want) {
			return p.refuse("Invalid attribute type name found; type: %s, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}", want)
		}
	}
	return nil
}
