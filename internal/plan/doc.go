// Package plan says what would happen to a cluster if what is written now took
// the place of what is deployed: which stacks and resources are created,
// updated, replaced (and which property forces it) and deleted, with values
// before and after; and which machines are then replaced, in which order, and
// how long that takes at least.
//
// [Compare] is the pure heart: rendered stacks on one side, deployed templates
// and parameters on the other, a [Plan] as the answer. [Of] brings both sides
// together for a cluster. What is deployed it knows from the digests in the
// objects' status: where a stack's is that of what was rendered, nothing
// changes and nobody is asked; else CloudFormation is asked for the templates of
// those stacks alone. With [Options.ChangeSets] CloudFormation works out as well
// what it would do, and the plan says where the two differ.
//
// A plan prints itself, for people by [Print] and for machines as JSON. It
// changes nothing, and holds no secrets: values that are hidden in CloudFormation
// or named like secrets are masked.
package plan
