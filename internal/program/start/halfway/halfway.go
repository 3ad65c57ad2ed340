// Package halfway releases the pages of the program's file when about half of its packages are initialized; see package start.
package halfway

import (
	_ "github.com/aws-operator/aws-operator/internal/cluster/model" // It is set up when half of the packages are; this one comes next.
	"github.com/aws-operator/aws-operator/internal/program/start"
)

func init() { start.Return() }
