package wire

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// DefaultAccount is the account of callers whose access key does not determine one.
const DefaultAccount = "123456789012"

// DefaultRegion is the region of requests that do not name one.
const DefaultRegion = "us-east-1"

// Option configures a router.
type Option func(*Router)

// WithAccount sets the account of callers whose access key does not determine one.
func WithAccount(account string) Option { return func(r *Router) { r.account = account } }

// WithRegion sets the region of requests that do not name one.
func WithRegion(region string) Option { return func(r *Router) { r.region = region } }

// WithPartition sets the ARN partition. The default is "aws".
func WithPartition(partition string) Option { return func(r *Router) { r.partition = partition } }

// WithKeys sets the registry of issued access keys.
func WithKeys(keys *Keys) Option { return func(r *Router) { r.keys = keys } }

// Reads decides what reads return, besides what is true.
type Reads interface {
	// Before is called with the input of an operation, which it may change, and may return the error
	// to answer instead of calling the operation.
	Before(call *Call, input any) error
	// After is called with the input and output of an operation that succeeded, and returns the
	// output to answer.
	After(call *Call, input, output any) any
}

// WithReads sets what reads return. By default they return what is true.
func WithReads(reads Reads) Option { return func(r *Router) { r.reads = reads } }

// exact is the Reads of a router without others.
type exact struct{}

func (exact) Before(*Call, any) error          { return nil }
func (exact) After(_ *Call, _, output any) any { return output }

// Gate decides which calls are refused before they take effect.
type Gate interface {
	// Admit returns the error of a call that is refused, or nil. The input is nil for services that
	// serve HTTP themselves.
	Admit(call *Call, input any) *Error
}

// WithGate sets what refuses calls. By default nothing does.
func WithGate(gate Gate) Option { return func(r *Router) { r.gate = gate } }

type observedKey struct{}

// WithObserved returns a context for the requests of a test that observes: reads return what is true,
// no call is refused by the gate, and no fault applies.
func WithObserved(ctx context.Context) context.Context {
	return context.WithValue(ctx, observedKey{}, true)
}

func isObserved(ctx context.Context) bool { return ctx.Value(observedKey{}) != nil }

// Router serves several services at one address.
type Router struct {
	byName    map[string][]*Service
	services  []*Service
	faults    *fault.Injector
	clock     clock.Clock
	account   string
	region    string
	partition string
	keys      *Keys
	control   *access.Control
	signing   signingKeys
	reads     Reads
	gate      Gate
	endpoint  atomic.Pointer[string]
}

// NewRouter returns a handler that determines the service, account and operation of each request,
// applies the faults and responds in the request's protocol.
func NewRouter(services []*Service, faults *fault.Injector, clk clock.Clock, options ...Option) *Router {
	r := &Router{
		byName: map[string][]*Service{}, services: services, faults: faults, clock: clk,
		account: DefaultAccount, region: DefaultRegion, partition: "aws", keys: &Keys{}, reads: exact{},
	}
	for _, s := range services {
		r.byName[s.Name] = append(r.byName[s.Name], s)
	}
	for _, option := range options {
		option(r)
	}
	return r
}

// Endpoint is the address that the last caller of an operation used, or "" before the first call.
func (r *Router) Endpoint() string {
	if e := r.endpoint.Load(); e != nil {
		return *e
	}
	return ""
}

// ServeHTTP answers one request.
func (r *Router) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	q := &request{Request: req}
	if req.URL.RawQuery != "" {
		q.query = req.URL.Query()
	}
	w.Header().Set("Date", r.clock.Now().UTC().Format(http.TimeFormat)) // by which SDKs correct their clocks
	q.scope, q.signed = credentialsOf(req, q.query)
	q.call = r.newCall(q)
	if err := r.route(q); err != nil {
		r.fail(w, q, err)
		return
	}
	r.serve(WithCall(req.Context(), q.call), w, q)
}

func (r *Router) newCall(q *request) *Call {
	scheme := "http"
	if q.TLS != nil {
		scheme = "https"
	}
	p := r.principalOf(q.scope.accessKey)
	caller := &p
	if !q.signed {
		caller = nil
	}
	region := q.scope.region
	if region == "" {
		region = r.region
	}
	return &Call{
		Account: p.Account, Principal: p.ARN, UserID: p.UserID, Caller: caller, AccessKeyID: q.scope.accessKey,
		Region: region, Service: q.scope.service, RequestID: requestID(q.scope.service), Host: q.Host, Scheme: scheme, Path: q.URL.Path,
	}
}

// requestID returns the ID of a request in the service's form: S3's has 16 characters.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/get-request-ids.html
func requestID(service string) string {
	if service == "s3" {
		return RandomName(16)
	}
	return uuid.NewString()
}

// route determines the service, protocol and operation of a request.
func (r *Router) route(q *request) error {
	q.protocol = q.guessProtocol()
	q.service = &Service{Name: q.scope.service}
	if q.scope.malformed != "" && !q.signed {
		return q.refuse(incomplete, q.scope.malformed)
	}
	toService := r.routeUnsigned
	if q.signed {
		toService = r.routeSigned
	}
	if err := toService(q); err != nil {
		return err
	}
	q.call.Service = q.service.Name
	return q.findOperation()
}

func (r *Router) routeSigned(q *request) error {
	candidates := r.byName[q.scope.service]
	if len(candidates) == 0 {
		if q.protocol == RESTXML && !slices.Contains([]string{"s3", "route53", "cloudfront"}, q.scope.service) {
			q.protocol = JSON11 // other REST services answer in JSON
		}
		return unknownService(q.scope.service)
	}
	q.service = pick(candidates, q)
	if q.service.speaks(RESTJSON) {
		q.protocol = RESTJSON
	}
	if q.protocol == Query && q.service.speaks(EC2Query) {
		q.protocol = EC2Query
	}
	return r.authenticate(q)
}

func (r *Router) routeUnsigned(q *request) error {
	for _, s := range r.services {
		if s.Anonymous != nil && s.Anonymous(q.Request) {
			q.service = s
			return nil
		}
	}
	if err := q.readForm(); err != nil {
		return malformed(q.protocol, err)
	}
	for _, s := range r.services {
		if action := q.form.Get("Action"); action != "" && slices.Contains(s.Unsigned, action) {
			q.service = s
			return nil
		}
	}
	for _, s := range r.services {
		if q.protocol == Query && s.speaks(EC2Query) && s.APIVersion == q.form.Get("Version") {
			q.protocol = EC2Query
		}
	}
	return q.refuse(noCredentials, "")
}

func unknownService(name string) *Error {
	return &Error{
		Code:    "NotImplemented",
		Message: "The simulator has no service " + name + ".",
		Status:  http.StatusNotImplemented,
	}
}

// pick chooses among services that share a signing name, by target or version.
func pick(candidates []*Service, q *request) *Service {
	if len(candidates) == 1 {
		return candidates[0]
	}
	prefix, _, hasTarget := q.target()
	if !hasTarget && q.readForm() != nil {
		return candidates[0]
	}
	for _, s := range candidates {
		if hasTarget && s.TargetPrefix == prefix || !hasTarget && s.APIVersion == q.form.Get("Version") {
			return s
		}
	}
	return candidates[0]
}

// guessProtocol derives the protocol from the request alone, for errors that occur before the
// service is known.
func (q *request) guessProtocol() Protocol {
	if _, _, ok := q.target(); ok {
		if strings.HasPrefix(q.Header.Get("Content-Type"), "application/x-amz-json-1.1") {
			return JSON11
		}
		return JSON10
	}
	if q.isForm() || q.query.Has("Action") {
		return Query
	}
	return RESTXML
}

func (q *request) findOperation() error {
	s := q.service
	if s.speaks(RESTJSON) {
		return q.findRoute()
	}
	if _, operation, ok := q.target(); ok && (s.speaks(JSON10) || s.speaks(JSON11)) {
		q.call.Operation = operation
		if _, known := s.Operations[operation]; !known {
			return &Error{
				Code:    "UnknownOperationException",
				Message: "The operation " + operation + " is not one the simulator has.",
				Status:  http.StatusBadRequest,
			}
		}
		return nil
	}
	if (s.speaks(Query) || s.speaks(EC2Query)) && (q.isForm() || q.query.Has("Action")) {
		return q.findAction()
	}
	if s.HTTP == nil {
		return &Error{Code: "UnknownOperationException", Message: "The request names no operation.", Status: http.StatusNotFound}
	}
	if s.speaks(RESTXML) || len(s.Protocols) == 0 {
		q.protocol = RESTXML
	} else {
		q.protocol = s.Protocols[0]
	}
	q.call.Operation = q.Method
	if s.OperationOf != nil {
		q.call.Operation, q.name = s.OperationOf(q.Request)
	}
	return nil
}

func (q *request) findAction() error {
	q.protocol = Query
	if q.service.speaks(EC2Query) {
		q.protocol = EC2Query
	}
	if err := q.readForm(); err != nil {
		return malformed(q.protocol, err)
	}
	action := q.form.Get("Action")
	q.call.Operation = action
	if action == "" {
		return &Error{
			Code:    "MissingAction",
			Message: "The request is missing an action or a required parameter.",
			Status:  http.StatusBadRequest,
		}
	}
	if _, ok := q.service.Operations[action]; !ok {
		return &Error{
			Code:    "InvalidAction",
			Message: "The action " + action + " is not valid for this web service.",
			Status:  http.StatusBadRequest,
		}
	}
	return nil
}

func malformed(p Protocol, err error) *Error {
	code := "MalformedInput"
	if p.isJSON() {
		code = "SerializationException"
	}
	return &Error{Code: code, Message: err.Error(), Status: http.StatusBadRequest}
}

// serve decodes the input, runs the operation with the faults applied and responds.
func (r *Router) serve(ctx context.Context, w http.ResponseWriter, q *request) {
	operation, isOperation := q.service.Operations[q.call.Operation]
	isOperation = isOperation && q.protocol != RESTXML
	var input any
	if isOperation {
		if e := q.call.Endpoint(); e != r.Endpoint() && !isObserved(ctx) {
			r.endpoint.Store(&e)
		}
		input = operation.input()
		if err := q.decode(input); err != nil {
			r.fail(w, q, malformed(q.protocol, err))
			return
		}
		q.input = input
		if r.faults.NeedsName() {
			q.name = nameIn(input)
		}
	}
	if err := r.authorize(q); err != nil {
		r.fail(w, q, err)
		return
	}
	if r.gate != nil && q.signed && !isObserved(ctx) {
		if err := r.gate.Admit(q.call, input); err != nil {
			_, _ = io.Copy(io.Discard, q.Body) // so that the client reads the response instead of a closed connection
			r.fail(w, q, err)
			return
		}
	}
	effect, after := r.faults.Begin(fault.CallInfo{
		Account: q.call.Account, Region: q.call.Region,
		Service: q.call.Service, Operation: q.call.Operation, Name: q.name,
	})
	if isObserved(ctx) {
		effect = fault.Effect{}
	}
	if err := fault.Wait(ctx, r.clock, effect.Latency); err != nil {
		return
	}
	if effect.Fails() && !effect.AfterEffect {
		r.misbehave(w, q, effect)
		return
	}
	if !isOperation {
		r.serveHTTP(ctx, w, q, effect, after)
		return
	}
	out, err := r.run(ctx, q, &operation)
	after()
	switch {
	case effect.Fails():
		r.misbehave(w, q, effect)
	case err != nil:
		r.fail(w, q, err)
	default:
		r.respond(w, q, out)
	}
}

// run runs an operation, and returns what the caller gets.
func (r *Router) run(ctx context.Context, q *request, operation *Operation) (any, error) {
	if isObserved(ctx) {
		return operation.call(ctx, q.input)
	}
	if err := r.reads.Before(q.call, q.input); err != nil {
		return nil, err
	}
	out, err := operation.call(ctx, q.input)
	if err != nil {
		return nil, err
	}
	return r.reads.After(q.call, q.input, out), nil
}

func (r *Router) serveHTTP(ctx context.Context, w http.ResponseWriter, q *request, effect fault.Effect, after func()) {
	req := q.WithContext(ctx)
	if !effect.Fails() {
		writer := &afterWriter{ResponseWriter: w, after: after}
		q.service.HTTP.ServeHTTP(writer, req)
		writer.once.Do(after)
		return
	}
	q.service.HTTP.ServeHTTP(&discardWriter{header: http.Header{}}, req)
	after()
	r.misbehave(w, q, effect)
}

func (q *request) decode(input any) error {
	switch q.protocol {
	case JSON10, JSON11:
		if err := q.readBody(); err != nil {
			return err
		}
		return q.service.decodeJSON(q.body, input)
	case RESTJSON:
		return q.decodeREST(input)
	case EC2Query:
		return q.service.decodeQuery(dialectEC2, q.form, input)
	default:
		return q.service.decodeQuery(dialectQuery, q.form, input)
	}
}
