package iampolicy

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// condition compares a condition key of the request with the values of a policy.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
type condition struct {
	// key is in lower case, name is as in the policy.
	key, name string
	values    []string
	operator  operator
	// quantifier is ForAllValues, ForAnyValue or empty.
	quantifier string
	// ifExists makes the condition hold if the request does not have the key.
	ifExists bool
}

// operator compares one value of a request with one of a policy. A value of the policy or of the
// request that is not of the operator's type matches nothing.
type operator struct {
	matches func(policy, request string) bool
	// negated operators hold if no value of the policy matches.
	negated bool
	// null is the operator Null, which checks whether the request has the key.
	null bool
	// variables of values are substituted.
	variables bool
	// valid returns an error for a value of a policy that is not of the operator's type.
	valid func(policy string) error
}

// Quantifiers of operators for keys with several values.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-single-vs-multi-valued-context-keys.html
const (
	forAllValues = "ForAllValues"
	forAnyValue  = "ForAnyValue"
)

var operators = map[string]operator{
	"StringEquals":              {matches: equal, variables: true},
	"StringNotEquals":           {matches: equal, negated: true, variables: true},
	"StringEqualsIgnoreCase":    {matches: equalFold, variables: true},
	"StringNotEqualsIgnoreCase": {matches: equalFold, negated: true, variables: true},
	"StringLike":                {matches: like, variables: true},
	"StringNotLike":             {matches: like, negated: true, variables: true},
	"ArnEquals":                 {matches: likeEachSegment, variables: true},
	"ArnNotEquals":              {matches: likeEachSegment, negated: true, variables: true},
	"ArnLike":                   {matches: likeEachSegment, variables: true},
	"ArnNotLike":                {matches: likeEachSegment, negated: true, variables: true},
	"NumericEquals":             number(func(c int) bool { return c == 0 }, false),
	"NumericNotEquals":          number(func(c int) bool { return c == 0 }, true),
	"NumericLessThan":           number(func(c int) bool { return c < 0 }, false),
	"NumericLessThanEquals":     number(func(c int) bool { return c <= 0 }, false),
	"NumericGreaterThan":        number(func(c int) bool { return c > 0 }, false),
	"NumericGreaterThanEquals":  number(func(c int) bool { return c >= 0 }, false),
	"DateEquals":                date(func(c int) bool { return c == 0 }, false),
	"DateNotEquals":             date(func(c int) bool { return c == 0 }, true),
	"DateLessThan":              date(func(c int) bool { return c < 0 }, false),
	"DateLessThanEquals":        date(func(c int) bool { return c <= 0 }, false),
	"DateGreaterThan":           date(func(c int) bool { return c > 0 }, false),
	"DateGreaterThanEquals":     date(func(c int) bool { return c >= 0 }, false),
	"Bool":                      {matches: equalFold, valid: isBool},
	"BinaryEquals":              {matches: equal, valid: isBinary},
	"IpAddress":                 {matches: inRange, valid: isRange},
	"NotIpAddress":              {matches: inRange, negated: true, valid: isRange},
	"Null":                      {null: true, valid: isBool},
}

func equal(policy, request string) bool { return literals.Replace(policy) == request }

func equalFold(policy, request string) bool {
	return strings.EqualFold(literals.Replace(policy), request)
}

func isBool(value string) error {
	if strings.EqualFold(value, "true") || strings.EqualFold(value, "false") {
		return nil
	}
	return fmt.Errorf("%q is not true or false", value)
}

func isBinary(value string) error {
	_, err := base64.StdEncoding.DecodeString(value)
	return err
}

func number(holds func(request int) bool, negated bool) operator {
	return ordered(func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }, func(a, b float64) int {
		switch {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	}, holds, negated)
}

func date(holds func(request int) bool, negated bool) operator {
	return ordered(parseDate, time.Time.Compare, holds, negated)
}

// ordered returns an operator on values that parse reads. holds decides by how the request's value
// compares with the policy's.
func ordered[T any](parse func(string) (T, error), compare func(a, b T) int, holds func(request int) bool, negated bool) operator {
	return operator{
		negated: negated,
		matches: func(policy, request string) bool {
			want, err := parse(policy)
			if err != nil {
				return false
			}
			got, err := parse(request)
			return err == nil && holds(compare(got, want))
		},
		valid: func(policy string) error {
			_, err := parse(policy)
			return err
		},
	}
}

// parseDate parses a date of ISO 8601 or seconds since 1970.
// https://www.w3.org/TR/NOTE-datetime
func parseDate(text string) (time.Time, error) {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && len(text) > len("2006") {
		return time.Unix(seconds, 0), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", time.DateOnly, "2006-01", "2006"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a date of ISO 8601", text)
}

func parseRange(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		return netip.ParsePrefix(text)
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.PrefixFrom(address, address.BitLen()), nil
}

func isRange(value string) error {
	_, err := parseRange(value)
	return err
}

func inRange(policy, request string) bool {
	within, err := parseRange(policy)
	if err != nil {
		return false
	}
	address, err := netip.ParseAddr(request)
	return err == nil && within.Contains(address)
}

// parseCondition parses one key of an operator. It returns an error if the operator does not exist,
// or for a value that the operator cannot compare.
func parseCondition(name, key string, values []string) (condition, error) {
	c := condition{key: strings.ToLower(key), name: key, values: values}
	base := name
	if quantifier, rest, ok := strings.Cut(name, ":"); ok {
		if quantifier != forAllValues && quantifier != forAnyValue {
			return c, fmt.Errorf("the condition operator %s does not exist", name)
		}
		c.quantifier, base = quantifier, rest
	}
	trimmed := strings.TrimSuffix(base, "IfExists")
	c.ifExists = trimmed != base
	var ok bool
	if c.operator, ok = operators[trimmed]; !ok || c.operator.null && (c.ifExists || c.quantifier != "") {
		return c, fmt.Errorf("the condition operator %s does not exist", name)
	}
	if len(values) == 0 {
		return c, fmt.Errorf("the condition %s on %s has no value", name, key)
	}
	if c.operator.valid != nil {
		for _, value := range values {
			if err := c.operator.valid(value); err != nil {
				return c, fmt.Errorf("the condition %s on %s: %w", name, key, err)
			}
		}
	}
	return c, nil
}

// holds reports whether the condition holds for a request. variables says whether policy variables
// of the values are substituted.
func (c *condition) holds(r *Request, variables bool) bool {
	request := r.values(c.key)
	if c.operator.null {
		// "Null": {"key": "true"} holds if the request does not have the key.
		return slices.ContainsFunc(c.values, func(value string) bool { return strings.EqualFold(value, "true") == (len(request) == 0) })
	}
	if len(request) == 0 {
		switch {
		case c.ifExists, c.quantifier == forAllValues:
			return true
		case c.quantifier == forAnyValue:
			return false
		}
		return c.operator.negated
	}
	values := c.values
	if variables && c.operator.variables {
		values = nil
		for _, value := range c.values {
			if value, ok := r.substitute(value); ok {
				values = append(values, value)
			}
		}
	}
	holds := func(got string) bool {
		return slices.ContainsFunc(values, func(want string) bool { return c.operator.matches(want, got) }) != c.operator.negated
	}
	// Without a quantifier, a negated operator must hold for all values, and any other for one.
	if c.quantifier == forAllValues || c.quantifier == "" && c.operator.negated {
		return !slices.ContainsFunc(request, func(got string) bool { return !holds(got) })
	}
	return slices.ContainsFunc(request, holds)
}
