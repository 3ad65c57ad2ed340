package repair

import (
	"testing"
	"time"
)

// An operator that runs for months sees many groups come and go.
func TestDeletedGroupsAreForgotten(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := newTracker()
	r.hint("group")
	r.asked("group", []health{{instance: "i-1"}}, now)
	r.isNews("group", "too many")
	r.vanished("group", nil)
	r.absent("group", "stack", now)
	r.forget("group")
	if left := len(r.missing) + len(r.said) + len(r.joined) + len(r.absences); left > 0 {
		t.Errorf("%d entries are left: %+v", left, r)
	}
}
