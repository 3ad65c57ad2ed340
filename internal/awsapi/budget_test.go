package awsapi

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestBucketLimitsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBucket(Budget{PerSecond: 10, Burst: 5})
		started := time.Now()
		for range 25 {
			if err := b.take(t.Context(), false); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(started); took < 1900*time.Millisecond || took > 2100*time.Millisecond {
			t.Errorf("25 calls at 10 a second with a burst of 5 took %s, want 2s", took)
		}
	})
}

func TestBucketPrioritizesEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBucket(Budget{PerSecond: 1, Burst: 1})
		var mu sync.Mutex
		var served []string
		take := func(name string, urgent bool) {
			if err := b.take(t.Context(), urgent); err == nil {
				mu.Lock()
				defer mu.Unlock()
				served = append(served, name)
			}
		}
		take("first", false)
		for _, name := range []string{"create 1", "create 2", "create 3"} {
			go take(name, false)
			synctest.Wait()
		}
		go take("update", true)
		synctest.Wait()
		if waiting := b.waiting.Load(); waiting != 4 {
			t.Errorf("%d calls wait, want 4", waiting)
		}
		time.Sleep(time.Minute) // of the test's own clock
		synctest.Wait()
		want := []string{"first", "update", "create 1", "create 2", "create 3"}
		if !slices.Equal(served, want) {
			t.Errorf("served %q, want %q", served, want)
		}
	})
}

func TestBucketGivesNoTokenToCanceledCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBucket(Budget{PerSecond: 1, Burst: 1})
		if err := b.take(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		leaving, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { left <- b.take(leaving, false) }()
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error", err)
		}
		started := time.Now()
		if err := b.take(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(started); took > 1100*time.Millisecond {
			t.Errorf("the next call waited %s, want the one second of the first token", took)
		}
		if b.waiting.Load() != 0 {
			t.Errorf("%d calls wait, want none", b.waiting.Load())
		}
	})
}

func TestUnlimitedBudgetDelaysNothing(t *testing.T) {
	b := newBucket(Unlimited)
	for range 10_000 {
		if err := b.take(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
}

func TestParseBudgets(t *testing.T) {
	cases := []struct {
		name, text string
		service    string
		want       Budget
		wrong      bool
	}{
		{name: "one word for all services", text: "unlimited", service: "cloudformation", want: Unlimited},
		{
			name:    "a rate and a burst",
			text:    "cloudformation=5/20,sqs=unlimited",
			service: "cloudformation",
			want:    Budget{PerSecond: 5, Burst: 20},
		},
		{
			name:    "the burst defaults to the rate",
			text:    "cloudformation=2.5",
			service: "cloudformation",
			want:    Budget{PerSecond: 2.5, Burst: 2},
		},
		{
			name:    "a service without an entry keeps its default",
			text:    "sqs=1/1",
			service: "cloudformation",
			want:    DefaultBudgets()["cloudformation"],
		},
		{name: "an unknown service has the default of all services", text: "", service: "autoscaling", want: DefaultBudgets()[AnyService]},
		{name: "Route 53 allows 10 calls a second, to all clients of an account", text: "", service: "route53", want: Budget{PerSecond: 5, Burst: 25}},
		{name: "a rate of 0 would never allow a call", text: "cloudformation=0", wrong: true},
		{name: "a burst of 0 would never allow a call", text: "cloudformation=5/0", wrong: true},
		{name: "words are not rates", text: "cloudformation=fast", wrong: true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			budgets, err := ParseBudgets(c.text)
			if (err != nil) != c.wrong {
				t.Fatalf("error %v, want one: %t", err, c.wrong)
			}
			if c.wrong {
				return
			}
			if got := budgetFor(budgets, c.service); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
