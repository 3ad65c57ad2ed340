package operatorkit

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestPaceHoldsOthersBackWhilePeopleEdit(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	p := NewPace(clk, 2)
	begin := func(uid types.UID) func() {
		done, granted := p.begin(uid)
		if !granted {
			return nil
		}
		return done
	}
	first := begin("a")
	if first == nil || begin("b") == nil || begin("c") == nil {
		t.Fatal("without an edit nothing is held back")
	}
	p.edit("edited")
	if begin("d") != nil {
		t.Error("while somebody edits, no more than two others are worked on")
	}
	for range 3 {
		if begin("edited") == nil {
			t.Error("the edited object itself is never held back")
		}
	}
	first()
	begin("b")
	clk.SetTime(clk.Now().Add(2 * editsLast))
	if begin("d") == nil {
		t.Error("when nobody edits any more, nothing is held back")
	}
	p.edit("other")
	if begin("edited") == nil {
		t.Error("what follows from an edit is part of it")
	}
	clk.SetTime(clk.Now().Add(2 * editFollows))
	p.edit("other")
	if begin("edited") != nil {
		t.Error("an edit of long ago is no reason to go first")
	}
}

func TestNoPaceHoldsNothingBack(t *testing.T) {
	var p *Pace
	p.edit("a")
	done, granted := p.begin("b")
	if !granted {
		t.Fatal("held back")
	}
	done()
}
