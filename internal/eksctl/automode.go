package eksctl

import (
	"fmt"
	"slices"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/translation"
)

// nodePools are those that EKS Auto Mode has itself, and those of eksctl if it names none:
// https://docs.aws.amazon.com/eks/latest/eksctl/auto-mode.html
var nodePools = []v1alpha1.EKSNodePool{v1alpha1.EKSGeneralPurpose, v1alpha1.EKSSystem}

// autoMode translates EKS Auto Mode.
func (c *cluster) autoMode() {
	p := c.spec.Section("autoModeConfig", autoModeFields)
	if p == nil {
		return
	}
	named, pools := p.Field("nodePools") != nil, []v1alpha1.EKSNodePool{}
	for _, name := range p.Texts("nodePools") {
		if !slices.Contains(nodePools, v1alpha1.EKSNodePool(name)) {
			p.Refuse("nodePools", fmt.Sprintf("EKS has no node pool %s: use general-purpose and system", name))
			continue
		}
		pools = append(pools, v1alpha1.EKSNodePool(name))
	}
	if !named {
		pools = nodePools
	}
	if p.Truth("enabled", false) {
		c.result.Spec.ControlPlane.EKS.AutoMode = &v1alpha1.EKSAutoMode{NodePools: pools}
	}
	p.Finish()
}

// networkAddons adds the network add-ons that nodes of groups need in a cluster with Auto Mode, as eksctl does.
func (c *cluster) networkAddons() {
	eks := c.result.Spec.ControlPlane.EKS
	if eks.AutoMode == nil || len(c.groups) == 0 {
		return
	}
	for _, name := range model.EKSNetworkAddons {
		if !slices.ContainsFunc(eks.Addons, func(a v1alpha1.EKSAddon) bool { return a.Name == name }) {
			eks.Addons = append(eks.Addons, v1alpha1.EKSAddon{Name: name})
			c.spec.Note("addons", translation.Info, "the add-on "+name+" is added, since nodes of groups need it beside Auto Mode")
		}
	}
}
