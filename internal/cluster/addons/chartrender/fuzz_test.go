package chartrender

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzAnswer answers any request about an index without a panic: with a chart that has an address,
// or with why there is none.
func FuzzAnswer(f *testing.F) {
	f.Add("apiVersion: v1\nentries:\n  a:\n  - {name: a, version: 1.2.3, urls: [a-1.2.3.tgz], digest: sha256:00}\n", "a", "1.2.3")
	f.Add("entries:\n  a:\n  - null\n  - {version: x}\n", "a", ">=0")
	f.Add("entries: {a: [{version: 1.0.0, urls: []}]}", "a", "")
	f.Fuzz(func(t *testing.T, index, name, version string) {
		response := answer(&Request{Find: &Find{Index: []byte(index), Chart: name, Version: version}})
		if (response.Found == nil) == (response.Refused == "") {
			t.Errorf("the answer is %+v", response)
		}
	})
}

// FuzzManifests reads any rendered text without a panic. The objects that it accepts are written
// as documents of the same number of objects.
func FuzzManifests(f *testing.F) {
	f.Add("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n# nothing\n---\napiVersion: apps/v1\nkind: Deployment\n")
	f.Add("a: &a [x, x]\nb: [*a, *a]\napiVersion: v1\nkind: List\n")
	f.Add("--- \n---\nkind: 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		objects, err := objectsIn(text)
		if err != nil {
			return
		}
		written, err := documents(objects)
		if err != nil {
			return
		}
		again, err := objectsIn(written)
		if err != nil || len(again) != len(objects) {
			t.Errorf("%d objects are written as %q, which has %d, %v", len(objects), written, len(again), err)
		}
	})
}

// FuzzPatch applies any patch to any object without a panic. The result is JSON.
func FuzzPatch(f *testing.F) {
	f.Add(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"template":{"spec":{"containers":[{"name":"c"}]}}}}`,
		`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"d"},{"$patch":"delete","name":"e"}]}}}}`)
	f.Add(`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":[1]}`, `{"spec":null}`)
	f.Add(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}`, `{"$patch":"replace","$setElementOrder/containers":[1]}`)
	f.Fuzz(func(t *testing.T, object, patch string) {
		var of head
		if json.Unmarshal([]byte(object), &of) != nil || !json.Valid([]byte(patch)) {
			return
		}
		p := &patcher{patches: []Patch{{Kind: of.Kind, Name: of.Metadata.Name, Patch: json.RawMessage(patch)}}, used: make([]bool, 1)}
		patched, err := p.apply([]byte(object))
		if err == nil && !json.Valid(patched) {
			t.Errorf("it becomes %q", patched)
		}
	})
}

var errEnded = errors.New("exit status 2")

// FuzzChild reads any output of a child without a panic: the child has read a chart, which may have
// made it write anything. A message is text that fits into a condition.
func FuzzChild(f *testing.F) {
	f.Add("fatal error: out of memory")
	f.Add(strings.Repeat("\xff", 3*maxMessage))
	f.Fuzz(func(t *testing.T, said string) {
		out := &bounded{limit: maxMessage, rest: true}
		if n, err := out.Write([]byte(said)); n != len(said) || err != nil || out.Len() > maxMessage {
			t.Errorf("%d bytes are written, %v, and %d are held", n, err, out.Len())
		}
		whole := &bounded{limit: maxMessage}
		if _, err := whole.ReadFrom(bytes.NewReader([]byte(said))); (err != nil) != (len(said) > maxMessage) {
			t.Errorf("%d bytes: %v", len(said), err)
		}
		if text := ended(errEnded, said).Error(); !utf8.ValidString(text) || len(text) > 2*maxMessage {
			t.Errorf("the message has %d bytes: %q", len(text), text)
		}
	})
}
