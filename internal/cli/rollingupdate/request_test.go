package rollingupdate

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// TestRequestIsMadeOnce is asked for again when it is done or has failed, and not while it goes
// on.
func TestRequestIsMadeOnce(t *testing.T) {
	made := func(roll string) *v1alpha1.StackStatus {
		return &v1alpha1.StackStatus{
			Name:   "demo-workers",
			Record: &runtime.RawExtension{Raw: []byte(`{"machines":{"now":{"roll":"` + roll + `"}}}`)},
		}
	}
	for name, c := range map[string]struct {
		text   string
		state  v1alpha1.RolloutState
		stacks []*v1alpha1.StackStatus
		want   bool
	}{
		"never asked for":                        {"", "", []*v1alpha1.StackStatus{made("")}, false},
		"not begun":                              {"b", "", []*v1alpha1.StackStatus{made("a")}, true},
		"not begun, after another that was done": {"b", v1alpha1.RolloutDone, []*v1alpha1.StackStatus{made("a")}, true},
		"one of two slots is done":               {"b", v1alpha1.RolloutDone, []*v1alpha1.StackStatus{made("b"), made("a")}, true},
		"all are being replaced":                 {"b", v1alpha1.RolloutRolling, []*v1alpha1.StackStatus{made("b")}, true},
		"done":                                   {"b", v1alpha1.RolloutDone, []*v1alpha1.StackStatus{made("b")}, false},
		"taken back":                             {"b", v1alpha1.RolloutRolledBack, []*v1alpha1.StackStatus{made("a")}, false},
		"stopped":                                {"b", v1alpha1.RolloutStopped, []*v1alpha1.StackStatus{made("b")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			one := requested{roll: &c.text, stacks: c.stacks}
			if c.state != "" {
				one.rollout = &v1alpha1.RolloutStatus{State: c.state}
			}
			if got, err := one.isRunning(); err != nil || got != c.want {
				t.Errorf("it is under way: %t, %v", got, err)
			}
		})
	}
}
