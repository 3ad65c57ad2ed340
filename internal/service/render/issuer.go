package render

import (
	"fmt"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
)

// maxIssuer is IAM's limit for the URL of a provider.
const maxIssuer = 255

// issuerPattern is that of an issuer: https, a host in lower case, and a path that does not end in a
// slash. There is no port, query or fragment, which IAM refuses, and no character that means
// something in a policy or a template.
var issuerPattern = lazyregexp.New(`^https://[a-z0-9]([a-z0-9.-]*[a-z0-9])?(/[A-Za-z0-9._~-]+)*$`)

// CheckIssuer checks the URL of an issuer of service account tokens as IAM does for a provider. The URL
// must equal the claim iss of the tokens.
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateOpenIDConnectProvider.html
func CheckIssuer(issuer string) error {
	if len(issuer) > maxIssuer || !issuerPattern.MatchString(issuer) {
		return fmt.Errorf("%q is not the URL of an issuer that IAM accepts; write the claim iss of the tokens, such as https://oidc.eks.eu-central-1.amazonaws.com/id/EXAMPLE", issuer)
	}
	return nil
}
