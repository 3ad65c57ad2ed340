package diagnosis

import (
	"fmt"
	"strings"
	"time"
)

// Boot is how far an instance's boot has come.
type Boot struct {
	// Stage is the current stage. It is empty for an instance that has joined.
	Stage string
	// Since is when the stage began, or when the instance joined, according to the instance; zero if
	// the console has no time, as during the user data.
	Since time.Time
	// Error is the error of the last attempt, empty if none has failed. It is one line of limited
	// length, quoted from the console.
	Error string
	// Ended reports that nodeup or the user data gave up: the instance will not join.
	Ended bool
	// Joined reports that the instance has become a node.
	Joined bool
	// Silent reports that the console is empty.
	Silent bool
	// Cause is the most likely cause, the zero value for an instance that has joined.
	Cause Cause
}

// Began returns when the stage began, given when the instance was launched. A time that the console
// claims counts only if it lies between the launch and now.
func (b *Boot) Began(launched, now time.Time) time.Time {
	if b.Stage == UserData || b.Since.Before(launched) || b.Since.After(now) {
		return launched
	}
	return b.Since
}

// DueIn returns in how long the boot counts as stalled, zero or less if it does. An instance that
// has joined is never due.
func (b *Boot) DueIn(launched, now time.Time) (in time.Duration, ever bool) {
	switch {
	case b.Joined:
		return 0, false
	case b.Ended:
		return 0, true
	default:
		return b.Began(launched, now).Add(Deadline(b.Stage)).Sub(now), true
	}
}

// Summary describes how far a boot has come, with the quoted error, in one sentence. The subject,
// such as "Instance i-0123 of slot 0", begins it.
func (b *Boot) Summary(subject string, launched, now time.Time) string {
	problem := ""
	if b.Error != "" {
		problem = ": " + strings.TrimRight(b.Error, ". ")
	}
	if b.Ended {
		return fmt.Sprintf("%s gave up at boot stage %q%s.", subject, b.Stage, problem)
	}
	since := b.Began(launched, now).UTC().Format("15:04:05 MST")
	return fmt.Sprintf("%s has not passed boot stage %q since %s%s.", subject, b.Stage, since, problem)
}

// Describe describes a stalled boot in sentences: its summary, the cause and the remedy.
func (b *Boot) Describe(subject string, launched, now time.Time) string {
	return b.Summary(subject, launched, now) + " " + b.Cause.Text + " " + b.Cause.Remedy
}
