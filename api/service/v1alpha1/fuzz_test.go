package v1alpha1_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/aws-operator/aws-operator/api/service/v1alpha1"
)

// FuzzObject reads any object of a modeled kind without a panic. An accepted input is written as an
// object that is read the same.
func FuzzObject(f *testing.F) {
	f.Add([]byte(`{"kind":"SQSQueue","metadata":{"name":"a"},"spec":{"visibilityTimeout":30},"status":{"resourceStatus":"x","stack":{"a":1}}}`))
	f.Add([]byte(`{"spec":null,"status":{"conditions":[null]},"output":{"a":1e999,"b":[true],"c":"\ud800"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var object v1alpha1.Object
		if json.Unmarshal(text, &object) != nil {
			return
		}
		written, err := json.Marshal(&object)
		if err != nil {
			t.Fatalf("%q is not written: %v", text, err)
		}
		var again v1alpha1.Object
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatalf("%q is written as %q, which is refused: %v", text, written, err)
		}
		if second, err := json.Marshal(&again); err != nil || string(second) != string(written) {
			t.Errorf("%q is written as %q, and then as %q, %v", text, written, second, err)
		}
		if copied, err := json.Marshal(object.DeepCopyObject()); err != nil || string(copied) != string(written) {
			t.Errorf("the copy of %q is %q, %v", written, copied, err)
		}
	})
}

// FuzzValue writes any output of a stack, which is what AWS or the author of a template says, as JSON
// that is read the same.
func FuzzValue(f *testing.F) {
	for _, text := range []string{"1", "-1.5e3", "NaN", "+Inf", "0x1p-2", "1_000", ".5", "+1", "01", "1e999", "true", "null", ""} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, number bool) {
		written, err := json.Marshal(v1alpha1.Value{Text: text, Number: number})
		if err != nil {
			t.Fatalf("%q is not written: %v", text, err)
		}
		var again v1alpha1.Value
		if err := json.Unmarshal(written, &again); err != nil || utf8.ValidString(text) && again.Text != text || again.Number && !number {
			t.Errorf("%q is written as %s, which is read as %+v, %v", text, written, again, err)
		}
	})
}
