package awsevents

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
)

// waiting is an engine whose queue is never created; it counts the waiting calls by target.
type waiting struct {
	mu      sync.Mutex
	targets map[awsapi.Target]int
}

func (w *waiting) add(target awsapi.Target, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.targets[target] += n
}

func (w *waiting) count(target awsapi.Target) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.targets[target]
}

func (w *waiting) Ensure(ctx context.Context, target awsapi.Target, _ stack.Desired, _ stack.Record) (stack.Result, error) {
	w.add(target, 1)
	defer w.add(target, -1)
	<-ctx.Done()
	return stack.Result{}, context.Cause(ctx)
}

func (w *waiting) Sweep(context.Context, awsapi.Target) ([]stack.Event, error) { return nil, nil }
func (w *waiting) Observe(stack.Event)                                         {}

func TestEachAccountAndRegionInUseIsListenedTo(t *testing.T) {
	const role, other = "arn:aws:iam::111122223333:role/a", "arn:aws:iam::111122223333:role/b"
	engine := &waiting{targets: map[awsapi.Target]int{}}
	clients := &removedByHand{}
	l := New(Options{Clients: clients, Engine: engine, AccountID: "123456789012"})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Start(ctx) }()
	own, far := awsapi.Target{}, awsapi.Target{Region: "us-east-1"}
	theirs, also := awsapi.Target{Region: "us-east-1", RoleARN: role}, awsapi.Target{Region: "us-east-1", RoleARN: other}
	expect := func(what string, want map[awsapi.Target]int) {
		t.Helper()
		eventually(t, what, func() bool {
			for _, target := range []awsapi.Target{own, far, theirs, also, {RoleARN: "arn:aws:iam::123456789012:role/x", Region: "eu-central-1"}} {
				if engine.count(target) != want[target] {
					return false
				}
			}
			return true
		})
	}
	l.Use("a", far)
	l.Use("b", theirs)
	l.Use("c", also)
	l.Use("d", awsapi.Target{RoleARN: "arn:aws:iam::123456789012:role/x", Region: "eu-central-1"})
	expect("one role of an account and region is enough, and the operator's own for its own", map[awsapi.Target]int{own: 1, far: 1, theirs: 1})
	forgotten := func(target awsapi.Target) func() bool {
		return func() bool { _, ok := clients.forgotten.Load(target); return ok }
	}
	l.Release("b")
	expect("another role serves when the first is no longer used", map[awsapi.Target]int{own: 1, far: 1, also: 1})
	eventually(t, "the clients of the first are dropped", forgotten(theirs))
	if forgotten(also)() {
		t.Error("the clients of the role that serves are dropped")
	}
	l.Release("c")
	l.Release("d")
	expect("an account without users is not listened to", map[awsapi.Target]int{own: 1, far: 1})
	l.Use("a", theirs)
	expect("a user moves", map[awsapi.Target]int{own: 1, theirs: 1})
	l.Release("a")
	l.Use("a", far)
	expect("an account is listened to again", map[awsapi.Target]int{own: 1, far: 1})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestEventsOfOtherAccountsAreDropped(t *testing.T) {
	const body = `{"id":"ID","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","account":"ACCOUNT","region":"REGION",` +
		`"detail":{"instance-id":"i-0123456789abcdef0"}}`
	const stackBody = `{"id":"ID","source":"aws.cloudformation","detail-type":"CloudFormation Stack Status Change","account":"111122223333",` +
		`"region":"us-east-1","detail":{"stack-id":"arn:aws:cloudformation:us-east-1:ACCOUNT:stack/a/1","status-details":{"status":"DELETE_COMPLETE"}}}`
	cases := map[string]struct {
		body, account, region string
		arrives               bool
	}{
		"of the queue's account and region": {body, "111122223333", "us-east-1", true},
		"of the operator's own account":     {body, "123456789012", "us-east-1", false},
		"of another region":                 {body, "111122223333", "eu-central-1", false},
		"about a stack of the account":      {stackBody, "111122223333", "us-east-1", true},
		"about another account's stack":     {stackBody, "123456789012", "us-east-1", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			l := New(Options{Clients: &removedByHand{}, Engine: &waiting{}, AccountID: "123456789012"})
			arrived := false
			l.Subscribe(func(Event) { arrived = true })
			text := strings.NewReplacer("ID", name, "ACCOUNT", c.account, "REGION", c.region).Replace(c.body)
			l.dispatch(awsapi.Target{Region: "us-east-1", RoleARN: "arn:aws:iam::111122223333:role/tenant"}, text, "1")
			if arrived != c.arrives {
				t.Errorf("it arrived: %t, want %t", arrived, c.arrives)
			}
		})
	}
}
