package wire

import (
	"net/http"

	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// DefaultAccount is the account of callers whose access key says nothing else.
const DefaultAccount = "123456789012"

// Option changes a router.
type Option func(*Router)

// WithAccount sets the account of callers whose access key says nothing else.
func WithAccount(account string) Option { return func(r *Router) { r.account = account } }

// WithKeys sets the registry of issued access keys.
func WithKeys(keys *Keys) Option { return func(r *Router) { r.keys = keys } }

// Router serves several services at one address.
type Router struct {
	services []*Service
	faults   *fault.Injector
	clock    clock.Clock
	account  string
	keys     *Keys
}

// NewRouter returns a handler that finds the service, account and operation of
// each request, subjects it to the faults and answers in the request's protocol.
func NewRouter(services []*Service, faults *fault.Injector, clk clock.Clock, options ...Option) *Router {
	r := &Router{services: services, faults: faults, clock: clk, account: DefaultAccount, keys: &Keys{}}
	for _, option := range options {
		option(r)
	}
	return r
}

// ServeHTTP answers one request.
func (r *Router) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	http.Error(w, "not yet", http.StatusNotImplemented)
}
