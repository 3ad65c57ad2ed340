package templates

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"

	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// File is a file of a template or a snippet.
type File struct {
	// Name is what messages call it, its path as a rule.
	Name string
	// Text is what it holds.
	Text string
}

// Input is what a rendering is made of.
type Input struct {
	// Templates are rendered in their order, as documents of one file.
	Templates []File
	// Snippets can be included by the templates.
	Snippets []File
	// Values are what the templates are filled with.
	Values Values
	// FailOnMissing errs at a key that the values do not have; otherwise it stands for nothing.
	FailOnMissing bool
	// FormatYAML prints each document in one way, without comments.
	FormatYAML bool
}

// Render renders the templates. The error is Error of the first template that cannot be rendered,
// or, of text that is not YAML and was to be formatted, yamltree.Problems with the lines around each.
func Render(in Input) ([]byte, error) {
	var out bytes.Buffer
	for _, file := range in.Templates {
		text, err := in.render(file)
		if err != nil {
			return nil, err
		}
		if in.FormatYAML {
			if text, err = formatted(file.Name, text); err != nil {
				return nil, err
			}
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		separate(&out, text)
		out.Write(text)
	}
	return out.Bytes(), nil
}

// separate writes what must stand between two documents.
func separate(out *bytes.Buffer, next []byte) {
	if out.Len() == 0 {
		return
	}
	if !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
		out.WriteByte('\n')
	}
	if !bytes.HasPrefix(next, []byte("---")) {
		out.WriteString("---\n")
	}
}

// maxIncludes ends snippets that include each other.
const maxIncludes = 100

func (in *Input) render(file File) ([]byte, error) {
	t := template.New(file.Name)
	depth := 0
	functions := sprig.TxtFuncMap()
	functions["toYaml"] = toYAML
	functions[valueFunction] = valueOf(in.Values.outputMaps(), in.FailOnMissing)
	functions["include"] = func(name string, data any) (string, error) {
		if depth++; depth > maxIncludes {
			return "", fmt.Errorf("%s includes itself more than %d times", name, maxIncludes)
		}
		defer func() { depth-- }()
		if t.Lookup(name) == nil {
			return "", missingSnippet(name, t)
		}
		var text bytes.Buffer
		err := t.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	t.Funcs(functions).Option("missingkey=zero")
	if in.FailOnMissing {
		t.Option("missingkey=error")
	}
	for _, snippet := range in.Snippets {
		if _, err := t.New(filepath.Base(snippet.Name)).Parse(snippet.Text); err != nil {
			return nil, in.explain(snippet.Name, err)
		}
	}
	if _, err := t.Parse(file.Text); err != nil {
		return nil, in.explain(file.Name, err)
	}
	if len(in.Values.outputs) > 0 {
		readOutputs(t)
	}
	in.Values.merge(nil)
	var out bytes.Buffer
	if err := t.Execute(&out, in.Values.values); err != nil {
		return nil, in.explain(file.Name, err)
	}
	if in.FailOnMissing {
		return out.Bytes(), nil
	}
	return bytes.ReplaceAll(out.Bytes(), []byte("<no value>"), nil), nil
}

// toYAML returns a value as YAML, for `| indent`.
func toYAML(value any) (string, error) {
	data, err := marshal(value)
	return strings.TrimSuffix(string(data), "\n"), err
}

// formatted parses each document of a text and prints it in one way.
func formatted(name string, text []byte) ([]byte, error) {
	documents, err := yamltree.Parse(name, text)
	if err != nil {
		problems, _ := errors.AsType[yamltree.Problems](err)
		for i := range problems {
			problems[i].Message = "the rendered text cannot be formatted: " + problems[i].Message + around(
				text,
				problems[i].Line,
			)
		}
		return nil, problems
	}
	var out bytes.Buffer
	for _, d := range documents {
		data, err := yamltree.Format(d.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		separate(&out, data)
		out.Write(data)
	}
	return out.Bytes(), nil
}

// around returns the lines of a text around one, with their numbers.
func around(text []byte, line int) string {
	const beside = 2
	lines := strings.Split(string(text), "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	var s strings.Builder
	for n := max(line-beside, 1); n <= min(line+beside, len(lines)); n++ {
		mark := "  "
		if n == line {
			mark = "> "
		}
		fmt.Fprintf(&s, "\n%s%4d | %s", mark, n, lines[n-1])
	}
	return s.String()
}
