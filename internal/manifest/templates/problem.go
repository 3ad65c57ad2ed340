package templates

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"

	closest "github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/lazyregexp"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// Error says what is wrong with a template, where, and what was probably meant.
type Error struct {
	// File is the template's or snippet's name.
	File string
	// Line and Column are where in it, from 1; 0 is not known.
	Line, Column int
	// Message says what is wrong.
	Message string
	// Suggestion is what was probably meant, if there is anything.
	Suggestion string
}

// Error returns "FILE:LINE:COLUMN: MESSAGE; did you mean X?".
func (e *Error) Error() string {
	where := e.File
	if e.Line > 0 {
		where += ":" + strconv.Itoa(e.Line)
		if e.Column > 0 {
			where += ":" + strconv.Itoa(e.Column)
		}
	}
	text := where + ": " + e.Message
	if e.Suggestion != "" {
		text += "; did you mean " + e.Suggestion + "?"
	}
	return text
}

// The messages of text/template, which have no structure. Those of templates that others include
// are nested, and the last is the place where it happened.
var (
	failure    = lazyregexp.New(`(?s)^template: (.+?):(\d+)(?::(\d+))?: (?:executing "(.*?)" at <(.*?)>: )?(.*)$`)
	missingKey = lazyregexp.New(`map has no entry for key "(.*?)"$`)
	nilPointer = lazyregexp.New(`nil pointer evaluating interface \{\}\.(\w+)$`)
	noFunction = lazyregexp.New(`function "(.*?)" not defined$`)
)

// nested stands before the message of a template that another includes.
const nested = "error calling include: "

// explain makes an Error of one of text/template.
func (in *Input) explain(file string, err error) error {
	text := err.Error()
	if i := strings.LastIndex(text, nested); i >= 0 {
		text = text[i+len(nested):]
	}
	e := &Error{File: file, Message: text}
	m := failure.FindStringSubmatch(text)
	if m == nil { // the message of include itself, of the place before it
		m = failure.FindStringSubmatch(err.Error())
		if m == nil {
			return e
		}
		m[6], m[5] = text, ""
	}
	e.File = in.path(m[1])
	e.Line, _ = strconv.Atoi(m[2])
	if m[3] != "" {
		column, _ := strconv.Atoi(m[3]) // counted from 0
		e.Column = column + 1
	}
	expression, message := m[5], m[6]
	e.Message = message
	if expression != "" {
		e.Message = fmt.Sprintf("%s in {{ %s }}", message, expression)
	}
	in.meant(e, expression, message)
	return e
}

// meant says what is missing, and what is there that is called nearly so.
func (in *Input) meant(e *Error, expression, message string) {
	switch {
	case missingKey.MatchString(message):
		key := missingKey.FindStringSubmatch(message)[1]
		e.Message = fmt.Sprintf("there is no value %s in {{ %s }}", key, expression)
		e.Suggestion = in.suggest(expression, key)
	case nilPointer.MatchString(message):
		key := nilPointer.FindStringSubmatch(message)[1]
		e.Message = fmt.Sprintf("there is no value %s, since its parent in {{ %s }} is missing or empty", key, expression)
	case noFunction.MatchString(message):
		name := noFunction.FindStringSubmatch(message)[1]
		e.Message = "there is no function " + name
		e.Suggestion = closest.Closest(name, functionNames())
	}
}

// path returns the path of the file that a template is called after.
func (in *Input) path(name string) string {
	for _, snippet := range in.Snippets {
		if strings.HasSuffix(snippet.Name, "/"+name) {
			return snippet.Name
		}
	}
	return name
}

// root matches an expression that begins with the values.
var root = lazyregexp.New(`^\$?(\.\w+)+$`)

// suggest returns the value that was probably meant: a key beside it, or one anywhere.
func (in *Input) suggest(expression, key string) string {
	if root.MatchString(expression) {
		path := strings.Split(strings.TrimLeft(expression, "$."), ".")
		if i := slices.Index(path, key); i >= 0 {
			if name := closest.Closest(key, in.Values.names(path[:i])); name != "" {
				return "." + strings.Join(append(slices.Clone(path[:i]), name), ".")
			}
		}
	}
	every := in.Values.everyName()
	if at, ok := every[key]; ok {
		return at
	}
	if name := closest.Closest(key, slices.Sorted(maps.Keys(every))); name != "" {
		return every[name]
	}
	return ""
}

func missingSnippet(name string, t *template.Template) error {
	var names []string
	for _, one := range t.Templates() {
		names = append(names, one.Name())
	}
	slices.Sort(names)
	if suggestion := closest.Closest(name, names); suggestion != "" {
		return fmt.Errorf("there is no snippet %q; did you mean %q?", name, suggestion)
	}
	return fmt.Errorf("there is no snippet %q: give its file or folder with --snippets", name)
}

// functionNames are those that templates have.
func functionNames() []string {
	names := slices.Collect(maps.Keys(sprig.TxtFuncMap()))
	names = append(names, "include", "toYaml")
	slices.Sort(names)
	return names
}

// marshal prints a value as YAML.
func marshal(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("print YAML: %w", err)
	}
	documents, err := yamltree.Parse("toYaml", data)
	if err != nil {
		return nil, err
	}
	if len(documents) == 0 {
		return []byte("null\n"), nil
	}
	return yamltree.Format(documents[0].Value)
}
