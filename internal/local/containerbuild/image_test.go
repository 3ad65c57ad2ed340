package containerbuild

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestFoldersComeBeforeWhatIsInThem(t *testing.T) {
	source := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(source, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	image := Image{Files: map[string]string{"/usr/bin/a": source}, Links: map[string]string{"/usr/bin/b": "a", "/b": "usr/bin/a"}}
	if err := writeTar(&out, image); err != nil {
		t.Fatal(err)
	}
	var names []string
	for archive := tar.NewReader(&out); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
	if want := []string{"b", "tmp/", "usr/", "usr/bin/", "usr/bin/a", "usr/bin/b"}; !slices.Equal(names, want) {
		t.Errorf("the layer has %q, want %q", names, want)
	}
}

func TestSameProgramsMakeTheSameImage(t *testing.T) {
	source := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(source, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	images := []Image{{Names: []string{"a/b:1", "a/c:1"}, Files: map[string]string{"/a": source}, Entrypoint: []string{"/a"}}}
	var indexes []string
	for range 2 {
		dir := filepath.Join(t.TempDir(), "images")
		if err := WriteLayout(dir, images); err != nil {
			t.Fatal(err)
		}
		index, err := os.ReadFile(filepath.Join(dir, "index.json"))
		if err != nil {
			t.Fatal(err)
		}
		indexes = append(indexes, string(index))
	}
	if indexes[0] != indexes[1] {
		t.Errorf("the images differ:\n%s\n%s", indexes[0], indexes[1])
	}
}

func TestTextsHaveTheirModesAndContent(t *testing.T) {
	var out bytes.Buffer
	image := Image{
		Texts: map[string]string{"/etc/passwd": "root:x:0:0::/:\n", "/run.sh": "exit 0"}, Modes: map[string]int64{"/etc/passwd": 0o644},
	}
	if err := writeTar(&out, image); err != nil {
		t.Fatal(err)
	}
	type file struct {
		text string
		mode int64
	}
	files := map[string]file{}
	for archive := tar.NewReader(&out); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = file{string(text), header.Mode}
	}
	for name, want := range map[string]file{"etc/passwd": {"root:x:0:0::/:\n", 0o644}, "run.sh": {"exit 0", 0o755}} {
		if files[name] != want {
			t.Errorf("%s is %+v, want %+v", name, files[name], want)
		}
	}
}
