package resource

import "context"

// Stabilizer is a [Provider] whose resources are not ready when Create or Update returns: Auto
// Scaling groups, NAT gateways, load balancers. After a successful Create, Update or Delete, the
// engine polls until the resource is stable, and only then continues with its dependents.
// CloudFormation calls this stabilization.
// https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-test-contract.html
type Stabilizer interface {
	// Stable reports whether the resource has reached the state that the last operation asked for;
	// after a Delete, whether it no longer exists. It does not wait. An error fails the operation:
	// [NotStabilized] if the resource cannot reach the state.
	Stable(ctx context.Context, r Request) (done bool, err error)
}

// Finisher is a [Stabilizer] whose resources have attributes that are known only when they are stable,
// such as the endpoint of an EKS cluster.
type Finisher interface {
	Stabilizer
	// Attributes returns the attributes of a resource that was created and is stable.
	Attributes(ctx context.Context, r Request) (map[string]any, error)
}

// Snapshotter is a [Provider] whose resources support the policy Snapshot of DeletionPolicy and
// UpdateReplacePolicy. The engine takes the snapshot just before it deletes the resource.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-deletionpolicy.html
type Snapshotter interface {
	// Snapshot takes a snapshot of the resource and returns its ID.
	Snapshot(ctx context.Context, r Request) (id string, err error)
}
