package pattern

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// condition reports whether a leaf value, or its absence, matches.
type condition func(value any, present bool) bool

func parseCondition(item any) (condition, error) {
	operators, ok := item.(map[string]any)
	if !ok {
		return exact(item)
	}
	if len(operators) == 1 {
		for name, argument := range operators {
			return parseOperator(name, argument)
		}
	}
	return nil, fmt.Errorf("a match expression has exactly one operator")
}

func parseOperator(name string, argument any) (condition, error) {
	switch name {
	case "exists":
		want, ok := argument.(bool)
		if !ok {
			return nil, fmt.Errorf("exists takes true or false")
		}
		return func(_ any, present bool) bool { return present == want }, nil
	case "numeric":
		return parseNumeric(argument)
	case "anything-but":
		return parseAnythingBut(argument)
	case "cidr":
		return parseCIDR(argument)
	default:
		return parseText(name, argument)
	}
}

// parseText parses the operators on strings.
func parseText(name string, argument any) (condition, error) {
	fold := false
	if object, ok := argument.(map[string]any); ok && (name == "prefix" || name == "suffix") {
		argument, fold = object["equals-ignore-case"], true
	}
	text, ok := argument.(string)
	if !ok {
		return nil, fmt.Errorf("%s takes a string", name)
	}
	if fold {
		text = strings.ToLower(text)
	}
	var holds func(string) bool
	switch name {
	case "prefix":
		holds = func(s string) bool { return strings.HasPrefix(s, text) }
	case "suffix":
		holds = func(s string) bool { return strings.HasSuffix(s, text) }
	case "equals-ignore-case":
		holds = func(s string) bool { return strings.EqualFold(s, text) }
	case "wildcard":
		holds = func(s string) bool { return wildcard(text, s) }
	default:
		return nil, fmt.Errorf("unrecognized match type %s", name)
	}
	return func(value any, present bool) bool {
		s, ok := value.(string)
		if fold {
			s = strings.ToLower(s)
		}
		return present && ok && holds(s)
	}, nil
}

func exact(want any) (condition, error) {
	switch w := want.(type) {
	case string, bool, nil:
		return func(value any, present bool) bool { return present && value == w }, nil
	case json.Number:
		number, err := w.Float64()
		if err != nil {
			return nil, fmt.Errorf("%s is not a number", w)
		}
		return func(value any, present bool) bool {
			n, ok := asNumber(value)
			return present && ok && n == number
		}, nil
	default:
		return nil, fmt.Errorf("match value must be String, number, true, false, or null")
	}
}

func asNumber(value any) (float64, bool) {
	switch v := value.(type) {
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case float64:
		return v, true
	case int:
		return float64(v), true
	default:
		return 0, false
	}
}

func parseAnythingBut(argument any) (condition, error) {
	if object, ok := argument.(map[string]any); ok {
		// {"anything-but": {"prefix": ["a", "b"]}} lists the operator's arguments.
		for name, inner := range object {
			if inners, ok := inner.([]any); ok {
				return parseAnythingButEach(name, inners)
			}
		}
	}
	list, isList := argument.([]any)
	if !isList {
		list = []any{argument}
	}
	var not []condition
	for _, item := range list {
		c, err := parseCondition(item)
		if err != nil {
			return nil, err
		}
		not = append(not, c)
	}
	return noneOf(not), nil
}

func parseAnythingButEach(name string, arguments []any) (condition, error) {
	var not []condition
	for _, argument := range arguments {
		c, err := parseOperator(name, argument)
		if err != nil {
			return nil, err
		}
		not = append(not, c)
	}
	return noneOf(not), nil
}

func noneOf(not []condition) condition {
	return func(value any, present bool) bool {
		if !present {
			return false
		}
		for _, c := range not {
			if c(value, true) {
				return false
			}
		}
		return true
	}
}

func parseNumeric(argument any) (condition, error) {
	list, ok := argument.([]any)
	if !ok || len(list) == 0 || len(list)%2 != 0 {
		return nil, fmt.Errorf("numeric takes a list of operators and numbers")
	}
	type bound struct {
		operator string
		number   float64
	}
	var bounds []bound
	for i := 0; i < len(list); i += 2 {
		operator, _ := list[i].(string)
		number, ok := asNumber(list[i+1])
		if !ok || !slices.Contains([]string{"=", "<", "<=", ">", ">="}, operator) {
			return nil, fmt.Errorf("numeric takes =, <, <=, >, >= and a number")
		}
		bounds = append(bounds, bound{operator, number})
	}
	return func(value any, present bool) bool {
		n, ok := asNumber(value)
		if !present || !ok {
			return false
		}
		for _, b := range bounds {
			if !compare(n, b.operator, b.number) {
				return false
			}
		}
		return true
	}, nil
}

func compare(n float64, operator string, bound float64) bool {
	switch operator {
	case "=":
		return n == bound
	case "<":
		return n < bound
	case "<=":
		return n <= bound
	case ">":
		return n > bound
	default:
		return n >= bound
	}
}

func parseCIDR(argument any) (condition, error) {
	text, _ := argument.(string)
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return nil, fmt.Errorf("malformed CIDR: %w", err)
	}
	return func(value any, present bool) bool {
		s, _ := value.(string)
		address, err := netip.ParseAddr(s)
		return present && err == nil && prefix.Contains(address)
	}, nil
}

// wildcard matches * to any sequence of characters; \* is a literal asterisk.
func wildcard(pattern, s string) bool {
	parts, escaped := []string{""}, false
	for _, c := range pattern {
		last := len(parts) - 1
		switch {
		case escaped:
			parts[last] += string(c)
			escaped = false
		case c == '\\':
			escaped = true
		case c == '*':
			parts = append(parts, "")
		default:
			parts[last] += string(c)
		}
	}
	if len(parts) == 1 {
		return s == parts[0]
	}
	rest, ok := strings.CutPrefix(s, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}
