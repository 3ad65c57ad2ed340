package throttle

import (
	"math/rand/v2"
	"sync"

	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Options configure limits.
type Options struct {
	// Seed determines which calls are refused.
	Seed uint64
	// Clock fills the buckets.
	Clock clock.PassiveClock
	// OneIn is the number of calls of which one is throttled on average; one of five times as many
	// gets a server error. Zero refuses none by chance.
	OneIn int
	// Speed is the factor by which buckets fill faster than in AWS. Tests in which instances boot in
	// milliseconds make the calls of an hour in a minute. Zero means that there are no buckets.
	Speed float64
}

// Limits decides which calls are refused. It implements [wire.Gate].
type Limits struct {
	options Options

	mu      sync.Mutex
	random  *rand.Rand
	refused map[operation]bool
	buckets map[bucketKey]*bucket
}

type operation struct{ account, service, name string }

// New returns limits.
func New(o Options) *Limits {
	return &Limits{
		options: o, random: rand.New(rand.NewPCG(o.Seed, o.Seed+1)), //nolint:gosec // not for security
		refused: map[operation]bool{}, buckets: map[bucketKey]*bucket{},
	}
}

// failures is how many times more rarely a call gets a server error than it is throttled.
const failures = 5

// Admit returns the error of a call that is refused, or nil.
func (l *Limits) Admit(call *wire.Call, input any) *wire.Error {
	errs, ok := byService[call.Service]
	if !ok {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.options.Speed > 0 && input != nil && !l.fits(call, input) {
		return errs.throttled.err()
	}
	if l.options.OneIn <= 0 {
		return nil
	}
	key := operation{call.Account, call.Service, call.Operation}
	if l.refused[key] {
		delete(l.refused, key)
		return nil
	}
	switch n := l.random.IntN(failures * l.options.OneIn); {
	case n == 0:
		l.refused[key] = true
		return errs.failed.err()
	case n <= failures:
		l.refused[key] = true
		return errs.throttled.err()
	}
	return nil
}
