package wire

import (
	"mime"
	"net/http"
)

// wantsJSON reports whether a client of the Query protocol asks for a response in JSON, and the service has
// them. AWS does not document them. Authenticators of EKS rely on them:
// https://github.com/kubernetes-sigs/aws-iam-authenticator/blob/v0.6.13/pkg/token/token.go
func (q *request) wantsJSON() bool {
	if q.protocol != Query || q.service == nil || !q.service.QueryJSON {
		return false
	}
	media, _, _ := mime.ParseMediaType(q.Header.Get("Accept")) // Another form asks for XML.
	return media == "application/json"
}

// encodeQueryJSON encodes an operation's output as encodeQuery does, but in JSON.
func (q *request) encodeQueryJSON(out any) ([]byte, error) {
	buf := appendJSONString([]byte{'{'}, q.call.Operation+"Response")
	buf = append(appendJSONString(append(buf, ":{"...), q.call.Operation+"Result"), ':')
	buf, err := q.service.encodeJSON(buf, out)
	if err != nil {
		return nil, err
	}
	buf = append(appendJSONString(append(buf, `,"ResponseMetadata":{"RequestId":`...), q.call.RequestID), "}}}"...)
	return buf, nil
}

// failJSON writes an error of the Query protocol in JSON, in the form that users have reported:
// https://github.com/aws/aws-sdk-java/issues/2413
func (q *request) failJSON(w http.ResponseWriter, e *Error) {
	e = q.service.queryError(e)
	buf := appendJSONString([]byte(`{"Error":{"Code":`), e.Code)
	buf = appendJSONString(append(buf, `,"Message":`...), e.Message)
	buf = appendJSONString(append(buf, `,"Type":`...), e.fault())
	buf = append(appendJSONString(append(buf, `},"RequestId":`...), q.call.RequestID), '}')
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Requestid", q.call.RequestID)
	w.WriteHeader(e.status())
	_, _ = w.Write(buf)
}
