package rollout_test

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cluster/rollout"
)

// FuzzMemory decodes any value of a tag without a panic. An accepted input is encoded to a value that
// is decoded to the same; with the reason of a stop, the value still fits into a tag.
func FuzzMemory(f *testing.F) {
	f.Add("a=1:t=1767323045:d=3:s=1:e=i-1_i-2:m=1767323100:p=02:x=aGVsbG8")
	f.Add("d=3")
	f.Add("d=-9223372036854775808:t=-1:p=9é")
	f.Add("d=1:a=" + strings.Repeat("a", 240))
	f.Add("d=1:e=" + strings.Repeat("_", 40))
	f.Fuzz(func(t *testing.T, tag string) {
		const longest = 256
		if len(tag) > longest {
			return // AWS refuses it
		}
		m, err := rollout.Decode(tag)
		if err != nil {
			if m != nil {
				t.Errorf("it is refused (%v) and gives %+v", err, m)
			}
			return
		}
		written := rollout.Encode(m)
		again, err := rollout.Decode(written)
		if err != nil {
			t.Fatalf("%q is written as %q, which is refused: %v", tag, written, err)
		}
		if second := rollout.Encode(again); second != written {
			t.Errorf("%q is written as %q, and then as %q", tag, written, second)
		}
		m.Stopped = strings.Repeat("The instances do not become Ready. ", 20)
		if stopped := rollout.Encode(m); len(written) <= longest && len(stopped) > longest {
			t.Errorf("with a reason, %q is written with %d bytes as %q", tag, len(stopped), stopped)
		}
	})
}
