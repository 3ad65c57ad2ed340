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

// RefusedError says why a chart cannot be used. The same chart with the same values is refused again.
type RefusedError struct {
	// Why is a clause about the chart.
	Why string
}

// Error returns why the chart is refused.
func (e *RefusedError) Error() string { return e.Why }

// Options configure a Renderer; the zero value is good.
type Options struct {
	// Program is started with the argument [Command]; by default the running one.
	Program string
	// Timeout is how long a chart may take; by default 30 seconds.
	Timeout time.Duration
}

// Renderer renders charts in children of the process, one at a time, so that their memory is bounded together. It is safe for
// use by many goroutines.
type Renderer struct {
	options Options
	turn    chan struct{}
}

// New returns a renderer.
func New(o Options) *Renderer {
	o.Program, o.Timeout = cmp.Or(o.Program, self()), cmp.Or(o.Timeout, defaultTimeout)
	return &Renderer{options: o, turn: make(chan struct{}, 1)}
}

// self is the running program, also after its file has been replaced.
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

// Render renders a chart. It errs with a [RefusedError] if that is the chart's fault.
func (r *Renderer) Render(ctx context.Context, chart *Chart) (*Rendered, error) {
	response, err := r.ask(ctx, &Request{Chart: chart})
	if err != nil {
		return nil, err
	}
	if response.Rendered == nil {
		return nil, errors.New("the process that renders charts gave no answer")
	}
	return response.Rendered, nil
}

// Find looks a chart up in a repository's index. It errs with a [RefusedError] if it is not there, or the index cannot be read.
func (r *Renderer) Find(ctx context.Context, asked *Find) (*Found, error) {
	response, err := r.ask(ctx, &Request{Find: asked})
	if err != nil {
		return nil, err
	}
	if response.Found == nil {
		return nil, errors.New("the process that renders charts gave no answer")
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
		return nil, fmt.Errorf("write what to render: %w", err)
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
		return nil, fmt.Errorf("read what was rendered: %w", err)
	}
	if response.Refused != "" {
		return nil, &RefusedError{Why: shorten(response.Refused)}
	}
	return &response, nil
}

// ended says why a child ended without an answer. What Go says of a lack of memory depends on what it was wanted for.
func ended(err error, said string) error {
	for _, word := range []string{"out of memory", "cannot allocate memory", "out-of-memory", "failed to create new OS thread"} {
		if strings.Contains(said, word) {
			return &RefusedError{Why: fmt.Sprintf("it takes more than %d megabytes of memory to render", memory>>20)}
		}
	}
	if strings.Contains(said, "stack overflow") || strings.Contains(said, "stack exceeds") {
		return &RefusedError{Why: "its templates call each other without end"}
	}
	return fmt.Errorf("the process that renders charts ended: %w: %s", err, shorten(strings.TrimSpace(said)))
}

// shorten leaves out the middle of what is too long for a condition: templates complain with the whole chain of their callers.
func shorten(text string) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= maxMessage {
		return text
	}
	const half = maxMessage / 2
	return strings.ToValidUTF8(text[:half], "") + " … " + strings.ToValidUTF8(text[len(text)-half:], "")
}

// bounded keeps what is written to it up to a limit. More is an error, unless the rest may be lost.
type bounded struct {
	bytes.Buffer

	limit int
	rest  bool
	full  bool
}

// Write keeps what fits.
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

// ReadFrom is hidden: copying would go around Write.
func (b *bounded) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{b}, r) //nolint:wrapcheck // It is the reader's own.
}
