package model_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

func TestRollingInNumbers(t *testing.T) {
	c := resolve(t, newVPC, "")
	for reason, one := range map[string]struct {
		with        string
		batch, stay int32
	}{
		"one at a time, keeping the least number":         {"", 1, 1},
		"a group of one cannot keep it":                   {`spec: {maxSize: 1}`, 1, 0},
		"a group that may be empty keeps nothing":         {`spec: {minSize: 0}`, 1, 0},
		"a full group cannot keep all":                    {`spec: {minSize: 3}`, 1, 2},
		"nor when it is asked to":                         {`spec: {minSize: 3, rollingUpdate: {minInService: 100%}}`, 1, 2},
		"nor when it is asked for more than there can be": {`spec: {rollingUpdate: {minInService: 7}}`, 1, 2},
		"shares are rounded up":                           {`spec: {minSize: 10, maxSize: 15, rollingUpdate: {batchSize: 25%, minInService: 75%}}`, 4, 8},
		"the smallest share is one":                       {`spec: {rollingUpdate: {batchSize: 1%}}`, 1, 1},
		"a batch is no more than all":                     {`spec: {rollingUpdate: {batchSize: 9}}`, 3, 1},
		"nor more than CloudFormation takes":              {`spec: {maxSize: 1000, rollingUpdate: {batchSize: 100%}}`, 100, 1},
	} {
		t.Run(reason, func(t *testing.T) {
			if got := resolveGroup(t, c, one.with).Rolling; got.BatchSize != one.batch || got.MinInService != one.stay {
				t.Errorf("%d at once while %d stay", got.BatchSize, got.MinInService)
			}
		})
	}
}

func TestTimesOfRolling(t *testing.T) {
	c := resolve(t, newVPC, "")
	for reason, one := range map[string]struct {
		with                string
		signal, drain, hook time.Duration
	}{
		"15 minutes to become ready and 10 to drain":        {"", 15 * time.Minute, 10 * time.Minute, 10 * time.Minute},
		"nodes pause after they became ready":               {`spec: {rollingUpdate: {pause: 5m, readyTimeout: 1m}}`, 6 * time.Minute, 10 * time.Minute, 10 * time.Minute},
		"an hour is the most":                               {`spec: {rollingUpdate: {pause: 30m, readyTimeout: 30m}}`, time.Hour, 10 * time.Minute, 10 * time.Minute},
		"a hook waits no less than 30 seconds":              {`spec: {rollingUpdate: {drainTimeout: 0s}}`, 15 * time.Minute, 0, 30 * time.Second},
		"a hook waits no more than 2 hours for a heartbeat": {`spec: {rollingUpdate: {drainTimeout: 24h}}`, 15 * time.Minute, 24 * time.Hour, 2 * time.Hour},
	} {
		t.Run(reason, func(t *testing.T) {
			if got := resolveGroup(t, c, one.with).Rolling; got.SignalTimeout != one.signal || got.DrainTimeout != one.drain ||
				got.HookTimeout != one.hook {
				t.Errorf("signals within %s, drained within %s, heartbeats within %s", got.SignalTimeout, got.DrainTimeout, got.HookTimeout)
			}
		})
	}
}

// With all settings a rollout can progress, and its values are within AWS's limits.
func TestRollingNeverStalls(t *testing.T) {
	c := resolve(t, newVPC, "")
	number := rapid.Custom(func(rt *rapid.T) *intstr.IntOrString {
		switch rapid.IntRange(0, 2).Draw(rt, "form") {
		case 0:
			return nil
		case 1:
			return new(intstr.FromInt32(rapid.Int32Range(1, 2000).Draw(rt, "number")))
		default:
			return new(intstr.FromString(rapid.StringMatching("([1-9][0-9]?|100)%").Draw(rt, "share")))
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		most := rapid.Int32Range(1, 1000).Draw(rt, "max")
		group := parse[v1alpha1.InstanceGroup](t, workers, "")
		group.Spec.MaxSize, group.Spec.MinSize = most, rapid.Int32Range(0, most).Draw(rt, "min")
		ready := rapid.Int64Range(10, 3600).Draw(rt, "ready")
		group.Spec.RollingUpdate = v1alpha1.RollingUpdate{
			BatchSize: number.Draw(rt, "batch"), MinInService: number.Draw(rt, "stay"),
			ReadyTimeout: &metav1.Duration{Duration: time.Duration(ready) * time.Second},
			Pause: &metav1.Duration{
				Duration: time.Duration(rapid.Int64Range(0, min(2700, 3600-ready)).Draw(rt, "pause")) * time.Second,
			},
			DrainTimeout: &metav1.Duration{Duration: time.Duration(rapid.Int64Range(0, 86400).Draw(rt, "drain")) * time.Second},
		}
		g, err := model.ResolveGroup(c, group)
		if err != nil {
			rt.Fatal(err)
		}
		r := g.Rolling
		if r.BatchSize < 1 || r.BatchSize > most || r.BatchSize > 100 || r.MinInService < 0 || r.MinInService >= most {
			rt.Errorf("%d at once while %d of %d stay", r.BatchSize, r.MinInService, most)
		}
		if r.SignalTimeout < 10*time.Second || r.SignalTimeout > time.Hour || r.HookTimeout < 30*time.Second ||
			r.HookTimeout > 2*time.Hour {
			rt.Errorf("signals within %s, heartbeats within %s", r.SignalTimeout, r.HookTimeout)
		}
	})
}
