package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// described returns the cluster as EKS has it.
func (w *eksSuite) described() (*types.Cluster, error) {
	out, err := w.eks().DescribeCluster(w.t.Context(), &eks.DescribeClusterInput{Name: aws.String("managed")})
	if err != nil {
		return nil, err
	}
	return out.Cluster, nil
}

// hasAutoMode waits until EKS Auto Mode is enabled or disabled, with these node pools.
func (w *eksSuite) hasAutoMode(enabled bool, pools ...string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("Auto Mode is enabled: %t, with %v", enabled, pools), func() error {
		of, err := w.described()
		if err != nil {
			return err
		}
		got := of.ComputeConfig
		if got == nil || aws.ToBool(got.Enabled) != enabled || !slices.Equal(slices.Sorted(slices.Values(got.NodePools)), pools) {
			return fmt.Errorf("EKS has %+v", got)
		}
		if (got.NodeRoleArn != nil) != (len(pools) > 0) || aws.ToBool(of.StorageConfig.BlockStorage.Enabled) != enabled ||
			aws.ToBool(of.KubernetesNetworkConfig.ElasticLoadBalancing.Enabled) != enabled {
			return fmt.Errorf("EKS has %+v, %+v and %+v", got, of.StorageConfig, of.KubernetesNetworkConfig)
		}
		return nil
	})
	w.condition(w.managed, "Ready", metav1.ConditionTrue, "")
}

// A Cluster with Auto Mode is ready without instance groups and nodes, installs add-ons without waiting for nodes, and is
// deleted with all its roles.
func TestClusterOfEKSWithAutoMode(t *testing.T) {
	w := newEKSSuite(t, nil, func(w *eksSuite) {
		w.managed.Spec.ControlPlane.EKS = &v1alpha1.EKS{
			AutoMode: &v1alpha1.EKSAutoMode{NodePools: []v1alpha1.EKSNodePool{v1alpha1.EKSGeneralPurpose, v1alpha1.EKSSystem}},
			Addons:   []v1alpha1.EKSAddon{{Name: "coredns"}},
			PodIdentities: []v1alpha1.EKSPodIdentity{
				{Namespace: "default", ServiceAccount: "web", Policies: []string{"arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"}},
			},
		}
		w.group = nil
	})
	w.hasAutoMode(true, "general-purpose", "system")
	w.complete(account, region, "managed", "managed-eks-addons")
	w.condition(w.managed, "EKSAddonsReady", metav1.ConditionTrue, "StackReady")
	w.condition(w.managed, "NodesReady", metav1.ConditionTrue, "AllReady")
	if instances, err := w.nodes(); err != nil || len(instances) > 0 {
		t.Errorf("instances %v: %v", instances, err)
	}
	of, err := w.described()
	if err != nil {
		t.Fatal(err)
	}
	entry, err := w.eks().DescribeAccessEntry(t.Context(), &eks.DescribeAccessEntryInput{
		ClusterName: of.Name, PrincipalArn: of.ComputeConfig.NodeRoleArn,
	})
	if err != nil || aws.ToString(entry.AccessEntry.Type) != "EC2" {
		t.Errorf("the entry of the nodes is %+v: %v", entry, err)
	}

	w.patch(w.managed, `{"spec":{"controlPlane":{"eks":{"autoMode":{"nodePools":["general-purpose"]}}}}}`)
	w.hasAutoMode(true, "general-purpose")
	after, err := w.described()
	if err != nil || aws.ToString(after.Endpoint) != aws.ToString(of.Endpoint) {
		t.Errorf("the cluster was replaced: %v", err)
	}

	if err := w.client.Delete(t.Context(), w.managed); err != nil {
		t.Fatal(err)
	}
	w.waitDeleted(w.managed)
	w.nothingIsLeft()
}

// Auto Mode is enabled in a Cluster that exists, and disabled, without another cluster or other nodes of its group.
func TestAutoModeOfEKSLater(t *testing.T) {
	w := newEKSSuite(t, nil)
	w.condition(w.managed, "Ready", metav1.ConditionTrue, "")
	w.condition(w.group, "Ready", metav1.ConditionTrue, "")
	created, err := w.described()
	if err != nil {
		t.Fatal(err)
	}
	before, err := w.nodes()
	if err != nil {
		t.Fatal(err)
	}
	w.patch(w.managed, `{"spec":{"controlPlane":{"eks":{"autoMode":{"nodePools":["system"],"selfManagedAddons":"Kept"}}}}}`)
	w.hasAutoMode(true, "system")
	w.patch(w.managed, `{"spec":{"controlPlane":{"eks":{"autoMode":{"nodePools":[]}}}}}`)
	w.hasAutoMode(true)
	w.patch(w.managed, `{"spec":{"controlPlane":{"eks":{"autoMode":{"nodePools":["general-purpose"]}}}}}`)
	w.hasAutoMode(true, "general-purpose")
	w.patch(w.managed, `{"spec":{"controlPlane":{"eks":{"autoMode":{"state":"Disabled"}}}}}`)
	w.hasAutoMode(false)
	w.keepsAutoModePolicies()
	w.patch(w.managed, `{"spec":{"controlPlane":{"eks":{"autoMode":{"state":"Enabled"}}}}}`)
	w.hasAutoMode(true, "general-purpose")

	of, err := w.described()
	if err != nil || !of.CreatedAt.Equal(*created.CreatedAt) {
		t.Errorf("the cluster was replaced: %v", err)
	}
	after, err := w.nodes()
	if err != nil || len(after) != len(before) {
		t.Fatalf("instances %v: %v", after, err)
	}
	for id := range before {
		if _, ok := after[id]; !ok {
			t.Errorf("instance %s was replaced", id)
		}
	}
	if err := w.client.Delete(t.Context(), w.managed); err != nil {
		t.Fatal(err)
	}
	w.waitDeleted(w.managed)
	w.nothingIsLeft()
}

// keepsAutoModePolicies tests that the role of the control plane has the policies with which EKS ends Auto Mode.
func (w *eksSuite) keepsAutoModePolicies() {
	w.t.Helper()
	of, err := w.described()
	if err != nil {
		w.t.Fatal(err)
	}
	role := aws.ToString(of.RoleArn)
	out, err := iam.NewFromConfig(w.awsConfig(account, region)).ListAttachedRolePolicies(w.t.Context(), &iam.ListAttachedRolePoliciesInput{
		RoleName: aws.String(role[strings.LastIndexByte(role, '/')+1:]),
	})
	if err != nil || len(out.AttachedPolicies) != 5 {
		w.t.Errorf("the policies of the role are %v: %v", out, err)
	}
}

// Groups beside Auto Mode need the network add-ons that EKS has not installed.
func TestGroupBesideAutoModeOfEKS(t *testing.T) {
	w := newEKSSuite(t, nil, func(w *eksSuite) {
		w.managed.Spec.ControlPlane.EKS.AutoMode = &v1alpha1.EKSAutoMode{NodePools: []v1alpha1.EKSNodePool{v1alpha1.EKSSystem}}
	})
	refused := w.condition(w.group, "Stalled", metav1.ConditionTrue, "")
	if !strings.Contains(refused.Message, "vpc-cni") {
		t.Errorf("it says %s", refused.Message)
	}
	w.patch(w.managed, `{"spec":{"controlPlane":{"eks":{"addons":[{"name":"vpc-cni"},{"name":"kube-proxy"},{"name":"coredns"}]}}}}`)
	w.condition(w.group, "Ready", metav1.ConditionTrue, "")
	w.condition(w.managed, "Ready", metav1.ConditionTrue, "")
}
