package awsapi

import "maps"

// Forget drops the credentials and clients of a target's role, and the budgets of its account and
// region if no client of them is left. An operator sees many roles come and go. A client in use keeps
// working, and the next request for one creates it again.
func (c *Clients) Forget(target Target) {
	if target.RoleARN == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.targets, target)
	maps.DeleteFunc(c.clients, func(key clientKey, _ any) bool { return key.target == target })
	place := c.bucketKey("", target)
	for key := range c.clients {
		if c.bucketKey("", key.target) == place {
			return
		}
	}
	maps.DeleteFunc(c.buckets, func(key bucketKey, _ *bucket) bool {
		return key.account == place.account && key.region == place.region
	})
}
