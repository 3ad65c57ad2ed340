package render_test

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
)

// What EKS is asked for with Auto Mode. The control plane's role keeps its policies when Auto Mode is disabled, and
// BootstrapSelfManagedAddons never changes in a cluster, since CloudFormation would replace it.
func TestAutoModeOfEKS(t *testing.T) {
	pools := []v1alpha1.EKSNodePool{v1alpha1.EKSSystem}
	const role = `{"Fn::GetAtt":["AutoModeNodeRole","Arn"]}`
	for name, c := range map[string]struct {
		mode                       v1alpha1.EKSAutoMode
		compute, enabled, selfMade string
	}{
		"a new cluster": {
			v1alpha1.EKSAutoMode{NodePools: pools}, `{"Enabled":true,"NodePools":["system"],"NodeRoleArn":` + role + `}`, "true", "false",
		},
		"no node pools": {
			v1alpha1.EKSAutoMode{NodePools: []v1alpha1.EKSNodePool{}}, `{"Enabled":true,"NodePools":[]}`, "true", "false",
		},
		"disabled": {
			v1alpha1.EKSAutoMode{NodePools: pools, State: v1alpha1.EKSAutoModeDisabled}, `{"Enabled":false}`, "false", "false",
		},
		"a cluster that existed": {
			v1alpha1.EKSAutoMode{NodePools: pools, SelfManagedAddons: v1alpha1.EKSKeepSelfManagedAddons},
			`{"Enabled":true,"NodePools":["system"],"NodeRoleArn":` + role + `}`, "true", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := read(t, "../../../examples/clusters/eks-auto-mode.yaml")
			f.cluster.Spec.Release = "set-1.2.0"
			f.cluster.Spec.ControlPlane.EKS.AutoMode, f.cluster.Spec.ControlPlane.EKS.PodIdentities = &c.mode, nil
			resolved, _ := f.resolve(t, setRelease("1.2.0"))
			s, err := render.Base(resolved)
			if err != nil {
				t.Fatal(err)
			}
			for path, want := range map[string]string{
				"ComputeConfig": c.compute, "StorageConfig": `{"BlockStorage":{"Enabled":` + c.enabled + `}}`,
				"KubernetesNetworkConfig/ElasticLoadBalancing": `{"Enabled":` + c.enabled + `}`, "BootstrapSelfManagedAddons": c.selfMade,
			} {
				if got := property(s, "Cluster", strings.Split(path, "/")...); got != want {
					t.Errorf("%s is %s, want %s", path, got, want)
				}
			}
			if got := property(s, "ControlPlaneRole", "ManagedPolicyArns"); !strings.Contains(got, "AmazonEKSComputePolicy") {
				t.Errorf("the role has the policies %s", got)
			}
			valid(t, s)
		})
	}
}
