package autoscaling

import (
	"testing"
	"time"
)

// FuzzCron parses any recurrence without a panic. The next time of one that is accepted is later, and
// at most five years away.
func FuzzCron(f *testing.F) {
	for _, text := range []string{
		"0 6 * * MON-FRI", "*/15 0-23/2 1,15 JAN-DEC 0-7", "1/9223372036854775807 * * * *", "59-0 * * * *", "-1 * * * *", "0 0 31 2 *",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCron(text)
		if err != nil {
			return
		}
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		if next := c.next(now); !next.After(now) || next.After(now.AddDate(5, 0, 1)) {
			t.Errorf("%q follows at %s", text, next)
		}
	})
}
