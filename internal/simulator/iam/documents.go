package iam

import (
	"encoding/json"
	"errors"

	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// checkDocument validates the policy of a role or a user.
func checkDocument(document string) error {
	_, err := iampolicy.ParseIdentity("", document)
	return malformed(document, err)
}

// malformed returns IAM's answer to a document that it does not accept, or nil if err is nil. IAM
// does not say what is wrong, except for a few mistakes.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_policies.html
func malformed(document string, err error) error {
	message := "Syntax errors in policy."
	switch {
	case err == nil:
		return nil
	case !json.Valid([]byte(document)):
		message = "This policy contains invalid Json"
	case errors.Is(err, iampolicy.ErrNoAction):
		message = "Policy statement must contain actions."
	case errors.Is(err, iampolicy.ErrNoVendor):
		message = "Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc."
	case errors.Is(err, iampolicy.ErrNoResource):
		message = "Policy statement must contain resources."
	case errors.Is(err, iampolicy.ErrPrincipal):
		message = "Policy document should not specify a principal."
	case errors.Is(err, iampolicy.ErrNoPrincipal):
		message = "Missing required field Principal"
	case errors.Is(err, iampolicy.ErrResource):
		message = "Has prohibited field Resource"
	}
	return wire.Errorf("MalformedPolicyDocument", "%s", message)
}
