package s3

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// request is one call of the REST API and its response.
type request struct {
	*http.Request

	call        *wire.Call
	query       url.Values
	bucket, key string
	control     string // the account of a request to S3 Control
	operation   string
	anonymous   bool
	body        []byte
	sums        checksums // of the body, as the client announced them
	found       *bucket   // nil for CreateBucket and ListBuckets

	header http.Header
	status int
	answer []byte
}

// route maps a method on a service, a bucket or an object to an operation.
type route struct {
	operation string
	method    string
	level     level
	query     string // a required parameter
	header    string // a required header
	write     bool   // the operation changes something
	handle    func(*Buckets, *request) error
}

type level int

const (
	onService level = iota
	onBucket
	onObject
	onAccount
)

// accountPath is S3 Control's path of an account's block public access settings:
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_control_PutPublicAccessBlock.html
const accountPath = "/v20180820/configuration/publicAccessBlock"

func (b *Buckets) newRequest(req *http.Request) *request {
	r := &request{Request: req, call: wire.CallFrom(req.Context()), query: req.URL.Query(), header: http.Header{}, status: http.StatusOK}
	r.anonymous = req.Header.Get("Authorization") == "" && !r.query.Has("X-Amz-Credential") && !r.query.Has("AWSAccessKeyId")
	path := strings.TrimPrefix(req.URL.Path, "/")
	if r.control = req.Header.Get("X-Amz-Account-Id"); r.control != "" && req.URL.Path == accountPath {
		return r
	}
	r.control = ""
	if r.bucket = b.hostBucket(req); r.bucket != "" {
		r.key = path
		return r
	}
	r.bucket, r.key, _ = strings.Cut(path, "/")
	return r
}

// hostBucket returns the bucket in the Host header (virtual-host style), or "" (path style):
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/VirtualHosting.html
func (b *Buckets) hostBucket(req *http.Request) string {
	host := req.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if net.ParseIP(host) != nil || strings.HasPrefix(host, "s3.") || strings.HasPrefix(host, "s3-") {
		return ""
	}
	for _, mark := range []string{".s3.", ".s3-", ".localhost"} {
		if i := strings.LastIndex(host, mark); i > 0 {
			return host[:i]
		}
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	for i := len(host) - 1; i > 0; i-- {
		if host[i] == '.' && b.buckets[host[:i]] != nil {
			return host[:i]
		}
	}
	// PUT / can only create the bucket in the host name.
	if first, rest, found := strings.Cut(host, "."); found && rest != "" && req.Method == http.MethodPut && req.URL.Path == "/" {
		return first
	}
	return ""
}

// match returns the route of a request.
func (b *Buckets) match(r *request) *route {
	at := onObject
	switch {
	case r.control != "":
		at = onAccount
	case r.bucket == "":
		at = onService
	case r.key == "":
		at = onBucket
	}
	for i := range b.routes {
		route := &b.routes[i]
		if route.method == r.Method && route.level == at && (route.query == "" || r.query.Has(route.query)) &&
			(route.header == "" || r.Header.Get(route.header) != "") {
			return route
		}
	}
	return nil
}

// operations returns the names of all operations.
func (b *Buckets) operations() []string {
	names := make([]string, len(b.routes))
	for i := range b.routes {
		names[i] = b.routes[i].operation
	}
	return names
}

// operationOf returns the operation of a request and its bucket.
func (b *Buckets) operationOf(req *http.Request) (operation, name string) {
	r := b.newRequest(req)
	if found := b.match(r); found != nil {
		return found.operation, r.bucket
	}
	return req.Method, r.bucket
}

// isPublicRequest reports whether an unsigned request is for S3, that is, for an existing bucket.
func (b *Buckets) isPublicRequest(req *http.Request) bool {
	r := b.newRequest(req)
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.buckets[r.bucket] != nil
}

// ServeHTTP serves one call of the REST API.
func (b *Buckets) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r := b.newRequest(req)
	if err := b.serve(r); err != nil { //nolint:contextcheck // the request carries it
		var e *wire.Error
		if !errors.As(err, &e) {
			e = refuse(http.StatusInternalServerError, "InternalError", "We encountered an internal error. Please try again. (%v)", err)
		}
		r.fail(w, e)
		return
	}
	r.write(w)
}

// fail responds with an error. Headers that the handler has set stay, because the response to HEAD
// has no body.
func (r *request) fail(w http.ResponseWriter, e *wire.Error) {
	if e.Detail == nil {
		e.Detail = map[string]string{}
	}
	e.Detail["Resource"] = r.URL.Path
	e.Detail["HostId"] = hostID()
	maps.Copy(w.Header(), r.header)
	w.Header().Del("Content-Length")
	w.Header().Set("X-Amz-Id-2", hostID())
	if e.Status == http.StatusNotModified {
		w.WriteHeader(e.Status)
		return
	}
	wire.WriteError(w, &wire.Service{XMLNamespace: ""}, wire.RESTXML, r.call, e)
}

// hostID returns an extended request ID: 56 bytes in base64.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/get-request-ids.html
func hostID() string {
	id := make([]byte, 56)
	_, _ = rand.Read(id) // never fails, see crypto/rand
	return base64.StdEncoding.EncodeToString(id)
}

func (r *request) write(w http.ResponseWriter) {
	header := w.Header()
	maps.Copy(header, r.header)
	header.Set("X-Amz-Request-Id", r.call.RequestID)
	header.Set("X-Amz-Id-2", hostID())
	header.Set("Server", "AmazonS3")
	if header.Get("Content-Type") == "" && len(r.answer) > 0 {
		header.Set("Content-Type", "application/xml")
	}
	if r.Method != http.MethodHead && r.status != http.StatusNoContent {
		header.Set("Content-Length", strconv.Itoa(len(r.answer)))
	}
	w.WriteHeader(r.status)
	if r.Method != http.MethodHead {
		// If writing the response fails, there is no client to report the error to.
		_, _ = w.Write(r.answer) //nolint:gosec // S3 returns the data and type that were stored.
	}
}

// respond sets an XML response.
func (r *request) respond(n *node) error {
	r.answer = n.document()
	return nil
}

// noContent sets an empty response.
func (r *request) noContent() error {
	r.status = http.StatusNoContent
	return nil
}

func (b *Buckets) serve(r *request) error {
	found := b.match(r)
	if found == nil {
		return with(
			with(
				refuse(http.StatusMethodNotAllowed, "MethodNotAllowed", "The specified method is not allowed against this resource."),
				"Method",
				r.Method,
			),
			"ResourceType",
			"OBJECT",
		)
	}
	r.operation = found.operation
	if r.expired(b.env.Clock.Now()) {
		return refuse(http.StatusForbidden, "AccessDenied", "Request has expired")
	}
	if r.Method == http.MethodPut || r.Method == http.MethodPost {
		if err := r.readBody(); err != nil {
			return err
		}
	}
	if found.write {
		b.mu.Lock()
		defer b.mu.Unlock()
	} else {
		b.mu.RLock()
		defer b.mu.RUnlock()
	}
	if found.operation == "CreateBucket" {
		if err := wire.Authorize(r.Context(), "s3:CreateBucket", access.Resource{ARN: b.arn(&bucket{name: r.bucket})}, nil); err != nil {
			return refusal(err)
		}
	}
	if found.level != onService && found.level != onAccount && found.operation != "CreateBucket" {
		if err := b.admit(r); err != nil {
			return err
		}
	}
	return found.handle(b, r)
}

// expired reports whether a presigned URL has expired:
// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
func (r *request) expired(now time.Time) bool {
	if text := r.query.Get("Expires"); text != "" && r.query.Has("AWSAccessKeyId") {
		seconds, err := strconv.ParseInt(text, 10, 64)
		return err != nil || now.After(time.Unix(seconds, 0))
	}
	if !r.query.Has("X-Amz-Expires") {
		return false
	}
	signed, err := time.Parse("20060102T150405Z", r.query.Get("X-Amz-Date"))
	if err != nil {
		return true
	}
	seconds, err := strconv.Atoi(r.query.Get("X-Amz-Expires"))
	return err != nil || now.After(signed.Add(time.Duration(seconds)*time.Second))
}

// admit finds the bucket, and rejects callers without permission or in the wrong region.
func (b *Buckets) admit(r *request) error {
	k := b.buckets[r.bucket]
	if k == nil {
		return noSuchBucket(r.bucket)
	}
	r.found = k
	if owner := r.Header.Get("X-Amz-Expected-Bucket-Owner"); owner != "" && owner != k.account {
		return accessDenied()
	}
	if err := r.checkRegion(k); err != nil {
		return err
	}
	return b.permitRequest(r, k)
}

// checkRegion redirects a caller who signed for another region to the bucket's region:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/Redirects.html
func (r *request) checkRegion(k *bucket) error {
	regionless := r.anonymous || r.query.Has("AWSAccessKeyId") // an old presigned URL has none
	if regionless || r.call.Region == k.region || r.operation == "GetBucketLocation" {
		if r.operation == "HeadBucket" {
			r.header.Set("X-Amz-Bucket-Region", k.region)
		}
		return nil
	}
	r.header.Set("X-Amz-Bucket-Region", k.region)
	if r.call.Region == "us-east-1" {
		e := refuse(
			http.StatusMovedPermanently,
			"PermanentRedirect",
			"The bucket you are attempting to access must be addressed using the specified endpoint. Please send all future requests to this endpoint.",
		)
		return with(with(e, "Bucket", k.name), "Endpoint", k.name+".s3."+k.region+".amazonaws.com")
	}
	e := refuse(
		http.StatusBadRequest,
		"AuthorizationHeaderMalformed",
		"The authorization header is malformed; the region '%s' is wrong; expecting '%s'",
		r.call.Region,
		k.region,
	)
	return with(e, "Region", k.region)
}

// readBody reads and decodes the body and verifies its announced length and checksums.
func (r *request) readBody() error {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		if errors.Is(err, context.Canceled) || errors.Is(err, io.ErrUnexpectedEOF) {
			return refuse(
				http.StatusBadRequest,
				"IncompleteBody",
				"You did not provide the number of bytes specified by the Content-Length HTTP header",
			)
		}
		return refuse(
			http.StatusBadRequest,
			"RequestTimeout",
			"Your socket connection to the server was not read from or written to within the timeout period. Idle connections will be closed.",
		)
	}
	r.body = data
	return r.decodeBody()
}
