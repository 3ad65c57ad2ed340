package chartrender

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// RefusedError is why a chart cannot be used. The same chart with the same values fails again.
type RefusedError struct {
	// Why is a clause about the chart.
	Why string
}

// Error returns why the chart is refused.
func (e *RefusedError) Error() string { return e.Why }

// Options configure a Renderer. The zero value is valid.
type Options struct {
	// Program is started with the argument [Command]. It is the running program by default.
	Program string
	// Timeout bounds the rendering of a chart, by default 30 seconds.
	Timeout time.Duration
}

// Renderer renders charts in child processes, one at a time, to bound their total memory. It is
// safe for concurrent use.
type Renderer struct {
	options Options
	turn    chan struct{}
}

// New returns a renderer.
func New(o Options) *Renderer {
	o.Program, o.Timeout = cmp.Or(o.Program, self()), cmp.Or(o.Timeout, defaultTimeout)
	return &Renderer{options: o, turn: make(chan struct{}, 1)}
}

// self returns the path of the running program, which works after its file was replaced.
func self() string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// Render renders a chart. It returns a [RefusedError] if the chart is at fault.
func (r *Renderer) Render(ctx context.Context, chart *Chart) (*Rendered, error) {
	response, err := r.ask(ctx, &Request{Chart: chart})
	if err != nil {
		return nil, err
	}
	if response.Rendered == nil {
		return nil, errors.New("the process that renders charts returned no manifests")
	}
	return response.Rendered, nil
}

// Find finds a chart in a repository's index. It returns a [RefusedError] if the chart is missing
// or the index is invalid.
func (r *Renderer) Find(ctx context.Context, asked *Find) (*Found, error) {
	response, err := r.ask(ctx, &Request{Find: asked})
	if err != nil {
		return nil, err
	}
	if response.Found == nil {
		return nil, errors.New("the process that renders charts returned no chart")
	}
	return response.Found, nil
}

func (r *Renderer) ask(ctx context.Context, asked *Request) (*Response, error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for other charts: %w", context.Cause(ctx))
	}
	question, err := json.Marshal(asked)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	within, stop := context.WithTimeout(ctx, r.options.Timeout)
	defer stop()
	child := exec.CommandContext(within, r.options.Program, Command) //nolint:gosec // It is the running program.
	child.Env = []string{"GOTRACEBACK=none"}                         // Nothing of the parent's: no credentials, no kubeconfig.
	child.Dir, child.WaitDelay = "/", time.Second
	out, errOut := &bounded{limit: 2 * maxRendered}, &bounded{limit: 2 * maxMessage, rest: true}
	child.Stdin, child.Stdout, child.Stderr = bytes.NewReader(question), out, errOut
	err = child.Run()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("render: %w", context.Cause(ctx))
	case within.Err() != nil:
		return nil, &RefusedError{Why: fmt.Sprintf("it takes longer than %s to render", r.options.Timeout)}
	case out.full:
		return nil, &RefusedError{Why: fmt.Sprintf("it renders more than %d megabytes", maxRendered>>20)}
	case err != nil:
		return nil, ended(err, errOut.String())
	}
	var response Response
	if err := json.Unmarshal(out.Bytes(), &response); err != nil {
		return nil, fmt.Errorf("parse the response: %w", err)
	}
	if response.Refused != "" {
		return nil, &RefusedError{Why: shorten(response.Refused)}
	}
	return &response, nil
}

// ended returns why a child exited without a response. Go's messages about a lack of memory vary.
func ended(err error, said string) error {
	for _, word := range []string{"out of memory", "cannot allocate memory", "out-of-memory", "failed to create new OS thread"} {
		if strings.Contains(said, word) {
			return &RefusedError{Why: fmt.Sprintf("it takes more than %d megabytes of memory to render", memory>>20)}
		}
	}
	if strings.Contains(said, "stack overflow") || strings.Contains(said, "stack exceeds") {
		return &RefusedError{Why: "its templates recurse without end"}
	}
	return fmt.Errorf("the process that renders charts ended: %w: %s", err, shorten(strings.TrimSpace(said)))
}

// shorten removes the middle of a message that is too long for a condition: template errors contain
// the whole call chain.
func shorten(text string) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= maxMessage {
		return text
	}
	const half = maxMessage / 2
	return strings.ToValidUTF8(text[:half], "") + " … " + strings.ToValidUTF8(text[len(text)-half:], "")
}

// bounded stores what is written to it up to a limit. More is an error, unless the rest may be
// discarded.
type bounded struct {
	bytes.Buffer

	limit int
	rest  bool
	full  bool
}

// Write stores what fits.
func (b *bounded) Write(p []byte) (int, error) {
	if room := b.limit - b.Len(); len(p) > room {
		b.full = true
		if !b.rest {
			return 0, io.ErrShortWrite
		}
		_, _ = b.Buffer.Write(p[:max(0, room)])
		return len(p), nil
	}
	return b.Buffer.Write(p) //nolint:wrapcheck // A buffer does not fail.
}

// ReadFrom hides Buffer.ReadFrom, which would bypass Write.
func (b *bounded) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{b}, r) //nolint:wrapcheck // It is the reader's own.
}
