package auditlog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// rotatedTime is the time in the names of rotated files. Names in alphabetical order are in that of
// their times.
var rotatedTime = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}\.[0-9]{3}$`)

const compressed = ".gz"

// onDisk is a file of the log.
type onDisk struct {
	// id is the SHA-256 of its first line, in hex.
	id string
	// name is its name in the folder.
	name string
	// size is its size in bytes; -1 for a compressed one, whose size is not known.
	size int64
	// isCurrent reports that the API server appends to it.
	isCurrent bool
	// err is why it cannot be read.
	err error
}

// names returns the names of the log's files, the oldest first. Of a file that is being compressed,
// there are two, of which only the original is complete.
func (s *Shipper) names() ([]string, error) {
	entries, err := os.ReadDir(s.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // The API server has not started yet.
	}
	if err != nil {
		return nil, fmt.Errorf("list the audit log: %w", err)
	}
	extension := filepath.Ext(s.Name)
	prefix := strings.TrimSuffix(s.Name, extension) + "-"
	found := map[string]string{}
	current := false
	for _, entry := range entries {
		name := entry.Name()
		if current = current || name == s.Name; name == s.Name {
			continue
		}
		plain := strings.TrimSuffix(name, compressed)
		middle, isOurs := strings.CutPrefix(strings.TrimSuffix(plain, extension), prefix)
		if !isOurs || !strings.HasSuffix(plain, extension) || !rotatedTime.MatchString(middle) {
			continue
		}
		if found[plain] == "" || name == plain {
			found[plain] = name
		}
	}
	var names []string
	for _, name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	if current {
		names = append(names, s.Name)
	}
	return names, nil
}

// list returns the files that have something to ship, the oldest first. The API server may rename
// and delete files meanwhile: the list is of a moment at which none of their names changed.
func (s *Shipper) list() ([]onDisk, error) {
	const attempts = 10
	for range attempts {
		before, err := s.names()
		if err != nil {
			return nil, err
		}
		var files []onDisk
		for _, name := range before {
			file, ok := s.identify(name)
			if ok && !errors.Is(file.err, fs.ErrNotExist) {
				files = append(files, file)
			}
		}
		after, err := s.names()
		if err != nil {
			return nil, err
		}
		if slices.Equal(before, after) {
			s.forget(after)
			return files, nil
		}
	}
	return nil, errors.New("the files of the audit log change faster than they can be listed; it is tried again")
}

// identify reads the first line of a file. It reports false for one that has nothing to ship yet.
func (s *Shipper) identify(name string) (file onDisk, ok bool) {
	file = onDisk{name: name, size: -1, isCurrent: name == s.Name}
	info, err := os.Stat(filepath.Join(s.Folder, name))
	if err != nil {
		file.err = err
		return file, true
	}
	if !strings.HasSuffix(name, compressed) {
		file.size = info.Size()
	}
	if file.id = s.known[name]; file.id != "" {
		return file, true
	}
	reader, err := s.open(name)
	if err != nil {
		file.err = err
		return file, true
	}
	defer reader.Close() //nolint:errcheck // It was only read.
	hash := sha256.New()
	complete, err := copyLine(hash, reader)
	if err != nil {
		file.err = err
		return file, true
	}
	if info.Size() == 0 || file.isCurrent && !complete {
		return file, false
	}
	file.id = hex.EncodeToString(hash.Sum(nil))
	if !file.isCurrent { // The name of the current file will be that of another one.
		s.known[name] = file.id
	}
	return file, true
}

// forget forgets the files of other names.
func (s *Shipper) forget(names []string) {
	for name := range s.known {
		if !slices.Contains(names, name) {
			delete(s.known, name)
		}
	}
}

// copyLine copies the first line, and reports whether it ends.
func copyLine(to io.Writer, from io.Reader) (complete bool, err error) {
	lines := bufio.NewReader(from)
	for {
		part, err := lines.ReadSlice('\n')
		_, _ = to.Write(part) // A hash takes everything.
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, io.EOF):
			return false, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return false, err //nolint:wrapcheck // The caller says what it was.
		}
	}
}

// open opens a file, decompressed.
func (s *Shipper) open(name string) (io.ReadCloser, error) {
	file, err := os.Open(filepath.Join(s.Folder, name)) //nolint:gosec // The name is one of the folder's.
	if err != nil {
		return nil, err //nolint:wrapcheck // It has the path.
	}
	if !strings.HasSuffix(name, compressed) {
		return file, nil
	}
	decompressed, err := gzip.NewReader(file)
	if err != nil {
		file.Close()    //nolint:errcheck,gosec // It was only read.
		return nil, err //nolint:wrapcheck // The caller says of what.
	}
	return struct {
		io.Reader
		io.Closer
	}{decompressed, file}, nil
}

// read returns the file's bytes from an offset on, at most most, up to the end of a line. A longer
// line is cut. The last line of a rotated file may have no end. It reports whether the file ends
// there, which the current one never does.
func (s *Shipper) read(file *onDisk, from, most int64) (content []byte, ends bool, err error) {
	reader, err := s.open(file.name)
	if err != nil {
		return nil, false, err
	}
	defer reader.Close() //nolint:errcheck // It was only read.
	if file.isCurrent {  // It may have been renamed since it was listed.
		hash := sha256.New()
		if _, err := copyLine(hash, reader); err != nil {
			return nil, false, err
		}
		if hex.EncodeToString(hash.Sum(nil)) != file.id {
			return nil, false, errRotated
		}
	}
	if seeker, ok := reader.(io.Seeker); ok {
		_, err = seeker.Seek(from, io.SeekStart)
	} else if _, err = io.CopyN(io.Discard, reader, from); errors.Is(err, io.EOF) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err //nolint:wrapcheck // The caller says of what.
	}
	if content, err = io.ReadAll(io.LimitReader(reader, most)); err != nil {
		return nil, false, err //nolint:wrapcheck // The caller says of what.
	}
	full := int64(len(content)) == most
	if !full && !file.isCurrent {
		return content, true, nil
	}
	if end := bytes.LastIndexByte(content, '\n') + 1; end > 0 || !full {
		content = content[:end]
	}
	return content, false, nil
}

// errRotated reports that a file was renamed since it was listed.
var errRotated = errors.New("the audit log was rotated meanwhile; it is tried again")
