package etcdbackup_test

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/etcdbackup"
)

// snapshot returns a database of some sectors with its hash.
func snapshot(sectors int) []byte {
	database := bytes.Repeat([]byte("database"), 64*sectors)
	sum := sha256.Sum256(database)
	return append(database, sum[:]...)
}

func TestSnapshotIsVerifiedHoweverItArrives(t *testing.T) {
	whole := snapshot(8)
	for _, size := range []int{1, 31, 32, 33, 512, len(whole)} {
		var h etcdbackup.Hash
		for part := range bytesOf(whole, size) {
			_, _ = h.Write(part)
		}
		if err := h.Verify(); err != nil || h.Size() != uint64(len(whole)) {
			t.Errorf("in parts of %d bytes: %v after %d bytes", size, err, h.Size())
		}
	}
}

func bytesOf(whole []byte, size int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for rest := whole; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if !yield(rest[:min(size, len(rest))]) {
				return
			}
		}
	}
}

func TestDamagedSnapshotIsRefused(t *testing.T) {
	whole := snapshot(8)
	changed := bytes.Clone(whole)
	changed[100] ^= 1
	for name, test := range map[string]struct {
		content []byte
		want    string
	}{
		"nothing":          {nil, "ends after 0 bytes"},
		"only a hash":      {whole[:32], "ends after 32 bytes"},
		"without its hash": {whole[:len(whole)-32], "without its hash"},
		"cut at a sector":  {whole[:512+32], "does not have the hash"},
		"cut":              {whole[:len(whole)-1], "without its hash"},
		"a bit flipped":    {changed, "does not have the hash"},
	} {
		t.Run(name, func(t *testing.T) {
			var h etcdbackup.Hash
			_, _ = h.Write(test.content)
			if err := h.Verify(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
