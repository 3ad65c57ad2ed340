// Package cloudformation is AWS CloudFormation in the simulator: the API, and
// the engine that turns templates into resources.
//
// An [Engine] keeps the stacks of every account and region. Its [Engine.Service]
// speaks CloudFormation's Query protocol; what a stack's resources are made of
// is asked of [resource.Provider]s, and of the CloudFormation schema for every
// type that has none.
//
// How a stack moves:
//
//   - A call of the API checks its input, records the operation on the stack
//     (its status and first event) and hands the stack to the queue.
//   - The queue runs a stack on at most one goroutine at a time, so that one
//     stack's steps follow one another while different stacks go in parallel. A
//     step never waits: what takes time is put back into the queue by the
//     injected clock.
//   - A graph of resource steps (create, update, replace, delete) is walked as
//     dependencies finish. When it ends, the operation's next phase begins:
//     clean-up, rollback, or the end.
//
// A group whose update policy says so is rolled after it was updated, forwards and
// back: package rolling decides, a rollout of the engine does. It is driven by
// changes of the group, by signals and by timers, never by looking again and again.
//
// Statuses, events and texts are AWS's; a behaviour that cannot be had is
// refused with AWS's error, never with made-up success.
package cloudformation
