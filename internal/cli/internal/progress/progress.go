// Package progress shows people how far a cluster is: on a terminal as one block that is kept up to
// date, elsewhere as a line for each thing that changes.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/inprocess"
)

// redraw is how often a block is drawn although nothing changed: its times pass.
const redraw = time.Second

// Printer prints progress. Its Observe is for [inprocess.Options] and [inprocess.FollowOptions].
type Printer struct {
	out   io.Writer
	clock clock.WithTicker
	// size is the terminal's columns and rows; nil where there is none.
	size func() (columns, rows int)

	mu    sync.Mutex
	began time.Time
	items []Item
	// texts are what was said last of each item, by its name, and since when.
	texts map[string]said
	drawn int
	end   chan struct{}
	done  sync.WaitGroup
}

type said struct {
	text  string
	since time.Time
}

// New returns a printer that draws a block if out is a terminal. It is to be closed.
func New(out io.Writer, clk clock.WithTicker) *Printer {
	p := &Printer{out: out, clock: clk, began: clk.Now(), texts: map[string]said{}, end: make(chan struct{})}
	if file, ok := out.(*os.File); ok && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd())) {
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

// draws has the printer draw a block from now on.
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

// Observe shows how far things are.
func (p *Printer) Observe(seen inprocess.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.items = Items(&seen)
	var lines []string
	for _, item := range p.items {
		text := string(item.Mark) + item.Text
		if p.texts[item.Name].text == text {
			continue
		}
		p.texts[item.Name] = said{text, seen.Time}
		if p.size == nil {
			lines = append(lines, line(seen.Time, item.Name, item.Text))
		}
	}
	for _, news := range seen.News {
		if news.Warning { // The objects report successes.
			lines = append(lines, line(news.Time, news.Kind+" "+news.Name, "Warning: "+news.Message))
		}
	}
	if len(lines) > 0 {
		p.erase()
		_, _ = io.WriteString(p.out, strings.Join(lines, "")) // An error means that the reader closed the output.
	}
	p.draw()
}

func line(at time.Time, name, text string) string {
	return fmt.Sprintf("%s %s: %s\n", at.Local().Format(time.TimeOnly), name, oneLine(text))
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Close leaves the block as it is.
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

// signs are what marks look like.
var signs = map[Mark]string{Waiting: "·", Working: "…", Done: "✔", Troubled: "!"}

// draw draws the block where the last one was. A line is cut where it would wrap: a block of more
// lines could not be erased.
func (p *Printer) draw() {
	if p.size == nil || len(p.items) == 0 {
		return
	}
	p.erase()
	columns, rows := p.size()
	now := p.clock.Now()
	lines := []string{fmt.Sprintf("%s since the start", short(now.Sub(p.began)))}
	for _, item := range p.items {
		indent := ""
		if item.Part {
			indent = "  "
		}
		text := oneLine(item.Text)
		if item.Mark != Done {
			text = short(now.Sub(p.texts[item.Name].since)) + " " + text
		}
		lines = append(lines, indent+signs[item.Mark]+" "+item.Name+" "+text)
	}
	if most := rows - 1; most > 0 && len(lines) > most {
		lines = append(lines[:most-1], fmt.Sprintf("and %d more", len(lines)-most+1))
	}
	for _, text := range lines {
		_, _ = fmt.Fprintln(p.out, cut(text, columns-1))
	}
	p.drawn = len(lines)
}

// short is a duration in whole seconds.
func short(d time.Duration) string { return d.Truncate(time.Second).String() }

// cut shortens a line to so many characters.
func cut(text string, most int) string {
	if runes := []rune(text); most > 0 && len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
