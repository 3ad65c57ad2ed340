// Package grant says which AWS resources the objects of a namespace may name: what an administrator
// allows by the operator's flags. It is pure.
package grant

import (
	"fmt"
	"slices"
	"strings"
)

// Grant lets the objects of a namespace name AWS resources.
type Grant struct {
	// Namespace is a namespace, or * for all.
	Namespace string
	// Pattern is an ARN, or the beginning of one with * at the end. Of resources to adopt, it is the
	// type, a slash and the primary identifier instead.
	Pattern string
}

// Allows reports whether one of the grants lets the objects of a namespace name an ARN.
func Allows(grants []Grant, namespace, arn string) bool {
	return slices.ContainsFunc(grants, func(g Grant) bool {
		return (g.Namespace == "*" || g.Namespace == namespace) && Matches(g.Pattern, arn)
	})
}

// Parse reads grants as flags write them, NAMESPACE=ARN. It returns an error for a pattern that is
// no ARN and for one that has a * elsewhere than at its end.
func Parse(texts []string) ([]Grant, error) {
	return parse(texts, "ARN", "an ARN", func(beginning string) bool { return strings.HasPrefix(beginning, "arn:") })
}

// ParseAdoptions is [Parse] for NAMESPACE=TYPE/IDENTIFIER. The pattern must have the whole type,
// so that it includes no other type.
func ParseAdoptions(texts []string) ([]Grant, error) {
	return parse(texts, "TYPE/IDENTIFIER", "a resource type, a slash and a primary identifier", func(beginning string) bool {
		of, _, found := strings.Cut(beginning, "/")
		return found && strings.Contains(of, "::")
	})
}

func parse(texts []string, form, what string, valid func(beginning string) bool) ([]Grant, error) {
	var grants []Grant
	for _, text := range texts {
		namespace, pattern, found := strings.Cut(text, "=")
		beginning := strings.TrimSuffix(pattern, "*")
		if !found || namespace == "" || !valid(beginning) || strings.Contains(beginning, "*") {
			return nil, fmt.Errorf("%q is not NAMESPACE=%s; write a namespace, or * for all, and %s, which may end in *", text, form, what)
		}
		grants = append(grants, Grant{Namespace: namespace, Pattern: pattern})
	}
	return grants, nil
}

// Matches reports whether a text is the pattern, or begins like it where the pattern ends in *.
func Matches(pattern, text string) bool {
	if beginning, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(text, beginning)
	}
	return pattern == text
}
