package containers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// requestEvery is the interval of a client's requests.
	requestEvery = 100 * time.Millisecond
	// unanswered is how long a request may take: all machines share a few processors with the test.
	unanswered = 15 * time.Second
)

// load sends requests until it is ended. A request that fails is repeated on a new connection.
type load struct {
	name string
	// client makes a client that has no connections yet.
	client func() *http.Client
	// request makes a request; each must be answered with the status OK.
	request func(ctx context.Context) (*http.Request, error)
	// fresh reports that each request has its own connection. Otherwise a connection is used until it
	// fails.
	fresh bool
	// strict reports that no new connection may fail, not even once. The load balancer of the API ends
	// the connections of a slot, new ones included, when the slot's health checks fail.
	strict bool
	// phase is what happens to the cluster, for the log.
	phase *atomic.Pointer[string]

	cancel context.CancelFunc
	done   sync.WaitGroup

	sent, connections, replaced int
	slowest                     time.Duration
	broken                      []string // what no replaced connection explains
}

// start sends requests in the background.
func (l *load) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l.cancel = cancel
	l.done.Go(func() {
		tick := time.NewTicker(requestEvery)
		defer tick.Stop()
		client := l.client()
		for ctx.Err() == nil {
			client = l.one(ctx, t, client)
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
		client.CloseIdleConnections()
	})
}

// one sends a request with a client, and returns the client of the next one.
func (l *load) one(ctx context.Context, t *testing.T, client *http.Client) *http.Client {
	t.Helper()
	phase, before := *l.phase.Load(), time.Now()
	reused, err := l.try(ctx, client)
	if ctx.Err() != nil {
		return client
	}
	l.sent++
	l.slowest = max(l.slowest, time.Since(before))
	if err == nil && !l.fresh {
		return client
	}
	client.CloseIdleConnections()
	next := l.client()
	if err == nil {
		return next
	}
	what := fmt.Sprintf("%s: request %d, begun while %s, failed after %s (reused connection: %t): %v",
		l.name, l.sent, phase, time.Since(before).Round(time.Millisecond), reused, err)
	t.Log(what)
	if _, again := l.try(ctx, next); again != nil && ctx.Err() == nil {
		l.broken = append(l.broken, fmt.Sprintf("%s; and again on a new connection: %v", what, again))
	} else if !reused && l.strict {
		l.broken = append(l.broken, what)
	}
	l.replaced++
	return next
}

// try sends a request, and reports whether its connection has answered an earlier one.
func (l *load) try(ctx context.Context, client *http.Client) (reused bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, unanswered)
	defer cancel()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		if reused = c.Reused; !reused {
			l.connections++
		}
	}})
	request, err := l.request(ctx)
	if err != nil {
		return false, err
	}
	response, err := client.Do(request)
	if err != nil {
		return reused, err
	}
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status + ": " + string(text))
	}
	return reused, errors.Join(err, response.Body.Close())
}

// end stops the requests and checks that each was answered, at the second attempt if its connection
// was replaced.
func (l *load) end(t *testing.T) {
	t.Helper()
	l.cancel()
	l.done.Wait()
	t.Logf("%s: %d requests on %d connections, of which %d failed and were replaced; the slowest answer took %s",
		l.name, l.sent, l.connections, l.replaced, l.slowest.Round(time.Millisecond))
	if l.sent == 0 {
		t.Errorf("%s sent no requests", l.name)
	}
	for _, what := range l.broken {
		t.Error(what)
	}
}
