package s3

import (
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

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

// accessBlock is the sub-resource of the public access block.
const accessBlock = "publicAccessBlock"

// pastBlock is a public access block before the last change of a client, which in some cases takes
// effect some time later. CloudFormation waits for that itself. Reports of policies that are refused
// after the block was removed:
// https://github.com/env0/templates/pull/258
// https://github.com/winglang/wing/pull/3536
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/Welcome.html#ConsistencyModel
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/access-control-block-public-access.html
type pastBlock struct {
	node  *node
	until time.Time
}

// inEffect returns the block that is in effect, by the current one.
func (p pastBlock) inEffect(env *resource.Env, current *node) *node {
	if env.Clock.Now().Before(p.until) {
		return p.node
	}
	return current
}

// blockIsLate is of how many changes one takes effect later.
const blockIsLate = 3

// next returns the past of a block that changes now.
func (p pastBlock) next(env *resource.Env, current *node) pastBlock {
	if !env.Lag.OneIn(blockIsLate) {
		return pastBlock{}
	}
	return pastBlock{p.inEffect(env, current), env.Clock.Now().Add(env.Lag.Draw())}
}

// remember keeps a configuration that a client changes now, if changes of it take effect later.
func (k *bucket) remember(query string) {
	if query == accessBlock {
		k.pastBlock = k.pastBlock.next(k.env, k.configuration[accessBlock])
	}
}
