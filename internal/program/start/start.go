// Package start makes starting cheap. The program consists of some 1,500 packages, and setting them up takes most of what a short
// command needs of time and memory. Hardly anything becomes garbage meanwhile, so nothing is collected; and what was read of the
// program's file is let go three times: when the runtime has read all types of the program, most of which are never needed again;
// when half of the packages are set up; and before the command begins.
//
// A command that is over in a moment lets nothing go, since that would take it longer than its own work.
//
// A program imports it and its subpackage halfway from its main package and says [Over] first of all. Packages that are ready are set up in the order of their
// paths, and this one needs only the standard library, so it comes before most others:
// https://go.dev/ref/spec#Program_initialization
package start

import (
	"os"
	"runtime/debug"
	"slices"

	"github.com/aws-operator/aws-operator/internal/program"
)

// percent is what the garbage collector was told before, by GOGC or its default.
var percent = debug.SetGCPercent(-1)

// brief are the commands that need little memory of their own, and for which people, shells and the operator wait.
var brief = []string{"template", "render-chart", "completion", "__complete", "__completeNoDesc", "version", "help"}

func init() { Return() }

// Return lets go of what was read of the program's file, unless the command is a brief one.
func Return() {
	if len(os.Args) < 2 || !slices.Contains(brief, os.Args[1]) {
		program.Return()
	}
}

// Over says that all packages are set up: garbage is collected from here on.
func Over() {
	Return()
	debug.SetGCPercent(percent)
}
