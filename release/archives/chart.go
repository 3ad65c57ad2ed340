package main

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/aws-operator/aws-operator/release/archive"
)

// chartArchive returns the name and the archive of a chart of a version, as helm package makes it: the
// chart has the version without v, and the application the version of the images.
func chartArchive(chart fs.FS, name, version string) (file string, packed []byte, err error) {
	files := map[string]archive.File{}
	err = fs.WalkDir(chart, ".", func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err //nolint:wrapcheck // It names the path.
		}
		content, err := fs.ReadFile(chart, at)
		files[path.Join(name, at)] = archive.File{Mode: archive.ModeFile, Content: content}
		return err //nolint:wrapcheck // It names the path.
	})
	if err != nil {
		return "", nil, fmt.Errorf("read the chart: %w", err)
	}
	metadata := path.Join(name, "Chart.yaml")
	number := strings.TrimPrefix(version, "v")
	text := string(files[metadata].Content)
	for _, line := range []struct{ now, then string }{
		{"\nversion: 0.0.0\n", "\nversion: " + number + "\n"}, {"\nappVersion: latest\n", "\nappVersion: " + version + "\n"},
	} {
		if strings.Count(text, line.now) != 1 {
			return "", nil, fmt.Errorf("the chart's Chart.yaml does not have the line %q once", strings.TrimSpace(line.now))
		}
		text = strings.Replace(text, line.now, line.then, 1)
	}
	files[metadata] = archive.File{Mode: archive.ModeFile, Content: []byte(text)}
	packed, err = archive.TarGzip(files)
	if err != nil {
		return "", nil, fmt.Errorf("pack the chart: %w", err)
	}
	return name + "-" + number + ".tgz", packed, nil
}
