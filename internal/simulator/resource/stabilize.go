package resource

import "context"

// Stabilizer is a [Provider] whose resources are not ready when the call that
// makes them returns: Auto Scaling groups, NAT gateways, load balancers. After a
// Create, Update or Delete that went well the engine asks until the resource is
// done, and only then goes on to what depends on it; CloudFormation calls it
// stabilization.
// https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-test-contract.html
type Stabilizer interface {
	// Stable reports whether the resource has arrived where the last operation was
	// to take it: after a Delete, that it is gone. It does not wait. An error is
	// the operation's: [NotStabilized] when the resource will not get there.
	Stable(ctx context.Context, r Request) (done bool, err error)
}

// Snapshotter is a [Provider] whose resources can be kept as snapshots: it
// honours the policy Snapshot of DeletionPolicy and UpdateReplacePolicy. The
// engine asks for the snapshot just before it deletes the resource.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-deletionpolicy.html
type Snapshotter interface {
	// Snapshot makes a snapshot of the resource and returns its id.
	Snapshot(ctx context.Context, r Request) (id string, err error)
}
