package schema

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

func index(i int) string { return strconv.Itoa(i) }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// articles are the JSON types with articles, for messages.
var articles = map[string]string{
	"string": "a string", "number": "a number", "integer": "an integer", "boolean": "a boolean",
	"array": "a list", "object": "a map", "null": "null",
}

func oneOfTypes(types []string) string {
	var names []string
	for _, one := range types {
		if name := articles[one]; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

func plural(types []string) string {
	names := strings.Split(oneOfTypes(types), " or ")
	for i, name := range names {
		_, noun, _ := strings.Cut(name, " ")
		names[i] = noun + "s"
	}
	return strings.Join(names, " or ")
}

// scalar validates a literal string, number or boolean. CloudFormation converts between these, so
// the text must only be readable as one of the allowed types.
func (c *check) scalar(n *template.Node, p *Property, path []string) {
	text, _ := n.Scalar()
	if len(p.Types) > 0 && !slices.ContainsFunc(p.Types, func(one string) bool { return readsAs(text, one) }) {
		if slices.Contains(p.Types, "object") && p.Format == "json" {
			return
		}
		c.problem(n.Pos, path, c.subject(path)+" must be "+oneOfTypes(p.Types)+", not "+shown(n, text), "")
		return
	}
	if strings.Contains(text, "{{resolve:") {
		// AWS inserts the value of a dynamic reference.
		return
	}
	c.enum(n, text, p, path)
	if slices.Contains(p.Types, "number") || slices.Contains(p.Types, "integer") {
		c.bounds(n, text, p, path)
	}
	if p.Allows("string") {
		c.length(n, text, p, path)
	}
}

// shown quotes a scalar as it was written.
func shown(n *template.Node, text string) string {
	if n.Kind == template.String {
		return "the string " + strconv.Quote(shorten(text))
	}
	return "the " + n.Kind.String() + " " + text
}

func shorten(text string) string {
	const most = 60
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}

// readsAs reports whether CloudFormation can read a scalar as a JSON type.
func readsAs(text, jsonType string) bool {
	switch jsonType {
	case "string":
		return true
	case "boolean":
		return strings.EqualFold(text, "true") || strings.EqualFold(text, "false")
	case "integer":
		number, err := strconv.ParseFloat(text, 64)
		return dynamic(text) || err == nil && number == math.Trunc(number)
	case "number":
		_, err := strconv.ParseFloat(text, 64)
		return dynamic(text) || err == nil
	default:
		return false
	}
}

func dynamic(text string) bool { return strings.HasPrefix(text, "{{resolve:") }

// offering is the minimum length of a list of what AWS currently offers: instance types, for
// example. AWS extends such lists without notice, so the schema's list is not authoritative.
const offering = 100

func (c *check) enum(n *template.Node, text string, p *Property, path []string) {
	allowed, same := p.Enum, func(a, b string) bool { return a == b }
	if len(p.EnumCaseInsensitive) > 0 {
		allowed, same = p.EnumCaseInsensitive, strings.EqualFold
	}
	if p.Const != nil {
		allowed = []any{p.Const}
	}
	if len(allowed) >= offering {
		return
	}
	matches := func(one any) bool {
		name := enumName(one)
		return same(name, text) || sameNumber(name, text)
	}
	if len(allowed) == 0 || slices.ContainsFunc(allowed, matches) {
		return
	}
	names := make([]string, len(allowed))
	for i, one := range allowed {
		names[i] = enumName(one)
	}
	list := strings.Join(names[:min(len(names), 12)], ", ")
	if len(names) > 12 {
		list += fmt.Sprintf(" and %d more", len(names)-12)
	}
	c.problem(n.Pos, path, c.subject(path)+" must be one of "+list+", not "+strconv.Quote(shorten(text)), template.Closest(text, names))
}

func enumName(value any) string {
	if name, ok := value.(string); ok {
		return name
	}
	name, _ := template.FromInterface(value).Scalar()
	return name
}

func sameNumber(a, b string) bool {
	if a == "" || b == "" || a[0] > '9' || b[0] > '9' { // ParseFloat allocates an error for every word
		return false
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}

func (c *check) bounds(n *template.Node, text string, p *Property, path []string) {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return
	}
	for _, bound := range []struct {
		limit  *float64
		broken func(limit float64) bool
		what   string
	}{
		{p.Minimum, func(limit float64) bool { return number < limit }, "at least"},
		{p.Maximum, func(limit float64) bool { return number > limit }, "at most"},
		{p.ExclusiveMinimum, func(limit float64) bool { return number <= limit }, "more than"},
		{p.ExclusiveMaximum, func(limit float64) bool { return number >= limit }, "less than"},
		{p.MultipleOf, func(limit float64) bool { return limit != 0 && math.Mod(number, limit) != 0 }, "a multiple of"},
	} {
		if bound.limit != nil && bound.broken(*bound.limit) {
			limit := strconv.FormatFloat(*bound.limit, 'f', -1, 64)
			c.problem(n.Pos, path, c.subject(path)+" must be "+bound.what+" "+limit+", not "+text, "")
		}
	}
}

// length validates the length of a string and, if that is valid, its pattern.
func (c *check) length(n *template.Node, text string, p *Property, path []string) {
	length := utf8.RuneCountInString(text)
	before := len(c.problems)
	if p.MinLength != nil && length < *p.MinLength {
		c.problem(n.Pos, path, c.subject(path)+" must have at least "+count(*p.MinLength, "character")+"; it has "+index(length), "")
	}
	if p.MaxLength != nil && length > *p.MaxLength {
		c.problem(n.Pos, path, c.subject(path)+" must not have more than "+count(*p.MaxLength, "character")+"; it has "+index(length), "")
	}
	if expression := p.Regexp(); len(c.problems) == before && expression != nil && !expression.MatchString(text) {
		c.problem(n.Pos, path, c.subject(path)+" must match "+p.Pattern+", which "+strconv.Quote(shorten(text))+" does not", "")
	}
}
