package awsapi

// Places returns the accounts and regions of which the clients have a budget, as texts like "123456789012/eu-central-1".
// The operator's own account has no number in it.
func (c *Clients) Places() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := map[string]bool{}
	var places []string
	for key := range c.buckets {
		if place := key.place(); !seen[place] {
			seen[place] = true
			places = append(places, place)
		}
	}
	return places
}

// Share divides the budget of each place among the processes that use it, of which the caller knows the number. Places
// that are not in uses have as many users as Options.Shares.
func (c *Clients) Share(uses map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uses = uses
	for key, bucket := range c.buckets {
		bucket.share(c.sharesOf(key))
	}
}

// sharesOf returns into how many shares the budget of a bucket is divided. The caller holds the lock.
func (c *Clients) sharesOf(key bucketKey) int {
	if known := c.uses[key.place()]; known > 0 {
		return known
	}
	return max(1, c.options.Shares)
}

func (k bucketKey) place() string { return k.account + "/" + k.region }
