package render

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// manifest is one document of a file.
type manifest struct {
	file        string
	group, kind string
	data        []byte
}

// read returns the documents of files, of the YAML and JSON files in folders,
// and of in for "-".
func read(paths []string, in io.Reader) ([]manifest, error) {
	var all []manifest
	for _, path := range paths {
		files, err := expand(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			data, err := contents(file, in)
			if err != nil {
				return nil, err
			}
			documents, err := split(file, data)
			if err != nil {
				return nil, err
			}
			all = append(all, documents...)
		}
	}
	return all, nil
}

func expand(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
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

func contents(file string, in io.Reader) ([]byte, error) {
	if file == "-" {
		data, err := io.ReadAll(in)
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		return data, nil
	}
	data, err := os.ReadFile(file) //nolint:gosec // reads what the person names
	if err != nil {
		return nil, fmt.Errorf("read the manifests: %w", err)
	}
	return data, nil
}

func split(file string, data []byte) ([]manifest, error) {
	var all []manifest
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		var header struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}
		if err := yaml.Unmarshal(document, &header); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if header.Kind == "" {
			continue
		}
		version, err := schema.ParseGroupVersion(header.APIVersion)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, manifest{file: file, group: version.Group, kind: header.Kind, data: document})
	}
}
