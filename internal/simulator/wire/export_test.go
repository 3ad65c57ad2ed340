package wire

import "context"

// Answering returns an operation that does nothing and returns out.
func (o Operation) Answering(out any) Operation {
	o.call = func(context.Context, any) (any, error) { return out, nil }
	return o
}
