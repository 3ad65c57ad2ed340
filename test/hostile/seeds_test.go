package hostile

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// campaign runs a test for each seed: 1 to HOSTILE_RUNS, or only HOSTILE_SEED.
func campaign(t *testing.T, runs int, run func(t *testing.T, seed uint64, random *rand.Rand)) {
	t.Helper()
	first, count := number(t, "HOSTILE_SEED", 1), number(t, "HOSTILE_RUNS", runs)
	if os.Getenv("HOSTILE_SEED") != "" {
		count = 1
	}
	for seed := first; seed < first+count; seed++ {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Cleanup(func() {
				if t.Failed() {
					name, _, _ := strings.Cut(t.Name(), "/")
					t.Logf("HOSTILE_SEED=%d go test ./test/hostile -run %s repeats this run", seed, name)
				}
			})
			run(t, uint64(seed), rand.New(rand.NewPCG(uint64(seed), 0)))
		})
	}
}

func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%s is %q: set it to a number", variable, text)
	}
	return n
}

// pick returns one of several values.
func pick[T any](random *rand.Rand, of ...T) T { return of[random.IntN(len(of))] }
