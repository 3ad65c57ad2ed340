package iampolicy

import "strings"

// substitute replaces the policy variables of a text with values of the request. It reports false if
// a variable has no value, or several, and no default: then the text matches nothing.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html
func (r *Request) substitute(text string) (string, bool) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		out.WriteString(before)
		if !found {
			return out.String(), true
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			out.WriteString("${" + rest)
			return out.String(), true
		}
		text = after
		value, ok := r.variable(name)
		if !ok {
			return "", false
		}
		out.WriteString(value)
	}
}

// variable returns the value of a variable, which is `key` or `key, 'default'`.
func (r *Request) variable(name string) (string, bool) {
	switch name {
	case "*":
		return string(literalStar), true
	case "?":
		return string(literalQuestion), true
	case "$":
		return "$", true
	}
	key, fallback, hasDefault := strings.Cut(name, ",")
	if values := r.values(strings.TrimSpace(key)); len(values) == 1 {
		// Wildcards of a value are plain characters.
		return strings.NewReplacer("*", string(literalStar), "?", string(literalQuestion)).Replace(values[0]), true
	}
	fallback = strings.TrimSpace(fallback)
	if hasDefault && len(fallback) >= 2 && strings.HasPrefix(fallback, "'") && strings.HasSuffix(fallback, "'") {
		return fallback[1 : len(fallback)-1], true
	}
	return "", false
}
