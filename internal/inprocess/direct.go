package inprocess

import (
	"context"
	"io"
	"net/http"
	"sync"
)

// direct passes requests to a handler in this process, without a port, certificates, or anything
// that other processes could reach.
type direct struct{ handler http.Handler }

// RoundTrip returns as soon as the handler begins its response, since watches respond until they
// are closed.
func (d direct) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	request := req.Clone(ctx)
	if request.Body == nil {
		request.Body = http.NoBody
	}
	reader, writer := io.Pipe()
	answer := &answer{header: http.Header{}, body: writer, began: make(chan struct{})}
	go func() {
		defer cancel()
		d.handler.ServeHTTP(answer, request)
		answer.WriteHeader(http.StatusOK) // Unless it wrote one.
		_ = writer.Close()
	}()
	select {
	case <-answer.began:
	case <-ctx.Done():
		select {
		case <-answer.began: // It is answered and done.
		default:
			_ = reader.Close()
			return nil, context.Cause(req.Context())
		}
	}
	// A client that closes the response early gets the end of the data, not an error.
	context.AfterFunc(req.Context(), func() { _ = writer.Close() })
	return &http.Response{
		Status: http.StatusText(answer.code), StatusCode: answer.code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: answer.header, Body: &answerBody{reader, cancel}, ContentLength: -1, Request: req,
	}, nil
}

// answer is the response that a handler writes.
type answer struct {
	header http.Header
	body   *io.PipeWriter
	begin  sync.Once
	began  chan struct{}
	code   int
}

// Header implements http.ResponseWriter, as the others do.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader begins the response.
func (a *answer) WriteHeader(code int) {
	a.begin.Do(func() {
		a.code = code
		close(a.began)
	})
}

// Write returns when the caller has read it.
func (a *answer) Write(data []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(data) //nolint:wrapcheck // an io.Writer's
}

// FlushError has nothing to do: what is written is read at once.
func (a *answer) FlushError() error { return nil }

// answerBody ends the request when the caller closes the response.
type answerBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

// Close ends the request.
func (b *answerBody) Close() error {
	b.cancel()
	return b.PipeReader.Close() //nolint:wrapcheck // an io.Closer's
}
