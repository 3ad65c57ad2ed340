package wire

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
)

// WithControl sets what decides about callers. By default no signature is verified, except those of
// presigned STS requests, and all callers may do everything.
func WithControl(control *access.Control) Option { return func(r *Router) { r.control = control } }

// refusal is why credentials are refused.
type refusal int

const (
	unknownKey refusal = iota
	wrongToken
	wrongSignature
	expiredSession
	skewedTime
	noCredentials
	incomplete
)

// answer is the error of a refusal.
type answer struct {
	code, message string
	status        int
}

const (
	mismatch = "The request signature we calculated does not match the signature you provided. " +
		"Check your AWS Secret Access Key and signing method. Consult the service documentation for details."
	invalidToken = "The security token included in the request is invalid"
	notValidated = "AWS was not able to validate the provided access credentials"
)

// The answers by protocol. Those of JSON services are shapes, whose names end in Exception.
var (
	// https://docs.aws.amazon.com/STS/latest/APIReference/CommonErrors.html
	queryAnswers = map[refusal]answer{
		unknownKey:     {"InvalidClientTokenId", invalidToken + ".", http.StatusForbidden},
		wrongToken:     {"InvalidClientTokenId", invalidToken, http.StatusForbidden},
		wrongSignature: {"SignatureDoesNotMatch", mismatch, http.StatusForbidden},
		expiredSession: {"ExpiredToken", "The security token included in the request is expired", http.StatusForbidden},
		skewedTime:     {"SignatureDoesNotMatch", "", http.StatusForbidden},
		noCredentials:  {"MissingAuthenticationToken", "Request is missing Authentication Token", http.StatusForbidden},
		incomplete:     {"IncompleteSignature", "", http.StatusForbidden},
	}
	// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
	// https://docs.aws.amazon.com/kms/latest/APIReference/CommonErrors.html
	jsonAnswers = map[refusal]answer{
		unknownKey:     {"UnrecognizedClientException", invalidToken + ".", http.StatusBadRequest},
		wrongToken:     {"UnrecognizedClientException", invalidToken + ".", http.StatusBadRequest},
		wrongSignature: {"InvalidSignatureException", mismatch, http.StatusBadRequest},
		expiredSession: {"ExpiredTokenException", "The security token included in the request is expired", http.StatusBadRequest},
		skewedTime:     {"InvalidSignatureException", "", http.StatusBadRequest},
		noCredentials:  {"MissingAuthenticationTokenException", "Missing Authentication Token", http.StatusBadRequest},
		incomplete:     {"IncompleteSignatureException", "", http.StatusBadRequest},
	}
	// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
	ec2Answers = map[refusal]answer{
		unknownKey:     {"AuthFailure", notValidated, http.StatusUnauthorized},
		wrongToken:     {"AuthFailure", notValidated, http.StatusUnauthorized},
		wrongSignature: {"AuthFailure", notValidated, http.StatusUnauthorized},
		expiredSession: {"RequestExpired", "Request has expired.", http.StatusBadRequest},
		skewedTime:     {"RequestExpired", "Request has expired.", http.StatusBadRequest},
		noCredentials:  {"MissingAuthenticationToken", "Request is missing Authentication Token", http.StatusForbidden},
		incomplete:     {"IncompleteSignature", "", http.StatusBadRequest},
	}
	// https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
	s3Answers = map[refusal]answer{
		unknownKey: {"InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.", http.StatusForbidden},
		wrongToken: {"InvalidToken", "The provided token is malformed or otherwise invalid.", http.StatusBadRequest},
		wrongSignature: {
			"SignatureDoesNotMatch",
			"The request signature we calculated does not match the signature you provided. Check your key and signing method.",
			http.StatusForbidden,
		},
		expiredSession: {"ExpiredToken", "The provided token has expired.", http.StatusBadRequest},
		skewedTime: {
			"RequestTimeTooSkewed", "The difference between the request time and the current time is too large.", http.StatusForbidden,
		},
		noCredentials: {"AccessDenied", "Access Denied", http.StatusForbidden},
		incomplete:    {"AuthorizationHeaderMalformed", "The authorization header is malformed. ", http.StatusBadRequest},
	}
)

// refuse returns the error of a refusal in the form of the request's service. detail takes the place
// of the message where the service reports details.
func (q *request) refuse(why refusal, detail string) *Error {
	answers := queryAnswers
	switch {
	case q.protocol.isJSON():
		answers = jsonAnswers
	case q.service != nil && q.service.speaks(EC2Query):
		answers = ec2Answers
	case q.scope.service == "s3":
		answers = s3Answers
	}
	a := answers[why]
	if q.protocol == RESTJSON {
		a.status = http.StatusForbidden // https://docs.aws.amazon.com/eks/latest/APIReference/CommonErrors.html
	}
	switch {
	case a.message == "":
		a.message = detail
	case why == incomplete:
		a.message += detail
	}
	return &Error{Code: a.code, Message: a.message, Status: a.status}
}

// authenticate returns an error for a signed request whose credentials are not valid.
func (r *Router) authenticate(q *request) error {
	key, issued := r.keys.find(q.scope.accessKey)
	if issued && !key.Expires.IsZero() && !r.clock.Now().Before(key.Expires) {
		return q.refuse(expiredSession, "")
	}
	proof := q.scope.service == "sts" && q.scope.presigned // the signature is what others ask for
	if !proof && !r.control.Checks() {
		return nil
	}
	err := r.verify(q, key, issued)
	var refused *Error
	if err == nil || proof || r.control.Enforces() || !errors.As(err, &refused) {
		return err
	}
	q.reported = true
	r.control.Report("%s by access key %s would be refused: %s: %s", q.described(), q.scope.accessKey, refused.Code, refused.Message)
	return nil
}

// described names the call of a request whose operation is not known yet.
func (q *request) described() string {
	if _, operation, ok := q.target(); ok {
		return q.scope.service + ":" + operation
	}
	if action := q.query.Get("Action"); action != "" || q.readForm() == nil && q.form.Get("Action") != "" {
		return q.scope.service + ":" + q.form.Get("Action")
	}
	return q.scope.service + ":" + q.Method + " " + q.URL.Path
}

// verify checks key, token, time and signature.
func (r *Router) verify(q *request, key issued, known bool) error {
	secret := key.secret
	if !known && (isAccount(q.scope.accessKey) || r.control != nil && r.control.Policies.Limits(q.scope.accessKey)) {
		secret, known = RootSecret, true
	}
	token := q.Header.Get("X-Amz-Security-Token")
	if q.scope.presigned {
		token = q.query.Get("X-Amz-Security-Token")
	}
	isSession := strings.HasPrefix(q.scope.accessKey, "ASIA")
	switch {
	case q.scope.malformed != "":
		return q.refuse(incomplete, q.scope.malformed+"Authorization="+q.scope.algorithm)
	case !known, isSession && token == "":
		return q.refuse(unknownKey, "")
	case token != key.token && (key.token != "" || !isSession):
		return q.refuse(wrongToken, "")
	case q.scope.algorithm == algorithmOld:
		// Buckets that were created after June 24, 2020 do not accept version 2.
		// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html
		return Errorf("InvalidRequest", "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.")
	case q.scope.algorithm != algorithmHMAC:
		return &Error{
			Code: "NotImplemented", Message: "The simulator does not verify signatures of algorithm " + q.scope.algorithm + ".",
			Status: http.StatusNotImplemented,
		}
	}
	return r.verifySignature(q, secret)
}

// The formats of dates in requests.
const (
	amzDate = "20060102T150405Z"
	amzDay  = "20060102"
)

// maxSkew is how much the time of a request may differ from the server's.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-troubleshooting.html#signature-v4-troubleshooting-expired
// https://docs.aws.amazon.com/AmazonS3/latest/API/RESTAuthentication.html#RESTAuthenticationTimeStamp
func (q *request) maxSkew() time.Duration {
	if q.scope.service == "s3" || q.service != nil && q.service.speaks(EC2Query) {
		return 15 * time.Minute
	}
	return 5 * time.Minute
}

// presignedFor is how long STS accepts a presigned request; X-Amz-Expires does not extend it:
// https://github.com/kubernetes-sigs/aws-iam-authenticator#api-authorization-from-outside-a-cluster
const presignedFor = 15 * time.Minute

// checkTime returns an error for a request that was signed too long ago or in the future.
func (q *request) checkTime(signed, now time.Time) *Error {
	early, late := q.maxSkew(), q.maxSkew()
	if q.scope.presigned {
		seconds, _ := time.ParseDuration(q.query.Get("X-Amz-Expires") + "s")
		late = seconds
		switch q.scope.service {
		case "sts":
			early, late = presignedFor, presignedFor
		case "s3":
			late = now.Sub(signed) // S3 says itself that the URL has expired
		}
	}
	at := func(t time.Time) string { return t.UTC().Format(amzDate) }
	switch {
	case now.Sub(signed) > late:
		return q.refuse(skewedTime, fmt.Sprintf("Signature expired: %s is now earlier than %s (%s - %d min.)",
			at(signed), at(now.Add(-late)), at(now), int(late.Minutes())))
	case signed.Sub(now) > early:
		return q.refuse(skewedTime, fmt.Sprintf("Signature not yet current: %s is still later than %s (%s + %d min.)",
			at(signed), at(now.Add(early)), at(now), int(early.Minutes())))
	}
	return nil
}
