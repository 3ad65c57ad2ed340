package operatorkit

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestBackgroundLimiterLimitsOtherObjectsDuringEdits(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	l := NewBackgroundLimiter(clk, 2)
	begin := func(uid types.UID) func() {
		done, granted := l.begin(uid)
		if !granted {
			return nil
		}
		return done
	}
	first := begin("a")
	if first == nil || begin("b") == nil || begin("c") == nil {
		t.Fatal("without an edit, no object is limited")
	}
	l.edit("edited")
	if begin("d") != nil {
		t.Error("during edits, a third object must wait")
	}
	for range 3 {
		if begin("edited") == nil {
			t.Error("the edited object itself is never limited")
		}
	}
	first()
	begin("b")
	clk.SetTime(clk.Now().Add(2 * editWindow))
	if begin("d") == nil {
		t.Error("a while after the last edit, no object is limited")
	}
	l.edit("other")
	if begin("edited") == nil {
		t.Error("an edited object stays exempt for a while")
	}
	clk.SetTime(clk.Now().Add(2 * editedFor))
	l.edit("other")
	if begin("edited") != nil {
		t.Error("an edited object does not stay exempt forever")
	}
}

func TestNilBackgroundLimiterLimitsNothing(t *testing.T) {
	var l *BackgroundLimiter
	l.edit("a")
	done, granted := l.begin("b")
	if !granted {
		t.Fatal("not granted")
	}
	done()
}
