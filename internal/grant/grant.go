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
	// Pattern is an ARN, or the beginning of one with * at the end.
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
	var grants []Grant
	for _, text := range texts {
		namespace, pattern, found := strings.Cut(text, "=")
		beginning := strings.TrimSuffix(pattern, "*")
		if !found || namespace == "" || !strings.HasPrefix(pattern, "arn:") || strings.Contains(beginning, "*") {
			return nil, fmt.Errorf("%q is not NAMESPACE=ARN; write a namespace, or * for all, and an ARN, which may end in *", text)
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
