package simulatortest

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"

	"github.com/aws-operator/aws-operator/internal/simulator"
)

// SeedVariable is the environment variable with the seed of simulators whose options have none. With
// the seed that a failed test logged, what is random happens again.
const SeedVariable = "SIMULATOR_SEED"

// Start serves a simulator at a loopback URL until the test ends. It logs the seed; see
// [SeedVariable].
func Start(tb testing.TB, o simulator.Options) (sim *simulator.Simulator, endpoint string) {
	tb.Helper()
	sim = New(tb, o)
	return sim, Serve(tb, sim.Handler())
}

// New returns a simulator that the test serves itself. It closes when the test ends, and logs the seed.
func New(tb testing.TB, o simulator.Options) *simulator.Simulator {
	tb.Helper()
	if text := os.Getenv(SeedVariable); text != "" && o.Seed == 0 {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			tb.Fatalf("environment variable %s: %v", SeedVariable, err)
		}
		o.Seed = seed
	}
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
