// Package rollout replaces the machines of Auto Scaling groups by machines of another shape where CloudFormation does not: in instance
// groups whose engine is Operator, in groups that Terraform owns, and for the command rolling-update.
//
// What to do next is decided by pure functions of what was observed, the settings and the time: [Decide] for one group, [DecideSlots]
// for which slot of a control plane may go, [Order] for a whole cluster. [Engine] observes, carries out what they decide, and keeps
// what must not be forgotten as a tag on the group ([Memory]): a run that was killed goes on with the next, on any machine.
//
// # How a group rolls
//
//  1. The cluster autoscaler and what else changes a group's size is kept off it.
//  2. The group grows by its surge, if it has one, or by one if it could not keep its least number in service otherwise.
//  3. Machines of the old shape go, the canary first and alone, then as many at once as the batch allows, never so many that fewer
//     Ready nodes are in service than must be. Those that do not serve anyway go first.
//  4. Before each further machine the new ones must have been Ready for the pause, and the cluster be as well as it was before.
//  5. The last ones go without replacement, as many as the group had grown by: its capacity is what it was.
//
// A machine ends by name, never by making the group smaller, so that Auto Scaling has no choice which one: it ends after its node was
// drained, or, where a lifecycle hook holds it while somebody drains it, by ending it. Where nobody answers hooks, the roll does
// ([Settings.AnswerHooks]).
//
// # When it does not go well
//
// New machines that are not Ready in time, or that cannot be launched, stop the roll: nothing more is taken. What grew beyond the
// group's capacity and serves nobody is removed; otherwise the new machines stay, so that people can look at them. Nothing goes
// back by itself, since the engine does not own the launch template: the next attempt begins when the group's shape or settings are
// edited. So take a canary with a surge where that must cost nothing: if it fails, all old machines still serve.
package rollout
