package image

import (
	"fmt"
	"io/fs"

	"github.com/opencontainers/go-digest"

	"github.com/aws-operator/aws-operator/release/archive"
)

// modeTmp is that of /tmp: everyone may write to it, and remove only their own.
const modeTmp = fs.ModeDir | fs.ModeSticky | 0o777

// layer is a layer of an image.
type layer struct {
	compressed []byte
	// diffID is the digest of the layer before compression.
	// https://github.com/opencontainers/image-spec/blob/v1.1.1/config.md#layer-diffid
	diffID digest.Digest
}

// newLayer returns a layer with files by their paths.
func newLayer(files map[string]archive.File) (*layer, error) {
	packed, err := archive.Tar(files)
	if err != nil {
		return nil, fmt.Errorf("make a layer: %w", err)
	}
	compressed, err := archive.Gzip(packed)
	if err != nil {
		return nil, fmt.Errorf("make a layer: %w", err)
	}
	return &layer{compressed: compressed, diffID: digest.FromBytes(packed)}, nil
}
