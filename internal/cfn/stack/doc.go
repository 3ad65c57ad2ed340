// Package stack creates, updates and deletes CloudFormation stacks. No other package calls
// CloudFormation for that.
//
// An [Engine] converges a stack to a [Desired] ([Engine.Ensure]) or deletes it ([Engine.Delete]).
// It never blocks on CloudFormation: it reads what it has cached, starts at most one operation, and
// returns a [Result] with the stack's state and a [Record] that the caller persists and passes to
// the next call. Only the record survives a restart, and it is sufficient: the operator may die at
// any call, and the next Ensure finds out what happened and continues.
//
// [Decide] is a table with a row for every stack status of CloudFormation; it chooses the next
// action. The other files:
//
//   - plan.go compares the deployed template with the desired one and checks the policy;
//   - apply.go sends creations and updates;
//   - review.go holds changes for approval, as change sets; proposal.go and loss.go describe them;
//   - import.go takes existing resources into new stacks;
//   - drift.go detects changes outside of CloudFormation; drift_report.go describes them,
//     and revert.go reverts them;
//   - signal.go sends instances' signals to running updates, and cancels updates;
//   - status.go reads stacks and updates the record;
//   - events.go finds the reason of a failure;
//   - metrics.go times the operations;
//   - delete.go deletes stacks, and reports the resources that refuse.
//
// # API calls
//
// A reconcile with nothing to do makes no call: the digest of template, parameters and tags in the
// record says what is applied, and [Engine.Observe] reports stacks that changed otherwise. A
// creation costs two calls (CreateStack, and DescribeStacks after its completion is observed), as
// does an update (UpdateStack, DescribeStacks). The engine caches the templates that it deployed,
// compressed, so that it needs GetTemplate only after a restart. When the call budget is exhausted,
// one paginated DescribeStacks answers all queued DescribeStacks of single stacks.
package stack
