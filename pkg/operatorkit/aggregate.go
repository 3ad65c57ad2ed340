package operatorkit

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// Subject identifies what an Outcome is about, for example {Kind: "Stack", Name: "a"}.
type Subject struct {
	// Kind is the singular noun that messages start with.
	Kind string
	// Name distinguishes subjects of the same kind.
	Name string
}

// String returns the kind and the name: "Stack a". The zero Subject is "".
func (s Subject) String() string { return strings.TrimSpace(s.Kind + " " + s.Name) }

// Aggregate returns one outcome for several that do not depend on each other:
//
//   - If any failed, it is a Fail with all their errors, since those are retried.
//   - Otherwise, if any waits, it is a Wait. It has the reason of the first
//     degraded Wait, or else of the first Wait, and is degraded if any is. It
//     records no Event only if all Waits record none and none stalled.
//   - Otherwise, if any stalled, it is a Stall with the reason of the first.
//   - Otherwise it is Done, with the last explanation given.
//
// Its message joins the distinct messages of the outcomes that are not done, in
// that order of kinds. Equal messages about several subjects become one: "Stacks
// a, b: The stack is being created." Its After is the shortest of all outcomes.
func Aggregate(outcomes ...Outcome) Outcome {
	var fails, waits, stalls []Outcome
	whole := Done()
	for _, o := range outcomes {
		whole.after = soonest(whole.after, o.after)
		switch o.kind {
		case KindFail:
			fails = append(fails, o.explained())
		case KindWait:
			waits = append(waits, o)
		case KindStall:
			stalls = append(stalls, o)
		case KindDone:
			if o.reason != "" {
				whole.reason, whole.text, whole.subject = o.reason, o.text, o.subject
			}
		}
	}
	open := slices.Concat(fails, waits, stalls)
	if len(open) == 0 {
		return whole
	}
	first := open[0]
	if first.kind == KindWait {
		if i := slices.IndexFunc(waits, Outcome.IsDegraded); i >= 0 {
			first = waits[i]
		}
	}
	text := messages(open)
	switch first.kind {
	case KindFail:
		errs := make([]error, len(fails))
		for i := range fails {
			errs[i] = fails[i].Err()
		}
		return Fail(errors.Join(errs...)).Explain(first.reason, text)
	case KindWait:
		wait := Wait(whole.after, first.reason, text)
		wait.degraded = first.degraded
		wait.noEvent = len(stalls) == 0 && !slices.ContainsFunc(waits, func(o Outcome) bool { return !o.noEvent })
		return wait
	default:
		return Stall(first.reason, text).RequeueAfter(whole.after)
	}
}

// messages joins the distinct messages of outcomes. It names the subjects of
// equal texts together: "Stacks a, b: …".
func messages(outcomes []Outcome) string {
	type about struct{ kind, text string }
	var order []about
	names := map[about][]string{}
	for _, o := range outcomes {
		if o.text == "" {
			continue
		}
		key := about{o.subject.Kind, o.text}
		if _, ok := names[key]; !ok {
			order = append(order, key)
			names[key] = nil
		}
		if name := o.subject.Name; name != "" && !slices.Contains(names[key], name) {
			names[key] = append(names[key], name)
		}
	}
	sentences := make([]string, len(order))
	for i, key := range order {
		kind := key.kind
		if len(names[key]) > 1 {
			kind = plural(kind)
		}
		subject := Subject{Kind: kind, Name: strings.Join(names[key], ", ")}
		sentences[i] = withSubject(subject.String(), key.text)
	}
	return strings.Join(sentences, " ")
}

// plural returns the plural of a regular English noun.
func plural(noun string) string {
	switch {
	case noun == "":
		return ""
	case strings.HasSuffix(noun, "y") &&
		!slices.ContainsFunc([]string{"ay", "ey", "oy", "uy"}, func(end string) bool { return strings.HasSuffix(noun, end) }):
		return strings.TrimSuffix(noun, "y") + "ies"
	case slices.ContainsFunc([]string{"s", "x", "ch", "sh"}, func(end string) bool { return strings.HasSuffix(noun, end) }):
		return noun + "es"
	default:
		return noun + "s"
	}
}

// withSubject puts a subject in front of a text, if both exist.
func withSubject(subject, text string) string {
	if subject == "" || text == "" {
		return text
	}
	return subject + ": " + text
}

// soonest returns the shorter of two times after which to requeue an object, where zero means
// never.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
