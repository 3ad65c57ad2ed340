package nodeup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// FuzzUnpack unpacks any archive without a panic, and never writes outside of its folder.
func FuzzUnpack(f *testing.F) {
	for _, headers := range [][]tar.Header{
		{{Name: "bin/", Typeflag: tar.TypeDir, Mode: 0o755}, {Name: "bin/kubelet", Typeflag: tar.TypeReg, Mode: 0o755, Size: 4}},
		{{Name: "../outside/planted", Typeflag: tar.TypeReg, Mode: 0o644, Size: 4}},
		{{Name: "/outside/planted", Typeflag: tar.TypeReg, Mode: 0o644, Size: 4}},
		{
			{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "../outside"},
			{Name: "link/planted", Typeflag: tar.TypeReg, Mode: 0o644, Size: 4},
		},
		{
			{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "../outside/kept"},
			{Name: "link", Typeflag: tar.TypeReg, Mode: 0o644, Size: 4},
		},
		{
			{Name: "hard", Typeflag: tar.TypeLink, Linkname: "../outside/kept"},
			{Name: "hard", Typeflag: tar.TypeReg, Mode: 0o644, Size: 4},
		},
		{{Name: "device", Typeflag: tar.TypeChar}, {Name: ".", Typeflag: tar.TypeSymlink, Linkname: "/"}, {Name: "..", Typeflag: tar.TypeReg}},
	} {
		f.Add(archiveOf(f, headers))
	}
	f.Fuzz(func(t *testing.T, archive []byte) {
		if len(archive) > 1<<20 {
			t.Skip("a sparse file in a larger archive fills the disk of the test")
		}
		if holdsLarge(archive) {
			t.Skip("a sparse file fills the disk of the test")
		}
		root := t.TempDir()
		folder, outside := filepath.Join(root, "folder"), filepath.Join(root, "outside")
		for _, dir := range []string{folder, outside} {
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		kept := filepath.Join(outside, "kept")
		if err := os.WriteFile(kept, []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
		var zipped bytes.Buffer
		writer := gzip.NewWriter(&zipped)
		_, _ = writer.Write(archive) // a buffer returns no error
		_ = writer.Close()
		_ = unpack(&zipped, folder) // A refused archive must not write there either.
		// Folders may have modes that forbid to remove what is in them.
		_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				err = os.Chmod(path, 0o700)
			}
			return err
		})
		for dir, want := range map[string]int{root: 2, outside: 1} {
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != want {
				t.Errorf("%s holds %v, %v", dir, entries, err)
			}
		}
		if text, err := os.ReadFile(kept); err != nil || string(text) != "kept" {
			t.Errorf("a file outside holds %q, %v", text, err)
		}
	})
}

func archiveOf(f *testing.F, headers []tar.Header) []byte {
	f.Helper()
	var out bytes.Buffer
	writer := tar.NewWriter(&out)
	for i := range headers {
		if err := writer.WriteHeader(&headers[i]); err != nil {
			f.Fatal(err)
		}
		if headers[i].Size > 0 {
			if _, err := writer.Write([]byte("text")); err != nil {
				f.Fatal(err)
			}
		}
	}
	if err := writer.Close(); err != nil {
		f.Fatal(err)
	}
	return out.Bytes()
}

// holdsLarge reports whether a file of the archive is larger than the archive can be.
func holdsLarge(archive []byte) bool {
	for reader := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := reader.Next()
		if err != nil {
			return false
		}
		if header.Size > 1<<20 {
			return true
		}
	}
}

// FuzzReadKubeconfig reads any kubeconfig without a panic.
func FuzzReadKubeconfig(f *testing.F) {
	f.Add("clusters:\n- cluster:\n    certificate-authority-data: aGVsbG8=\n    server: https://api.example.com:6443\n")
	f.Add("client-key-data: not base64")
	f.Add(": \n: : \n-data: ")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := readKubeconfig(text)
		if err != nil && values != nil {
			t.Errorf("it is refused (%v) and gives %v", err, values)
		}
	})
}

// FuzzNumbers reads any version of a Kubernetes node without a panic.
func FuzzNumbers(f *testing.F) {
	for _, version := range []string{"v1.36.3", "v1.36.0-rc.1", "", "v", "1.999999999999999999999.x", "-1.-2"} {
		f.Add(version)
	}
	f.Fuzz(func(t *testing.T, version string) {
		for _, number := range numbers(version) {
			if number < 0 {
				t.Errorf("%q has the number %d", version, number)
			}
		}
	})
}
