package auditlog

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MostBytes is how many bytes of the log an object has at most, before they are compressed.
const MostBytes = 8 << 20

// timeForm is the form of times in keys, UTC. Keys in alphabetical order are in that of their times.
const timeForm = "20060102T150405.000Z"

// ErrExists is what [Shipper.Put] returns if there is an object with the key.
var ErrExists = errors.New("there is an object with this key")

// Object is an object to add.
type Object struct {
	// Key is its key.
	Key string
	// Content is its content.
	Content []byte
	// ContentType is its media type.
	ContentType string
	// Metadata says which part of which file it has.
	Metadata map[string]string
}

// Shipper ships the log of one API server. Only one may use a record at a time.
type Shipper struct {
	// Folder is the folder of the log, and Name the name of the current file.
	Folder, Name string
	// Prefix begins the keys.
	Prefix string
	// Labels are added to the metadata of objects.
	Labels map[string]string
	// Load returns the record that Save has saved last, nil if there is none. Save replaces it at
	// once, also on a power failure.
	Load func() ([]byte, error)
	Save func([]byte) error
	// Put adds an object. It returns [ErrExists] if there is one with the key, and must then not
	// replace it.
	Put func(context.Context, Object) error
	// Now returns the time.
	Now func() time.Time

	record *record
	// known are the IDs of rotated files, by name.
	known map[string]string
}

// Report is what a call of [Shipper.Ship] did.
type Report struct {
	// Objects is the number of objects that were added, and Bytes that of the log in them.
	Objects, Bytes int64
	// Behind is how many bytes of the log are on the disk and are not shipped, as far as known.
	Behind int64
	// Losses are all that is remembered of bytes that were not shipped, the oldest first.
	Losses []Loss
	// Restarted reports that the record was missing or damaged, so that the whole log is shipped.
	Restarted bool
}

// Loss says that bytes of the log were deleted before they were shipped.
type Loss struct {
	// Time is when that was noticed.
	Time time.Time `json:"time"`
	// File is the name that the file had last.
	File string `json:"file"`
	// From is the offset of the first byte that was not shipped, and Size the size that the file had
	// when it was seen last. It may have grown since.
	From int64 `json:"from"`
	Size int64 `json:"size"`
	// Reason says what happened.
	Reason string `json:"reason"`
	// Key is the key of the object that records the loss.
	Key string `json:"key"`
	// Shipped reports that the object was added.
	Shipped bool `json:"shipped"`
}

// record is what a shipper keeps on the disk.
type record struct {
	// Files are the files that are known, the oldest first.
	Files []*file `json:"files,omitempty"`
	// Next is the object that is about to be added.
	Next *next `json:"next,omitempty"`
	// LastKey is the time in the last key, so that keys are in order although the clock is set back.
	LastKey time.Time `json:"lastKey"`
	// Losses are the last ones.
	Losses []Loss `json:"losses,omitempty"`
}

// mostLosses is how many losses a record keeps.
const mostLosses = 20

// file is what is known of a file.
type file struct {
	// ID is the SHA-256 of its first line.
	ID string `json:"id"`
	// Name is the name that it had last.
	Name string `json:"name"`
	// Shipped is how many bytes were shipped, and Size how many it had when it was seen last.
	Shipped int64 `json:"shipped"`
	Size    int64 `json:"size"`
	// Rotated reports that the API server no longer writes to it.
	Rotated bool `json:"rotated,omitempty"`
	// Done reports that it is rotated and was shipped up to its end.
	Done bool `json:"done,omitempty"`
}

// next is a part of a file that is about to be shipped.
type next struct {
	ID   string `json:"id"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
	Key  string `json:"key"`
}

// Ship ships everything that the API server has written, and returns when that is done, or with the
// first error. The report is valid in both cases. Call it again after an error: it continues.
func (s *Shipper) Ship(ctx context.Context) (Report, error) {
	var report Report
	if s.known == nil {
		s.known = map[string]string{}
	}
	if s.record == nil {
		var err error
		if s.record, report.Restarted, err = s.load(); err != nil {
			return report, err
		}
	}
	files, err := s.list()
	if err != nil {
		return report, err
	}
	err = s.observe(files)
	if err == nil {
		err = s.ship(ctx, files, &report)
	}
	if markErr := s.mark(ctx); err == nil {
		err = markErr
	}
	report.Losses = slices.Clone(s.record.Losses)
	for _, known := range s.record.Files {
		report.Behind += max(known.Size-known.Shipped, 0)
	}
	return report, err
}

// Grown reports whether the log has grown by an object's worth since [Shipper.Ship] was called, or a
// file of it was rotated. Files may be deleted soon after that.
func (s *Shipper) Grown() bool {
	files, err := s.list()
	if err != nil || s.record == nil {
		return false
	}
	for i := range files {
		if files[i].err != nil {
			continue
		}
		known := s.record.find(files[i].id)
		if known == nil || known.Rotated == files[i].isCurrent || files[i].size-known.Shipped >= grown {
			return true
		}
	}
	return false
}

// grown is by how many bytes the current file grows until it is shipped before its time.
const grown = 5 << 20

// load reads the record. A damaged one is as good as none.
func (s *Shipper) load() (found *record, restarted bool, err error) {
	text, err := s.Load()
	if err != nil {
		return nil, false, err
	}
	found = &record{}
	if text == nil || !found.read(text) {
		return &record{}, true, nil
	}
	return found, false, nil
}

// read reads a record, and reports whether it is one.
func (r *record) read(text []byte) bool {
	return json.Unmarshal(text, r) == nil && !slices.Contains(r.Files, nil)
}

func (s *Shipper) save() error {
	text, err := json.Marshal(s.record)
	if err != nil {
		return fmt.Errorf("write the record of the audit log: %w", err)
	}
	return s.Save(text)
}

func (r *record) find(id string) *file {
	i := slices.IndexFunc(r.Files, func(f *file) bool { return f.ID == id })
	if i < 0 {
		return nil
	}
	return r.Files[i]
}

// named returns the file that had a name last, compressed or not.
func (r *record) named(name string) *file {
	i := slices.IndexFunc(r.Files, func(f *file) bool {
		return strings.TrimSuffix(f.Name, compressed) == strings.TrimSuffix(name, compressed)
	})
	if i < 0 {
		return nil
	}
	return r.Files[i]
}

// observe compares the files on the disk with those that are known, and records what is new and what
// is lost. The API server deletes the oldest files first. So if the newest file that is known is
// still there, no file after it was deleted.
func (s *Shipper) observe(files []onDisk) error {
	old := s.record.Files
	kept := make([]*file, 0, len(files))
	for _, one := range files {
		known := s.record.find(one.id)
		if one.err != nil {
			known = s.record.named(one.name)
		}
		if slices.Contains(kept, known) || known == nil && one.err != nil {
			continue
		}
		if one.err != nil { // It is lost when it is deleted.
			kept = append(kept, known)
			continue
		}
		if known == nil {
			known = &file{ID: one.id}
		}
		known.Name, known.Size, known.Rotated = one.name, max(known.Size, one.size), !one.isCurrent
		if one.size >= 0 && one.size < known.Shipped {
			s.lose(known, "it was truncated")
			known.Shipped, known.Size = 0, one.size
		}
		known.Done = known.Done && known.Size <= known.Shipped
		kept = append(kept, known)
	}
	for i, known := range old {
		gone := !slices.Contains(kept, known)
		switch {
		case !gone:
		case !known.Done:
			s.lose(known, "it was deleted")
		case i == len(old)-1 && len(kept) > 0:
			s.lose(known, "it was deleted, and perhaps files after it, while nothing was shipped")
		case i == len(old)-1: // It stays the newest that is known.
			kept = append(kept, known)
		}
	}
	s.record.Files = kept
	return s.save()
}

// lose records a loss.
func (s *Shipper) lose(of *file, reason string) {
	s.record.Losses = append(s.record.Losses, Loss{
		Time: s.Now().UTC().Truncate(time.Second), File: of.Name, From: of.Shipped, Size: of.Size, Reason: reason, Key: s.key("lost.json"),
	})
	s.record.Losses = s.record.Losses[max(0, len(s.record.Losses)-mostLosses):]
}

// ship ships the files, the oldest first. One that cannot be read does not keep it from the others.
func (s *Shipper) ship(ctx context.Context, files []onDisk, report *Report) error {
	var unreadable error
	for i := range files {
		if files[i].err != nil {
			unreadable = fmt.Errorf("read %s: %w", files[i].name, files[i].err)
			continue
		}
		known := s.record.find(files[i].id)
		if known == nil || known.Done || files[i].size >= 0 && files[i].size <= known.Shipped && files[i].isCurrent {
			continue
		}
		for {
			more, err := s.shipPart(ctx, &files[i], known, report)
			if err != nil {
				return err
			}
			if !more {
				break
			}
		}
	}
	return unreadable
}

// shipPart ships the next part of a file, and reports whether there may be more.
func (s *Shipper) shipPart(ctx context.Context, of *onDisk, known *file, report *Report) (more bool, err error) {
	most := int64(MostBytes)
	if part := s.record.Next; part != nil && part.follows(known) && part.To-part.From <= most {
		most = part.To - part.From // It may have been added already.
	}
	content, ends, err := s.read(of, known.Shipped, most)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", of.name, err)
	}
	if len(content) > 0 {
		if err := s.add(ctx, of, known, content); err != nil {
			return false, err
		}
		report.Objects, report.Bytes = report.Objects+1, report.Bytes+int64(len(content))
	}
	known.Size = max(known.Size, known.Shipped)
	known.Done = known.Rotated && ends
	return len(content) > 0 && !known.Done, s.save()
}

// follows reports whether a part is the next one of a file.
func (n *next) follows(known *file) bool {
	return n.ID == known.ID && n.From == known.Shipped && n.To > n.From
}

// add records which part it is about to add, unless an attempt before has, and adds it.
func (s *Shipper) add(ctx context.Context, of *onDisk, known *file, content []byte) error {
	part, to := s.record.Next, known.Shipped+int64(len(content))
	if part == nil || !part.follows(known) || part.To != to {
		part = &next{ID: known.ID, From: known.Shipped, To: to, Key: s.key("log.gz")}
		s.record.Next = part
		if err := s.save(); err != nil {
			return err
		}
	}
	if err := s.put(ctx, part, of, content); err != nil {
		return err
	}
	known.Shipped, s.record.Next = to, nil
	return nil
}

// put adds the object of a part. One that exists is the same: an attempt that was interrupted has
// added it.
func (s *Shipper) put(ctx context.Context, part *next, of *onDisk, content []byte) error {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, err := writer.Write(content)
	if closeErr := writer.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("compress a part of the audit log: %w", err)
	}
	metadata := map[string]string{
		"file": of.name, "sha256-of-first-line": of.id,
		"from": strconv.FormatInt(part.From, 10), "to": strconv.FormatInt(part.To, 10),
	}
	maps.Copy(metadata, s.Labels)
	err = s.Put(ctx, Object{Key: part.Key, Content: packed.Bytes(), ContentType: "application/gzip", Metadata: metadata})
	if errors.Is(err, ErrExists) {
		return nil
	}
	return err
}

// mark adds the objects that record losses.
func (s *Shipper) mark(ctx context.Context) error {
	for i := range s.record.Losses {
		loss := &s.record.Losses[i]
		if loss.Shipped {
			continue
		}
		text, err := json.MarshalIndent(map[string]any{
			"time": loss.Time, "file": loss.File, "from": loss.From, "size": loss.Size, "reason": loss.Reason,
		}, "", "  ")
		if err != nil {
			return fmt.Errorf("write a loss of the audit log: %w", err)
		}
		err = s.Put(ctx, Object{Key: loss.Key, Content: append(text, '\n'), ContentType: "application/json", Metadata: s.Labels})
		if err != nil && !errors.Is(err, ErrExists) {
			return err
		}
		loss.Shipped = true
		if err := s.save(); err != nil {
			return err
		}
	}
	return nil
}

// key returns a new key, after all others.
func (s *Shipper) key(extension string) string {
	at := s.Now().UTC().Truncate(time.Millisecond)
	if !at.After(s.record.LastKey) {
		at = s.record.LastKey.Add(time.Millisecond)
	}
	s.record.LastKey = at
	var random [8]byte
	_, _ = rand.Read(random[:]) // It never fails: https://pkg.go.dev/crypto/rand#Read
	return s.Prefix + at.Format(timeForm) + "-" + hex.EncodeToString(random[:]) + "." + extension
}

// String says what was lost.
func (l *Loss) String() string {
	return fmt.Sprintf("%s had at least %d bytes, of which %d were shipped, when %s (noticed at %s)",
		l.File, l.Size, l.From, l.Reason, l.Time.Format(time.RFC3339))
}
