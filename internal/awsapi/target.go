package awsapi

import "strings"

// Target is the account, region and role of a call. The zero value is the operator's own account
// and region.
type Target struct {
	// Account is the twelve-digit account ID; empty means the account of the role, or the
	// operator's own.
	Account string `json:"account,omitempty"`
	// Region is an AWS region such as eu-central-1; empty means the operator's own.
	Region string `json:"region,omitempty"`
	// RoleARN is the role to assume; empty means the operator's own credentials.
	RoleARN string `json:"roleARN,omitempty"`
	// ExternalID is passed to AssumeRole if the role's trust policy requires it.
	ExternalID string `json:"externalID,omitempty"`
}

// String names the target for logs and messages, for example "123456789012/eu-central-1".
func (t Target) String() string {
	account, region := t.account(), t.Region
	if account == "" {
		account = "own account"
	}
	if region == "" {
		region = "own region"
	}
	return account + "/" + region
}

// account is the account of a call: the role's if none is set.
func (t Target) account() string {
	if t.Account != "" || t.RoleARN == "" {
		return t.Account
	}
	// arn:partition:iam::account:role/name
	if parts := strings.SplitN(t.RoleARN, ":", 6); len(parts) == 6 {
		return parts[4]
	}
	return ""
}
