package controller_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

const ebsPolicy = "arn:aws:iam::aws:policy/service-role/AmazonEBSCSIDriverPolicy"

// withAddons wants add-ons, one of which takes over what EKS has installed itself, and a role for the pods of another.
func (w *eksSuite) withAddons() {
	of := w.managed.Spec.ControlPlane.EKS
	of.Addons = []v1alpha1.EKSAddon{
		{Name: "coredns", Values: &runtime.RawExtension{Raw: []byte(`{"replicaCount":1}`)}},
		{Name: "eks-pod-identity-agent"},
		{Name: "aws-ebs-csi-driver"},
	}
	of.PodIdentities = []v1alpha1.EKSPodIdentity{
		{Namespace: "kube-system", ServiceAccount: "ebs-csi-controller-sa", Policies: []string{ebsPolicy}},
	}
}

// addon returns an add-on of the cluster.
func (w *eksSuite) addon(name string) (string, string, error) {
	out, err := w.eks().DescribeAddon(w.t.Context(), &eks.DescribeAddonInput{ClusterName: aws.String("managed"), AddonName: &name})
	if err != nil {
		return "", "", err
	}
	return string(out.Addon.Status) + " " + aws.ToString(out.Addon.AddonVersion), aws.ToString(out.Addon.ConfigurationValues), nil
}

// addons returns the names of the add-ons of the cluster.
func (w *eksSuite) addons() []string {
	w.t.Helper()
	out, err := w.eks().ListAddons(w.t.Context(), &eks.ListAddonsInput{ClusterName: aws.String("managed")})
	if err != nil {
		w.t.Fatal(err)
	}
	return out.Addons
}

// EKS installs add-ons once nodes are ready, changes and removes them, and deletes all of it with the list.
func TestAddonsOfEKS(t *testing.T) {
	w := newEKSSuite(t, nil, (*eksSuite).withAddons)
	w.condition(w.managed, "EKSAddonsReady", metav1.ConditionTrue, "StackReady")
	w.complete(account, region, "managed", "managed-workers", "managed-eks-addons")
	if is, values, err := w.addon("coredns"); err != nil || !strings.HasPrefix(is, "ACTIVE v1.") || values != `{"replicaCount":1}` {
		t.Errorf("coredns is %s with %s: %v", is, values, err)
	}
	found, err := w.eks().ListPodIdentityAssociations(t.Context(), &eks.ListPodIdentityAssociationsInput{
		ClusterName: aws.String("managed"),
	})
	if err != nil || len(found.Associations) != 1 || aws.ToString(found.Associations[0].ServiceAccount) != "ebs-csi-controller-sa" {
		t.Errorf("the associations are %v: %v", found, err)
	}

	// A change in place.
	w.patch(w.managed, `{"spec":{"controlPlane":{"eks":{"addons":[{"name":"coredns"},{"name":"eks-pod-identity-agent","version":"v1.4.0-eksbuild.2"}]}}}}`)
	w.eventually("EKS has changed its add-ons", func() error {
		is, _, err := w.addon("eks-pod-identity-agent")
		if names := w.addons(); err == nil && (is != "ACTIVE v1.4.0-eksbuild.2" || len(names) != 2) {
			return fmt.Errorf("the agent is %s, and the add-ons are %v", is, names)
		}
		return err
	})
	w.condition(w.managed, "Ready", metav1.ConditionTrue, "")

	// None are wanted.
	w.patch(w.managed, `{"spec":{"controlPlane":{"eks":{"addons":null,"podIdentities":null}}}}`)
	w.eventually("the stack is deleted, and the status forgets it", func() error {
		if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(w.managed), w.managed); err != nil {
			return err
		}
		if left := w.stacks(account, region)["managed-eks-addons"]; left != "" || len(w.managed.Status.Stacks) != 1 || len(w.addons()) > 0 {
			return fmt.Errorf("the stack is %q, and the status has %v", left, w.managed.Status.Stacks)
		}
		return nil
	})
	w.condition(w.managed, "Ready", metav1.ConditionTrue, "")
	for _, c := range w.managed.Status.Conditions {
		if c.Type == "EKSAddonsReady" {
			t.Errorf("the condition stays: %+v", c)
		}
	}
}

// A Cluster with add-ons is deleted with them, and what EKS refuses is said.
func TestRefusedAddonsOfEKS(t *testing.T) {
	w := newEKSSuite(t, nil, (*eksSuite).withAddons, func(w *eksSuite) {
		w.managed.Spec.ControlPlane.EKS.Addons[1].Version = "v0.0.1-eksbuild.1"
	})
	refused := w.condition(w.managed, "EKSAddonsReady", metav1.ConditionFalse, "")
	w.eventually("the condition says what EKS refuses", func() error {
		refused = w.condition(w.managed, "EKSAddonsReady", metav1.ConditionFalse, "")
		if !strings.Contains(refused.Message, "Addon version specified is not supported") {
			return fmt.Errorf("it says %s: %s", refused.Reason, refused.Message)
		}
		return nil
	})
	w.condition(w.managed, "NodesReady", metav1.ConditionTrue, "AllReady") // Nodes are counted nevertheless.
	w.patch(w.managed, `{"spec":{"controlPlane":{"eks":{"addons":[{"name":"coredns"},{"name":"eks-pod-identity-agent"}]}}}}`)
	w.condition(w.managed, "EKSAddonsReady", metav1.ConditionTrue, "StackReady")
	if err := w.client.Delete(t.Context(), w.managed); err != nil {
		t.Fatal(err)
	}
	w.waitDeleted(w.managed)
	w.nothingIsLeft()
}

// A group whose stack would have the name of that of the add-ons is refused.
func TestGroupNamedLikeAddonsOfEKS(t *testing.T) {
	w := newEKSSuite(t, nil)
	other := w.aGroup("eks-addons", "managed")
	w.create(other)
	refused := w.condition(other, "Stalled", metav1.ConditionTrue, "")
	if !strings.Contains(refused.Message, "eks-addons") {
		t.Errorf("it says %s", refused.Message)
	}
}
