// Package draining handles events about instances: it orders the drains of nodes whose instances are
// to be terminated, and reports terminated instances. Package drain executes the orders.
package draining
