// Package consoles finds instances of a cluster that may still boot, and reads their boots from their
// consoles. It takes a client of EC2 and tags, and returns a [Report] for each instance.
//
// Package diagnosis finds the cause of a stalled boot in the text. This package must never change
// anything.
package consoles
