package render

import (
	"fmt"
	"net/url"
	"strings"
)

// CheckIssuer checks the URL of an issuer of service account tokens as IAM does for a provider: https,
// without a query, a fragment or a port. The URL must equal the claim iss of the tokens, so it may not
// end in a slash.
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateOpenIDConnectProvider.html
func CheckIssuer(issuer string) error {
	u, err := url.Parse(issuer)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.Port() != "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		strings.HasSuffix(issuer, "/") || strings.ContainsAny(issuer, "*?# ${}") {
		return fmt.Errorf("%q is not the URL of an issuer; write the claim iss of the tokens, such as https://oidc.eks.eu-central-1.amazonaws.com/id/EXAMPLE", issuer)
	}
	return nil
}
