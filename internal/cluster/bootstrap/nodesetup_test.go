package bootstrap_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

func TestFilesOfAGroupOverrideThoseOfTheCluster(t *testing.T) {
	f := newFixture()
	f.cluster.Spec.Nodes.Files = append(f.cluster.Spec.Nodes.Files, v1alpha1.NodeFile{Path: "/etc/motd", Content: "all"})
	f.cluster.Spec.ControlPlane.Files = append(f.cluster.Spec.ControlPlane.Files, v1alpha1.NodeFile{Path: "/etc/motd", Content: "slots"})
	f.group.Spec.Files = append(f.group.Spec.Files, v1alpha1.NodeFile{Path: "/etc/motd", Content: "group", Mode: "0600"})
	f.group.Spec.Units = append(f.group.Spec.Units, v1alpha1.NodeUnit{Name: "agent.service", State: v1alpha1.UnitMasked})
	slot, worker := bundlesOfFixture(t, f)
	if got := []string{file(slot, "/etc/motd"), file(worker, "/etc/motd")}; !slices.Equal(got, []string{"slots", "group"}) {
		t.Errorf("/etc/motd of a slot and of a worker are %q", got)
	}
	want := []bundle.Unit{{Name: "agent.service", State: bundle.UnitMasked}, {Name: "group.service", State: bundle.UnitStarted}}
	if diff := cmp.Diff(want, worker.ExtraUnits); diff != "" {
		t.Errorf("the units of a worker (-want +got):\n%s", diff)
	}
	if file(worker, bundle.UnitFolder+"/agent.service") != "" || file(worker, bundle.UnitFolder+"/agent.service.d/10-nice.conf") != "" {
		t.Error("the unit that the group overrides has files of the cluster's")
	}
	if file(worker, "/etc/agent/slot.conf") != "" || file(slot, "/etc/agent/group.conf") != "" {
		t.Error("a file is on nodes that it is not for")
	}
}

// A list in another order is no reason to replace nodes.
func TestOrderOfFilesAndUnitsDoesNotCount(t *testing.T) {
	bundles := func(reverse bool) (slot, worker *bootstrap.Bundle) {
		f := newFixture()
		nodes := &f.cluster.Spec.Nodes
		nodes.Files = append(nodes.Files, v1alpha1.NodeFile{Path: "/etc/a", Content: "a"}, v1alpha1.NodeFile{Path: "/etc/b", Content: "b"})
		nodes.Units = append(nodes.Units, v1alpha1.NodeUnit{Name: "a.timer", DropIns: []v1alpha1.UnitDropIn{
			{Name: "a.conf", Content: "[Unit]"}, {Name: "b.conf", Content: "[Unit]"},
		}})
		if reverse {
			slices.Reverse(nodes.Files)
			slices.Reverse(nodes.Units)
			slices.Reverse(nodes.Units[0].DropIns)
		}
		return bundlesOfFixture(t, f)
	}
	slot, worker := bundles(false)
	otherSlot, otherWorker := bundles(true)
	if !bytes.Equal(slot.JSON(), otherSlot.JSON()) || !bytes.Equal(worker.JSON(), otherWorker.JSON()) {
		t.Error("the bundles differ")
	}
}

// bundlesOfFixture returns the bundles of a slot and of a worker.
func bundlesOfFixture(t *testing.T, f fixture) (slot, worker *bootstrap.Bundle) {
	t.Helper()
	c, g := f.mustResolve(t)
	slot, err := bootstrap.ControlPlane(c, 0, outputs)
	if err != nil {
		t.Fatal(err)
	}
	if worker, err = bootstrap.Worker(c, g, outputs, []byte(caCertificate)); err != nil {
		t.Fatal(err)
	}
	return slot, worker
}

// Whatever the operator puts on a node, a user's file cannot be at its path.
func TestUsersCannotReplaceFilesOfTheOperator(t *testing.T) {
	for _, set := range []string{release.Set110, release.Set120} {
		slot, worker := bundlesOf(t, set, "v1.36.3", nil)
		paths := []string{worker.Kubelet.Path, slot.Etcd.MountPoint + "/member", bundle.JoinKubeconfig, "/etc/sysctl.d/90-nodeup.conf"}
		for _, b := range []*bootstrap.Bundle{slot, worker} {
			for _, f := range b.Files {
				if !strings.HasPrefix(f.Path, "/etc/agent/") && !isUsersUnit(f.Path) {
					paths = append(paths, f.Path)
				}
			}
			for _, f := range b.PKI {
				paths = append(paths, f.Path)
			}
			for _, a := range b.Artifacts {
				if a.Format == bundle.Binary {
					paths = append(paths, a.Path)
				}
			}
		}
		for _, path := range paths {
			f := newFixture()
			f.cluster.Spec.Nodes.Files = append(f.cluster.Spec.Nodes.Files, v1alpha1.NodeFile{Path: path, Content: "a"})
			_, _, err := f.resolve()
			problems, _ := errors.AsType[model.Problems](err)
			if len(problems) != 1 || problems[0].Field != "spec.nodes.files[1].path" || problems[0].Remedy == "" {
				t.Errorf("set %s, %s: %v", set, path, err)
			}
		}
	}
}

// isUsersUnit reports whether a file is of a unit of the fixture.
func isUsersUnit(path string) bool {
	return slices.ContainsFunc([]string{"agent", "slot", "group"}, func(name string) bool {
		return strings.HasPrefix(path, bundle.UnitFolder+"/"+name+".service")
	})
}
