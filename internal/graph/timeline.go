package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Event is a change of the status of a resource, or of the stack itself.
type Event struct {
	// Stack is the stack's name, LogicalID and Type the resource's; those of the stack's own events
	// are its name and its type.
	Stack, LogicalID, Type string
	// Status is CloudFormation's word, Reason why.
	Status, Reason string
	// At is when it happened.
	At time.Time
}

const typeStack = "AWS::CloudFormation::Stack"

func (e *Event) ofStack() bool { return e.Type == typeStack && e.LogicalID == e.Stack }

// Bar is how long something of one resource took.
type Bar struct {
	// Stack, LogicalID and Type name the resource.
	Stack, LogicalID, Type string
	// Action is CREATE, UPDATE or DELETE.
	Action string
	// Start and End are its times; End is the last event's while it goes on.
	Start, End time.Time
	// Failed says that it failed, Open that it goes on.
	Failed, Open bool
}

// Timeline is the last operation on a cluster's stacks.
type Timeline struct {
	// Name is the cluster's.
	Name string
	// Start and End are its times.
	Start, End time.Time
	// Bars are in order of their start; the stack's own begins each stack.
	Bars []Bar
}

// pauseWithin is how long nothing may happen within one operation on a cluster: the operator goes
// on with the next stack sooner.
const pauseWithin = 2 * time.Minute

// LastOperation returns the last operation from the events of a cluster's stacks, those of one
// stack in their order: the last one of the newest stack, and of each other stack if it was no more
// than two minutes apart.
func LastOperation(name string, events []Event) *Timeline {
	byStack := map[string][]Event{}
	for _, e := range events {
		byStack[e.Stack] = append(byStack[e.Stack], e)
	}
	var operations []*Timeline
	for _, of := range byStack {
		slices.SortStableFunc(of, func(a, b Event) int { return a.At.Compare(b.At) })
		if made := operationOf(of); len(made.Bars) > 0 {
			operations = append(operations, made)
		}
	}
	slices.SortFunc(operations, func(a, b *Timeline) int {
		return cmp.Or(b.End.Compare(a.End), strings.Compare(a.Bars[0].Stack, b.Bars[0].Stack))
	})
	whole := &Timeline{Name: name}
	for _, one := range operations {
		if len(whole.Bars) > 0 && one.End.Before(whole.Start.Add(-pauseWithin)) {
			continue
		}
		if len(whole.Bars) == 0 || one.Start.Before(whole.Start) {
			whole.Start = one.Start
		}
		if one.End.After(whole.End) {
			whole.End = one.End
		}
		whole.Bars = append(whole.Bars, one.Bars...)
	}
	first := map[string]time.Time{}
	for _, b := range whole.Bars {
		if at, ok := first[b.Stack]; !ok || b.Start.Before(at) {
			first[b.Stack] = b.Start
		}
	}
	slices.SortStableFunc(whole.Bars, func(a, b Bar) int {
		return cmp.Or(first[a.Stack].Compare(first[b.Stack]), strings.Compare(a.Stack, b.Stack))
	})
	return whole
}

// beginOf returns where the last operation of a stack begins, -1 if there is none.
func beginOf(events []Event) int {
	for i := range slices.Backward(events) {
		e := &events[i]
		if e.ofStack() &&
			slices.Contains([]string{"CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "DELETE_IN_PROGRESS", "IMPORT_IN_PROGRESS"}, e.Status) {
			return i
		}
	}
	return -1
}

// operationOf returns the last operation of one stack, whose events are in order.
func operationOf(events []Event) *Timeline {
	begin := beginOf(events)
	made := &Timeline{}
	if begin < 0 {
		return made
	}
	open := map[string]int{}
	for _, e := range events[begin:] {
		action, state, _ := strings.Cut(strings.TrimPrefix(e.Status, "UPDATE_ROLLBACK_"), "_")
		i, known := open[e.LogicalID]
		switch {
		case !known && (state == "IN_PROGRESS" || e.ofStack()):
			open[e.LogicalID] = len(made.Bars)
			made.Bars = append(
				made.Bars, Bar{Stack: e.Stack, LogicalID: e.LogicalID, Type: e.Type, Action: action, Start: e.At, End: e.At, Open: true},
			)
		case known:
			b := &made.Bars[i]
			b.End = e.At
			if ended := strings.HasSuffix(e.Status, "_COMPLETE") || strings.HasSuffix(e.Status, "_FAILED"); ended &&
				(!e.ofStack() || !strings.Contains(e.Status, "CLEANUP")) {
				b.Open, b.Failed = false, b.Failed || strings.HasSuffix(e.Status, "_FAILED") || strings.Contains(e.Status, "ROLLBACK")
				if !e.ofStack() {
					delete(open, e.LogicalID)
				}
			}
		}
	}
	made.Start, made.End = events[begin].At, events[len(events)-1].At
	return made
}

// took is how long a bar took, in words.
func (b *Bar) took() string {
	d := b.End.Sub(b.Start)
	text := d.Round(time.Second).String()
	if d < 10*time.Second {
		text = fmt.Sprintf("%.1fs", d.Seconds())
	}
	switch {
	case b.Open:
		text += " and goes on"
	case b.Failed:
		text += ", failed"
	}
	return text
}

// place returns where a bar begins and ends on a line of a length.
func (t *Timeline) place(b *Bar, length int) (from, to int) {
	whole := max(t.End.Sub(t.Start), time.Millisecond)
	from = min(int(int64(length)*int64(b.Start.Sub(t.Start))/int64(whole)), length-1)
	to = min(int(int64(length)*int64(b.End.Sub(t.Start))/int64(whole)), length)
	return from, max(to, from+1)
}

// Text draws the timeline for a terminal of a width.
func (t *Timeline) Text(width int) string {
	if len(t.Bars) == 0 {
		return "There is no operation on the cluster's stacks.\n"
	}
	longest := 0
	for i := range t.Bars {
		longest = max(longest, len(t.Bars[i].label()))
	}
	const besides, least = 22, 20
	length := max(width-longest-besides, least)
	var w strings.Builder
	fmt.Fprintf(
		&w,
		"Cluster %s: %s, from %s, %s\n",
		t.Name,
		strings.ToLower(t.Bars[0].Action),
		t.Start.UTC().Format(time.DateTime),
		t.End.Sub(t.Start).Round(time.Second),
	)
	for i := range t.Bars {
		b := &t.Bars[i]
		from, to := t.place(b, length)
		mark := "█"
		if b.Failed {
			mark = "x"
		}
		bar := strings.Repeat(" ", from) + strings.Repeat(mark, to-from) + strings.Repeat(" ", length-to)
		fmt.Fprintf(&w, "%-*s |%s| %s\n", longest, b.label(), bar, b.took())
	}
	return w.String()
}

// label names a bar: a stack's own by the stack, a resource by its logical ID below that.
func (b *Bar) label() string {
	if b.Type == typeStack && b.LogicalID == b.Stack {
		return b.Stack
	}
	return "  " + b.LogicalID
}

// SVG draws the timeline.
func (t *Timeline) SVG() string {
	const (
		left, length, row = 330, 800, 20.0
		top, right        = 60.0, 170
		ticks             = 8
	)
	height := top + row*float64(len(t.Bars)) + padding
	c := newCanvas(left+length+right, height, "Last operation on cluster "+t.Name)
	c.text(label{X: padding, Y: 22, Size: titleSize, Bold: true, Text: fmt.Sprintf(
		"Cluster %s, from %s, %s", t.Name, t.Start.UTC().Format(time.DateTime+" UTC"), t.End.Sub(t.Start).Round(time.Second))})
	for i := range ticks + 1 {
		x := float64(left + length*i/ticks)
		at := (t.End.Sub(t.Start) * time.Duration(i) / ticks).Round(100 * time.Millisecond).String()
		c.rect(box{x, top - 8, 1, height - padding - top + 8}, 0, `fill="#e3e3e3"`)
		c.text(label{X: x - width(at, textSize, false)/2, Y: top - 14, Text: at, Color: pale})
	}
	fills := map[string]string{"CREATE": green, "UPDATE": orange, "DELETE": blue}
	for i, action := range []string{"CREATE", "UPDATE", "DELETE", "failed"} {
		x := left + length - float64(60*(4-i))
		c.rect(box{x, 14, 10, 10}, 2, `fill="`+cmp.Or(fills[action], vermilion)+`"`)
		c.text(label{X: x + 14, Y: 23, Text: strings.ToLower(action), Color: pale})
	}
	for i := range t.Bars {
		b := &t.Bars[i]
		y := top + row*float64(i)
		from, to := t.place(b, length)
		name := strings.TrimSpace(b.label())
		indent := padding + 5*float64(len(b.label())-len(name))
		c.text(label{X: indent, Y: y + 13, Text: name, Bold: name == b.label(), Room: left - indent})
		fill := cmp.Or(fills[b.Action], gray)
		if b.Failed {
			fill = vermilion
		}
		c.rect(box{float64(left + from), y + 3, float64(max(to-from, 2)), row - 6}, 2, `fill="`+fill+`"`)
		c.text(label{X: float64(left + max(to, from+2) + 5), Y: y + 13, Text: b.took(), Color: pale})
	}
	return c.end()
}
