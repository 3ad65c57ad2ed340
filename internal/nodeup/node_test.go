package nodeup_test

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/nodeup"
)

// TestSlotDoesNotAdoptTheNodeOfAnotherInstance boots a slot under whose name Nodes of former
// machines are left: each is deleted, and the kubelet started again, since it has taken it over.
func TestSlotDoesNotAdoptTheNodeOfAnotherInstance(t *testing.T) {
	const restart = "systemctl restart kubelet"
	for sentence, left := range map[string][]string{
		"no former Node is there":    nil,
		"a former Node is there":     {"first"},
		"another turns up after it":  {"first", "second"},
		"and yet another after that": {"first", "second", "third"},
	} {
		t.Run(sentence, func(t *testing.T) {
			former.Store(left)
			t.Cleanup(func() { former.Store([]string{}) })
			m := newMachine(t, slot())
			if err := nodeup.Run(t.Context(), m.options); err != nil {
				t.Fatal(err)
			}
			if uids, _ := former.Load().([]string); len(uids) > 0 {
				t.Errorf("the Nodes %v are left", uids)
			}
			calls := m.calls(t)
			if got := strings.Count(calls, restart); got != len(left) {
				t.Errorf("the kubelet was restarted %d times, not %d: %s", got, len(left), calls)
			}
			if strings.LastIndex(calls, restart) > strings.Index(calls, "mark-control-plane") {
				t.Errorf("the Node was marked before it was the machine's: %s", calls)
			}
		})
	}
}
