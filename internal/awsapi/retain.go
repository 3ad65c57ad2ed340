package awsapi

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Retain drops what is cached for the roles that none of the targets has: their credentials, clients
// and budgets. An operator sees many roles come and go. A client in use keeps working, and the next
// request for one creates it again.
func (c *Clients) Retain(targets []Target) {
	unused := func(t Target) bool {
		return t.RoleARN != "" && !slices.ContainsFunc(targets, func(kept Target) bool {
			return kept.RoleARN == t.RoleARN && kept.ExternalID == t.ExternalID && c.Region(kept) == c.Region(t)
		})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	accounts := map[string]bool{"": true, c.account: true}
	for _, t := range targets {
		accounts[t.account()] = true
	}
	maps.DeleteFunc(c.targets, func(t Target, _ aws.Config) bool { return unused(t) })
	maps.DeleteFunc(c.clients, func(key clientKey, _ any) bool { return unused(key.target) })
	maps.DeleteFunc(c.buckets, func(key bucketKey, _ *bucket) bool { return !accounts[key.account] })
}
