package containerbuild

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
)

func TestChartsArePackedEqually(t *testing.T) {
	charts := fstest.MapFS{
		"demo/Chart.yaml":          {Data: []byte("name: demo\nversion: 1.2.3\n")},
		"demo/templates/demo.yaml": {Data: []byte("kind: ConfigMap\n")},
		"other/Chart.yaml":         {Data: []byte("name: other\nversion: 1.0.0\n")},
	}
	folder, again := t.TempDir(), t.TempDir()
	addon, err := packChart(charts, "demo", folder)
	if err != nil || addon.Version != "1.2.3" {
		t.Fatalf("packed as %+v, %v", addon, err)
	}
	if second, err := packChart(charts, "demo", again); err != nil || second.Digest != addon.Digest {
		t.Errorf("a second archive has the digest %s, %v, want %s", second.Digest, err, addon.Digest)
	}
	packed, err := os.ReadFile(filepath.Join(folder, "demo-1.2.3.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	zipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for archive := tar.NewReader(zipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
	if want := []string{"demo/Chart.yaml", "demo/templates/demo.yaml"}; !slices.Equal(names, want) {
		t.Errorf("the archive has %v, want %v", names, want)
	}
}
