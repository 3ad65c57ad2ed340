package yamltree_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// FuzzParse reads any document without a panic. An accepted input is finite and stands on lines that
// the file has.
func FuzzParse(f *testing.F) {
	f.Add("a: 1\nb: [x, {c: d}]\n---\n- e\n")
	f.Add("a: &a {b: c}\nd: {<<: *a, e: *a}\n")
	f.Add("a: &a [*a]\n")
	f.Add("a: &a {<<: *a}\n")
	f.Add("? [complex]\n: key\n")
	f.Add("a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n")
	f.Add("<<: [1, {a: b}]\n? &k a\n: b\n? *k\n: c\n")
	f.Add("n: .nan\ni: -.inf\nd: 2026-01-02\nb: !!binary aGVsbG8=\no: 0o17\nx: 0x1F\n")
	f.Fuzz(func(t *testing.T, text string) {
		documents, err := yamltree.Parse("file.yaml", []byte(text))
		if err != nil {
			if len(documents) > 0 {
				t.Errorf("it is refused (%v) and gives %d documents", err, len(documents))
			}
			return
		}
		lines := strings.Count(text, "\n") + strings.Count(text, "\r") + strings.Count(text, "\u0085") + strings.Count(text, "\u2028") +
			strings.Count(text, "\u2029") + 1
		for _, d := range documents {
			if d.Value.Line < 0 || d.Value.Line > lines {
				t.Errorf("document %d is on line %d of %d", d.Number, d.Value.Line, lines)
			}
			_, _ = json.Marshal(d.Value.Interface())
			var into struct {
				A string         `json:"a"`
				B []int          `json:"b"`
				C map[string]any `json:"c"`
			}
			_ = yamltree.Decode(d, &into)
		}
	})
}
