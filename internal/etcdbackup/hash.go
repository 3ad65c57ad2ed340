package etcdbackup

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
)

// Hash verifies a snapshot that is written to it. etcd appends the SHA-256 of its database, and its
// own tools verify a snapshot in the same way: without the hash, one that ends early could pass for
// a complete one. The zero value is ready to use.
// https://github.com/etcd-io/etcd/blob/v3.6.8/etcdutl/snapshot/v3_snapshot.go
type Hash struct {
	sum  hash.Hash
	last []byte // at most the size of a hash
	size uint64
}

// Write takes the next bytes of the snapshot. It never fails.
func (h *Hash) Write(next []byte) (int, error) {
	if h.sum == nil {
		h.sum = sha256.New()
	}
	h.size += uint64(len(next))
	h.last = append(h.last, next...)
	if surplus := len(h.last) - sha256.Size; surplus > 0 {
		h.sum.Write(h.last[:surplus])
		h.last = append(h.last[:0], h.last[surplus:]...)
	}
	return len(next), nil
}

// Size returns the number of bytes so far.
func (h *Hash) Size() uint64 { return h.size }

// Verify returns an error unless what was written ends with the hash of what is before it.
func (h *Hash) Verify() error {
	const sector = 512 // The size of a database is a multiple of it.
	if h.size < sector || h.size%sector != sha256.Size {
		return fmt.Errorf("it ends after %d bytes, without its hash", h.size)
	}
	if !bytes.Equal(h.sum.Sum(nil), h.last) {
		return errors.New("it does not have the hash that etcd appended to it")
	}
	return nil
}
