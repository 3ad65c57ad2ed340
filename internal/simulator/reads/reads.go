package reads

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Options configure reads.
type Options struct {
	// Seed determines what is random.
	Seed uint64
	// Lag is how long after a change reads may be out of date; zero means never.
	Lag time.Duration
	// Clock tells the time.
	Clock clock.Clock
}

// Reads decides what reads return. It implements [wire.Reads].
type Reads struct {
	options Options

	mu     sync.Mutex
	random *rand.Rand
	// changed is when a service of an account and region was changed last.
	changed map[scope]time.Time
	// created is when a resource was created, by ID, or by service, account, region and name.
	created map[string]time.Time
	// answers are the last answers, by request.
	answers map[request]answer
}

type scope struct{ account, region, service string }

type request struct {
	scope

	operation, input string
}

type answer struct {
	at     time.Time
	output any
}

// New returns reads.
func New(o Options) *Reads {
	return &Reads{
		options: o, random: rand.New(rand.NewPCG(o.Seed, o.Seed)), //nolint:gosec // not for security
		changed: map[scope]time.Time{}, created: map[string]time.Time{}, answers: map[request]answer{},
	}
}

// Before may reduce the page that a read asks for, and may return the error of a call that does not
// find what was just created.
func (r *Reads) Before(call *wire.Call, input any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if isRead(call.Operation) {
		r.shrinkPage(call.Service, input)
	}
	if r.options.Lag == 0 {
		return nil
	}
	now := r.options.Clock.Now()
	errs := missing(call, input)
	for _, key := range slices.Sorted(maps.Keys(errs)) {
		made, ok := r.created[key]
		switch {
		case !ok || now.Sub(made) >= r.options.Lag:
		case r.random.IntN(missesOneIn(key)) == 0:
			return errs[key]
		case staysFound(key):
			delete(r.created, key)
		}
	}
	return nil
}

// After returns the output that the caller gets: the true one in another order, or one that is out
// of date.
func (r *Reads) After(call *wire.Call, input, output any) any {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !isRead(call.Operation) {
		r.note(call, input, output)
		return output
	}
	if isUnordered(call.Service, call.Operation) {
		output = r.shuffled(output)
	}
	return r.lagging(call, input, output)
}

// note records a change.
func (r *Reads) note(call *wire.Call, input, output any) {
	if r.options.Lag == 0 {
		return
	}
	now := r.options.Clock.Now()
	if r.lags(call) {
		r.changed[scope{call.Account, call.Region, call.Service}] = now
	}
	for id, made := range r.created {
		if now.Sub(made) > r.options.Lag {
			delete(r.created, id)
		}
	}
	for _, key := range createdBy(call, input, output) {
		r.created[key] = now
	}
}

// lagging returns the true output of a read or, in some reads soon after a change, the output of the
// same read shortly before the change.
func (r *Reads) lagging(call *wire.Call, input, output any) any {
	if !r.lags(call) {
		return output
	}
	text, err := json.Marshal(input)
	if err != nil {
		return output
	}
	now := r.options.Clock.Now()
	in := scope{call.Account, call.Region, call.Service}
	key := request{in, call.Operation, string(text)}
	// An answer is out of date by no more than the lag, although other things change meanwhile.
	last, ok := r.answers[key]
	if ok && last.at.Before(r.changed[in]) && now.Sub(last.at) < r.options.Lag && r.random.IntN(2) == 0 {
		return last.output
	}
	const most = 1000 // Answers that are kept; older ones are only needed for the lag.
	if len(r.answers) >= most {
		clear(r.answers)
	}
	r.answers[key] = answer{now, output}
	return output
}

// lags reports whether a read may be out of date, or a change may be visible only later: in EC2, and
// stacks of CloudFormation after an operation began.
// https://github.com/aws/aws-cdk-cli/pull/1803
func (r *Reads) lags(call *wire.Call) bool {
	if r.options.Lag == 0 {
		return false
	}
	return call.Service == "ec2" || call.Service == "cloudformation" && (call.Operation == "DescribeStacks" || !isRead(call.Operation))
}

// isRead reports whether an operation changes nothing.
func isRead(operation string) bool {
	return strings.HasPrefix(operation, "Describe") || strings.HasPrefix(operation, "List") || strings.HasPrefix(operation, "Get")
}

// isCreation reports whether an operation creates resources.
func isCreation(operation string) bool {
	return strings.HasPrefix(operation, "Create") && operation != "CreateTags" || operation == "RunInstances"
}
