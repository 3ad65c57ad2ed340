package auditlog_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws-operator/aws-operator/internal/nodeup/auditlog"
)

func TestLinesAreShippedInOrder(t *testing.T) {
	s := newSuite(t)
	if report := s.ship(); report.Objects != 0 { // The API server has not started.
		t.Errorf("it shipped %+v", report)
	}
	s.write("1\n2\nincomp")
	s.ship()
	if got := s.shipped(); got != "1\n2\n" {
		t.Errorf("got %q", got)
	}
	s.ship()
	s.write("lete\n")
	s.rotate()
	s.write("3\n")
	s.now = s.now.Add(-time.Hour) // The clock is set back.
	report := s.ship()
	if got := s.shipped(); got != "1\n2\nincomplete\n3\n" || report.Behind != 0 || len(report.Losses) != 0 {
		t.Errorf("got %q, %+v", got, report)
	}
	keys := s.keys("")
	form := regexp.MustCompile(`^audit/demo/slot0/20261129T120000\.\d{3}Z-[0-9a-f]{16}\.log\.gz$`)
	for _, key := range keys {
		if !form.MatchString(key) {
			t.Errorf("a key is %s", key)
		}
	}
	if len(keys) != 3 {
		t.Errorf("there are %d objects, want 3: %v", len(keys), keys)
	}
}

func TestTheLastLineOfARotatedFileMayHaveNoEnd(t *testing.T) {
	s := newSuite(t)
	s.write("1\ncut")
	s.ship()
	s.rotate()
	s.ship()
	if got := s.shipped(); got != "1\ncut" {
		t.Errorf("got %q", got)
	}
}

func TestCompressedFilesAreShipped(t *testing.T) {
	s := newSuite(t)
	s.write("1\n")
	s.ship()
	s.write("2\n")
	s.compress(s.rotate())
	s.write("3\n")
	s.compress(s.rotate())
	s.write("4\n")
	s.ship()
	if report := s.ship(); s.shipped() != "1\n2\n3\n4\n" || report.Objects != 0 || len(report.Losses) != 0 {
		t.Errorf("got %q, %+v", s.shipped(), report)
	}
	// One that is being compressed is not complete; the original is.
	name := s.rotate()
	if err := os.WriteFile(s.path(name+".gz"), []byte("incomplete"), 0o600); err != nil {
		t.Fatal(err)
	}
	if report := s.ship(); s.shipped() != "1\n2\n3\n4\n" || len(report.Losses) != 0 {
		t.Errorf("got %q, %+v", s.shipped(), report)
	}
}

func TestLongLinesAndFilesAreShippedInParts(t *testing.T) {
	s := newSuite(t)
	line := strings.Repeat("x", 300) + "\n"
	want := strings.Repeat(line, auditlog.MostBytes*5/2/len(line)) + strings.Repeat("y", auditlog.MostBytes+1) + "\nend\n"
	s.write(want)
	s.ship()
	if s.shipped() != want || len(s.keys("")) != 5 {
		t.Errorf("got %d of %d bytes in %d objects", len(s.shipped()), len(want), len(s.keys("")))
	}
}

func TestOtherFilesAreNotShipped(t *testing.T) {
	s := newSuite(t)
	for _, name := range []string{"audit-old.log", "other.log", "audit.log.1", "audit-2026-11-29T12-00-00.001.txt"} {
		if err := os.WriteFile(s.path(name), []byte("no\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if s.ship(); s.shipped() != "" {
		t.Errorf("got %q", s.shipped())
	}
}

func TestWhatCannotBeShippedIsShippedLater(t *testing.T) {
	s := newSuite(t)
	s.write("1\n")
	s.refuse = errDenied
	report, err := s.shipper.Ship(t.Context())
	if !errors.Is(err, errDenied) || report.Behind != 2 {
		t.Errorf("got %+v, %v", report, err)
	}
	s.rotate()
	s.write("2\n")
	if _, err := s.shipper.Ship(t.Context()); !errors.Is(err, errDenied) {
		t.Errorf("got %v", err)
	}
	s.refuse = nil
	if report := s.ship(); s.shipped() != "1\n2\n" || report.Behind != 0 || report.Objects != 2 {
		t.Errorf("got %q, %+v", s.shipped(), report)
	}
}

// An answer that is lost does not make an object twice, and never replaces one.
func TestALostAnswerShipsNothingTwice(t *testing.T) {
	s := newSuite(t)
	s.write("1\n")
	put := s.shipper.Put
	s.shipper.Put = func(ctx context.Context, o auditlog.Object) error {
		return errors.Join(put(ctx, o), errors.New("connection reset"))
	}
	if _, err := s.shipper.Ship(t.Context()); err == nil {
		t.Fatal("the answer was not lost")
	}
	s.write("2\n")
	s.restart()
	s.ship()
	if s.shipped() != "1\n2\n" {
		t.Errorf("got %q", s.shipped())
	}
}

func TestALogWhoseRecordIsLostIsShippedAgain(t *testing.T) {
	for _, record := range []string{"", "{", `{"files":[null]}`, "[]"} {
		s := newSuite(t)
		s.write("1\n")
		s.rotate()
		s.write("2\n")
		s.ship()
		before := len(s.objects)
		if s.record = []byte(record); record == "" {
			s.record = nil
		}
		s.restart()
		s.now = s.now.Add(time.Minute)
		report := s.ship()
		if s.shipped() != "1\n2\n1\n2\n" || len(s.objects) != 2*before || !report.Restarted {
			t.Errorf("%q: got %q in %d objects, %+v", record, s.shipped(), len(s.objects), report)
		}
	}
}

// A damaged record neither stops the shipper nor makes it skip files that it does not name.
func TestADamagedRecordIsNoReasonToStop(t *testing.T) {
	s := newSuite(t)
	s.record = []byte(`{"next":{"id":"x","from":9,"to":-9223372036854775807,"key":"k"},"files":[{"id":"x","shipped":-5,"size":99}]}`)
	s.write("1\n")
	if s.ship(); s.shipped() != "1\n" {
		t.Errorf("got %q", s.shipped())
	}
}

func TestLossesAreReportedAndRecordedInTheBucket(t *testing.T) {
	for name, c := range map[string]struct {
		lose func(*suite)
		want string
	}{
		"rotated away before it was shipped": {func(s *suite) {
			s.refuse = errDenied
			_, _ = s.shipper.Ship(s.t.Context())
			name := s.rotate()
			s.write("2\n")
			_, _ = s.shipper.Ship(s.t.Context())
			s.remove(name)
			s.refuse = nil
		}, "audit-2026-11-29T12-00-00.001.log had at least 4 bytes, of which 2 were shipped, when it was deleted"},
		"rotated away while nothing was shipped": {func(s *suite) {
			s.remove(s.rotate())
			s.write("2\n")
		}, "audit.log had at least 2 bytes, of which 2 were shipped, when it was deleted"},
		"files in between were never seen": {func(s *suite) {
			first := s.rotate()
			s.ship()
			s.write("2\n")
			second := s.rotate()
			s.write("3\n")
			s.remove(first)
			s.remove(second)
		}, "audit-2026-11-29T12-00-00.001.log had at least 4 bytes, of which 4 were shipped, when it was deleted, and perhaps files after it"},
		"truncated": {func(s *suite) {
			s.ship()
			if err := os.Truncate(s.path(current), 2); err != nil {
				s.t.Fatal(err)
			}
		}, "audit.log had at least 4 bytes, of which 4 were shipped, when it was truncated"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t)
			s.write("0\n")
			s.ship()
			s.write("1\n")
			c.lose(s)
			report := s.ship()
			if len(report.Losses) != 1 || !strings.HasPrefix(report.Losses[0].String(), c.want) || !report.Losses[0].Shipped {
				t.Errorf("got %+v, want %s", report.Losses, c.want)
			}
			if keys := s.keys(".lost.json"); len(keys) != 1 || !strings.Contains(string(s.objects[keys[0]]), `"reason": "it was `) {
				t.Errorf("the bucket has %v", keys)
			}
			s.ship()
			s.restart()
			if report := s.ship(); len(report.Losses) != 1 || len(s.keys(".lost.json")) != 1 {
				t.Errorf("later, it is %+v", report)
			}
		})
	}
}

// Files that were shipped are deleted all the time.
func TestFilesThatWereShippedMayBeDeleted(t *testing.T) {
	s := newSuite(t)
	for i := range 5 {
		s.write(fmt.Sprintln(i))
		s.ship()
		name := s.rotate()
		s.ship()
		s.write(fmt.Sprintln("and", i))
		s.ship()
		s.remove(name)
		if report := s.ship(); len(report.Losses) > 0 {
			t.Fatalf("got %+v", report.Losses)
		}
	}
}

// One file that cannot be read is reported and does not keep the others from being shipped. When it
// is deleted, it is lost.
func TestAFileThatCannotBeReadIsReported(t *testing.T) {
	s := newSuite(t)
	s.write("1\n")
	s.refuse = errDenied
	_, _ = s.shipper.Ship(t.Context())
	s.refuse = nil
	name := s.rotate()
	_ = s.shipper.Grown()
	s.remove(name)
	if err := os.WriteFile(s.path(name+".gz"), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.write("2\n")
	s.restart()
	report, err := s.shipper.Ship(t.Context())
	if err == nil || !strings.Contains(err.Error(), name+".gz") || s.shipped() != "2\n" {
		t.Errorf("got %q, %+v, %v", s.shipped(), report, err)
	}
	s.remove(name + ".gz")
	if report := s.ship(); len(report.Losses) != 1 {
		t.Errorf("got %+v", report.Losses)
	}
}

func TestALogThatGrowsIsShippedBeforeItsTime(t *testing.T) {
	s := newSuite(t)
	grown := func(want bool) {
		t.Helper()
		if got := s.shipper.Grown(); got != want {
			t.Errorf("grown is %v, want %v", got, want)
		}
	}
	s.write("1\n")
	s.ship()
	grown(false)
	s.write("2\n")
	grown(false)
	s.write(strings.Repeat("x", 5<<20) + "\n")
	grown(true)
	s.ship()
	grown(false)
	s.rotate()
	grown(true)
	s.ship()
	grown(false)
}

// killed is what a process panics with that is killed.
type killed struct{}

// Whatever the API server does, and whenever the process is killed, no line is missing, and lines are
// in order. Nothing is shipped twice.
func TestNoLineIsLostOrDoubledWhenTheProcessIsKilled(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 0))
		s := newSuite(t)
		s.step = func() {
			if random.IntN(8) == 0 {
				panic(killed{})
			}
		}
		var want strings.Builder
		line := 0
		for range 60 {
			s.now = s.now.Add(time.Duration(random.IntN(3000)) * time.Millisecond)
			switch random.IntN(4) {
			case 0:
				if _, err := os.Stat(s.path(current)); err == nil {
					if name := s.rotate(); random.IntN(2) == 0 {
						s.compress(name)
					}
				}
			case 1, 2:
				for range 1 + random.IntN(5) {
					line++
					text := fmt.Sprintf("%d %s\n", line, strings.Repeat("x", random.IntN(50)))
					s.write(text)
					want.WriteString(text)
				}
			}
			s.shipOrDie()
		}
		s.step = func() {}
		s.restart()
		report := s.ship()
		if s.shipped() != want.String() || len(report.Losses) > 0 {
			t.Fatalf("seed %d: shipped\n%s\nwant\n%s\n%+v", seed, s.shipped(), want.String(), report)
		}
	}
}

// shipOrDie ships until the process is killed, and then replaces it.
func (s *suite) shipOrDie() {
	s.t.Helper()
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case killed:
			s.restart()
		default:
			panic(r)
		}
	}()
	s.ship()
}

func TestAFolderThatCannotBeListedIsAnError(t *testing.T) {
	s := newSuite(t)
	s.shipper.Folder = filepath.Join(s.folder, current)
	s.write("1\n")
	if _, err := s.shipper.Ship(t.Context()); err == nil {
		t.Error("there is no error")
	}
}
