// Package cloudformation simulates AWS CloudFormation: the API, and the engine that turns templates
// into resources.
//
// An [Engine] keeps the stacks of every account and region. Its [Engine.Service] serves
// CloudFormation's Query protocol. [resource.Provider]s create a stack's resources; types without a
// provider are simulated from their CloudFormation schema.
//
// A stack operation proceeds as follows:
//
//   - An API call validates its input, records the operation on the stack (its status and first
//     event) and adds the stack to the queue.
//   - The queue runs a stack on at most one goroutine at a time, so that the steps of one stack run
//     in sequence while different stacks run in parallel. A step never waits: the injected clock
//     adds the stack to the queue again when a delay is over.
//   - A graph of resource steps (create, update, replace, delete) is walked as dependencies finish.
//     When it ends, the operation's next phase begins: clean-up, rollback, or the end.
//
// If a group's update policy asks for it, an update or its rollback also replaces the group's
// instances: package rolling decides what to do, and a rollout of the engine does it. Changes of
// the group, signals and timers trigger it; it never polls.
//
// Statuses, events and messages are those of AWS. Anything that the simulator does not implement
// fails with AWS's error; the simulator never
// pretends to succeed.
package cloudformation
