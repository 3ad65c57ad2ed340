package manifest

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Open returns the sources that paths name: files, the YAML and JSON files in folders and below,
// and in for "-".
func Open(paths []string, in io.Reader) ([]Source, error) {
	var sources []Source
	for _, path := range paths {
		if path == "-" {
			sources = append(sources, Source{Name: "standard input", Reader: in})
			continue
		}
		files, err := expand(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			data, err := os.ReadFile(file) //nolint:gosec // reads what the person names
			if err != nil {
				return nil, fmt.Errorf("read the manifests: %w", err)
			}
			sources = append(sources, Source{Name: file, Reader: bytes.NewReader(data)})
		}
	}
	return sources, nil
}

func expand(path string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if file == path || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)) {
			files = append(files, file)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find the manifests: %w", err)
	}
	return files, nil
}
