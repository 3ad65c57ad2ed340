package image_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"

	"github.com/aws-operator/aws-operator/release/image"
)

func options() image.Options {
	return image.Options{
		Programs:   map[string][]byte{"nodeup-linux-amd64": []byte("nodeup"), "nodeup-linux-arm64": []byte("nodeup for arm")},
		Own:        map[string][]byte{"amd64": []byte("operator"), "arm64": []byte("operator for arm")},
		Entrypoint: "aws-operator", Command: []string{"operator"}, Name: "v1.2.3",
		Annotations: map[string]string{v1.AnnotationRevision: "abc"},
	}
}

func write(t *testing.T) (folder string, of digest.Digest) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "layout")
	of, err := image.Write(folder, options())
	if err != nil {
		t.Fatal(err)
	}
	return folder, of
}

// files returns the files of a folder by their paths.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(folder, path))
		found[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestTwoBuildsAreEqualByteForByte(t *testing.T) {
	first, of := write(t)
	second, again := write(t)
	if of != again || !maps.Equal(files(t, first), files(t, second)) {
		t.Errorf("the builds %s and %s differ", of, again)
	}
}

func TestBlobsHaveTheirDigests(t *testing.T) {
	folder, _ := write(t)
	blobs := 0
	for path, data := range files(t, folder) {
		if !strings.HasPrefix(path, "blobs/") {
			continue
		}
		blobs++
		if sum := sha256.Sum256([]byte(data)); path != "blobs/sha256/"+hex.EncodeToString(sum[:]) {
			t.Errorf("%s has the SHA-256 %x", path, sum)
		}
	}
	if blobs != 8 { // an index, two manifests, two configurations, two own layers and one that both share
		t.Errorf("there are %d blobs, want 8", blobs)
	}
}

// Another implementation reads the layout, and finds the image of each platform.
func TestImagesOfBothArchitecturesCanBeRead(t *testing.T) {
	folder, of := write(t)
	store, err := oci.NewFromFS(t.Context(), os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	index, err := store.Resolve(t.Context(), "v1.2.3")
	if err != nil || index.Digest != of {
		t.Fatalf("v1.2.3 is %s, %v, want %s", index.Digest, err, of)
	}
	for architecture, program := range map[string]string{"amd64": "operator", "arm64": "operator for arm"} {
		t.Run(architecture, func(t *testing.T) {
			_, data, err := oras.FetchBytes(t.Context(), store, "v1.2.3", oras.FetchBytesOptions{FetchOptions: oras.FetchOptions{
				ResolveOptions: oras.ResolveOptions{TargetPlatform: &v1.Platform{OS: "linux", Architecture: architecture}},
			}})
			if err != nil {
				t.Fatal(err)
			}
			var manifest v1.Manifest
			decode(t, data, &manifest)
			if manifest.Annotations[v1.AnnotationRevision] != "abc" {
				t.Errorf("the manifest has the annotations %v", manifest.Annotations)
			}
			var config v1.Image
			decode(t, fetch(t, store, manifest.Config), &config)
			want := v1.ImageConfig{User: "65532:65532", Entrypoint: []string{"/aws-operator"}, Cmd: []string{"operator"}, WorkingDir: "/"}
			if diff := cmp.Diff(want, config.Config); diff != "" || config.Architecture != architecture || config.OS != "linux" {
				t.Errorf("the image is for %s/%s (-want +got):\n%s", config.OS, config.Architecture, diff)
			}
			got := map[string]string{}
			for i, blob := range manifest.Layers {
				unpack(t, fetch(t, store, blob), config.RootFS.DiffIDs[i], got)
			}
			checkCertificates(t, got)
			if diff := cmp.Diff(map[string]string{
				"aws-operator": "-rwxr-xr-x " + program, "nodeup-linux-amd64": "-rwxr-xr-x nodeup", "nodeup-linux-arm64": "-rwxr-xr-x nodeup for arm",
				"etc/": "drwxr-xr-x ", "etc/ssl/": "drwxr-xr-x ", "etc/ssl/certs/": "drwxr-xr-x ", "tmp/": "dtrwxrwxrwx ",
			}, got); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func fetch(t *testing.T, store content.Fetcher, of v1.Descriptor) []byte {
	t.Helper()
	data, err := content.FetchAll(t.Context(), store, of) // It verifies size and digest.
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// unpack adds the files of a layer: their modes and contents by their paths.
func unpack(t *testing.T, compressed []byte, diffID digest.Digest, into map[string]string) {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		t.Fatal(err)
	}
	packed, err := io.ReadAll(zipped)
	if err != nil {
		t.Fatal(err)
	}
	if got := digest.FromBytes(packed); got != diffID {
		t.Errorf("the layer has the diff ID %s, want %s", got, diffID)
	}
	for archive := tar.NewReader(bytes.NewReader(packed)); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 || header.ModTime.Unix() != 0 {
			t.Errorf("%s belongs to %d:%d and is of %s", header.Name, header.Uid, header.Gid, header.ModTime)
		}
		into[header.Name] = fmt.Sprintf("%s %s", header.FileInfo().Mode(), data)
	}
}

// checkCertificates checks the root certificates, and removes them from files.
func checkCertificates(t *testing.T, files map[string]string) {
	t.Helper()
	const name = "etc/ssl/certs/ca-certificates.crt"
	mode, text, _ := strings.Cut(files[name], " ")
	delete(files, name)
	if mode != "-rw-r--r--" {
		t.Errorf("%s has the mode %s", name, mode)
	}
	var names []string
	for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, certificate.Subject.CommonName)
	}
	// https://www.amazontrust.com/repository/
	for _, root := range []string{"Amazon Root CA 1", "Amazon Root CA 2", "Amazon Root CA 3", "Amazon Root CA 4"} {
		if !slices.Contains(names, root) {
			t.Errorf("%q is not among the root certificates", root)
		}
	}
}

func TestALayoutIsNotOverwritten(t *testing.T) {
	folder, _ := write(t)
	if _, err := image.Write(folder, options()); err == nil || !strings.Contains(err.Error(), "must not exist") {
		t.Errorf("got %v", err)
	}
}

func TestAProgramOfEachArchitectureIsRequired(t *testing.T) {
	o := options()
	delete(o.Own, "arm64")
	if _, err := image.Write(filepath.Join(t.TempDir(), "layout"), o); err == nil || !strings.Contains(err.Error(), "no program for arm64") {
		t.Errorf("got %v", err)
	}
}
