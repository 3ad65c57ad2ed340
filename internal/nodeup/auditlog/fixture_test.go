package auditlog_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws-operator/aws-operator/internal/nodeup/auditlog"
)

const (
	current = "audit.log"
	prefix  = "audit/demo/slot0/"
)

// suite is a log, what was shipped of it, and what the process that ships it keeps.
type suite struct {
	t      *testing.T
	folder string
	now    time.Time
	// record is on the disk, objects are in the bucket.
	record  []byte
	objects map[string][]byte
	shipper *auditlog.Shipper
	// refuse, if not nil, is what the bucket answers.
	refuse error
	// step is called before and after everything that outlives the process, which ends if it panics.
	step func()
	// rotations is the number of files that were rotated.
	rotations int
}

var errDenied = errors.New("AccessDenied")

func newSuite(t *testing.T) *suite {
	t.Helper()
	s := &suite{
		t: t, folder: t.TempDir(), now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC), objects: map[string][]byte{}, step: func() {},
	}
	s.restart()
	return s
}

// restart replaces the process. Only the record and the bucket stay.
func (s *suite) restart() {
	s.shipper = &auditlog.Shipper{
		Folder: s.folder, Name: current, Prefix: prefix,
		Load: func() ([]byte, error) { return s.record, nil },
		Save: func(text []byte) error {
			s.step()
			s.record = bytes.Clone(text)
			s.step()
			return nil
		},
		Put: func(_ context.Context, o auditlog.Object) error {
			s.step()
			if s.refuse != nil {
				return s.refuse
			}
			if _, ok := s.objects[o.Key]; ok {
				return auditlog.ErrExists
			}
			s.objects[o.Key] = bytes.Clone(o.Content)
			s.step()
			return nil
		},
		Now: func() time.Time { return s.now },
	}
}

func (s *suite) ship() auditlog.Report {
	s.t.Helper()
	report, err := s.shipper.Ship(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return report
}

func (s *suite) path(name string) string { return filepath.Join(s.folder, name) }

// write appends to the current file, as the API server does.
func (s *suite) write(text string) {
	s.t.Helper()
	file, err := os.OpenFile(s.path(current), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		s.t.Fatal(err)
	}
}

// rotate renames the current file, as the API server does, and returns its name.
func (s *suite) rotate() string {
	s.t.Helper()
	s.rotations++
	name := fmt.Sprintf("audit-2026-11-29T12-00-00.%03d.log", s.rotations)
	if err := os.Rename(s.path(current), s.path(name)); err != nil {
		s.t.Fatal(err)
	}
	return name
}

// compress compresses a rotated file.
func (s *suite) compress(name string) {
	s.t.Helper()
	content, err := os.ReadFile(s.path(name))
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.path(name+".gz"), pack(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.remove(name)
}

func pack(content []byte) []byte {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, _ = writer.Write(content)
	_ = writer.Close()
	return packed.Bytes()
}

func (s *suite) remove(name string) {
	s.t.Helper()
	if err := os.Remove(s.path(name)); err != nil {
		s.t.Fatal(err)
	}
}

// keys returns the keys of the objects with an extension, sorted.
func (s *suite) keys(extension string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.objects)), func(key string) bool { return !strings.HasSuffix(key, extension) })
}

// shipped returns the log as an auditor reads it: the objects in the order of their keys.
func (s *suite) shipped() string {
	s.t.Helper()
	var all strings.Builder
	for _, key := range s.keys(".log.gz") {
		reader, err := gzip.NewReader(bytes.NewReader(s.objects[key]))
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := io.Copy(&all, reader); err != nil {
			s.t.Fatal(err)
		}
	}
	return all.String()
}
