package s3

import "time"

// pastPolicy is a bucket's policy before the last change. Bucket configurations are eventually
// consistent: the change takes effect some time later.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/Welcome.html#ConsistencyModel
type pastPolicy struct {
	policy string
	until  time.Time
}

// policyOf returns the policy that is in effect; empty means none.
func (b *Buckets) policyOf(k *bucket) string {
	if b.env.Clock.Now().Before(k.past.until) {
		return k.past.policy
	}
	return k.policy
}

// changePolicy runs a change of the bucket's policy, which takes effect later.
func (b *Buckets) changePolicy(k *bucket, change func() error) error {
	before := b.policyOf(k)
	if err := change(); err != nil {
		return err
	}
	k.past = pastPolicy{before, b.env.Clock.Now().Add(b.env.Lag.Draw())}
	return nil
}
