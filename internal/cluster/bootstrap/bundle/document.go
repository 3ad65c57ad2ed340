package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// JSON returns the document. The same bundle results in the same bytes: fields are in order, and
// maps are sorted by key.
func (b *Bundle) JSON() []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(b); err != nil {
		// Strings, numbers, and maps and lists of those always encode.
		panic(fmt.Sprintf("bundle: %v", err))
	}
	return out.Bytes()
}

// Hash returns the SHA-256 of the document's bytes, in hex: the bundle's name.
func (b *Bundle) Hash() string { return HashOf(b.JSON()) }

// HashOf returns the SHA-256 of a document's bytes, in hex.
func HashOf(document []byte) string {
	sum := sha256.Sum256(document)
	return hex.EncodeToString(sum[:])
}

// Key returns the key under which a document of that hash is stored in the cluster's bucket.
func Key(hash string) string { return "bundles/" + hash + ".json" }

// NodeupKey returns the key under which nodeup of that hash and architecture is stored in the
// cluster's bucket.
func NodeupKey(hash, architecture string) string {
	return "nodeup/" + hash + "/nodeup-linux-" + architecture
}

// RestoreKey returns the key in the cluster's bucket of the program that restores etcd members from
// a snapshot's data. It depends on the snapshot and not on the program's hash, since another
// operator's program is no reason to replace instances.
func RestoreKey(snapshot, architecture string) string {
	return "nodeup/restore-" + snapshot + "/etcd-restore-linux-" + architecture
}

// Label is the node label by which the operator identifies the bundle that a node booted with. The
// bundle cannot contain it, because the value depends on the bundle's hash; see [LabelValue].
const Label = "cluster-operator.aws/bundle"

// LabelValue returns the part of a bundle's hash in the nodes' label: a whole hash exceeds the
// length of a label's value.
func LabelValue(hash string) string {
	const length = 16
	return hash[:min(length, len(hash))]
}

// Parse parses a document. It returns an error for another version and for unknown fields: a bundle
// must be applied completely or not at all.
func Parse(document []byte) (*Bundle, error) {
	var form struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(document, &form); err != nil {
		return nil, fmt.Errorf("read the bundle: %w", err)
	}
	if form.Version != Version {
		return nil, fmt.Errorf(
			"the bundle has version %d, but this nodeup reads version %d; they are published together, so the user data names a nodeup of another release",
			form.Version,
			Version,
		)
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.DisallowUnknownFields()
	b := &Bundle{}
	if err := decoder.Decode(b); err != nil {
		return nil, fmt.Errorf("read the bundle: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read the bundle: data follows the document")
	}
	return b, nil
}
