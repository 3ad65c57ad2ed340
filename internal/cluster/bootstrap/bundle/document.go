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

// JSON returns the document. The same bundle gives the same bytes: fields stand in their order,
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

// RestoreKey returns the key under which the program that makes members of etcd of a snapshot's data is stored in the
// cluster's bucket. It is the snapshot's and not the program's hash's, since another operator's program is no reason to
// replace machines.
func RestoreKey(snapshot, architecture string) string {
	return "nodeup/restore-" + snapshot + "/etcd-restore-linux-" + architecture
}

// LabelValue returns what of a bundle's hash nodes carry in their label: a whole hash is longer
// than a label's value may be.
func LabelValue(hash string) string {
	const length = 16
	return hash[:min(length, len(hash))]
}

// Parse reads a document. It errs on another version's form, and on what it does not know: a
// bundle is carried out wholly or not at all.
func Parse(document []byte) (*Bundle, error) {
	var form struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(document, &form); err != nil {
		return nil, fmt.Errorf("read the bundle: %w", err)
	}
	if form.Version != Version {
		return nil, fmt.Errorf("the bundle is of version %d, and this reads version %d: they are published together, look for a nodeup of another time in the user data", form.Version, Version)
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.DisallowUnknownFields()
	b := &Bundle{}
	if err := decoder.Decode(b); err != nil {
		return nil, fmt.Errorf("read the bundle: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read the bundle: something follows the document")
	}
	return b, nil
}
