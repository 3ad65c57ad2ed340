package controller_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

// refusingHost is a host of machines that refuse the next connections.
type refusingHost struct {
	machine.Host
	refusals atomic.Int64
}

func (h *refusingHost) Dial(ctx context.Context, instanceID string, port int) (net.Conn, error) {
	if h.refusals.Add(-1) >= 0 {
		return nil, errors.New("refused by the test")
	}
	return h.Host.Dial(ctx, instanceID, port)
}

// loseStatuses stops the operator and empties the statuses of the cluster and of a group, as a restore from
// a backup does.
func (w *watched) loseStatuses(group string) {
	w.t.Helper()
	w.stop()
	w.eventually("the cluster's status is lost", func() error {
		if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(w.cluster), w.cluster); err != nil {
			return err
		}
		w.cluster.Status = v1alpha1.ClusterStatus{}
		return w.client.Status().Update(w.t.Context(), w.cluster)
	})
	w.eventually("the group's status is lost", func() error {
		one := w.aGroup(group, "demo")
		if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(one), one); err != nil {
			return err
		}
		one.Status = v1alpha1.InstanceGroupStatus{}
		return w.client.Status().Update(w.t.Context(), one)
	})
}

// A cluster whose statuses were lost before an upgrade replaces its slots before its workers.
func TestUpgradeWithoutStatusesBeginsWithTheSlots(t *testing.T) {
	w := newWatched(t, 3, simulatedHost(), nil, "demo-workers")
	w.runs(formerRelease)
	w.loseStatuses("demo-workers")
	w.patch(w.cluster, `{"spec":{"release":"v1.36.3"}}`)
	w.start()
	w.runs("v1.36.3")
	w.eventually("all nodes run the new version", func() error {
		if got := w.versions(); !slices.Equal(got, []string{"v1.36.3"}) {
			return fmt.Errorf("they are %v", got)
		}
		return nil
	})
	w.kept(2, "0 1 2")
}

// The rules for upgrades hold for a cluster whose statuses were lost, also if its API does not respond at
// first.
func TestRefusedUpgradeWithoutStatuses(t *testing.T) {
	machines := &refusingHost{Host: simulatedHost()}
	w := newWatched(t, 1, machines, func(c *v1alpha1.Cluster) { c.Spec.Release = "v1.36.3" }, "demo-workers")
	w.runs("v1.36.3")
	w.loseStatuses("demo-workers")
	w.patch(w.cluster, fmt.Sprintf(`{"spec":{"release":%q}}`, formerRelease))
	const refusals = 60 // load balancers count too; more than make the API unreachable
	machines.refusals.Store(refusals)
	w.start()
	w.condition(w.cluster, "Stalled", metav1.ConditionTrue, "UpgradeRefused")
	if got := w.versions(); !slices.Equal(got, []string{"v1.36.3"}) {
		t.Errorf("nodes run %v", got)
	}
	w.patch(w.cluster, `{"spec":{"release":"v1.36.3"}}`)
	w.runs("v1.36.3")
	w.condition(w.cluster, "Ready", metav1.ConditionTrue, "")
	w.kept(1, "0")
}
