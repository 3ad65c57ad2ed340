package nodeup_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/nodeup"
)

// TestKubeProxyIsNeverNewerThanAnAPIServer boots slot 1, of v1.36.3, beside others: kubeadm's
// addons are left to the slot that comes up last.
func TestKubeProxyIsNeverNewerThanAnAPIServer(t *testing.T) {
	for sentence, c := range map[string]struct {
		nodes []string
		want  bool
	}{
		"the first machine of a new cluster does it":                           {nil, true},
		"beside slots of its own version it does it":                           {[]string{node("0", "v1.36.3", 1), node("2", "v1.36.3", 1)}, true},
		"while another slot is older it does not":                              {[]string{node("0", "v1.36.3", 1), node("2", "v1.35.9", 1)}, false},
		"while another slot is of an older patch it does not":                  {[]string{node("0", "v1.36.2", 1)}, false},
		"the last slot of an upgrade does it, though its old node is there":    {[]string{node("0", "v1.36.3", 1), node("1", "v1.35.9", 1), node("2", "v1.36.3", 1)}, true},
		"the old node of another slot, whose new one is there, does not count": {[]string{node("0", "v1.35.9", 1), node("0", "v1.36.3", 2)}, true},
		"the first slot that goes back does it: it is the oldest":              {[]string{node("0", "v1.36.4", 1), node("2", "v1.37.0", 1)}, true},
		"a node that has not reported its version is as new":                   {[]string{node("0", "", 1)}, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			slotNodes.Store(strings.Join(c.nodes, ","))
			t.Cleanup(func() { slotNodes.Store("") })
			m := newMachine(t, slot())
			if err := nodeup.Run(t.Context(), m.options); err != nil {
				t.Fatal(err)
			}
			if did := strings.Contains(m.calls(t), "init phase addon"); did != c.want {
				t.Errorf("it did: %v; the log is\n%s", did, m.log)
			}
		})
	}
}

// node is a Node of a slot in JSON, made in some minute.
func node(slot, version string, minute int) string {
	return fmt.Sprintf(
		`{"metadata":{"labels":{"cluster-operator.aws/slot":%q},"creationTimestamp":"2026-01-01T00:%02d:00Z"},"status":{"nodeInfo":{"kubeletVersion":%q}}}`,
		slot,
		minute,
		version,
	)
}
