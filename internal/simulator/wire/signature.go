package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"
)

// presignedFor is how long STS accepts a presigned request; X-Amz-Expires does not extend it:
// https://github.com/kubernetes-sigs/aws-iam-authenticator#api-authorization-from-outside-a-cluster
const presignedFor = 15 * time.Minute

// verifyPresigned verifies the signature of a presigned STS request, which other parties send to
// learn who signed it. The simulator verifies no other signature and returns nil for all other
// requests.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
func (r *Router) verifyPresigned(q *request) error {
	signature := q.query.Get("X-Amz-Signature")
	if q.scope.service != "sts" || signature == "" {
		return nil
	}
	secret, ok := r.keys.secretOf(q.scope.accessKey)
	if !ok || strings.HasPrefix(q.scope.accessKey, "ASIA") && q.query.Get("X-Amz-Security-Token") == "" {
		return &Error{
			Code:    "InvalidClientTokenId",
			Message: "The security token included in the request is invalid.",
			Status:  http.StatusForbidden,
		}
	}
	mismatch := func(message string) error {
		return &Error{Code: "SignatureDoesNotMatch", Message: message, Status: http.StatusForbidden}
	}
	signed, err := time.Parse("20060102T150405Z", q.query.Get("X-Amz-Date"))
	if age := r.clock.Since(signed); err != nil || age > presignedFor || age < -presignedFor {
		return mismatch("Signature expired: " + q.query.Get("X-Amz-Date"))
	}
	if !hmac.Equal([]byte(signature), []byte(q.presignature(secret, signed))) {
		return mismatch(
			"The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.",
		)
	}
	return nil
}

// presignature returns the signature of a presigned request without a body, signed with a secret.
func (q *request) presignature(secret string, signed time.Time) string {
	var headers strings.Builder
	names := q.query.Get("X-Amz-SignedHeaders")
	for name := range strings.SplitSeq(names, ";") {
		value := strings.TrimSpace(strings.Join(q.Header.Values(name), ","))
		if name == "host" {
			value = q.Host
		}
		headers.WriteString(name + ":" + value + "\n")
	}
	query := q.URL.Query()
	query.Del("X-Amz-Signature")
	canonical := strings.Join([]string{
		q.Method, q.URL.EscapedPath(), strings.ReplaceAll(query.Encode(), "+", "%20"), headers.String(), names, hexHash(""),
	}, "\n")
	day := signed.Format("20060102")
	scope := []string{day, q.scope.region, q.scope.service, "aws4_request"}
	text := strings.Join([]string{"AWS4-HMAC-SHA256", q.query.Get("X-Amz-Date"), strings.Join(scope, "/"), hexHash(canonical)}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range scope {
		key = keyed(key, part)
	}
	return hex.EncodeToString(keyed(key, text))
}

func hexHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func keyed(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
