package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
)

// maxSchema limits one schema; the largest has about 300 KB.
const maxSchema = 16 << 20

// unpack reads the schemas of an archive by type name, stripped.
func unpack(data []byte) (map[string]any, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("open the archive: %w", err)
	}
	types := map[string]any{}
	for _, file := range archive.File {
		if file.FileInfo().IsDir() {
			continue
		}
		name, document, err := unpackOne(file)
		if err != nil {
			return nil, fmt.Errorf("%s in the archive: %w", file.Name, err)
		}
		if types[name] != nil {
			return nil, fmt.Errorf("%s in the archive: %s occurs twice", file.Name, name)
		}
		types[name] = document
	}
	if len(types) == 0 {
		return nil, errors.New("the archive contains no schemas")
	}
	return types, nil
}

func unpackOne(file *zip.File) (string, map[string]any, error) {
	reader, err := file.Open()
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = reader.Close() }()
	decoder := json.NewDecoder(io.LimitReader(reader, maxSchema))
	decoder.UseNumber()
	var document map[string]any
	if err := decoder.Decode(&document); err != nil {
		return "", nil, err
	}
	name, ok := document["typeName"].(string)
	if !ok || name == "" {
		return "", nil, errors.New("it has no typeName")
	}
	stripped := strip(document)
	raw, err := json.Marshal(stripped)
	if err != nil {
		return "", nil, err
	}
	if _, err := schema.ParseType(name, raw); err != nil {
		return "", nil, err
	}
	return name, stripped, nil
}

// unused are keywords that this project does not read.
var unused = map[string]bool{
	"$comment": true, "$id": true, "$schema": true, "description": true, "documentationUrl": true, "examples": true,
	"handlers": true, "markdownDescription": true, "permissions": true, "propertyTransform": true, "resourceLink": true,
	"sourceUrl": true, "title": true, "typeConfiguration": true,
}

// byName are keywords whose members have names chosen by the schema's author, so that a member
// called description is a property.
var byName = map[string]bool{
	"definitions": true, "dependencies": true, "dependentRequired": true, "patternProperties": true, "properties": true,
}

// strip removes what is not used from a schema and the schemas within.
func strip(schema map[string]any) map[string]any {
	kept := make(map[string]any, len(schema))
	for keyword, value := range schema {
		members, isMap := value.(map[string]any)
		switch {
		case unused[keyword]:
		case byName[keyword] && isMap:
			named := make(map[string]any, len(members))
			for name, member := range members {
				named[name] = stripValue(member)
			}
			kept[keyword] = named
		case keyword == "enum" || keyword == "const" || keyword == "default":
			kept[keyword] = value
		default:
			kept[keyword] = stripValue(value)
		}
	}
	return kept
}

func stripValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return strip(value)
	case []any:
		stripped := make([]any, len(value))
		for i, item := range value {
			stripped[i] = stripValue(item)
		}
		return stripped
	default:
		return value
	}
}

// pack writes the schemas as the registry reads them: one gzipped JSON object, sorted by name. The
// same schemas give the same bytes.
func pack(types map[string]any) ([]byte, error) {
	var out bytes.Buffer
	writer, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	if err := errors.Join(encoder.Encode(types), writer.Close()); err != nil {
		return nil, fmt.Errorf("pack the schemas: %w", err)
	}
	if _, err := schema.New(out.Bytes()); err != nil {
		return nil, fmt.Errorf("the packed schemas cannot be read: %w", err)
	}
	return out.Bytes(), nil
}

// report writes the differences from the replaced file.
func report(log io.Writer, before []byte, types map[string]any) {
	_, _ = fmt.Fprintf(log, "%d resource types\n", len(types))
	if len(before) == 0 {
		return
	}
	old, err := schema.New(before)
	if err != nil {
		_, _ = fmt.Fprintf(log, "the replaced file cannot be read: %v\n", err)
		return
	}
	var removed, added []string
	for _, name := range old.Names() {
		if types[name] == nil {
			removed = append(removed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if _, known := old.Type(name); !known {
			added = append(added, name)
		}
	}
	if len(added) > 0 {
		_, _ = fmt.Fprintf(log, "%d new: %s\n", len(added), list(added))
	}
	if len(removed) > 0 {
		_, _ = fmt.Fprintf(log, "%d removed: %s\n", len(removed), list(removed))
	}
}
