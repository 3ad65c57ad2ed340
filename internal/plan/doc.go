// Package plan computes what would happen to a cluster if its current definition were applied:
// which stacks and resources are created, updated, replaced (and which property forces it) and
// deleted, with values before and after; which nodes are then replaced, in which order, and how
// long that takes at least.
//
// [Compare] is the pure core: it takes rendered stacks, deployed templates and parameters, and
// returns a [Plan]. [Of] collects both for a cluster. Digests in the objects' status record what is
// deployed: if a stack's digest equals that of the rendered stack, nothing changes and no call is
// made; otherwise CloudFormation returns the template of that stack. With [Options.ChangeSets],
// CloudFormation computes the changes as well, and the plan reports where the two differ.
//
// [Print] prints a plan for users; programs read it as JSON. Planning changes nothing, and a plan
// contains no secrets: values that CloudFormation hides or that are named like secrets are masked.
package plan
