package clusterapi

import (
	"slices"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// Cluster API deletes the Node of a provider ID that leaves the list, so the list must keep the ID of
// a Node whose instance EC2 has not confirmed again yet, as after a start of the operator. It must
// not take in Nodes that only claim to be of the group.
func TestProviderIDsLeaveOnlyWithTheirNodes(t *testing.T) {
	const kept, claimed, other, deleted, added = "aws:///z/i-1", "aws:///z/i-2", "aws:///z/i-3", "aws:///z/i-4", "aws:///z/i-5"
	group := &v1alpha1.InstanceGroup{Spec: v1alpha1.InstanceGroupSpec{ProviderIDList: []string{kept, deleted}}}
	group.Name = "one"
	got := providerIDs(group, []workload.Node{
		{Name: "added", Group: "one", InstanceID: "i-5", Claimed: "i-5", ProviderID: added},
		{Name: "kept", Claimed: "i-1", ProviderID: kept},
		{Name: "claimed", Group: "one", Claimed: "i-2", ProviderID: claimed},
		{Name: "other", Group: "two", InstanceID: "i-3", Claimed: "i-3", ProviderID: other},
		{Name: "without", Group: "one"},
	})
	if want := []string{kept, added}; !slices.Equal(got, want) {
		t.Errorf("IDs %v, want %v", got, want)
	}
}
