package awsapi

import (
	"slices"
	"testing"

	"golang.org/x/time/rate"
)

// TestBudgetIsSharedByThoseWhoUseIt tests that the budget of an account belongs to the processes that use it, and that one
// that no process has reported yet is divided among all.
func TestBudgetIsSharedByThoseWhoUseIt(t *testing.T) {
	clients, err := New(t.Context(), Options{Region: "eu-west-1", Shares: 4, Budgets: map[string]Budget{AnyService: {PerSecond: 8, Burst: 80}}})
	if err != nil {
		t.Fatal(err)
	}
	hot := Target{Account: "111122223333", Region: "eu-west-1"}
	want := func(target Target, perSecond rate.Limit, burst int) {
		t.Helper()
		clients.CloudFormation(target)
		clients.mu.Lock()
		defer clients.mu.Unlock()
		got := clients.bucket("cloudformation", target).limiter
		if got.Limit() != perSecond || got.Burst() != burst {
			t.Errorf("the budget of %s is %v/%d, want %v/%d", target, got.Limit(), got.Burst(), perSecond, burst)
		}
	}
	want(hot, 2, 20)
	want(Target{}, 2, 20)
	if places := clients.Places(); !slices.Contains(places, "111122223333/eu-west-1") || !slices.Contains(places, "/eu-west-1") || len(places) != 2 {
		t.Errorf("the places are %v", places)
	}
	clients.Share(map[string]int{"111122223333/eu-west-1": 1, "/eu-west-1": 3})
	want(hot, 8, 80)
	want(Target{}, 8./3, 26)
	want(Target{Account: "444455556666", Region: "eu-west-1"}, 2, 20)
}
