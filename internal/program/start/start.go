// Package start saves time and memory when the program starts. The program consists of some 1,500
// packages, and their initialization takes most of the time and memory of a short command. Hardly
// anything becomes garbage in this phase, so the garbage collector is off. The pages of the program's
// file that have been read are released three times: when the runtime has read all types of the
// program, most of which are never needed again; when half of the packages are initialized; and
// before the command begins.
//
// Brief commands release no pages, since that would take longer than their own work.
//
// A program imports this package and its subpackage halfway from its main package and calls [Over]
// first. Go initializes packages in the order of their import paths once their imports are
// initialized, and this one needs only the standard library, so it comes before most others:
// https://go.dev/ref/spec#Program_initialization
package start

import (
	"os"
	"runtime/debug"
	"slices"

	"github.com/aws-operator/aws-operator/internal/program"
)

// percent is the former setting of the garbage collector, from GOGC or its default.
var percent = debug.SetGCPercent(-1)

// brief are the commands that need little memory of their own, and for which people, shells and the operator wait.
var brief = []string{"template", "render-chart", "completion", "__complete", "__completeNoDesc", "version", "help"}

func init() { Return() }

// Return releases the pages of the program's file that were read, unless the command is a brief one.
func Return() {
	if len(os.Args) < 2 || !slices.Contains(brief, os.Args[1]) {
		program.Return()
	}
}

// Over marks the end of package initialization: from here on, garbage is collected.
func Over() {
	Return()
	debug.SetGCPercent(percent)
}
