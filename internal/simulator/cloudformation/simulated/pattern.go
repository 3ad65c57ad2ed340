package simulated

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode/utf8"
)

var patterns sync.Map // JavaScript pattern → *regexp.Regexp, nil if Go does not support it

// compile converts a schema's pattern to a Go expression. It omits look-arounds, which Go does not
// support, and returns nil if the rest does not compile.
func compile(pattern string) *regexp.Regexp {
	if re, ok := patterns.Load(pattern); ok {
		return re.(*regexp.Regexp)
	}
	re, err := regexp.Compile(goSyntax(pattern))
	if err != nil {
		re = nil
	}
	patterns.Store(pattern, re)
	return re
}

// Matches reports whether a string matches a schema's pattern. A pattern that Go does not support
// matches everything.
func Matches(pattern, text string) bool {
	re := compile(pattern)
	return re == nil || re.MatchString(text)
}

// goSyntax translates the differences between ECMAScript and Go.
func goSyntax(pattern string) string {
	pattern = withoutLookaround(pattern)
	replacer := strings.NewReplacer(`\/`, `/`, `\Z`, `\z`, `\#`, `#`, `\_`, `_`, `\ `, ` `, `\"`, `"`, `\'`, `'`, `\@`, `@`,
		`\:`, `:`, `\=`, `=`, `\,`, `,`, `\%`, `%`, `\&`, `&`, `\!`, `!`, `\;`, `;`, `\<`, `<`, `\>`, `>`, `\~`, `~`, "\\`", "`",
		`\\`, `\\`, `++`, `+`, `*+`, `*`, `\p{IsAlphabetic}`, `\p{L}`)
	pattern = replacer.Replace(pattern)
	pattern = unicodeEscape.ReplaceAllString(pattern, `\x{$1}`)
	return hugeRepeat.ReplaceAllStringFunc(pattern, capRepeat)
}

var (
	unicodeEscape = regexp.MustCompile(`\\u([0-9a-fA-F]{4})`)
	hugeRepeat    = regexp.MustCompile(`\{\d+(,\d*)?\}`)
)

// capRepeat rewrites a repetition beyond Go's limit of 1,000.
func capRepeat(text string) string {
	low, high, isRange := strings.Cut(strings.Trim(text, "{}"), ",")
	if len(low) > 3 && low != "1000" {
		return "+"
	}
	if !isRange || len(high) < 4 || high == "1000" {
		return text
	}
	return "{" + low + ",}"
}

// withoutLookaround drops (?=…), (?!…), (?<=…) and (?<!…).
func withoutLookaround(pattern string) string {
	var out strings.Builder
	for i := 0; i < len(pattern); {
		rest := pattern[i:]
		switch {
		case rest[0] == '\\' && len(rest) > 1:
			out.WriteString(rest[:2])
			i += 2
		case hasAnyPrefix(rest, "(?=", "(?!", "(?<=", "(?<!"):
			i += groupLength(rest)
		default:
			out.WriteByte(rest[0])
			i++
		}
	}
	return out.String()
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// groupLength returns the length of the group at the start of s.
func groupLength(s string) int {
	depth, inClass := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case inClass:
			inClass = s[i] != ']'
		case s[i] == '[':
			inClass = true
		case s[i] == '(':
			depth++
		case s[i] == ')':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// example generates a string that matches a pattern and whose length is within the bounds; a
// negative maximum means no limit. Different seeds give different strings if the pattern allows
// that.
func example(pattern string, minimum, maximum, seed int) (string, bool) {
	re := compile(pattern)
	if re == nil {
		return "", false
	}
	tree, err := syntax.Parse(goSyntax(pattern), syntax.Perl)
	if err != nil {
		return "", false
	}
	for _, choice := range []int{seed, 0, 1, 2, 3} {
		for _, repeat := range []int{0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 36, 48, 64, 100, 128, 256, 512, 1000} {
			m := maker{repeat: repeat, seed: seed, choice: choice}
			m.write(tree)
			text := m.out.String()
			length := utf8.RuneCountInString(text)
			if length >= minimum && (maximum < 0 || length <= maximum) && re.MatchString(text) {
				return text, true
			}
		}
	}
	return "", false
}

// maker generates one string that matches an expression.
type maker struct {
	out                  strings.Builder
	repeat, seed, choice int
}

func (m *maker) write(n *syntax.Regexp) {
	switch n.Op {
	case syntax.OpLiteral:
		for _, r := range n.Rune {
			m.out.WriteRune(r)
		}
	case syntax.OpCharClass:
		m.out.WriteRune(m.pick(n.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		m.out.WriteRune(rune('a' + m.seed%26))
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range n.Sub {
			m.write(sub)
		}
	case syntax.OpAlternate:
		m.write(n.Sub[m.choice%len(n.Sub)])
	case syntax.OpStar:
		m.times(n.Sub[0], 0, -1)
	case syntax.OpPlus:
		m.times(n.Sub[0], 1, -1)
	case syntax.OpQuest:
		m.times(n.Sub[0], 0, 1)
	case syntax.OpRepeat:
		m.times(n.Sub[0], n.Min, n.Max)
	default: // anchors and empty matches write nothing
	}
}

func (m *maker) times(n *syntax.Regexp, low, high int) {
	k := max(low, m.repeat)
	if high >= 0 {
		k = min(k, high)
	}
	for range k {
		if m.out.Len() > 5000 {
			return
		}
		m.write(n)
	}
}

// pick returns a readable character of a class.
func (m *maker) pick(ranges []rune) rune {
	const liked = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for i := range len(liked) {
		r := rune(liked[(i+m.seed)%len(liked)])
		if inRanges(ranges, r) {
			return r
		}
	}
	for r := rune('!'); r < 0x7f; r++ {
		if inRanges(ranges, r) {
			return r
		}
	}
	if len(ranges) > 0 {
		return ranges[0]
	}
	return 'a'
}

func inRanges(ranges []rune, r rune) bool {
	for i := 0; i+1 < len(ranges); i += 2 {
		if r >= ranges[i] && r <= ranges[i+1] {
			return true
		}
	}
	return false
}
