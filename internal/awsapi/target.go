package awsapi

import (
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"
)

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
	// SessionTags are the tags of the role's sessions, from [EncodeTags].
	// https://docs.aws.amazon.com/IAM/latest/UserGuide/id_session-tags.html
	SessionTags string `json:"sessionTags,omitempty"`
}

// Place is an account and region, whichever role reaches it.
type Place struct{ Account, Region string }

// String names the place, for example "123456789012/eu-central-1".
func (p Place) String() string { return p.Account + "/" + p.Region }

// Place returns the target's account and region; own is where the zero target is.
func (t Target) Place(own Place) Place {
	p := Place{Account: t.account(), Region: t.Region}
	if p.Account == "" {
		p.Account = own.Account
	}
	if p.Region == "" {
		p.Region = own.Region
	}
	return p
}

// EncodeTags returns session tags as one text, so that targets can be compared.
func EncodeTags(tags map[string]string) string {
	values := url.Values{}
	for key, value := range tags {
		values.Set(key, value)
	}
	return values.Encode()
}

// sessionTags returns the tags for AssumeRole.
func (t Target) sessionTags() []types.Tag {
	values, _ := url.ParseQuery(t.SessionTags) // EncodeTags made it
	var tags []types.Tag
	for key := range values {
		tags = append(tags, types.Tag{Key: aws.String(key), Value: aws.String(values.Get(key))})
	}
	return tags
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
