package plan

import (
	"errors"
	"io"
)

// Print writes a plan for people; colour marks actions by escape sequences of terminals.
func Print(_ io.Writer, _ *Plan, _ bool) error { return errors.ErrUnsupported }
