// Package apply passes rendered stacks to the stack engine, keeps the engine's record in the
// object's status, and converts its results to outcomes of steps. It retries stacks that failed for
// a cause in AWS.
package apply
