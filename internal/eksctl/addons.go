package eksctl

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/translation"
)

// latest is the version with which eksctl takes the latest one. EKS has no such name.
const latest = "latest"

// addons translates EKS's add-ons and the roles of their pods.
func (c *cluster) addons() {
	eks := c.result.Spec.ControlPlane.EKS
	for _, p := range c.spec.Sections("addons", addonFields) {
		addon := v1alpha1.EKSAddon{Name: p.Text("name"), Version: p.Text("version")}
		if addon.Version == latest {
			p.Note("version", translation.Info, "EKS installs its default version: set a version to have another")
			addon.Version = ""
		}
		if text := p.Text("configurationValues"); text != "" {
			addon.Values = objectOf(p, text)
		}
		if addon.Name == "" {
			p.Refuse("name", "an add-on needs a name, for example vpc-cni")
		} else {
			eks.Addons = append(eks.Addons, addon)
		}
		for _, one := range p.Sections("podIdentityAssociations", podIdentityFields) {
			c.podIdentity(one)
		}
		p.Finish()
	}
	c.networkAddons()
}

// objectOf returns the configuration of an add-on, which is an object in JSON or YAML.
func objectOf(p *translation.Part, text string) *runtime.RawExtension {
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil || !strings.HasPrefix(string(raw), "{") {
		p.Refuse("configurationValues", "write an object in JSON or YAML")
		return nil
	}
	return &runtime.RawExtension{Raw: raw}
}

// podIdentity translates a Pod Identity association. Those of add-ons are in the namespace kube-system if they name
// none.
func (c *cluster) podIdentity(p *translation.Part) {
	one := v1alpha1.EKSPodIdentity{
		Namespace: p.Text("namespace"), ServiceAccount: p.Text("serviceAccountName"), Role: p.Text("roleARN"),
		Policies: p.Texts("permissionPolicyARNs"),
	}
	if one.Namespace == "" {
		one.Namespace = "kube-system"
	}
	switch {
	case one.ServiceAccount == "":
		p.Refuse("serviceAccountName", "an association needs a service account")
	case (one.Role == "") == (len(one.Policies) == 0):
		p.Note("serviceAccountName", translation.Warning,
			"the pods get no role: set roleARN or permissionPolicyARNs, or add podIdentities to spec.controlPlane.eks")
	default:
		identities := &c.result.Spec.ControlPlane.EKS.PodIdentities
		*identities = append(*identities, one)
	}
	p.Finish()
}
