package awsapi

import "maps"

// Forget drops the credentials and clients of a target's role, and the budgets of an account and
// region that no client is left of. An operator sees many roles come and go. A client in use keeps
// working, and the next request for one creates it again.
func (c *Clients) Forget(target Target) {
	if target.RoleARN == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.targets, target)
	maps.DeleteFunc(c.clients, func(key clientKey, _ any) bool { return key.target == target })
	used := map[bucketKey]bool{}
	for key := range c.clients {
		used[c.bucketKey(key.service, key.target)] = true
	}
	maps.DeleteFunc(c.buckets, func(key bucketKey, _ *bucket) bool { return !used[key] })
}
