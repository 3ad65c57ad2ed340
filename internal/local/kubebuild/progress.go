package kubebuild

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
	"k8s.io/utils/clock"
)

// Intervals between lines: for a log, and for a terminal, where each line overwrites the last.
const (
	lineEvery = 15 * time.Second
	liveEvery = 250 * time.Millisecond
)

// progress prints the progress of the build: on a terminal in one line that is updated in place,
// elsewhere in periodic lines.
type progress struct {
	out   io.Writer
	live  bool
	clock clock.WithTicker
	start time.Time

	mu       sync.Mutex
	what     string
	done     int
	total    int
	quit     chan struct{}
	finished chan struct{}
	once     sync.Once
}

func startProgress(out io.Writer, clk clock.WithTicker) *progress {
	p := &progress{
		out: out, live: isTerminal(out), clock: clk, start: clk.Now(),
		what: "checking the sources", quit: make(chan struct{}), finished: make(chan struct{}),
	}
	every := lineEvery
	if p.live {
		every = liveEvery
	}
	go p.tick(clk.NewTicker(every))
	return p
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

func (p *progress) tick(ticker clock.Ticker) {
	defer close(p.finished)
	defer ticker.Stop()
	for {
		select {
		case <-p.quit:
			if p.live {
				_, _ = fmt.Fprint(p.out, "\r\x1b[K")
			}
			return
		case <-ticker.C():
			if p.live {
				_, _ = fmt.Fprintf(p.out, "\r\x1b[K%s", p.line())
			} else {
				_, _ = fmt.Fprintln(p.out, p.line())
			}
		}
	}
}

// stop stops printing and clears a live line. It may be called twice.
func (p *progress) stop() {
	p.once.Do(func() { close(p.quit) })
	<-p.finished
}

func (p *progress) elapsed() time.Duration { return p.clock.Since(p.start).Round(time.Second) }

func (p *progress) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.total == 0 && p.done > 0:
		return fmt.Sprintf("kube: %s (%d so far), %s", p.what, p.done, p.elapsed())
	case p.total == 0:
		return fmt.Sprintf("kube: %s, %s", p.what, p.elapsed())
	case p.done >= p.total-1: // the last is the program itself
		return fmt.Sprintf("kube: %s, %s", p.what, p.elapsed())
	}
	return fmt.Sprintf("kube: compiled %d of %d packages, %s", p.done, p.total, p.elapsed())
}

// downloading handles the output of the go command while it lists the packages.
func (p *progress) downloading(line string) {
	if !strings.HasPrefix(line, "go: downloading ") {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = "downloading modules"
	p.done++
}

// compiling starts the count of packages.
func (p *progress) compiling(total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what, p.done, p.total = "linking", 0, total
}

// compiled counts each package that the go command starts to compile.
func (p *progress) compiled(line string) {
	if strings.ContainsAny(line, " \t") {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
}
