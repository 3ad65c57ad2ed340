package workload

import (
	"context"
	"slices"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/metrics"
)

// hosts remembers the hosts of counted requests.
type hosts struct{ counted []string }

// Increment remembers a host.
func (h *hosts) Increment(_ context.Context, _, _, host string) { h.counted = append(h.counted, host) }

// Workload clusters come and go, so that metrics must not name them.
func TestRequestsToWorkloadClustersAreCountedTogether(t *testing.T) {
	before, seen := metrics.RequestResult, &hosts{}
	t.Cleanup(func() { metrics.RequestResult = before })
	metrics.RequestResult = seen
	if err := CountTogether(&rest.Config{Host: "https://10.0.0.1:443"}); err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"10.0.0.1:443", "one.example.com:6443", "two.example.com:6443"} {
		metrics.RequestResult.Increment(t.Context(), "200", "GET", host)
	}
	if want := []string{"10.0.0.1:443", "workload-clusters", "workload-clusters"}; !slices.Equal(seen.counted, want) {
		t.Errorf("counted for %q, want %q", seen.counted, want)
	}
	if err := CountTogether(&rest.Config{Host: "https://[::1"}); err == nil {
		t.Error("an invalid address is accepted")
	}
}
