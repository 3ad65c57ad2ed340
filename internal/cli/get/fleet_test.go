package get

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// The view of a fleet has a row for each cluster, in the state that the operator would report.
func TestFleetViewHasEveryCluster(t *testing.T) {
	f := &v1alpha1.Fleet{Spec: v1alpha1.FleetSpec{
		Template: v1alpha1.FleetTemplate{Release: "v1.36.3"},
		Rollout: v1alpha1.FleetRollout{Waves: []v1alpha1.FleetWave{{
			Name: "canary", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "canary"}},
		}}},
	}}
	made := func(name, release string, ready metav1.ConditionStatus, labels map[string]string) v1alpha1.Cluster {
		c := v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: labels}}
		c.Spec.Release, c.Status.Release, c.Status.Version = release, release, "v1.36.3"
		c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: ready, Message: "A slot is missing."}}
		return c
	}
	author := metav1.ManagedFieldsEntry{
		Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:release":{}}}`),
	}
	own := made("own", "v1.35.9", metav1.ConditionTrue, nil)
	own.ManagedFields = []metav1.ManagedFieldsEntry{author}
	clusters := []v1alpha1.Cluster{
		made("canary", "v1.36.3", metav1.ConditionTrue, map[string]string{"tier": "canary"}),
		made("broken", "v1.36.3", metav1.ConditionFalse, nil), made("next", "v1.35.9", metav1.ConditionTrue, nil), own,
	}
	shown, err := view(f, clusters, nil, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(shown.Reason, shown.Wave, shown.Clusters)
	want := "RollingOutrest[{canary canary v1.36.3 Updated [] } {broken rest v1.36.3 NotReady [] A slot is missing.} " +
		"{next rest v1.35.9 Waiting [] } {own rest v1.35.9 Updated [.spec.release] }]"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
