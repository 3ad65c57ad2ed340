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

// Describe describes a stalled boot: how far it has come, the quoted error, the cause and the
// remedy. The subject, such as "Instance i-0123 of slot 0", begins the sentence.
func (b *Boot) Describe(subject string, launched, now time.Time) string {
	var text strings.Builder
	switch since := b.Began(launched, now).UTC().Format("15:04:05 MST"); {
	case b.Ended:
		fmt.Fprintf(&text, "%s gave up at boot stage %q", subject, b.Stage)
	default:
		fmt.Fprintf(&text, "%s has not passed boot stage %q since %s", subject, b.Stage, since)
	}
	if b.Error != "" {
		fmt.Fprintf(&text, ": %s", strings.TrimRight(b.Error, ". "))
	}
	fmt.Fprintf(&text, ". %s %s", b.Cause.Text, b.Cause.Remedy)
	return text.String()
}
