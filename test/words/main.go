// Command words fails on idioms that the project does not use. It reads Go comments, string
// literals and identifiers, and the text of documentation, manifests, templates and scripts.
// Words.yaml holds the rules and what is allowed, each with its reason.
//
//	go run ./test/words                     the whole repository
//	go run ./test/words internal/cfn docs   these folders
//
// It exits with 1 if it finds something, and prints file, line, the rule and the remedy.
package main

import (
	_ "embed"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed words.yaml
var text []byte

// config is words.yaml.
type config struct {
	Rules       []*rule           `json:"rules"`
	Identifiers map[string]string `json:"identifiers"`
	Allowed     []allowance       `json:"allowed"`
	Skip        []string          `json:"skip"`
}

// rule is an idiom that is not used: a regular expression, and what to write in its place.
type rule struct {
	Not  string `json:"not"`
	But  string `json:"but"`
	form *regexp.Regexp
}

// allowance lets a text be where it is. In is a path's glob or a folder; empty means everywhere.
type allowance struct {
	Text string `json:"text"`
	In   string `json:"in,omitempty"`
	Why  string `json:"why"`
}

func main() {
	found, err := run(os.Args[1:])
	for _, f := range found {
		_, _ = fmt.Fprintln(os.Stdout, f)
	}
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case len(found) > 0:
		fmt.Fprintf(os.Stderr, "%d places. The rules are in test/words/words.yaml.\n", len(found))
		os.Exit(1)
	}
}

func run(roots []string) ([]string, error) {
	c, err := read(text)
	if err != nil {
		return nil, err
	}
	if len(roots) == 0 {
		roots = []string{"."}
	}
	var found []string
	for _, root := range roots {
		//nolint:gosec // the caller's own folders
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			path = filepath.ToSlash(filepath.Clean(path))
			if c.skips(path) {
				if entry.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			if entry.IsDir() {
				return nil
			}
			in, err := c.check(path)
			found = append(found, in...)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", root, err)
		}
	}
	return found, nil
}

// read reads the rules. It returns an error if one is not a regular expression, or an allowance
// gives no reason.
func read(text []byte) (*config, error) {
	var c config
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		return nil, fmt.Errorf("words.yaml: %w", err)
	}
	for _, r := range c.Rules {
		form, err := regexp.Compile(`(?m)` + r.Not)
		if err != nil {
			return nil, fmt.Errorf("words.yaml: %w", err)
		}
		r.form = form
	}
	for _, a := range c.Allowed {
		if a.Why == "" || a.Text == "" {
			return nil, fmt.Errorf("words.yaml: allowed %q has no reason or no text", a.Text)
		}
	}
	return &c, nil
}

func (c *config) skips(path string) bool {
	return slices.ContainsFunc(c.Skip, func(pattern string) bool { return within(path, pattern) })
}

// within reports whether a path is a pattern's: the pattern matches the path, its last part, or a
// folder it is in.
func within(path, pattern string) bool {
	if pattern == "" || path == pattern || strings.HasPrefix(path, pattern+"/") {
		return true
	}
	whole, _ := filepath.Match(pattern, path)
	last, _ := filepath.Match(pattern, filepath.Base(path))
	return whole || last
}

// texts are the endings of files that are read whole.
var texts = []string{".md", ".yaml", ".yml", ".tmpl", ".sh", ".tf", ".py", ".toml"}

func (c *config) check(path string) ([]string, error) {
	ending := filepath.Ext(path)
	if ending != ".go" && !slices.Contains(texts, ending) && filepath.Base(path) != "Makefile" {
		return nil, nil
	}
	content, err := os.ReadFile(path) //nolint:gosec // the caller's own files
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	if ending == ".go" {
		return c.checkGo(path, content)
	}
	return c.find(path, 1, string(content)), nil
}

// checkGo reads the comments, string literals and identifiers of a Go file.
func (c *config) checkGo(path string, content []byte) ([]string, error) {
	files := token.NewFileSet()
	file := files.AddFile(path, files.Base(), len(content))
	var s scanner.Scanner
	var failed []error
	s.Init(
		file,
		content,
		func(at token.Position, message string) { failed = append(failed, fmt.Errorf("%s: %s", at, message)) },
		scanner.ScanComments,
	)
	var found []string
	comment, line, last := "", 0, 0
	flush := func() {
		found = append(found, c.find(path, line, comment)...)
		comment = ""
	}
	for {
		at, kind, literal := s.Scan()
		if kind == token.EOF {
			break
		}
		where := files.Position(at).Line
		switch kind { //nolint:exhaustive // the other tokens hold no words
		case token.COMMENT:
			if comment == "" || where != last+1 {
				flush()
				line = where
			} else {
				comment += "\n"
			}
			comment += literal
			last = where + strings.Count(literal, "\n")
		case token.STRING:
			found = append(found, c.find(path, where, literal)...)
		case token.IDENT:
			for _, word := range wordsOf(literal) {
				if but, ok := c.Identifiers[word]; ok && !c.allows(path, literal) {
					found = append(found, fmt.Sprintf("%s:%d: identifier %s: write %s", path, where, literal, but))
				}
			}
		}
	}
	flush()
	return found, errors.Join(failed...)
}

// find returns the idioms in a text that begins in a line. A line's end is a space, so that an
// idiom may go over it.
func (c *config) find(path string, line int, text string) []string {
	var found []string
	flat := breaks.ReplaceAllStringFunc(text, func(between string) string { return " " + strings.Repeat("\x00", len(between)-1) })
	clean := strings.ReplaceAll(flat, "\x00", "")
	position := make([]int, 0, len(clean)+1)
	for i := range len(flat) {
		if flat[i] != 0 {
			position = append(position, i)
		}
	}
	for _, r := range c.Rules {
		for _, at := range r.form.FindAllStringIndex(clean, -1) {
			around := clean[max(0, at[0]-40):min(len(clean), at[1]+40)]
			if c.allows(path, around) {
				continue
			}
			where := line + strings.Count(text[:position[at[0]]], "\n")
			found = append(found, fmt.Sprintf("%s:%d: %q: write %s", path, where, strings.TrimSpace(clean[at[0]:at[1]]), r.But))
		}
	}
	return found
}

// breaks are line ends together with what begins the next line of a comment or a quotation.
var breaks = regexp.MustCompile(`\n[ \t]*(?:(?://|#|>)[ \t]*)?`)

func (c *config) allows(path, around string) bool {
	return slices.ContainsFunc(c.Allowed, func(a allowance) bool { return strings.Contains(around, a.Text) && within(path, a.In) })
}

var humps = regexp.MustCompile(`[A-Z]?[a-z0-9]+|[A-Z]+`)

// wordsOf returns the words of an identifier, in lower case.
func wordsOf(identifier string) []string {
	words := humps.FindAllString(identifier, -1)
	for i := range words {
		words[i] = strings.ToLower(words[i])
	}
	return words
}
