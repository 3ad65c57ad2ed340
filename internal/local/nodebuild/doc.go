// Package nodebuild builds the programs that machines run: nodeup, which the operator distributes
// to instances, and machine, which simulates instances.
//
// Inside the repository, it builds them from the sources into bin, which takes half a second
// without changes. Elsewhere it uses the programs next to the running binary.
package nodebuild
