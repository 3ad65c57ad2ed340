package wire

import (
	"net/http"
	"net/url"
	"strings"
)

// scope is the credential scope of a request. Signatures are not verified except those of presigned
// STS requests.
type scope struct {
	accessKey, region, service string
}

// credentialsOf reads the credential scope from the Authorization header or from
// a presigned URL. It reports false when there are no credentials.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
func credentialsOf(req *http.Request, query url.Values) (scope, bool) {
	if header := req.Header.Get("Authorization"); strings.HasPrefix(header, "AWS4-") {
		_, rest, _ := strings.Cut(header, "Credential=")
		credential, _, _ := strings.Cut(rest, ",")
		return parseScope(strings.TrimSpace(credential), req.Header.Get("X-Amz-Region-Set"))
	}
	if credential := query.Get("X-Amz-Credential"); credential != "" {
		return parseScope(credential, query.Get("X-Amz-Region-Set"))
	}
	// S3's old query signature, which some clients still presign with.
	if key := query.Get("AWSAccessKeyId"); key != "" && query.Has("Signature") {
		return scope{accessKey: key, service: "s3"}, true
	}
	return scope{}, false
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
		return scope{accessKey: parts[0], region: region, service: parts[2]}, true
	}
	// An access key ID may contain slashes, so the other parts are counted from the end.
	return scope{accessKey: strings.Join(parts[:n-4], "/"), region: parts[n-3], service: parts[n-2]}, true
}

// principalOf returns the principal of an access key: the principal of an issued key, the account
// of a key of twelve digits, and otherwise the default account's demo user.
func (r *Router) principalOf(accessKey string) Principal {
	if p, ok := r.keys.Lookup(accessKey); ok {
		return p
	}
	account := r.account
	if isAccount(accessKey) {
		account = accessKey
	}
	return Principal{
		Account: account,
		ARN:     "arn:" + r.partition + ":iam::" + account + ":user/demo",
		UserID:  userID(account),
	}
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
