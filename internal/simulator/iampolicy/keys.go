package iampolicy

import (
	"slices"
	"strings"
)

// Keys returns the condition keys that policies refer to in conditions and variables, each once, as
// the policies write them.
func Keys(policies ...*Policy) []string {
	var keys []string
	add := func(key string) {
		if !slices.ContainsFunc(keys, func(other string) bool { return strings.EqualFold(key, other) }) {
			keys = append(keys, key)
		}
	}
	for _, p := range policies {
		for i := range p.statements {
			s := &p.statements[i]
			texts := slices.Clone(s.resources.patterns)
			for j := range s.conditions {
				add(s.conditions[j].name)
				texts = append(texts, s.conditions[j].values...)
			}
			if s.variables {
				variables(texts, add)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// variables calls add with the key of each policy variable in texts.
func variables(texts []string, add func(key string)) {
	for _, text := range texts {
		for _, part := range strings.Split(text, "${")[1:] {
			name, _, closed := strings.Cut(part, "}")
			key, _, _ := strings.Cut(name, ",")
			if key = strings.TrimSpace(key); closed && !slices.Contains([]string{"*", "?", "$"}, key) {
				add(key)
			}
		}
	}
}
