package plan

import (
	"context"
	"errors"
)

// ask has CloudFormation work out what it would do.
func (d *draft) ask(context.Context, *Plan) error { return errors.ErrUnsupported }
