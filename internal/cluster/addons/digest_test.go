package addons_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/addons"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func (w *suite) addonsReady() (status, reason, message string) {
	w.t.Helper()
	c := operatorkit.FindCondition(w.cluster, addons.ConditionAddonsReady)
	if c == nil {
		w.t.Fatal("there is no condition AddonsReady")
	}
	return string(c.Status), c.Reason, c.Message
}

func TestAnArchiveOfAnotherDigestIsRefused(t *testing.T) {
	w := newSuite(t)
	w.release.Spec.Addons[0].Digest = strings.Repeat("0", 64)
	w.settle(operatorkit.KindWait)
	if status, reason, message := w.addonsReady(); status != "False" || reason != addons.ReasonDigest ||
		!strings.Contains(message, "greeter 1.0.0") {
		t.Errorf("condition %s %s: %s", status, reason, message)
	}
	if got := w.greeting(); got != "" {
		t.Errorf("it was installed all the same: %q", got)
	}
	sum := sha256.Sum256(w.charts.archive("1.0.0"))
	w.cluster.Spec.Addons = []v1alpha1.Addon{{Name: "greeter", Digest: hex.EncodeToString(sum[:])}}
	w.cluster.Generation++
	w.settle(operatorkit.KindDone)
	if got := w.greeting(); got != "hello 1.0.0" {
		t.Errorf("with the right digest the cluster says %q", got)
	}
}

func TestTheFirstArchiveOfAVersionIsPinned(t *testing.T) {
	w := newSuite(t)
	w.settle(operatorkit.KindDone)
	sum := sha256.Sum256(w.charts.archive("1.0.0"))
	want := v1alpha1.AddonStatus{
		Name: "greeter", Chart: "greeter", Repository: w.charts.url, Version: "1.0.0", Digest: hex.EncodeToString(sum[:]),
	}
	if len(w.cluster.Status.Addons) != 1 || w.cluster.Status.Addons[0] != want {
		t.Fatalf("status.addons is %+v, want %+v", w.cluster.Status.Addons, want)
	}
	w.charts.replaced.Store(true) // The publisher, or another one, replaces the archive.
	w.folder = t.TempDir()
	w.restart()
	w.cluster.Spec.Addons = []v1alpha1.Addon{{Name: "greeter", Values: raw(`{"greeting":"bye"}`)}}
	w.cluster.Generation++
	w.settle(operatorkit.KindWait)
	if status, reason, message := w.addonsReady(); status != "False" || reason != addons.ReasonDigest ||
		!strings.Contains(message, want.Digest) {
		t.Errorf("condition %s %s: %s", status, reason, message)
	}
	if got := w.greeting(); got != "hello 1.0.0" {
		t.Errorf("the cluster says %q", got)
	}
	other := sha256.Sum256(w.charts.archive("1.0.0"))
	w.cluster.Spec.Addons[0].Digest = hex.EncodeToString(other[:]) // A person trusts it.
	w.cluster.Generation++
	w.settle(operatorkit.KindDone)
	if got := w.greeting(); got != "bye 1.0.0" || w.cluster.Status.Addons[0].Digest != hex.EncodeToString(other[:]) {
		t.Errorf("the cluster says %q, its status %+v", got, w.cluster.Status.Addons)
	}
}

func TestAChartThatCannotBeRenderedIsRefusedWithTheReason(t *testing.T) {
	w := newSuite(t)
	w.charts.template.Store(`x: {{ env "HOME" }}`)
	w.settle(operatorkit.KindWait)
	if status, reason, message := w.addonsReady(); status != "False" || reason != addons.ReasonRefused ||
		!strings.Contains(message, `function "env" not defined`) {
		t.Errorf("condition %s %s: %s", status, reason, message)
	}
	w.charts.template.Store("")
	w.restart()
	w.settle(operatorkit.KindDone)
}
