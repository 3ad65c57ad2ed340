package kops_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/kops"
)

// The nodes of a group of Karpenter stay Karpenter's, which needs a NodePool of the user.
func TestGroupsOfKarpenter(t *testing.T) {
	made, notes, err := translate(t, kops.Options{}, minimal, master,
		with(t, nodes, `spec: {manager: Karpenter, minSize: 2, maxSize: 9, maxPrice: "0.1", autoscale: true}`))
	if err != nil {
		t.Fatal(err)
	}
	group, ok := made[1].Object.(*v1alpha1.InstanceGroup)
	if !ok {
		t.Fatalf("made %+v", made)
	}
	if s := &group.Spec; s.Manager != v1alpha1.ManagerKarpenter || s.MinSize != 0 || s.Spot != nil || s.Autoscale {
		t.Errorf("the group is %+v", s)
	}
	if !slices.ContainsFunc(notes, func(n kops.Note) bool { return strings.Contains(n.Why, "let your NodePools refer to it") }) {
		t.Errorf("the notes are %v", notes)
	}
}
