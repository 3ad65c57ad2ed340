package ekstoken

import (
	"context"
	"net/http"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/utils/clock"
)

// Source keeps a token of a cluster, and renews it before it expires. It is safe for concurrent use.
type Source struct {
	presigner Presigner
	clock     clock.PassiveClock
	cluster   string

	mu    sync.Mutex
	token Token
}

// NewSource returns a source of tokens of the presigner's principal for a cluster, named as in EKS.
func NewSource(presigner Presigner, clk clock.PassiveClock, cluster string) *Source {
	return &Source{presigner: presigner, clock: clk, cluster: cluster}
}

// Token returns a token that can be used now. It returns an error if there are no credentials.
func (s *Source) Token(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if now.Before(s.token.Expires) {
		return s.token.Value, nil
	}
	made, err := Make(ctx, s.presigner, s.cluster, now)
	if err != nil {
		return "", err
	}
	s.token = made
	return made.Value, nil
}

// refused drops a token that the API has refused.
func (s *Source) refused(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token.Value == token {
		s.token = Token{}
	}
}

// Wrap returns what adds the token to requests, for the method Wrap of a [k8s.io/client-go/rest.Config].
// After a response with the status 401, the next request has a new token.
func (s *Source) Wrap(next http.RoundTripper) http.RoundTripper { return bearer{s, next} }

// bearer adds the token to requests.
type bearer struct {
	source *Source
	next   http.RoundTripper
}

// RoundTrip sends the request.
func (b bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	token, err := b.source.Token(request.Context())
	if err != nil {
		if request.Body != nil { // RoundTrip must close it, including on errors
			_ = request.Body.Close()
		}
		return nil, err
	}
	request = utilnet.CloneRequest(request)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := b.next.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusUnauthorized {
		b.source.refused(token)
	}
	return response, err //nolint:wrapcheck // the client wraps it
}

// WrappedRoundTripper returns what sends the requests; client-go looks for it.
func (b bearer) WrappedRoundTripper() http.RoundTripper { return b.next }

var _ utilnet.RoundTripperWrapper = bearer{}
