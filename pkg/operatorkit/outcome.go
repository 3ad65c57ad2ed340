package operatorkit

import (
	"errors"
	"fmt"
	"time"
)

// Reasons that the package itself writes into conditions. Steps add their own.
const (
	// ReasonReady is the reason of Ready when every step is done and no step gave a reason.
	ReasonReady = "Ready"
	// ReasonWaiting is the reason of a Wait without a reason.
	ReasonWaiting = "Waiting"
	// ReasonStalled is the reason of a Stall without a reason.
	ReasonStalled = "Stalled"
	// ReasonFailed is the reason of a Fail without a reason.
	ReasonFailed = "Failed"
	// ReasonPaused is the reason of a paused object's Synced condition.
	ReasonPaused = "Paused"
	// ReasonUnknownRelease means that no pipeline handles the object's release.
	ReasonUnknownRelease = "UnknownRelease"
)

// Kind is the kind of an Outcome.
type Kind int

// The four kinds of Outcome. KindFail is the zero value, so that an
// uninitialized Outcome never counts as success.
const (
	KindFail Kind = iota
	KindDone
	KindWait
	KindStall
)

// String returns the kind as it appears in metrics and logs: done, wait, stall or fail.
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

// Outcome is the result of a step. Create one with Done, Wait, Stall or Fail.
// Its methods return changed copies.
type Outcome struct {
	kind     Kind
	after    time.Duration
	subject  Subject
	reason   string
	text     string
	err      error
	degraded bool
	noEvent  bool
}

// Done means that the step has nothing left to do.
func Done() Outcome { return Outcome{kind: KindDone} }

// Wait means that the step is in progress. The object is requeued after the
// given time, or earlier when a watch or Reconciler.Enqueue requests it. With a
// time of zero it is requeued only by those. An empty reason becomes ReasonWaiting.
func Wait(after time.Duration, reason, message string) Outcome {
	return Outcome{kind: KindWait, after: after, reason: orElse(reason, ReasonWaiting), text: message}
}

// Stall means that the step cannot continue until a user acts. The object is
// not requeued until it changes, so the message should say what to do. An empty
// reason becomes ReasonStalled.
func Stall(reason, message string) Outcome {
	return Outcome{kind: KindStall, reason: orElse(reason, ReasonStalled), text: message}
}

// Fail means that an error occurred that may be transient. The object is
// retried with exponential backoff; see Options.RateLimiter.
func Fail(err error) Outcome { return Outcome{kind: KindFail, err: err} }

// Explain returns the outcome with a reason (one CamelCase word) and a message
// (a sentence) for the object's conditions. It removes the outcome's subject;
// call About afterwards to set one. A failure keeps its error for the log.
func (o Outcome) Explain(reason, message string) Outcome {
	o.reason, o.text, o.subject = reason, message, Subject{}
	return o
}

// About returns the outcome with a subject, for a step that manages several
// things of a kind. Message then starts with the subject, and Aggregate merges
// equal messages about several subjects.
func (o Outcome) About(subject Subject) Outcome {
	o.subject = subject
	return o
}

// RequeueAfter returns the outcome with the time after which the object is
// reconciled even if nothing changed, zero for never. Done and Stall may set it
// too, for periodic checks. It has no effect on Fail, which is retried with
// backoff.
func (o Outcome) RequeueAfter(after time.Duration) Outcome {
	o.after = after
	return o
}

// Degraded returns a Wait that is caused by a problem, for example a creation
// that failed and will be retried later: Synced becomes False, and the Event is
// a warning. It has no effect on other kinds of outcome.
func (o Outcome) Degraded() Outcome {
	o.degraded = true
	return o
}

// WithoutEvent returns a Wait that only reports progress: no Event is recorded
// unless the object was Ready or not Synced before, and the status may be
// written later (see Options.DeferStatusWrite). By default each new reason or
// message is an Event. It has no effect on a degraded Wait and on other kinds of
// outcome.
func (o Outcome) WithoutEvent() Outcome {
	o.noEvent = true
	return o
}

// Kind returns the kind of the outcome.
func (o Outcome) Kind() Kind { return o.kind }

// IsDone reports whether the step has nothing left to do.
func (o Outcome) IsDone() bool { return o.kind == KindDone }

// IsDegraded reports whether the outcome is a Wait that is caused by a problem; see Degraded.
func (o Outcome) IsDegraded() bool { return o.kind == KindWait && o.degraded }

// After returns the time after which to requeue the object, zero for none.
func (o Outcome) After() time.Duration { return o.after }

// Subject returns what the outcome is about, the zero Subject if none was set.
func (o Outcome) Subject() Subject { return o.subject }

// Reason returns the CamelCase reason, possibly empty.
func (o Outcome) Reason() string { return o.reason }

// Text returns the message without the subject, possibly empty.
func (o Outcome) Text() string { return o.text }

// Message returns the message for users, possibly empty. It starts with the subject, if there is
// one, as in "Stack a: The stack is being created.".
func (o Outcome) Message() string { return withSubject(o.subject.String(), o.text) }

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
	return fmt.Sprintf("%s: %s: %s", o.kind, o.reason, o.Message())
}

// explained returns a failure without a reason with ReasonFailed and a message
// that contains its error, and every other outcome as it is.
func (o Outcome) explained() Outcome {
	if o.kind == KindFail && o.reason == "" {
		o.reason, o.text = ReasonFailed, fmt.Sprintf("Reconciliation failed and will be retried: %v.", o.Err())
	}
	return o
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
