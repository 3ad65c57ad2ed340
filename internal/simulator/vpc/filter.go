package vpc

import (
	"cmp"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Fields are the filters of a Describe operation: functions that return a resource's values, by the
// filter's name. tag:KEY, tag-key and tag-value need no field.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Filtering.html
type Fields[T any] map[string]func(T) []string

// one is a condition of a filter.
type one struct {
	name string
	// tag is the key in a filter tag:KEY.
	tag   string
	isTag bool
	// plain are the literal values; patterns are the others.
	plain    []string
	patterns []*regexp.Regexp
}

// Compile returns a function that reports whether a resource with its tags passes all filters. A
// filter that the operation does not support is InvalidParameterValue.
func (f Fields[T]) Compile(filters []types.Filter) (func(T, map[string]string) bool, error) {
	conditions := make([]one, 0, len(filters))
	for _, filter := range filters {
		name := aws.ToString(filter.Name)
		if _, ok := f[name]; !ok && name != "tag-key" && name != "tag-value" && !strings.HasPrefix(name, "tag:") {
			return nil, wire.Errorf("InvalidParameterValue", "The filter '%s' is invalid", name)
		}
		if len(filter.Values) == 0 {
			return nil, wire.Errorf("InvalidParameterValue", "The filter '%s' has no values", name)
		}
		c := one{name: name}
		c.tag, c.isTag = strings.CutPrefix(name, "tag:")
		for _, value := range filter.Values {
			if strings.ContainsAny(value, special) {
				c.patterns = append(c.patterns, wildcards(value))
			} else {
				c.plain = append(c.plain, value)
			}
		}
		conditions = append(conditions, c)
	}
	return func(resource T, tags map[string]string) bool {
		for i := range conditions {
			if !f.pass(&conditions[i], resource, tags) {
				return false
			}
		}
		return true
	}, nil
}

// pass reports whether a resource satisfies a condition.
func (f Fields[T]) pass(c *one, resource T, tags map[string]string) bool {
	if c.isTag {
		value, ok := tags[c.tag]
		return ok && c.passes(value)
	}
	return slices.ContainsFunc(f.valuesOf(c.name, resource, tags), c.passes)
}

func (f Fields[T]) valuesOf(name string, resource T, tags map[string]string) []string {
	var values []string
	switch name {
	case "tag-key":
		for key := range tags {
			values = append(values, key)
		}
	case "tag-value":
		for _, value := range tags {
			values = append(values, value)
		}
	default:
		return f[name](resource)
	}
	return values
}

func (c *one) passes(value string) bool {
	return slices.Contains(c.plain, value) ||
		slices.ContainsFunc(c.patterns, func(want *regexp.Regexp) bool { return want.MatchString(value) })
}

// special are the special characters of a filter's value.
const special = `*?\`

// wildcards converts a filter's value to a pattern: * matches any characters, ? matches one, and a
// backslash escapes either.
func wildcards(value string) *regexp.Regexp {
	var buf strings.Builder
	buf.WriteString(`(?s)^`)
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '*':
			buf.WriteString(`.*`)
		case c == '?':
			buf.WriteByte('.')
		case c == '\\' && i+1 < len(value):
			i++
			buf.WriteString(regexp.QuoteMeta(value[i : i+1]))
		case c < 0x80:
			buf.WriteString(regexp.QuoteMeta(string(rune(c))))
		default:
			buf.WriteByte(c)
		}
	}
	buf.WriteByte('$')
	if p, err := regexp.Compile(buf.String()); err == nil {
		return p
	}
	return regexp.MustCompile(`^` + regexp.QuoteMeta(value) + `$`)
}

// minPage and maxPage are the bounds of a page's size in EC2's Describe operations.
const minPage, maxPage = 5, 1000

// Page returns one page of the results of a Describe operation, ordered by ID, and the token of the
// next page. Without maxResults there is one page.
func Page[T any](found []T, id func(T) string, maxResults *int32, token *string) (page []T, next *string, err error) {
	slices.SortFunc(found, func(a, b T) int { return cmp.Compare(id(a), id(b)) })
	if aws.ToString(token) != "" {
		last, err := base64.RawURLEncoding.DecodeString(*token)
		if err != nil {
			return nil, nil, wire.Errorf("InvalidNextToken", "The token '%s' is invalid", *token)
		}
		start := slices.IndexFunc(found, func(x T) bool { return id(x) > string(last) })
		if start < 0 {
			return nil, nil, nil
		}
		found = found[start:]
	}
	if maxResults == nil || *maxResults == 0 {
		return found, nil, nil
	}
	if *maxResults < minPage {
		return nil, nil, wire.Errorf(
			"InvalidParameterValue", "Value ( %d ) for parameter maxResults is invalid. Expecting a value greater than 4.", *maxResults,
		)
	}
	if size := min(int(*maxResults), maxPage); len(found) > size {
		return found[:size], aws.String(base64.RawURLEncoding.EncodeToString([]byte(id(found[size-1])))), nil
	}
	return found, nil, nil
}
