package dynamodb

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is the kind of a token of an expression.
type tokenKind int

const (
	tokenEnd    tokenKind = iota
	tokenWord             // an attribute name, a function or a keyword
	tokenName             // #placeholder
	tokenValue            // :placeholder
	tokenNumber           // a list position
	tokenSymbol           // = <> < <= > >= ( ) , . [ ] + -
)

type token struct {
	kind       tokenKind
	text       string
	start, end int
}

// is reports whether the token is the keyword, case-insensitively.
func (t token) is(keyword string) bool {
	return t.kind == tokenWord && strings.EqualFold(t.text, keyword)
}

// tokenize splits an expression into tokens. ok is false at a character that starts no token, which
// is then the last token.
func tokenize(text string) (tokens []token, ok bool) {
	for i := 0; i < len(text); {
		if strings.IndexByte(" \t\r\n", text[i]) >= 0 {
			i++
			continue
		}
		t := nextToken(text, i)
		tokens = append(tokens, t)
		if t.kind == tokenEnd {
			return tokens, false
		}
		i = t.end
	}
	return append(tokens, token{kind: tokenEnd, text: "<EOF>", start: len(text), end: len(text)}), true
}

func nextToken(text string, start int) token {
	c := text[start]
	kind, end := tokenEnd, start+1
	switch {
	case c == '#' || c == ':':
		end = wordEnd(text, start+1)
		if kind = tokenName; c == ':' {
			kind = tokenValue
		}
		if end == start+1 {
			kind = tokenEnd
		}
	case c >= '0' && c <= '9':
		kind = tokenNumber
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			end++
		}
	case wordEnd(text, start) > start:
		kind, end = tokenWord, wordEnd(text, start)
	case strings.IndexByte("=<>(),.[]+-", c) >= 0:
		kind = tokenSymbol
		if end < len(text) && (text[start:end+1] == "<>" || text[start:end+1] == "<=" || text[start:end+1] == ">=") {
			end++
		}
	}
	return token{kind: kind, text: text[start:end], start: start, end: end}
}

func wordEnd(text string, i int) int {
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		i += size
	}
	return i
}
