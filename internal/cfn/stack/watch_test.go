package stack

import (
	"testing"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

func TestWatchlistReportsWhenToRead(t *testing.T) {
	const id = "arn:aws:cloudformation:eu-central-1:123456789012:stack/jobs/1"
	settled := Record{StackID: id, Status: "UPDATE_COMPLETE", Changed: "updated 2", Token: "t2"}
	running := Record{StackID: id, Status: "UPDATE_IN_PROGRESS", Changed: "updated 1", Token: "t2", PendingDigest: "d"}
	cases := []struct {
		name   string
		record Record
		happen func(*watchlist)
		want   bool
	}{
		{"nothing happened", settled, func(*watchlist) {}, false},
		{
			"a running operation is no reason",
			settled,
			func(w *watchlist) { w.event(Event{StackID: id, Status: "UPDATE_IN_PROGRESS"}, awsapi.Place{}) },
			false,
		},
		{
			"another stack's event is no reason",
			settled,
			func(w *watchlist) { w.event(Event{StackID: id + "2", Status: "UPDATE_COMPLETE"}, awsapi.Place{}) },
			false,
		},
		{
			"the end of the operation that was waited for",
			running,
			func(w *watchlist) {
				w.event(Event{StackID: id, Status: "UPDATE_COMPLETE", Token: "t2"}, awsapi.Place{})
			},
			true,
		},
		{
			"the late event of an operation whose end was seen",
			settled,
			func(w *watchlist) {
				w.event(Event{StackID: id, Status: "UPDATE_COMPLETE", Token: "t2"}, awsapi.Place{})
			},
			false,
		},
		{
			"another client's operation",
			settled,
			func(w *watchlist) {
				w.event(Event{StackID: id, Status: "UPDATE_COMPLETE", Token: "Console-1"}, awsapi.Place{})
			},
			true,
		},
		{"an event without a token", settled, func(w *watchlist) { w.event(Event{StackID: id, Status: "UPDATE_COMPLETE"}, awsapi.Place{}) }, true},
		{
			"a sweep that sees what the record says",
			settled,
			func(w *watchlist) { w.swept(id, awsapi.Place{}, sight{"UPDATE_COMPLETE", "updated 2"}) },
			false,
		},
		{
			"a sweep that sees a later change",
			settled,
			func(w *watchlist) { w.swept(id, awsapi.Place{}, sight{"UPDATE_COMPLETE", "updated 3"}) },
			true,
		},
		{"a read that followed the event", settled, func(w *watchlist) {
			w.event(Event{StackID: id, Status: "UPDATE_COMPLETE"}, awsapi.Place{})
			w.observed(id, awsapi.Place{}, sight{"UPDATE_COMPLETE", "updated 2"}, w.mark())
		}, false},
		{"an event that arrived during the read", settled, func(w *watchlist) {
			mark := w.mark()
			w.event(Event{StackID: id, Status: "UPDATE_COMPLETE"}, awsapi.Place{})
			w.observed(id, awsapi.Place{}, sight{"UPDATE_COMPLETE", "updated 2"}, mark)
		}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := &watchlist{stacks: map[string]*watched{}}
			w.recorded(awsapi.Place{}, &c.record)
			c.happen(w)
			if _, got := w.changed(&c.record); got != c.want {
				t.Errorf("changed = %t, want %t", got, c.want)
			}
		})
	}
}
