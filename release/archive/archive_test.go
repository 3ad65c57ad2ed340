package archive_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/release/archive"
)

func files() map[string]archive.File {
	return map[string]archive.File{
		"release/program": {Mode: archive.ModeProgram, Content: []byte("program")},
		"release/README":  {Mode: archive.ModeFile, Content: []byte("text")},
		"release/tmp":     {Mode: fs.ModeDir | fs.ModeSticky | 0o777},
	}
}

func TestTarHasFilesAndTheFoldersAboveThem(t *testing.T) {
	packed, err := archive.TarGzip(files())
	if err != nil {
		t.Fatal(err)
	}
	zipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for read := tar.NewReader(zipped); ; {
		header, err := read.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(read)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s %d:%d %d %s", header.FileInfo().Mode(), header.Name, header.Uid, header.Gid, header.ModTime.Unix(), content))
	}
	want := []string{
		"drwxr-xr-x release/ 0:0 0 ", "-rw-r--r-- release/README 0:0 0 text", "-rwxr-xr-x release/program 0:0 0 program", "dtrwxrwxrwx release/tmp/ 0:0 0 ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestTheSameFilesGiveTheSameBytes(t *testing.T) {
	first, err := archive.TarGzip(files())
	second, again := archive.TarGzip(files())
	if err != nil || again != nil || !bytes.Equal(first, second) {
		t.Errorf("two archives differ: %v, %v", err, again)
	}
}

func TestChecksumsAreThoseThatSha256sumReads(t *testing.T) {
	got := string(archive.Checksums(map[string][]byte{"b": []byte("b\n"), "a": nil}))
	want := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\n" +
		"0263829989b6fd954f72baaf2fc64bc2e2f01d692d4de72986ea808f6e99813f  b\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
