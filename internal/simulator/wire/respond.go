package wire

import (
	"bytes"
	"errors"
	"net/http"
	"reflect"
	"strings"
)

func contentType(p Protocol) string {
	switch p {
	case JSON10:
		return "application/x-amz-json-1.0"
	case JSON11:
		return "application/x-amz-json-1.1"
	case RESTXML:
		return "application/xml"
	case RESTJSON:
		return "application/json"
	default:
		return "text/xml"
	}
}

// respond encodes an operation's output.
func (r *Router) respond(w http.ResponseWriter, q *request, out any) {
	var body []byte
	var err error
	media := contentType(q.protocol)
	switch {
	case q.protocol == JSON10 || q.protocol == JSON11 || q.protocol == RESTJSON:
		body, err = q.service.encodeJSON(make([]byte, 0, 256), out)
	case q.protocol == EC2Query:
		body, err = q.encodeEC2(out)
	case q.wantsJSON():
		media = "application/json"
		body, err = q.encodeQueryJSON(out)
	default:
		body, err = q.encodeQuery(out)
	}
	if err != nil {
		r.fail(w, q, internal(err))
		return
	}
	header := w.Header()
	header.Set("Content-Type", media)
	header.Set("X-Amzn-Requestid", q.call.RequestID)
	// If writing the response fails, there is no client to report the error to.
	_, _ = w.Write(body)
}

func (q *request) encodeQuery(out any) ([]byte, error) {
	w := &xmlWriter{buf: &bytes.Buffer{}, service: q.service, dialect: dialectQuery}
	name := q.call.Operation
	w.openRoot(name + "Response")
	v := reflect.Indirect(reflect.ValueOf(out))
	if q.service.Operations[name].empty || len(q.service.planOf(dialectQuery, v.Type()).fields) > 0 {
		w.open(name + "Result")
		if err := w.members(v); err != nil {
			return nil, err
		}
		w.close(name + "Result")
	}
	w.open("ResponseMetadata")
	w.text("RequestId", q.call.RequestID)
	w.close("ResponseMetadata")
	w.close(name + "Response")
	return w.buf.Bytes(), nil
}

func (q *request) encodeEC2(out any) ([]byte, error) {
	w := &xmlWriter{buf: &bytes.Buffer{}, service: q.service, dialect: dialectEC2}
	w.buf.WriteString(xmlHeader)
	w.openRoot(q.call.Operation + "Response")
	w.text("requestId", q.call.RequestID)
	if err := w.members(reflect.Indirect(reflect.ValueOf(out))); err != nil {
		return nil, err
	}
	w.close(q.call.Operation + "Response")
	return w.buf.Bytes(), nil
}

// fail returns an error in the request's protocol.
func (r *Router) fail(w http.ResponseWriter, q *request, err error) {
	var e *Error
	if !errors.As(err, &e) {
		e = internal(err)
	}
	if q.wantsJSON() {
		q.failJSON(w, e)
		return
	}
	WriteError(w, q.service, q.protocol, q.call, e)
}

func internal(err error) *Error {
	return &Error{
		Code:    "InternalFailure",
		Message: "We encountered an internal error. Please try again. (" + err.Error() + ")",
		Status:  http.StatusInternalServerError,
	}
}

// WriteError writes an error in the protocol's format, for services that serve HTTP themselves.
func WriteError(w http.ResponseWriter, s *Service, p Protocol, call *Call, e *Error) {
	header := w.Header()
	header.Set("Content-Type", contentType(p))
	header.Set("X-Amzn-Requestid", call.RequestID)
	if p == RESTXML && s.WrapsErrors {
		p = Query // Its errors have the same format.
	}
	var body []byte
	switch p {
	case JSON10, JSON11, RESTJSON:
		body = jsonError(header, s, e)
	case EC2Query:
		body = xmlError(e, "<Response><Errors><Error>", "</Error></Errors><RequestID>"+call.RequestID+"</RequestID></Response>", "")
	case RESTXML:
		header.Set("X-Amz-Request-Id", call.RequestID)
		body = xmlError(e, "<Error>", "<RequestId>"+call.RequestID+"</RequestId></Error>", "")
	default:
		ns := ""
		if s.XMLNamespace != "" {
			ns = ` xmlns="` + s.XMLNamespace + `"`
		}
		body = xmlError(s.queryError(e), "<ErrorResponse"+ns+"><Error><Type>"+e.fault()+"</Type>",
			"</Error><RequestId>"+call.RequestID+"</RequestId></ErrorResponse>", "Detail")
	}
	w.WriteHeader(e.status())
	_, _ = w.Write(body)
}

// credentialCodes are the codes in the Query protocol of errors about credentials, which all services
// have.
var credentialCodes = map[string]string{
	"AccessDeniedException": "AccessDenied", "ExpiredTokenException": "ExpiredToken",
	"IncompleteSignatureException": "IncompleteSignature", "InvalidSignatureException": "SignatureDoesNotMatch",
	"MissingAuthenticationTokenException": "MissingAuthenticationToken", "UnrecognizedClientException": "InvalidClientTokenId",
}

// queryError gives the error its code in the Query protocol.
func (s *Service) queryError(e *Error) *Error {
	code, ok := s.QueryCodes[e.Code]
	if !ok {
		code, ok = credentialCodes[e.Code]
	}
	if !ok {
		return e
	}
	c := *e
	c.Code = code
	return &c
}

func jsonError(header http.Header, s *Service, e *Error) []byte {
	code := e.Code
	header.Set("X-Amzn-Errortype", code)
	if len(s.QueryCodes) > 0 {
		header.Set("X-Amzn-Query-Error", s.queryError(e).Code+";"+e.fault())
	}
	if s.ErrorNamespace != "" {
		code = s.ErrorNamespace + "#" + code
	}
	buf := appendJSONString([]byte(`{"__type":`), code)
	buf = appendJSONString(append(buf, `,"message":`...), e.Message)
	for key, value := range e.Detail {
		buf = append(appendJSONString(append(buf, ','), key), ':')
		buf = appendJSONString(buf, value)
	}
	if e.Body == nil {
		return append(buf, '}')
	}
	members, err := s.encodeJSON(nil, e.Body)
	if err != nil || len(members) <= len("{}") {
		return append(buf, '}')
	}
	return append(append(buf, ','), members[1:]...)
}

func xmlError(e *Error, before, after, detail string) []byte {
	var buf bytes.Buffer
	buf.WriteString(xmlHeader)
	buf.WriteString(before)
	w := xmlWriter{buf: &buf}
	w.text("Code", e.Code)
	w.text("Message", e.Message)
	if detail != "" {
		buf.WriteString("<" + detail + "/>")
	}
	for key, value := range e.Detail {
		if strings.ContainsAny(key, " <>&") {
			continue
		}
		w.text(key, value)
	}
	buf.WriteString(after)
	return buf.Bytes()
}
