package simulatortest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws-operator/aws-operator/internal/simulator"
)

// Start serves a simulator at a loopback URL until the test ends. It logs the seed, with which
// Options.Seed repeats what happened.
func Start(tb testing.TB, o simulator.Options) (sim *simulator.Simulator, endpoint string) {
	tb.Helper()
	sim = New(tb, o)
	return sim, Serve(tb, sim.Handler())
}

// New returns a simulator that the test serves itself. It closes when the test ends, and logs the seed.
func New(tb testing.TB, o simulator.Options) *simulator.Simulator {
	tb.Helper()
	sim := simulator.New(o)
	tb.Logf("the simulator of AWS has seed %d", sim.Seed())
	tb.Cleanup(sim.Close)
	return sim
}

// Serve serves a handler of a simulator at a loopback URL until the test ends.
func Serve(tb testing.TB, handler http.Handler) (endpoint string) {
	tb.Helper()
	server := httptest.NewServer(handler)
	tb.Cleanup(func() {
		server.CloseClientConnections() // some wait for messages
		server.Close()
	})
	return server.URL
}
