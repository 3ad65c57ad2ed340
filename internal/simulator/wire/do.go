package wire

import (
	"context"
	"fmt"
)

// Do calls an operation of a service for another service of the simulator. Neither credentials nor
// policies are verified, because AWS's services act by their own roles. The context needs a [Call]
// with an account and a region.
func Do[O, I any](ctx context.Context, s *Service, operation string, in *I) (*O, error) {
	op, ok := s.Operations[operation]
	if !ok {
		return nil, fmt.Errorf("%s has no operation %s", s.Name, operation)
	}
	out, err := op.call(ctx, in)
	if err != nil {
		return nil, err
	}
	typed, ok := out.(*O)
	if !ok {
		return nil, fmt.Errorf("the output of %s is a %T", operation, out)
	}
	return typed, nil
}
