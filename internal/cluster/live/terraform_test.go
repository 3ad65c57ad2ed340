package live_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/test/livetest"
)

// A cluster of EKS whose status is lost is not taken for one of Terraform, although its node groups do not have the tags of
// CloudFormation.
func TestStacksOfEKSAreNotTakenForTerraform(t *testing.T) {
	workers := &v1alpha1.InstanceGroup{
		ObjectMeta: metav1.ObjectMeta{Name: "workers"}, Spec: v1alpha1.InstanceGroupSpec{MinSize: 1, MaxSize: 1},
	}
	w := livetest.New(t, livetest.Options{Groups: []*v1alpha1.InstanceGroup{workers}, EKS: true})
	if made, err := live.MadeByTerraform(t.Context(), w.Clients, w.Cluster); err != nil || made {
		t.Errorf("made by Terraform: %t, %v", made, err)
	}
}
