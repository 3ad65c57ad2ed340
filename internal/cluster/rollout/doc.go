// Package rollout replaces the instances of Auto Scaling groups by instances of another
// configuration where CloudFormation does not: in instance groups whose engine is Operator, in
// groups that Terraform owns, and for the command rolling-update.
//
// Pure functions of the observed state, the settings and the time decide the next step: [Decide]
// for one group, [DecideSlots] for the slots of a control plane, [Order] for a whole cluster.
// [Roller] observes, executes the decisions, and stores the persistent state in a tag on the group
// ([Memory]): after an interruption, another run continues, on any computer. It must never take
// more Ready nodes out of service than the settings allow.
//
// # The steps of a rollout
//
//  1. The cluster autoscaler and other changes of the group's size are suspended.
//  2. The group grows by its surge, if it has one, or by one if it could not keep its minimum in service
//     otherwise.
//  3. Outdated instances are terminated, the canary first and alone, then as many at once as the batch
//     allows, while the required number of Ready nodes stays in service. Unhealthy ones are first.
//  4. Before each further instance, the new ones must have been Ready for the pause, and the cluster as
//     healthy as it was before.
//  5. The last instances are terminated without replacement, as many as the group had grown by, so that
//     its capacity is as before.
//
// Instances are terminated by name, never by reducing the group, so that Auto Scaling cannot choose
// which: after their nodes were drained, or before that where a lifecycle hook holds them during
// the drain. Where no other party completes lifecycle hooks, the rollout does
// ([Settings.AnswerHooks]).
//
// # Failures
//
// New instances that are not Ready in time, or that cannot be launched, stop the rollout. Surge
// instances that are not Ready are terminated; otherwise new instances stay, so that users can
// inspect them. There is no automatic rollback, since the engine does not own the launch template:
// the next attempt starts when the group's configuration or settings are edited. A canary with a
// surge makes a failure harmless: all old instances still serve.
package rollout
