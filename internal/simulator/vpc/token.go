package vpc

import (
	"reflect"
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// answer is the recorded response to a call with a client token.
type answer struct {
	in, out any
	at      time.Time
}

// tokensKept is the minimum time for which a client token is remembered. The longest that AWS
// documents for any operation is a day.
const tokensKept = 24 * time.Hour

// once runs an operation, or returns the recorded response if its client token was used before.
// SDKs send a token with every creating call, so that a retry after a lost response does not create
// a second resource.
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
			return nil, wire.Errorf(
				"IdempotentParameterMismatch", "The client token you have provided was used with different request parameters.",
			)
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
