package replicas_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/replicas"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// suite are the replicas of a test, and who serves which shard.
type suite struct {
	t         *testing.T
	config    *rest.Config
	namespace string

	mu     sync.Mutex
	served map[operatorkit.Shard]string
	// began counts how often serving a shard began.
	began map[operatorkit.Shard]int
	twice []string
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	cluster := controlplanetest.Shared(t)
	return &suite{
		t: t, config: cluster.RESTConfig(), namespace: controlplanetest.Namespace(t, cluster),
		served: map[operatorkit.Shard]string{}, began: map[operatorkit.Shard]int{},
	}
}

// replica is a process.
type replica struct {
	stop  context.CancelFunc
	ended chan error
	// cut makes all its requests fail; lossy loses the answer to the next renewal of its own Lease.
	cut, lossy atomic.Bool
}

// over returns a connection that fails while the replica is cut off.
func (r *replica) over(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if r.cut.Load() {
			return nil, errors.New("the network is cut")
		}
		response, err := next.RoundTrip(request)
		if err == nil && request.Method == http.MethodPut && strings.Contains(request.URL.Path, "-replica-") && r.lossy.CompareAndSwap(true, false) {
			_ = response.Body.Close()
			return nil, errors.New("the answer is lost")
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// client returns a client of a process.
func (s *suite) client(r *replica) coordinationv1client.LeasesGetter {
	s.t.Helper()
	config := rest.CopyConfig(s.config)
	config.Wrap(r.over)
	client, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

// start starts a replica with short times.
func (s *suite) start(identity string, shards int) *replica {
	s.t.Helper()
	r := &replica{ended: make(chan error, 1)}
	one := replicas.New(replicas.Options{
		Client: s.client(r), Namespace: s.namespace, Name: "aws-operator-blue", Identity: identity, Shards: shards,
		LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 200 * time.Millisecond,
		Serve: func(ctx context.Context, shard operatorkit.Shard) error { return s.serve(ctx, identity, shard) },
	})
	ctx, stop := context.WithCancel(s.t.Context())
	r.stop = stop
	go func() { r.ended <- one.Run(ctx) }()
	s.t.Cleanup(func() {
		stop()
		<-r.ended
	})
	return r
}

// serve notes who serves a shard until the context ends.
func (s *suite) serve(ctx context.Context, identity string, shard operatorkit.Shard) error {
	s.mu.Lock()
	for other, by := range s.served {
		if other.Count != shard.Count || other == shard {
			s.twice = append(s.twice, fmt.Sprintf("%s served %v while %s served %v", identity, shard, by, other))
		}
	}
	s.served[shard] = identity
	s.began[shard]++
	s.mu.Unlock()
	<-ctx.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.served, shard)
	return nil
}

// await waits until each replica serves a number of shards of a count.
func (s *suite) await(what string, count int, want map[string]int) {
	s.t.Helper()
	patience.Until(s.t, what, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		have := map[string]int{}
		for shard, by := range s.served {
			if shard.Count == count {
				have[by]++
			}
		}
		if !maps.Equal(have, want) {
			return fmt.Errorf("they serve %v, want %v", have, want)
		}
		return nil
	})
}

// check fails the test if a shard was served twice at a time.
func (s *suite) check() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.twice {
		s.t.Error(line)
	}
}

func TestReplicasShareShards(t *testing.T) {
	s := newSuite(t)
	first := s.start("a", 6)
	s.await("one replica serves all shards", 6, map[string]int{"a": 6})
	second := s.start("b", 6)
	s.await("two replicas share", 6, map[string]int{"a": 3, "b": 3})
	s.start("c", 6)
	s.await("three replicas share", 6, map[string]int{"a": 2, "b": 2, "c": 2})
	first.stop()
	s.await("two replicas share the shards of one that ended", 6, map[string]int{"b": 3, "c": 3})
	s.mu.Lock()
	total := 0
	for _, n := range s.began {
		total += n
	}
	s.mu.Unlock()
	if want := 6 + 3 + 2 + 2; total > want { // each share of a new or ended replica moved once
		t.Errorf("shards were served %d times, want at most %d", total, want)
	}
	began := time.Now()
	second.cut.Store(true)
	s.await("one replica serves the shards of one that is cut off", 6, map[string]int{"c": 6})
	t.Logf("the shards of a replica that was cut off were served again after %v, with Leases of 3 s", time.Since(began))
	second.cut.Store(false)
	s.await("the replica that was cut off serves again", 6, map[string]int{"b": 3, "c": 3})
	s.check()
}

func TestOtherDivisionsWaitForEachOther(t *testing.T) {
	s := newSuite(t)
	old := s.start("a", 2)
	s.await("two shards are served", 2, map[string]int{"a": 2})
	s.start("b", 3)
	s.awaitLooks("b")
	leads := make(chan struct{})
	s.lead("c", leads)
	old.stop()
	if err := <-old.ended; err != nil {
		t.Errorf("the replica ended with %v", err)
	}
	old.ended <- nil // for the end of the test
	s.await("three shards are served when no replica with two lives", 3, map[string]int{"b": 3})
	select {
	case <-leads:
		t.Error("a single leader leads beside replicas with shards")
	default:
	}
	s.check()
}

func TestShardsWaitForALeader(t *testing.T) {
	s := newSuite(t)
	leads := make(chan struct{})
	stop := s.lead("a", leads)
	<-leads
	r := s.start("b", 2)
	s.awaitLooks("b")
	s.mu.Lock()
	if len(s.served) > 0 {
		t.Errorf("%v are served beside a leader", s.served)
	}
	s.mu.Unlock()
	stop()
	s.await("the shards are served when the leader has ended", 2, map[string]int{"b": 2})
	r.stop()
}

// The process must end with a shard that fails, whatever the error is. If it went on, it would serve nothing.
func TestFailedShardEndsTheReplica(t *testing.T) {
	s := newSuite(t)
	one := replicas.New(replicas.Options{
		Client: s.client(&replica{}), Namespace: s.namespace, Name: "aws-operator-blue", Identity: "a", Shards: 2,
		LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 200 * time.Millisecond,
		Serve: func(context.Context, operatorkit.Shard) error { return fmt.Errorf("ask AWS: %w", context.Canceled) },
	})
	if err := one.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "ask AWS") {
		t.Errorf("the replica ended with %v", err)
	}
}

// TestLostAnswerDoesNotEndAReplica tests that a replica renews its Lease although it does not know that it did so before.
func TestLostAnswerDoesNotEndAReplica(t *testing.T) {
	s := newSuite(t)
	r := s.start("a", 2)
	s.await("the shards are served", 2, map[string]int{"a": 2})
	leases := s.client(&replica{}).Leases(s.namespace)
	read := func() *coordinationv1.Lease {
		lease, err := leases.Get(t.Context(), "aws-operator-blue-replica-a", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return lease
	}
	before := read()
	r.lossy.Store(true)
	patience.UntilTrue(t, "an answer is lost", func() bool { return !r.lossy.Load() })
	lost := read()
	patience.Until(t, "the Lease is renewed", func() error {
		if after := read(); !after.Spec.RenewTime.After(lost.Spec.RenewTime.Time) {
			return fmt.Errorf("it was renewed at %v", after.Spec.RenewTime)
		}
		return nil
	})
	if after := read(); after.UID != before.UID {
		t.Error("the Lease was deleted and created again")
	}
	s.await("the shards are served", 2, map[string]int{"a": 2})
	s.mu.Lock()
	defer s.mu.Unlock()
	for shard, n := range s.began {
		if n != 1 {
			t.Errorf("serving %v began %d times", shard, n)
		}
	}
}

// awaitLooks waits until a replica has read the Leases of the others several times.
func (s *suite) awaitLooks(identity string) {
	s.t.Helper()
	client := s.client(&replica{}).Leases(s.namespace)
	patience.Until(s.t, "the replica has read the Leases several times", func() error {
		lease, err := client.Get(s.t.Context(), "aws-operator-blue-replica-"+identity, metav1.GetOptions{})
		if err == nil && lease.Spec.RenewTime.Sub(lease.CreationTimestamp.Time) < 2*time.Second {
			err = errors.New("it just joined")
		}
		return err
	})
}

// lead elects a single leader, and closes the channel when it leads.
func (s *suite) lead(identity string, leads chan<- struct{}) context.CancelFunc {
	s.t.Helper()
	ctx, stop := context.WithCancel(s.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock:          replicas.LeaderLock(s.client(&replica{}), s.namespace, "aws-operator-blue", identity),
			LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 200 * time.Millisecond, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { close(leads) }, OnStoppedLeading: func() {},
			},
		})
	}()
	end := func() {
		stop()
		<-done
	}
	s.t.Cleanup(end)
	return end
}
