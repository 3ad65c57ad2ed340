package image

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/aws-operator/aws-operator/release/archive"
)

// User is the user and the group of the images' processes. They are numbers, because the kubelet
// cannot verify runAsNonRoot for a name, and those that other images without root have.
// https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
const User = "65532:65532"

// Options describe the images.
type Options struct {
	// Programs are the programs that are the same in all images, by their names in the root folder.
	Programs map[string][]byte
	// Own is the program of each image by architecture, with the name Entrypoint in the root folder.
	Own map[string][]byte
	// Entrypoint is the name of the program that a container starts, and Command its arguments.
	Entrypoint string
	Command    []string
	// Name is the reference of the index in the layout, such as v1.2.3.
	Name string
	// Annotations are those of the index, such as the revision of the source.
	// https://github.com/opencontainers/image-spec/blob/v1.1.1/annotations.md
	Annotations map[string]string
}

// Write writes an OCI layout with the images to a new folder, and returns the digest of their index.
// It returns an error if the folder exists.
func Write(folder string, o Options) (digest.Digest, error) {
	w := &writer{folder: folder}
	if err := w.start(); err != nil {
		return "", err
	}
	common, err := commonLayer(o.Programs)
	if err != nil {
		return "", err
	}
	index := v1.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, Annotations: o.Annotations}
	for _, architecture := range []string{"amd64", "arm64"} {
		program, ok := o.Own[architecture]
		if !ok {
			return "", fmt.Errorf("there is no program for %s", architecture)
		}
		own, err := newLayer(map[string]archive.File{o.Entrypoint: {Mode: archive.ModeProgram, Content: program}})
		if err != nil {
			return "", err
		}
		manifest, err := w.image(v1.Platform{OS: "linux", Architecture: architecture}, o, common, own)
		if err != nil {
			return "", err
		}
		index.Manifests = append(index.Manifests, manifest)
	}
	of, err := w.document(v1.MediaTypeImageIndex, index)
	if err != nil {
		return "", err
	}
	of.Annotations = map[string]string{v1.AnnotationRefName: o.Name}
	top := v1.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, Manifests: []v1.Descriptor{of}}
	if err := w.file(v1.ImageIndexFile, top); err != nil {
		return "", err
	}
	return of.Digest, w.file(v1.ImageLayoutFile, v1.ImageLayout{Version: v1.ImageLayoutVersion})
}

// commonLayer returns the layer that all images share: certificates, /tmp and programs.
func commonLayer(programs map[string][]byte) (*layer, error) {
	roots, err := certificates()
	if err != nil {
		return nil, err
	}
	files := map[string]archive.File{certificatesFile: {Mode: archive.ModeFile, Content: roots}, "tmp": {Mode: modeTmp}}
	for name, content := range programs {
		files[name] = archive.File{Mode: archive.ModeProgram, Content: content}
	}
	return newLayer(files)
}

// writer writes the blobs of a layout.
type writer struct{ folder string }

func (w *writer) start() error {
	if err := os.Mkdir(w.folder, 0o755); err != nil { //nolint:gosec // An image is for everybody.
		return fmt.Errorf("create the folder of the layout, which must not exist: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(w.folder, v1.ImageBlobsDir, "sha256"), 0o755); err != nil { //nolint:gosec // as above
		return fmt.Errorf("create the folder of blobs: %w", err)
	}
	return nil
}

// image writes the image of a platform, with its layers from the bottom to the top.
func (w *writer) image(platform v1.Platform, o Options, layers ...*layer) (v1.Descriptor, error) {
	config := v1.Image{
		Platform: platform,
		Config: v1.ImageConfig{
			User: User, Entrypoint: []string{"/" + o.Entrypoint}, Cmd: o.Command, WorkingDir: "/",
		},
		RootFS: v1.RootFS{Type: "layers"},
	}
	manifest := v1.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest, Annotations: o.Annotations}
	for _, l := range layers {
		blob, err := w.blob(v1.MediaTypeImageLayerGzip, l.compressed)
		if err != nil {
			return v1.Descriptor{}, err
		}
		manifest.Layers = append(manifest.Layers, blob)
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, l.diffID)
	}
	var err error
	if manifest.Config, err = w.document(v1.MediaTypeImageConfig, config); err != nil {
		return v1.Descriptor{}, err
	}
	made, err := w.document(v1.MediaTypeImageManifest, manifest)
	made.Platform = &platform
	return made, err
}

// document writes a blob of JSON.
func (w *writer) document(mediaType string, content any) (v1.Descriptor, error) {
	data, err := json.Marshal(content)
	if err != nil {
		return v1.Descriptor{}, fmt.Errorf("encode a document: %w", err)
	}
	return w.blob(mediaType, data)
}

// blob writes a blob.
func (w *writer) blob(mediaType string, content []byte) (v1.Descriptor, error) {
	of := v1.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))}
	path := filepath.Join(w.folder, v1.ImageBlobsDir, of.Digest.Algorithm().String(), of.Digest.Encoded())
	if err := os.WriteFile(path, content, 0o644); err != nil { //nolint:gosec // An image is for everybody.
		return of, fmt.Errorf("write a blob: %w", err)
	}
	return of, nil
}

// file writes one of the files of JSON that are no blobs.
func (w *writer) file(name string, content any) error {
	data, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if err := os.WriteFile(filepath.Join(w.folder, name), data, 0o644); err != nil { //nolint:gosec // An image is for everybody.
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
