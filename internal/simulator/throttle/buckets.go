package throttle

import (
	"reflect"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// rate is the size of a bucket and the tokens that it gets each second.
type rate struct{ size, refill float64 }

// The buckets of EC2's operations: each request takes one token of its operation's bucket.
// https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html#throttling-limits-rate-based
var (
	reading    = rate{100, 20}
	unfiltered = rate{50, 10}
	writing    = rate{50, 5}
)

// perResource are the operations that also take a token for each resource.
// https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html#throttling-limits-cost-based
var perResource = map[string]rate{
	"RunInstances": {1000, 2}, "TerminateInstances": {1000, 20}, "StartInstances": {1000, 2}, "StopInstances": {1000, 20},
}

// bucket holds tokens.
type bucket struct {
	tokens float64
	at     time.Time
}

type bucketKey struct {
	account, region, operation string
	resources                  bool
}

// take takes tokens from a bucket, or reports that it does not have them. The caller holds the lock.
func (l *Limits) take(key bucketKey, r rate, count float64) bool {
	now := l.options.Clock.Now()
	b, ok := l.buckets[key]
	if !ok {
		b = &bucket{r.size, now}
		l.buckets[key] = b
	}
	b.tokens = min(r.size, b.tokens+now.Sub(b.at).Seconds()*r.refill*l.options.Speed)
	b.at = now
	if b.tokens < count {
		return false
	}
	b.tokens -= count
	return true
}

// fits reports whether the buckets have the tokens for a call. The caller holds the lock.
func (l *Limits) fits(call *wire.Call, input any) bool {
	if call.Service != "ec2" {
		return true
	}
	key := bucketKey{account: call.Account, region: call.Region, operation: call.Operation}
	r := writing
	if isRead(call.Operation) {
		if r = reading; isUnfiltered(input) {
			r = unfiltered
		}
	}
	if !l.take(key, r, 1) {
		return false
	}
	if r, ok := perResource[call.Operation]; ok {
		key.resources = true
		return l.take(key, r, resources(input))
	}
	return true
}

func isRead(operation string) bool {
	return strings.HasPrefix(operation, "Describe") || strings.HasPrefix(operation, "Get")
}

// isUnfiltered reports whether a read names no resources, has no filters and asks for no page.
func isUnfiltered(input any) bool {
	v := reflect.Indirect(reflect.ValueOf(input))
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if (name == "Filters" || name == "MaxResults" || strings.HasSuffix(name, "Ids") || strings.HasSuffix(name, "Names")) && !v.Field(i).IsZero() {
			return false
		}
	}
	return true
}

// resources returns the number of instances that a call is about.
func resources(input any) float64 {
	v := reflect.Indirect(reflect.ValueOf(input))
	if ids := v.FieldByName("InstanceIds"); ids.IsValid() {
		return float64(ids.Len())
	}
	if most := v.FieldByName("MaxCount"); most.IsValid() && !most.IsNil() {
		return float64(most.Elem().Int())
	}
	return 1
}
