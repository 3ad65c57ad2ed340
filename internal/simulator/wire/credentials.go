package wire

import (
	"net/http"
	"net/url"
	"strings"
)

// scope is the credential scope of a request, with its signature.
type scope struct {
	accessKey, region, service string
	// day is the date in the scope.
	day string
	// algorithm, headers (their names) and signature are those of the request.
	algorithm, headers, signature string
	// presigned reports whether the query has the signature.
	presigned bool
	// malformed is what is wrong with the Authorization header.
	malformed string
}

// Algorithms of signatures: AWS's two, and S3's old one.
const (
	algorithmHMAC = "AWS4-HMAC-SHA256"
	algorithmOld  = "AWS2"
)

// credentialsOf reads the credential scope from the Authorization header or from
// a presigned URL. It reports false when there are no credentials.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
func credentialsOf(req *http.Request, query url.Values) (scope, bool) {
	if header := req.Header.Get("Authorization"); strings.HasPrefix(header, "AWS4-") {
		return parseAuthorization(header, req.Header.Get("X-Amz-Region-Set"))
	}
	if len(query) == 0 {
		return scope{}, false
	}
	if credential := query.Get("X-Amz-Credential"); credential != "" {
		s, ok := parseScope(credential, query.Get("X-Amz-Region-Set"))
		s.algorithm, s.headers = query.Get("X-Amz-Algorithm"), query.Get("X-Amz-SignedHeaders")
		s.signature, s.presigned = query.Get("X-Amz-Signature"), true
		return s, ok
	}
	// S3's old query signature, which some clients still presign with.
	if key := query.Get("AWSAccessKeyId"); key != "" && query.Has("Signature") {
		return scope{accessKey: key, service: "s3", algorithm: algorithmOld, presigned: true}, true
	}
	return scope{}, false
}

// parseAuthorization reads `ALGORITHM Credential=…, SignedHeaders=…, Signature=…`.
func parseAuthorization(header, regionSet string) (scope, bool) {
	algorithm, rest, _ := strings.Cut(header, " ")
	var credential, headers, signature string
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "Credential":
			credential = value
		case "SignedHeaders":
			headers = value
		case "Signature":
			signature = value
		}
	}
	s, ok := parseScope(credential, regionSet)
	s.algorithm, s.headers, s.signature = algorithm, headers, signature
	for _, part := range []struct{ name, value string }{
		{"Credential", credential}, {"Signature", signature}, {"SignedHeaders", headers},
	} {
		if part.value == "" {
			s.malformed += "Authorization header requires '" + part.name + "' parameter. "
		}
	}
	return s, ok
}

// parseScope splits KEY/date/region/service/aws4_request. The asymmetric algorithm omits the region
// there and sends a set of regions separately.
func parseScope(credential, regionSet string) (scope, bool) {
	parts := strings.Split(credential, "/")
	n := len(parts)
	if n < 4 || parts[n-1] != "aws4_request" {
		return scope{}, false
	}
	if n == 4 {
		region, _, _ := strings.Cut(regionSet, ",")
		return scope{accessKey: parts[0], day: parts[1], region: region, service: parts[2]}, true
	}
	// An access key ID may contain slashes, so the other parts are counted from the end.
	return scope{accessKey: strings.Join(parts[:n-4], "/"), day: parts[n-4], region: parts[n-3], service: parts[n-2]}, true
}

// principalOf returns the principal of an access key: the principal of an issued key, the root user
// of the account whose number the key is, and otherwise the default account's demo user.
func (r *Router) principalOf(accessKey string) Principal {
	if p, ok := r.keys.Lookup(accessKey); ok {
		return p
	}
	if isAccount(accessKey) {
		return Principal{Account: accessKey, ARN: "arn:" + r.partition + ":iam::" + accessKey + ":root", UserID: accessKey}
	}
	return Principal{Account: r.account, ARN: "arn:" + r.partition + ":iam::" + r.account + ":user/demo", UserID: userID(r.account)}
}

func isAccount(s string) bool {
	if len(s) != 12 {
		return false
	}
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
