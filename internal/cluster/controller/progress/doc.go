// Package progress describes the progress of a rollout in terms of nodes, for conditions and
// statuses. It must never make calls.
package progress
