package console

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/cli/internal/objects"
)

const (
	// grace is how long the watches of a user continue without a page, so that a page that is loaded again need not read
	// all objects again.
	grace = 30 * time.Second
	// userTimeout limits how long the API server is asked for the user of a token.
	userTimeout = 10 * time.Second
	// maxSessions, maxOfUser and maxPages limit the watches: of all users, of one user with several namespaces or tokens,
	// and the pages of each of these.
	maxSessions = 50
	maxOfUser   = 8
	maxPages    = 16
)

// key identifies a session: by the hash of the user's token, so that the token is nowhere but in its client, and by the
// namespace.
type key [sha256.Size]byte

func keyOf(token, namespace string) key { return sha256.Sum256([]byte(namespace + "\x00" + token)) }

// session is the data of one user in one namespace or in all. Only requests with the same token reach it.
type session struct {
	*server

	user   string
	data   http.Handler
	cancel context.CancelFunc
	pages  int // that are open
	opened int // how often a page was opened
}

// sessions are the data of all users with an open page.
type sessions struct {
	ctx   context.Context //nolint:containedctx // It ends the watches, which outlive requests.
	api   *rest.Config    // without credentials
	clock clock.WithTickerAndDelayedExecution

	mu    sync.Mutex
	known map[key]*session
}

func newSessions(ctx context.Context, api *rest.Config, clk clock.WithTickerAndDelayedExecution) *sessions {
	return &sessions{ctx: ctx, api: api, clock: clk, known: map[key]*session{}}
}

// serve answers a request for data. Only the stream of changes begins a session; other requests need an open page, so
// that the server watches nothing for requests that end at once.
func (all *sessions) serve(w http.ResponseWriter, r *http.Request, token, namespace string) {
	k := keyOf(token, namespace)
	if r.URL.Path != "/api/watch" {
		all.mu.Lock()
		found := all.known[k]
		all.mu.Unlock()
		if found == nil {
			refuse(w, http.StatusUnauthorized, "No page is open with this token. Load the page again.")
			return
		}
		found.data.ServeHTTP(w, r)
		return
	}
	found, err := all.open(r.Context(), k, token, namespace)
	if err != nil {
		fail(w, err)
		return
	}
	defer all.close(k, found)
	found.data.ServeHTTP(w, r)
}

// open returns the session of a token for one more page.
func (all *sessions) open(ctx context.Context, k key, token, namespace string) (*session, error) {
	config := rest.CopyConfig(all.api)
	config.BearerToken = token
	from, err := objects.New(config, namespace)
	if err != nil {
		return nil, fmt.Errorf("reach the management cluster: %w", err)
	}
	asking, cancel := context.WithTimeout(ctx, userTimeout)
	defer cancel()
	user, err := from.User(asking)
	if err != nil {
		return nil, err
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	one := all.known[k]
	if one == nil {
		if err := all.makeRoom(user); err != nil {
			return nil, err
		}
		one = all.start(k, from, user, namespace) //nolint:contextcheck // The watches outlive the request.
		all.known[k] = one
	}
	if one.pages >= maxPages {
		return nil, apierrors.NewTooManyRequestsError(fmt.Sprintf("you have %d pages open: close some", maxPages))
	}
	one.pages++
	one.opened++
	return one, nil
}

// makeRoom ends the sessions without a page if there are too many, and returns an error if that is not enough.
func (all *sessions) makeRoom(user string) error {
	count := func() (ofUser int) {
		for _, one := range all.known {
			if one.user == user {
				ofUser++
			}
		}
		return ofUser
	}
	if len(all.known) >= maxSessions || count() >= maxOfUser {
		for k, one := range all.known {
			if one.pages == 0 {
				all.drop(k, one)
			}
		}
	}
	if count() >= maxOfUser {
		return apierrors.NewTooManyRequestsError(fmt.Sprintf("you have pages of %d namespaces or sign-ins open: close some", maxOfUser))
	}
	if len(all.known) >= maxSessions {
		return apierrors.NewTooManyRequestsError("too many users have a page open: try again later")
	}
	return nil
}

// start starts the watches of a user.
func (all *sessions) start(k key, from *objects.Source, user, namespace string) *session {
	ctx, cancel := context.WithCancel(all.ctx)
	one := &session{server: newServer(from, all.clock), user: user, cancel: cancel}
	one.hello.User, one.hello.Namespace = user, namespace
	one.data = one.server.data()
	go func() {
		err := from.Watch(ctx, one.fleet.update)
		all.mu.Lock()
		defer all.mu.Unlock()
		all.drop(k, one)
		one.why = whyEnded(err)
		close(one.ended)
	}()
	return one
}

// whyEnded says why the watches of a page that is still open have ended.
func whyEnded(err error) string {
	switch {
	case err == nil:
		return "The console ends."
	case apierrors.IsUnauthorized(err):
		return "You are no longer signed in: the API server does not accept your token any more."
	default:
		return fmt.Sprintf("The console cannot read the management cluster: %v.", err)
	}
}

// drop ends a session. Its next page begins another one.
func (all *sessions) drop(k key, one *session) {
	one.cancel()
	if all.known[k] == one {
		delete(all.known, k)
	}
}

// close ends a page. If it was the last one of its session, and no other one is opened soon, the session ends.
func (all *sessions) close(k key, one *session) {
	all.mu.Lock()
	one.pages--
	opened, last := one.opened, one.pages == 0
	all.mu.Unlock()
	if !last {
		return
	}
	all.clock.AfterFunc(grace, func() {
		all.mu.Lock()
		defer all.mu.Unlock()
		if one.opened == opened {
			all.drop(k, one)
		}
	})
}
