// Package progress prints the progress of a cluster: on a terminal as one block that is updated in
// place, elsewhere as one line for each change.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/inprocess"
	"github.com/aws-operator/aws-operator/internal/plural"
)

// redraw is how often a block is redrawn without a change, since it shows elapsed times.
const redraw = time.Second

// Printer prints progress. Its Observe is for [inprocess.Options] and [inprocess.FollowOptions].
type Printer struct {
	out   io.Writer
	clock clock.WithTicker
	// size returns the terminal's columns and rows; nil without a terminal.
	size func() (columns, rows int)
	// colored reports whether marks have colors (https://no-color.org).
	colored bool

	mu    sync.Mutex
	began time.Time
	items []Item
	// texts are the last texts of the items and their times, by name.
	texts map[string]said
	drawn int
	end   chan struct{}
	done  sync.WaitGroup
}

type said struct {
	text  string
	since time.Time
}

// New returns a printer, which draws a block if out is a terminal. The caller must close it.
func New(out io.Writer, clk clock.WithTicker) *Printer {
	p := &Printer{out: out, clock: clk, began: clk.Now(), texts: map[string]said{}, end: make(chan struct{})}
	if file, ok := out.(*os.File); ok && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd())) {
		p.colored = os.Getenv("NO_COLOR") == ""
		p.draws(func() (columns, rows int) {
			columns, rows, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 80, 24
			}
			return columns, rows
		})
	}
	return p
}

// draws makes the printer draw a block from now on.
func (p *Printer) draws(size func() (columns, rows int)) {
	p.size = size
	p.done.Go(func() {
		ticker := p.clock.NewTicker(redraw)
		defer ticker.Stop()
		for {
			select {
			case <-p.end:
				return
			case <-ticker.C():
				p.mu.Lock()
				p.draw()
				p.mu.Unlock()
			}
		}
	})
}

// Observe prints the progress of a cluster.
func (p *Printer) Observe(seen inprocess.Progress) {
	var notices []string
	for _, notice := range seen.Notices {
		if notice.Warning { // The objects report successes.
			notices = append(notices, Line(notice.Time, notice.Kind+" "+notice.Name, "Warning: "+notice.Message))
		}
	}
	p.Show(seen.Time, Items(&seen), notices...)
}

// Show prints the items as of a time, and lines that stay above them.
func (p *Printer) Show(at time.Time, items []Item, above ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.items = items
	var lines []string
	for _, item := range p.items {
		text := string(item.Mark) + item.Text
		if p.texts[item.Name].text == text {
			continue
		}
		p.texts[item.Name] = said{text, at}
		if p.size == nil {
			lines = append(lines, Line(at, item.Name, item.Text))
		}
	}
	lines = append(lines, above...)
	if len(lines) > 0 {
		p.erase()
		_, _ = io.WriteString(p.out, strings.Join(lines, "")) // An error means that the reader closed the output.
	}
	p.draw()
}

// Line returns the line for an item's text as of a time.
func Line(at time.Time, name, text string) string {
	return fmt.Sprintf("%s %s: %s\n", at.Local().Format(time.TimeOnly), name, oneLine(text))
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Close stops the printer and leaves the block on the screen.
func (p *Printer) Close() {
	close(p.end)
	p.done.Wait()
}

// erase removes the block from the screen.
func (p *Printer) erase() {
	if p.drawn > 0 {
		_, _ = fmt.Fprintf(p.out, "\x1b[%dA\x1b[J", p.drawn)
		p.drawn = 0
	}
}

// symbols are the symbols of marks.
var symbols = map[Mark]string{Waiting: "·", Working: "…", Done: "✔", Troubled: "!"}

// draw draws the block in the place of the last one. It truncates lines that would wrap, since a
// wrapped block could not be erased.
func (p *Printer) draw() {
	if p.size == nil || len(p.items) == 0 {
		return
	}
	p.erase()
	columns, rows := p.size()
	now := p.clock.Now()
	shown := p.items
	if most := rows - 2; most > 0 && len(shown) > most { // One line for the header, one for the cursor.
		shown = shown[:max(0, most-1)]
	}
	lines := []string{fmt.Sprintf("%s elapsed, %s", short(now.Sub(p.began)), counts(p.items))}
	for _, row := range p.rows(shown, now) {
		lines = append(lines, cut(row, columns-1))
	}
	if left := len(p.items) - len(shown); left > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", left))
	}
	for i, line := range lines {
		if i > 0 && i <= len(shown) {
			line = p.paint(line, shown[i-1].Mark)
		}
		_, _ = fmt.Fprintln(p.out, line)
	}
	p.drawn = len(lines)
}

// rows returns a line for each item, in columns: mark and name, how long the text has been the same
// if the item is not done, and the text.
func (p *Printer) rows(items []Item, now time.Time) []string {
	names, times := make([]string, len(items)), make([]string, len(items))
	widest, longest := 0, 0
	for i, item := range items {
		names[i] = symbols[item.Mark] + " " + item.Name
		if item.Part {
			names[i] = "  " + names[i]
		}
		if item.Mark != Done {
			times[i] = short(now.Sub(p.texts[item.Name].since))
		}
		widest, longest = max(widest, utf8.RuneCountInString(names[i])), max(longest, len(times[i]))
	}
	for i, item := range items {
		names[i] = fmt.Sprintf("%-*s  %*s  %s", widest, names[i], longest, times[i], oneLine(item.Text))
	}
	return names
}

// counts summarizes the items that are not parts of others, for example "1 of 3 ready, 1 with a
// problem".
func counts(items []Item) string {
	of := map[Mark]int{}
	all := 0
	for _, item := range items {
		if !item.Part {
			of[item.Mark]++
			all++
		}
	}
	text := fmt.Sprintf("%d of %d ready", of[Done], all)
	if n := of[Troubled]; n > 0 {
		text += ", " + plural.Count(n, "problem")
	}
	return text
}

// colors are the ANSI colors of marks.
var colors = map[Mark]string{Working: "33", Done: "32", Troubled: "31"}

// paint colors the mark of a line.
func (p *Printer) paint(line string, mark Mark) string {
	color := colors[mark]
	if !p.colored || color == "" {
		return line
	}
	return strings.Replace(line, symbols[mark], "\x1b["+color+"m"+symbols[mark]+"\x1b[0m", 1)
}

// short is a duration in whole seconds.
func short(d time.Duration) string { return d.Truncate(time.Second).String() }

// cut truncates a line to a number of characters.
func cut(text string, most int) string {
	if runes := []rune(text); most > 0 && len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
