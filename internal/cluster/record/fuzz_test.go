package record

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// FuzzDecode decodes any record in a status without a panic. An accepted input is encoded to a record
// that is decoded to the same.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`"{\"revision\":3,\"stackID\":\"arn:aws:cloudformation:eu-west-1:1:stack/a/b\",\"machines\":{}}"`), "CREATE_COMPLETE")
	f.Add([]byte(`{"stored":"abc","bootstrapTokenRenewal":"2026-01-02T03:04:05Z"}`), "")
	f.Add([]byte(`{"bootstrapTokenRenewal":"0001-01-01T00:00:00+23:59"}`), "")
	f.Add([]byte(`"not a record"`), "x")
	f.Add([]byte(`{"machines":{"generations":[null]}}`), "")
	f.Fuzz(func(t *testing.T, raw []byte, status string) {
		from := &v1alpha1.StackStatus{Name: "a", Status: status, Record: &runtime.RawExtension{Raw: raw}}
		r, err := Decode(from)
		if err != nil {
			return
		}
		to := &v1alpha1.StackStatus{Name: "a"}
		if err := Encode(to, r); err != nil {
			t.Fatal(err)
		}
		again, err := Decode(to)
		if err != nil {
			t.Fatalf("%s is decoded and encoded as %s, which is refused: %v", raw, to.Record.Raw, err)
		}
		first, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		second, err := json.Marshal(again)
		if err != nil || string(first) != string(second) {
			t.Errorf("%s becomes %s, %v", first, second, err)
		}
	})
}
