// Package directory records which objects claim which stacks, so that events about a stack are
// matched to its objects.
package directory
