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

// maxParsed is how many parsed types a registry caches. A parsed type takes about ten times the
// memory of its bytes, and most programs use few.
const maxParsed = 48

// Registry holds resource types. It is safe for concurrent use.
type Registry struct {
	compressed []byte

	load    sync.Once
	loadErr error
	index   map[string]span
	names   []string

	mu     sync.Mutex
	data   []byte // nil after Forget
	parsed map[string]*Type
}

// span is the position of a type's schema in the data.
type span struct{ start, end int }

var defaultRegistry = &Registry{compressed: embedded}

// Default returns the registry of the embedded schemas. They are unpacked on first use.
func Default() *Registry { return defaultRegistry }

// New returns a registry of other schemas: a gzipped JSON object from type name to schema, as
// written by the program in fetch.
func New(compressed []byte) (*Registry, error) {
	r := &Registry{compressed: compressed}
	r.unpack()
	if r.loadErr != nil {
		return nil, r.loadErr
	}
	return r, nil
}

// unpack decompresses the data once and indexes the types.
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
	// The last four bytes are the length of the data, so that the buffer need not grow to twice the
	// size.
	size := binary.LittleEndian.Uint32(compressed[len(compressed)-4:])
	const most = 64 << 20
	data := bytes.NewBuffer(make([]byte, 0, min(size, most)+bytes.MinRead))
	if _, err := io.Copy(data, io.LimitReader(reader, most)); err != nil {
		return nil, fmt.Errorf("unpack resource schemas: %w", err)
	}
	return data.Bytes(), nil
}

// errIndex means that the data does not have fetch's format.
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

// objectEnd returns the offset after the object that begins at start, or -1 if it is incomplete.
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

// Type returns the resource type with a name, or false.
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
	// A copy, so that Forget can free the data.
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

// Forget frees the unpacked schemas, 5 MB, which a program no longer needs once it has requested
// the types it uses. The next new type unpacks them again, which takes about 30 ms.
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

// Err returns the error of unpacking the schemas, if any. For the embedded ones it is a defect of
// the build.
func (r *Registry) Err() error {
	r.unpack()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.loadErr
}

// Suggest returns the resource type that name was probably meant to be, or "" if none is close.
func (r *Registry) Suggest(name string) string {
	r.unpack()
	return template.Closest(name, r.names)
}
