package yamltree_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/yamltree"
)

func parse(t *testing.T, text string) *yamltree.Value {
	t.Helper()
	documents, err := yamltree.Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return documents[0].Value
}

func TestLineOfAPath(t *testing.T) {
	value := parse(t, `# a comment
spec:
  zones:
    - a
    - name: b
      size: 3
  tags:
    a.b/c: d
    a: {b: e}
  list: [x,
    y]
`)
	for path, want := range map[string]int{
		"":                      2, // the object begins at its first key
		"spec":                  2,
		"spec.zones":            3,
		"spec.zones[0]":         4,
		"spec.zones[1]":         5,
		"spec.zones[1].name":    5,
		"spec.zones[1].size":    6,
		"spec.zones[1].missing": 5,
		"spec.zones[7]":         3,
		"spec.tags.a.b/c":       8,
		"spec.tags[a.b/c]":      8,
		`spec.tags["a.b/c"]`:    8,
		"spec.tags.a.b":         9,
		"spec.list[1]":          11,
		"spec.nothing.at.all":   2,
		"status":                2,
	} {
		if line := value.LineOf(path); line != want {
			t.Errorf("%q is in line %d, want %d", path, line, want)
		}
	}
}

func TestYAML11ReadsWordsAsBooleans(t *testing.T) {
	got := parse(t, `{a: y, b: N, c: "N", d: yes, e: 'off', f: on, g: nope, h: [No, True]}`).YAML11()
	want := map[string]any{
		"a": true, "b": false, "c": "N", "d": true, "e": "off", "f": true, "g": "nope", "h": []any{false, true},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAliasesOfAllDocumentsAreLimited(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
		"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n---\n"
	if _, err := yamltree.Parse("one.yaml", []byte(bomb)); err != nil {
		t.Errorf("one document of twelve thousand values is refused: %v", err)
	}
	if _, err := yamltree.Parse("many.yaml", []byte(strings.Repeat(bomb, 100))); err == nil || !strings.Contains(err.Error(), "use fewer aliases") {
		t.Errorf("a hundred of them: %v", err)
	}
	plain := strings.Repeat("a: 1\n---\n", 110_000)
	if documents, err := yamltree.Parse("plain.yaml", []byte(plain)); err != nil || len(documents) != 110_000 {
		t.Errorf("%d documents without aliases: %v", len(documents), err)
	}
}
