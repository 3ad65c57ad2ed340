package inprocess

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/kubeapi"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/state"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// given is a state that holds what it was made of.
type given struct {
	State

	objects *state.Objects
}

func (g given) Load(context.Context, string) (*state.Objects, error) { return g.objects, nil }

// served serves a cluster and a group of it, as an operator's management cluster would.
func served(t *testing.T) client.WithWatch {
	t.Helper()
	objects := &state.Objects{
		Cluster: &v1alpha1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"},
			Spec:       v1alpha1.ClusterSpec{Release: "v1"},
		},
		Groups: []*v1alpha1.InstanceGroup{
			{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "workers"}, Spec: v1alpha1.InstanceGroupSpec{Cluster: "demo"}},
		},
	}
	r := &run{Options: Options{State: given{objects: objects}, Cluster: "demo"}, keeper: newKeeper(nil, "demo")}
	r.api = kubeapi.New(kubeapi.Options{Kubernetes: apiVersion, Clock: clock.RealClock{}})
	t.Cleanup(r.api.Close)
	r.config = restOf(r.api.Trusted())
	if err := r.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r.client
}

// becomes writes what an operator would say of an object.
func becomes(t *testing.T, c client.Client, object client.Object, release string, conditions ...metav1.Condition) {
	t.Helper()
	if err := c.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: object.GetName()}, object); err != nil {
		t.Error(err)
		return
	}
	for _, condition := range conditions {
		condition.Reason = "Because"
		operatorkit.SetCondition(object, condition)
	}
	switch o := object.(type) {
	case *v1alpha1.Cluster:
		o.Status.Release = release
	case *v1alpha1.InstanceGroup:
		o.Status.Release = release
	}
	if err := c.Status().Update(t.Context(), object); err != nil {
		t.Error(err)
	}
}

func cluster() *v1alpha1.Cluster {
	return &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"}}
}

func group() *v1alpha1.InstanceGroup {
	return &v1alpha1.InstanceGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "workers"}}
}

// A cluster is followed until it is what was asked for, or a person must act: what was said of it
// before it was changed does not count.
func TestFollow(t *testing.T) {
	t.Parallel()
	ready := metav1.Condition{Type: operatorkit.ConditionReady, Status: metav1.ConditionTrue}
	stalled := metav1.Condition{Type: operatorkit.ConditionStalled, Status: metav1.ConditionTrue, Message: "The update failed."}
	for name, c := range map[string]struct {
		goal Goal
		// before is so at the beginning, then is done when it was shown.
		before, then func(t *testing.T, c client.Client)
		// want is what the error says; none if it is empty.
		want string
	}{
		"until all are ready": {
			goal: Ready,
			before: func(t *testing.T, c client.Client) {
				t.Helper()
				becomes(t, c, cluster(), "v1", ready)
			},
			then: func(t *testing.T, c client.Client) {
				t.Helper()
				becomes(t, c, group(), "v1", ready)
			},
		},
		"a group is ready when it is of the cluster's release": {
			goal: Ready,
			before: func(t *testing.T, c client.Client) {
				t.Helper()
				becomes(t, c, cluster(), "v1", ready)
				becomes(t, c, group(), "v0", ready)
			},
			then: func(t *testing.T, c client.Client) {
				t.Helper()
				becomes(t, c, group(), "v1", ready)
			},
		},
		"until a user must act": {
			goal: Ready, before: func(*testing.T, client.Client) {},
			then: func(t *testing.T, c client.Client) {
				t.Helper()
				becomes(t, c, group(), "v1", stalled)
			},
			want: "InstanceGroup workers: The update failed.",
		},
		"what is stalled by an older spec is waited for": {
			goal: Ready,
			before: func(t *testing.T, c client.Client) {
				t.Helper()
				becomes(t, c, cluster(), "v1", ready)
				becomes(t, c, group(), "v1", stalled)
				g := group()
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(g), g); err != nil {
					t.Error(err)
				}
				g.Spec.MinSize = 7
				if err := c.Update(t.Context(), g); err != nil {
					t.Error(err)
				}
			},
			then: func(t *testing.T, c client.Client) {
				t.Helper()
				becomes(t, c, group(), "v1", ready, metav1.Condition{Type: operatorkit.ConditionStalled, Status: metav1.ConditionFalse})
			},
		},
		"until no object exists": {
			goal: Gone, before: func(*testing.T, client.Client) {},
			then: func(t *testing.T, c client.Client) {
				t.Helper()
				if err := errors.Join(c.Delete(t.Context(), cluster()), c.Delete(t.Context(), group())); err != nil {
					t.Error(err)
				}
			},
		},
		"a cluster that another client deletes does not become ready": {
			goal: Ready, before: func(*testing.T, client.Client) {},
			then: func(t *testing.T, c client.Client) {
				t.Helper()
				if err := c.Delete(t.Context(), cluster()); err != nil {
					t.Error(err)
				}
			},
			want: "deleted it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := served(t)
			c.before(t, api)
			ctx := patience.Context(t)
			first := true
			err := Follow(ctx, FollowOptions{
				Client: api, Cluster: types.NamespacedName{Namespace: "default", Name: "demo"}, Goal: c.goal, Settle: 10 * time.Millisecond,
				Observe: func(Progress) {
					if first {
						first = false
						c.then(t, api)
					}
				},
			})
			switch {
			case c.want == "" && err != nil:
				t.Errorf("it ends with %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("it ends with %v, not with %q", err, c.want)
			}
		})
	}
}
