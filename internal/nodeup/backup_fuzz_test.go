package nodeup

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"testing"
)

// FuzzCopySnapshot reads any stream without a panic, and accepts only a snapshot with its hash and
// within its limit.
func FuzzCopySnapshot(f *testing.F) {
	database := bytes.Repeat([]byte("database"), 64)
	sum := sha256.Sum256(database)
	part := func(blob []byte) string {
		return fmt.Sprintf(`{"result":{"remaining_bytes":"1","blob":"%s"}}`+"\n", base64.StdEncoding.EncodeToString(blob))
	}
	f.Add([]byte(part(database) + part(sum[:])))
	f.Add([]byte(part(append(database, sum[:]...)) + `{"error":{"message":"no"}}`))
	f.Add([]byte(part(database)))
	f.Add([]byte(`{"result":{"blob":"A"}}`))
	f.Add([]byte(`{"result":null}{"result":[]}`))
	const limit = 1 << 16
	f.Fuzz(func(t *testing.T, stream []byte) {
		var to bytes.Buffer
		if err := copySnapshot(&to, bytes.NewReader(stream), limit); err != nil {
			return
		}
		content := to.Bytes()
		if len(content) > limit || len(content) < sha256.Size {
			t.Fatalf("%d bytes are accepted", len(content))
		}
		end := len(content) - sha256.Size
		if want := sha256.Sum256(content[:end]); !bytes.Equal(want[:], content[end:]) {
			t.Errorf("%d bytes without their hash are accepted", len(content))
		}
	})
}
