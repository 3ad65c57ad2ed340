package vpc

import (
	"reflect"
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// answer is what a call with a client token was answered.
type answer struct {
	in, out any
	at      time.Time
}

// tokensKept is for how long EC2 knows a client token here, at least; the longest
// that AWS promises for any operation is a day.
const tokensKept = 24 * time.Hour

// once runs an operation, unless its client token says that it was run before:
// then the answer is the same. SDKs send such a token with every call that makes
// something, so that a retry of one whose answer was lost makes nothing twice.
// https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html
func once[I, O any](r *region, in *I, fn func(*region, *I) (*O, error)) (*O, error) {
	token := reflect.ValueOf(in).Elem().FieldByName("ClientToken")
	if !token.IsValid() || token.IsNil() || token.Elem().String() == "" {
		return fn(r, in)
	}
	key := reflect.TypeFor[I]().Name() + "/" + token.Elem().String()
	if before, ok := r.answers[key]; ok {
		out, same := before.out.(*O)
		if !same || !reflect.DeepEqual(before.in, in) {
			return nil, wire.Errorf("IdempotentParameterMismatch", "The client token you have provided was used with different request parameters.")
		}
		return out, nil
	}
	out, err := fn(r, in)
	if err != nil {
		return nil, err
	}
	for k, a := range r.answers {
		if r.now().Sub(a.at) > tokensKept {
			delete(r.answers, k)
		}
	}
	r.answers[key] = answer{in: in, out: out, at: r.now()}
	return out, nil
}
