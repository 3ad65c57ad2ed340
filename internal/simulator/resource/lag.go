package resource

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Lag decides how long something lags behind a change, from a seed. A nil pointer decides that nothing
// does.
type Lag struct {
	most time.Duration

	mu     sync.Mutex
	random *rand.Rand
}

// NewLag returns lags of up to a duration; zero means none.
func NewLag(seed uint64, most time.Duration) *Lag {
	if most <= 0 {
		return nil
	}
	return &Lag{most: most, random: rand.New(rand.NewPCG(seed, seed+2))} //nolint:gosec // not for security
}

// Draw returns how long something lags: from nothing to the longest lag.
func (l *Lag) Draw() time.Duration {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Duration(l.random.Int64N(int64(l.most) + 1))
}

// OneIn reports whether something happens that happens in one of n cases. It never does without lags.
func (l *Lag) OneIn(n int) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.random.IntN(n) == 0
}
