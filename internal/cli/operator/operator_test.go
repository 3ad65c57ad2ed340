package operator

import (
	"strings"
	"testing"
)

func TestBudgets(t *testing.T) {
	budgets, err := parseBudgets(map[string]string{"CloudFormation": "2.5", "*": "0.2"})
	if err != nil {
		t.Fatal(err)
	}
	if got := budgets["cloudformation"]; got.PerSecond != 2.5 || got.Burst != 5 {
		t.Errorf("got %+v, want 2.5 calls a second and two seconds' worth saved", got)
	}
	if got := budgets["*"]; got.Burst != 1 {
		t.Errorf("got %+v, want a burst that lets at least one call through", got)
	}
	for _, wrong := range []string{"fast", "0", "-1", ""} {
		if _, err := parseBudgets(map[string]string{"sqs": wrong}); err == nil || !strings.Contains(err.Error(), "calls a second") {
			t.Errorf("%q: got %v, want what to give", wrong, err)
		}
	}
}
