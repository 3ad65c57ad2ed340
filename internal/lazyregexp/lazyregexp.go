// Package lazyregexp has regular expressions that are compiled when they are first used. The
// program is many programs in one, and most of its commands use few of its expressions: one that
// counts, as [a-z]{1,256} does, takes as long to compile as a whole package takes to be set up.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression of package regexp. It is safe for use by many goroutines.
type Regexp struct{ compiled func() *regexp.Regexp }

// New returns the expression; its first use panics if it is none.
func New(expression string) *Regexp {
	return &Regexp{compiled: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })}
}

// MatchString reports whether s holds a match.
func (r *Regexp) MatchString(s string) bool { return r.compiled().MatchString(s) }

// FindStringSubmatch returns the first match and what its groups match; nil if there is none.
func (r *Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }

// FindAllStringSubmatch is that of [regexp.Regexp].
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}

// ReplaceAllString replaces all matches.
func (r *Regexp) ReplaceAllString(s, by string) string { return r.compiled().ReplaceAllString(s, by) }
