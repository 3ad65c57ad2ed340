// Package stack is the one place that talks to CloudFormation about stacks.
//
// An [Engine] brings a stack to what a [Desired] says ([Engine.Ensure]) or away ([Engine.Delete]). It never waits: it looks at what
// it knows, starts at most one operation, and returns a [Result] that says where things stand and a [Record] that the caller
// persists and hands back the next time. The record is all that survives a restart, and it is enough: whatever call the operator
// dies at, the next Ensure finds out what happened and goes on.
//
// What to do in which status is a table ([Decide]) with a row for every status that CloudFormation has. Around it:
//
//   - plan.go compares what is deployed with what is desired and asks the policy;
//   - apply.go sends creations and updates;
//   - review.go has changes wait for a person's approval, as change sets, and proposal.go and loss.go tell what those would do;
//   - signal.go tells running updates how machines fare, and cancels them;
//   - status.go reads stacks and remembers what was seen;
//   - events.go finds the reason of a failure;
//   - delete.go removes stacks, and says what refuses.
//
// # What costs a call
//
// Nothing to do costs no call: the digest of template, parameters and tags in the record says what is applied, and [Engine.Observe]
// says when a stack changed without us. Creating costs two calls (CreateStack, and DescribeStacks once its completion was
// observed), an edit two (UpdateStack, DescribeStacks). Templates that the engine deployed are remembered, compressed, so that
// GetTemplate is needed only after a restart. When the budget of calls runs dry, waiting DescribeStacks of single stacks are
// answered together from one paginated call.
package stack
