package access

import (
	"errors"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
)

// segments is the number of parts of an ARN.
const segments = 6

// Assume returns the session of a role in which a service, such as "events.amazonaws.com", acts for
// the resource with the ARN source. It returns false if the role's trust policy does not let the
// service assume the role.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html#cross-service-confused-deputy-prevention
func (c *Control) Assume(role, service, source string) (*Principal, bool) {
	found, _ := c.Role(role)
	trust := ParseResource("trust policy", found.Trust)
	owner := strings.SplitN(source, ":", segments)
	parts := strings.Split(role, ":")
	if trust == nil || len(owner) != segments || len(parts) != segments {
		return nil, false
	}
	denied := c.Denial(&Request{
		Service: service, Action: "sts:AssumeRole", Resource: role,
		Of:      &Resource{ARN: role, Policy: trust, Kind: iampolicy.TrustPolicy},
		Context: map[string][]string{"aws:sourcearn": {source}, "aws:sourceaccount": {owner[4]}},
	})
	if denied != "" {
		return nil, false
	}
	name, account := role[strings.LastIndexByte(role, '/')+1:], parts[4]
	session, _, _ := strings.Cut(service, ".")
	return &Principal{
		Account: account, ARN: "arn:" + parts[1] + ":sts::" + account + ":assumed-role/" + name + "/" + session,
		UserID: found.ID + ":" + session, Role: found.ARN,
	}, true
}

// ByService returns the request of a service for the resource with the ARN source, without its action,
// and who makes it: the session of a role, or the service itself if that is nil.
func ByService(service, source string, session *Principal) (request *Request, who string) {
	secure := map[string][]string{"aws:securetransport": {"true"}}
	if session != nil {
		return &Request{Principal: session.ARN, Caller: session, Context: secure}, session.ARN
	}
	secure["aws:sourcearn"] = []string{source}
	if owner := strings.SplitN(source, ":", segments); len(owner) == segments {
		secure["aws:sourceaccount"] = []string{owner[4]}
	}
	return &Request{Service: service, Context: secure}, service
}

var errMayNotNotify = errors.New("s3.amazonaws.com is not authorized")

// MayNotify returns an error if the policy of a queue or topic does not let S3 act for a bucket, whose ARN
// has no account.
func (c *Control) MayNotify(account, bucketARN, action string, of *Resource) error {
	if !c.Checks() {
		return nil
	}
	request, _ := ByService("s3.amazonaws.com", bucketARN, nil)
	request.Context["aws:sourceaccount"] = []string{account}
	request.Action, request.Resource, request.Of = action, of.ARN, of
	if c.Denial(request) != "" {
		return errMayNotNotify
	}
	return nil
}
