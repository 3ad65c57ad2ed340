package operatorkit

import (
	"errors"
	"fmt"
	"time"
)

// Reasons that the kit itself writes into conditions. Steps bring their own.
const (
	// ReasonReady stands in Ready when every step is done and none gave a reason of its own.
	ReasonReady = "Ready"
	// ReasonWaiting is used for a Wait without a reason.
	ReasonWaiting = "Waiting"
	// ReasonStalled is used for a Stall without a reason.
	ReasonStalled = "Stalled"
	// ReasonFailed is used for a Fail without a reason.
	ReasonFailed = "Failed"
	// ReasonPaused says that nothing is done because someone paused the object.
	ReasonPaused = "Paused"
	// ReasonUnknownRelease says that no pipeline is known for the object's release.
	ReasonUnknownRelease = "UnknownRelease"
)

// Kind is one of the four things a step can say.
type Kind int

// The four kinds of Outcome. The zero value is KindFail, so that an Outcome
// nobody filled in never passes for success.
const (
	KindFail Kind = iota
	KindDone
	KindWait
	KindStall
)

// String returns the kind's word in metrics and logs: done, wait, stall or fail.
func (k Kind) String() string {
	switch k {
	case KindDone:
		return "done"
	case KindWait:
		return "wait"
	case KindStall:
		return "stall"
	default:
		return "fail"
	}
}

// Outcome is what a step found out. Make one with Done, Wait, Stall or Fail.
type Outcome struct {
	kind    Kind
	after   time.Duration
	reason  string
	message string
	err     error
	trouble bool
	quiet   bool
}

// Done says that this step has nothing left to do.
func Done() Outcome { return Outcome{kind: KindDone} }

// Wait says: not yet; look again after the given time, or earlier if a watch or
// Reconciler.Wake says so. With a time of zero only those look again.
func Wait(after time.Duration, reason, message string) Outcome {
	return Outcome{kind: KindWait, after: after, reason: orElse(reason, ReasonWaiting), message: message}
}

// Stall says that a person must act: nothing is tried again until the object
// changes. The message should say what to do.
func Stall(reason, message string) Outcome {
	return Outcome{kind: KindStall, reason: orElse(reason, ReasonStalled), message: message}
}

// Fail says that something went wrong which may go right next time: it is
// tried again with growing delays.
func Fail(err error) Outcome { return Outcome{kind: KindFail, err: err} }

// Explain returns the outcome with a reason (one CamelCase word) and a message
// (a sentence) for the object's conditions. A failure keeps its error for the log.
func (o Outcome) Explain(reason, message string) Outcome {
	o.reason, o.message = reason, message
	return o
}

// LookAgain returns the outcome with the time after which the object is looked
// at again although nothing changed: a Stall too may have other things to be
// looked after. It means nothing for Fail, which is tried again anyway.
func (o Outcome) LookAgain(after time.Duration) Outcome {
	o.after = after
	return o
}

// Troubled returns a Wait that something gone wrong is the reason for, for
// example a creation that failed and is tried again later: Synced is False, and
// the Event a warning. It means nothing for the other outcomes.
func (o Outcome) Troubled() Outcome {
	o.trouble = true
	return o
}

// Quietly returns a Wait that only says how far things are, which the conditions
// tell: there is no Event of it, unless the object was ready or in trouble
// before, and it may be written up to a second later; see Options.Later. It means
// nothing for the other outcomes and for a Wait that is Troubled.
func (o Outcome) Quietly() Outcome {
	o.quiet = true
	return o
}

// Kind returns which of the four outcomes it is.
func (o Outcome) Kind() Kind { return o.kind }

// IsDone reports whether the step has nothing left to do.
func (o Outcome) IsDone() bool { return o.kind == KindDone }

// IsTroubled reports whether the outcome is a Wait that something gone wrong is
// the reason for; see Troubled.
func (o Outcome) IsTroubled() bool { return o.kind == KindWait && o.trouble }

// After returns when to look again; zero means not by the clock.
func (o Outcome) After() time.Duration { return o.after }

// Reason returns the one-word reason, possibly empty.
func (o Outcome) Reason() string { return o.reason }

// Message returns the sentence for people, possibly empty.
func (o Outcome) Message() string { return o.message }

// Err returns the error of a failure, and nil for every other outcome.
func (o Outcome) Err() error {
	if o.kind == KindFail && o.err == nil {
		return errors.New("the step returned no outcome")
	}
	return o.err
}

// String describes the outcome for logs and test failures.
func (o Outcome) String() string {
	if o.kind == KindFail {
		return fmt.Sprintf("fail: %v", o.Err())
	}
	return fmt.Sprintf("%s: %s: %s", o.kind, o.reason, o.message)
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
