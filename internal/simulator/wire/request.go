package wire

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// maxBody is the limit of a request body; the limits of AWS are lower for every simulated service.
const maxBody = 32 << 20

// request is an HTTP request before its operation is called.
type request struct {
	*http.Request

	query    url.Values // of the URL
	form     url.Values // of URL and body together, for Query
	path     url.Values // members in the path, for RESTJSON
	scope    scope
	signed   bool
	reported bool // the credentials would be refused
	service  *Service
	protocol Protocol
	call     *Call
	raw      []byte // the body as it was sent, once it is read
	body     []byte
	input    any
	name     string // the name of what the call acts on, if it was requested
}

// readBody reads the body and decompresses it.
func (q *request) readBody() error {
	if q.Body == nil {
		return nil
	}
	if err := q.readRaw(); err != nil {
		return fmt.Errorf("reading the body: %w", err)
	}
	q.body = q.raw
	if strings.EqualFold(q.Header.Get("Content-Encoding"), "gzip") {
		unpacked, err := gzip.NewReader(bytes.NewReader(q.raw))
		if err != nil {
			return fmt.Errorf("malformed gzip body: %w", err)
		}
		if q.body, err = io.ReadAll(io.LimitReader(unpacked, maxBody+1)); err != nil {
			return fmt.Errorf("reading the body: %w", err)
		}
	}
	if len(q.body) > maxBody {
		return fmt.Errorf("the body is over %d bytes", maxBody)
	}
	return nil
}

// target returns the prefix and operation of X-Amz-Target.
func (q *request) target() (prefix, operation string, ok bool) {
	target := q.Header.Get("X-Amz-Target")
	dot := strings.LastIndexByte(target, '.')
	if dot < 0 {
		return "", target, target != ""
	}
	return target[:dot], target[dot+1:], true
}

// isForm reports whether the body holds Query parameters.
func (q *request) isForm() bool {
	return q.Method == http.MethodPost &&
		strings.HasPrefix(q.Header.Get("Content-Type"), "application/x-www-form-urlencoded")
}

// readForm merges the parameters of URL and body.
func (q *request) readForm() error {
	if q.form != nil { // read already
		return nil
	}
	q.form = q.query
	if !q.isForm() {
		return nil
	}
	if err := q.readBody(); err != nil {
		return err
	}
	values, err := url.ParseQuery(string(q.body))
	if err != nil {
		return fmt.Errorf("malformed parameters: %w", err)
	}
	for key, list := range q.query {
		if _, ok := values[key]; !ok {
			values[key] = list
		}
	}
	q.form = values
	return nil
}
