package schema

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for the schemas
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

//go:generate go run ./fetch -out data/cfn-resource-schemas.json.gz

//go:embed data/cfn-resource-schemas.json.gz
var embedded []byte

// maxParsed is how many parsed types a registry remembers. A parsed type
// takes some ten times the memory of its bytes, and most programs use few.
const maxParsed = 48

// Registry holds resource types. It is safe for use by several goroutines.
type Registry struct {
	compressed []byte

	load    sync.Once
	loadErr error
	index   map[string]span
	names   []string

	mu     sync.Mutex
	data   []byte // nil once forgotten
	parsed map[string]*Type
}

// span is where in the data a type's schema is.
type span struct{ start, end int }

var defaultRegistry = &Registry{compressed: embedded}

// Default returns the registry of the embedded schemas. They are unpacked
// when first asked for.
func Default() *Registry { return defaultRegistry }

// New returns a registry of other schemas: a gzipped JSON object from type
// name to schema, as the program in fetch writes it.
func New(compressed []byte) (*Registry, error) {
	r := &Registry{compressed: compressed}
	r.unpack()
	if r.loadErr != nil {
		return nil, r.loadErr
	}
	return r, nil
}

// unpack reads the data once and notes where each type begins and ends.
func (r *Registry) unpack() {
	r.load.Do(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.parsed = map[string]*Type{}
		r.data, r.loadErr = gunzip(r.compressed)
		if r.loadErr != nil {
			return
		}
		r.index, r.loadErr = indexTypes(r.data)
		r.names = slices.Sorted(maps.Keys(r.index))
	})
}

func gunzip(compressed []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("unpack resource schemas: %w", err)
	}
	if len(compressed) < 4 {
		return nil, errIndex
	}
	// The last four bytes say how long the data is, so that it is held once
	// and not grown into twice the size.
	size := binary.LittleEndian.Uint32(compressed[len(compressed)-4:])
	const most = 64 << 20
	data := bytes.NewBuffer(make([]byte, 0, min(size, most)+bytes.MinRead))
	if _, err := io.Copy(data, io.LimitReader(reader, most)); err != nil {
		return nil, fmt.Errorf("unpack resource schemas: %w", err)
	}
	return data.Bytes(), nil
}

// errIndex says that the data is not what fetch writes.
var errIndex = errors.New("the resource schemas are not a JSON object of objects")

// indexTypes finds the members of a JSON object without decoding them.
func indexTypes(data []byte) (map[string]span, error) {
	index := make(map[string]span, 2048)
	at := bytes.IndexByte(data, '{') + 1
	for at > 0 && at < len(data) {
		open := bytes.IndexByte(data[at:], '"')
		if open < 0 {
			return index, nil
		}
		nameStart := at + open + 1
		length := bytes.IndexByte(data[nameStart:], '"')
		value := bytes.IndexByte(data[nameStart:], '{')
		if length < 0 || value < length {
			return nil, errIndex
		}
		start := nameStart + value
		end := objectEnd(data, start)
		if end < 0 {
			return nil, errIndex
		}
		index[string(data[nameStart:nameStart+length])] = span{start, end}
		at = end
	}
	return nil, errIndex
}

// objectEnd returns the offset after the object that begins at start, -1 if
// it has no end.
func objectEnd(data []byte, start int) int {
	depth := 0
	for i := start; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '{':
			depth++
		case '}':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// Type returns a resource type, false if there is none of that name.
func (r *Registry) Type(name string) (*Type, bool) {
	r.unpack()
	at, ok := r.index[name]
	if !ok {
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.parsed[name]; t != nil {
		return t, true
	}
	if r.data == nil {
		if r.data, r.loadErr = gunzip(r.compressed); r.loadErr != nil {
			return nil, false
		}
	}
	// Of its own, so that the data can be forgotten.
	t, err := ParseType(name, bytes.Clone(r.data[at.start:at.end]))
	if err != nil {
		return nil, false
	}
	if len(r.parsed) >= maxParsed {
		for forgotten := range r.parsed {
			delete(r.parsed, forgotten)
			break
		}
	}
	r.parsed[name] = t
	return t, true
}

// Forget lets go of the unpacked schemas, 5 MB, of which a program that has seen
// the types it uses has no further need. The next new type unpacks them again,
// which takes some 30 ms.
func (r *Registry) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.data = nil
}

// Names lists all resource types, sorted.
func (r *Registry) Names() []string {
	r.unpack()
	return slices.Clone(r.names)
}

// Err reports why the schemas could not be unpacked, nil if they could. With
// the embedded ones that is a fault of the build.
func (r *Registry) Err() error {
	r.unpack()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.loadErr
}

// Suggest returns the resource type that name was probably meant to be, empty
// if none is near.
func (r *Registry) Suggest(name string) string {
	r.unpack()
	return template.Closest(name, r.names)
}
