package iampolicy

import "strings"

// Characters that stand for wildcards and literals in a pattern after substitution of variables:
// ${*} is an asterisk, not a wildcard.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html#policy-vars-specialchars
const (
	literalStar     = '\ue000'
	literalQuestion = '\ue001'
)

var literals = strings.NewReplacer(string(literalStar), "*", string(literalQuestion), "?")

// like reports whether text matches a pattern, in which * stands for any characters and ? for one.
func like(pattern, text string) bool {
	if matches, decided := plain(pattern, text); decided {
		return matches
	}
	return glob([]rune(pattern), []rune(text), func(int) bool { return true })
}

// likeARN matches the ARN of a resource. A * in the first five segments matches within its segment,
// unless it is the segment's last character: then it matches beyond the colon.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_resource.html#reference_policies_elements_resource_wildcards
func likeARN(pattern, text string) bool {
	if matches, decided := plain(pattern, text); decided {
		return matches
	}
	p := []rune(pattern)
	colons := make([]int, len(p))
	for i := 1; i < len(p); i++ {
		colons[i] = colons[i-1]
		if p[i-1] == ':' {
			colons[i]++
		}
	}
	return glob(p, []rune(text), func(star int) bool {
		return colons[star] >= segments-1 || star == len(p)-1 || p[star+1] == ':'
	})
}

// plain matches a pattern without wildcards, or with a * at its end only, which matches everything.
func plain(pattern, text string) (matches, decided bool) {
	switch at := strings.IndexFunc(pattern, isSpecial); {
	case at < 0:
		return pattern == text, true
	case pattern[at] == '*' && at == len(pattern)-1:
		return strings.HasPrefix(text, pattern[:at]), true
	case !strings.HasPrefix(text, pattern[:at]):
		return false, true
	}
	return false, false
}

func isSpecial(char rune) bool {
	return char == '*' || char == '?' || char == literalStar || char == literalQuestion
}

// segments is the number of an ARN's parts, of which the last may contain colons.
const segments = 6

// glob matches text against a pattern. crosses reports whether the * at an index of the pattern may
// match a colon.
func glob(pattern, text []rune, crosses func(star int) bool) bool {
	// possible[i] reports whether the pattern so far matches the first i characters of the text.
	possible := make([]bool, len(text)+1)
	possible[0] = true
	for at, char := range pattern {
		switch char {
		case '*':
			beyond := crosses(at)
			for i := 1; i <= len(text); i++ {
				possible[i] = possible[i] || possible[i-1] && (beyond || text[i-1] != ':')
			}
		default:
			for i := len(text); i > 0; i-- {
				possible[i] = possible[i-1] && same(char, text[i-1])
			}
			possible[0] = false
		}
	}
	return possible[len(text)]
}

func same(char, of rune) bool {
	switch char {
	case '?':
		return true
	case literalStar:
		return of == '*'
	case literalQuestion:
		return of == '?'
	}
	return char == of
}

// likeEachSegment matches ARNs as the condition operators ArnLike and ArnEquals do: one of the six
// parts after the other.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html#Conditions_ARN
func likeEachSegment(pattern, text string) bool {
	want, got := strings.SplitN(pattern, ":", segments), strings.SplitN(text, ":", segments)
	if len(want) != segments || len(got) != segments {
		return false
	}
	for i := range want {
		if !like(want[i], got[i]) {
			return false
		}
	}
	return true
}
