package boots

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/cluster/consoles"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/cache"
	"github.com/aws-operator/aws-operator/internal/cluster/diagnosis"
)

const (
	// pause is the time between two checks for an object.
	pause = time.Minute
	// unreachableAfter is how long after the last instance joined the operator should reach the API.
	unreachableAfter = time.Minute
)

// Boots remembers the last check of each object.
type Boots struct {
	clock clock.PassiveClock
	last  *cache.Keyed[types.UID, check]
}

// check is the result of a check.
type check struct {
	at     time.Time
	answer Answer
	// same identifies the instance, stage and cause of the answer. While they stay the same, so does
	// the message, although attempts fail with slightly different errors.
	same [3]string
}

// New returns boots of which nothing is known yet.
func New(clk clock.PassiveClock) *Boots {
	return &Boots{clock: clk, last: cache.NewKeyed[types.UID, check]()}
}

// Forget drops what is cached for a deleted object.
func (b *Boots) Forget(uid types.UID) { b.last.Drop(uid) }

// Question asks about the instances of an object.
type Question struct {
	// UID is the object's; Of is what its instances belong to, for messages.
	UID types.UID
	Of  string
	// EC2 is the client of its account and region.
	EC2 consoles.EC2
	// Tags are those of its instances.
	Tags map[string]string
	// Since is when its stacks were created or changed last; nothing is asked before the first
	// deadline after that.
	Since time.Time
	// After excludes instances that were launched earlier.
	After time.Time
	// Joined reports whether an instance is a node.
	Joined func(instance string) bool
	// Most is the maximum number of consoles to read in one check.
	Most int
}

// Answer says which instance is stalled.
type Answer struct {
	// Stalled describes the stalled boot of an instance and its cause, empty if there is none.
	Stalled string
	// Joined reports that instances were found, and that their consoles show that all of them have
	// joined, for long enough that the operator should see their nodes.
	Joined bool
	// Again is the delay until the next check, zero for none.
	Again time.Duration
}

// Ask checks the boots of an object's instances, or returns the last answer if that is recent. It
// returns the errors of AWS once, and then the last answer until the next check. Errors of reading a
// console are in the answer.
func (b *Boots) Ask(ctx context.Context, q *Question) (Answer, error) {
	now := b.clock.Now()
	if wait := q.Since.Add(diagnosis.FirstDeadline).Sub(now); wait > 0 {
		return Answer{Again: wait}, nil
	}
	last, known := b.last.Get(q.UID)
	if wait := last.at.Add(last.answer.Again).Sub(now); known && wait > 0 {
		answer := last.answer
		answer.Again = wait
		return answer, nil
	}
	found, err := consoles.Running(ctx, q.EC2, q.Tags)
	if err != nil {
		last.at, last.answer.Again = now, pause
		b.last.Keep(q.UID, last)
		return Answer{}, err //nolint:wrapcheck // has enough context
	}
	reports := read(ctx, q, found)
	next := check{at: now, answer: Answer{Again: pause, Joined: allJoined(reports, now)}}
	if len(found) == 0 {
		next.answer.Stalled = fmt.Sprintf("No instance of %s is running. Check the activities of its Auto Scaling group.", q.Of)
	}
	if due := consoles.NextDue(reports, now); due > 0 {
		next.answer.Again = min(pause, due)
	}
	if worst := consoles.Stalled(reports, now); worst != nil {
		next.same = [3]string{worst.ID, worst.Boot.Stage, worst.Boot.Cause.Reason}
		next.answer.Stalled = worst.Describe(now)
		if known && next.same == last.same {
			next.answer.Stalled = last.answer.Stalled
		}
	}
	b.last.Keep(q.UID, next)
	return next.answer, nil
}

// read reads the consoles of the oldest instances that are not nodes.
func read(ctx context.Context, q *Question, found []consoles.Instance) []consoles.Report {
	var reports []consoles.Report
	for _, one := range found {
		if len(reports) < q.Most && !one.Launched.Before(q.After) && !q.Joined(one.ID) {
			reports = append(reports, consoles.Read(ctx, q.EC2, one))
		}
	}
	return reports
}

// allJoined reports whether all instances joined a while ago.
func allJoined(reports []consoles.Report, now time.Time) bool {
	return len(reports) > 0 && !slices.ContainsFunc(reports, func(r consoles.Report) bool {
		return !r.Boot.Joined || now.Before(r.Boot.Since.Add(unreachableAfter))
	})
}
