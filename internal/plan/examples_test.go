package plan_test

import (
	"path/filepath"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/plan"
)

// For every example, a plan right after the creation has no changes, and needs few calls.
func TestPlanAfterCreationHasNoChanges(t *testing.T) {
	files, err := filepath.Glob("../../examples/clusters/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no examples: %v", err)
	}
	for _, path := range files {
		file := filepath.Base(path)
		t.Run(file, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			w := newSuite(t)
			objects := example(t, file)
			for _, c := range clustersOf(objects) {
				w.allowRole(c)
				w.principals(c)
				w.network(c, objects)
			}
			w.put(objects...)
			for _, c := range clustersOf(objects) {
				w.apply(c.Name)
				before := w.calls()
				if made := w.plan(c.Name); !made.Empty() || len(made.Notes) > 0 {
					t.Errorf("%s: %s", c.Name, text(t, made))
				}
				most := 5
				if c.Spec.Network.VPC != "" {
					most += 3 // two attributes of the VPC and its DHCP options
				}
				if calls := w.calls() - before; calls > most {
					t.Errorf("%s: the plan took %d calls, at most %d are allowed", c.Name, calls, most)
				}
			}
		})
	}
}

// A ClusterConfig of eksctl becomes a cluster with its nodes, and a plan right after the creation has no changes.
func TestClusterConfigOfEksctlIsCreated(t *testing.T) {
	t.Parallel() // most of it is waiting
	w := newSuite(t)
	w.put(read(t, "../../examples/eksctl/cluster.yaml")...)
	w.apply("shop")
	if c := w.input("shop").Cluster; c.Spec.ControlPlane.EKS == nil || len(w.instances()) != 2 {
		t.Errorf("EKS does not run it, or %d instances run", len(w.instances()))
	}
	if made := w.plan("shop"); !made.Empty() {
		t.Errorf("the plan is %s", text(t, made))
	}
}

// What a new cluster consists of, without asking anybody.
func TestCreationsArePlannedOffline(t *testing.T) {
	files, err := filepath.Glob("../../examples/clusters/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		objects := example(t, filepath.Base(path))
		for _, c := range clustersOf(objects) {
			t.Run(c.Name, func(t *testing.T) {
				in := plan.Input{}
				var groups []*v1alpha1.InstanceGroup
				for _, o := range objects {
					if g, ok := o.(*v1alpha1.InstanceGroup); ok && g.Spec.Cluster == c.Name {
						groups = append(groups, g)
					}
				}
				in.Overlay(c, groups, nil)
				made, err := plan.Of(
					t.Context(), in, plan.Options{Operator: operator.DefaultClusterName, AccountID: account, NodeupDir: nodeupFolder(t)},
				)
				if err != nil {
					t.Fatal(err)
				}
				goldenText(t, "create-"+c.Name+".txt", text(t, made))
			})
		}
	}
}
