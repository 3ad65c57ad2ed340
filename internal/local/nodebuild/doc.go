// Package nodebuild builds the programs that machines run: nodeup, which the
// operator hands to instances, and machine, which simulated instances are made of.
//
// Inside the repository they are built from its sources into bin, which takes half
// a second when nothing changed. Elsewhere those beside the running binary are
// taken, or found to be missing.
package nodebuild
