package release

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Facts are the cluster's facts that the values of a release's addons can reference.
type Facts struct {
	// Cluster takes the place of $(CLUSTER): the cluster's name.
	Cluster string
	// Region takes the place of $(REGION).
	Region string
	// PodCIDR takes the place of $(POD_CIDR).
	PodCIDR string
	// ServiceCIDR takes the place of $(SERVICE_CIDR).
	ServiceCIDR string
	// Roles are the ARNs of the IAM roles of addons' service accounts, by the addon's name. An
	// addon's takes the place of $(ROLE_ARN) in its values.
	Roles map[string]string
}

// AddonRoles are the outputs of the base stack that hold the IAM role of an addon's service
// account, by the addon's name. See templates/addons.yaml of package render.
var AddonRoles = map[string]string{"aws-ebs-csi-driver": "EBSCSIRole"}

// Addons returns a copy of the release's addons with the facts of a cluster in their values. It
// returns an error for values that are no object. A control plane that EKS runs has none of them.
func Addons(r *v1alpha1.Release, c *v1alpha1.Cluster) ([]v1alpha1.ReleaseAddon, error) {
	if c.Spec.ControlPlane.EKS != nil {
		return nil, nil
	}
	addons := r.DeepCopy().Spec.Addons
	n := &c.Spec.Network
	facts := Facts{Cluster: c.Name, Region: c.Spec.Region, PodCIDR: n.PodCIDR, ServiceCIDR: n.ServiceCIDR, Roles: map[string]string{}}
	for addon, output := range AddonRoles {
		facts.Roles[addon] = c.Status.Outputs[output]
	}
	if err := FillAddons(addons, facts); err != nil {
		return nil, err
	}
	return addons, nil
}

// FillAddons adds to each of the release's addons the values for clusters with or without a role
// for it, and replaces the references to facts in its values, in place. It returns an error for
// values that are no object.
func FillAddons(addons []v1alpha1.ReleaseAddon, facts Facts) error {
	for i := range addons {
		a := &addons[i]
		role := facts.Roles[a.Name]
		variant := a.WithoutRole
		if role != "" {
			variant = a.WithRole
		}
		a.WithRole, a.WithoutRole = nil, nil
		if variant != nil {
			a.Patches = slices.Concat(a.Patches, variant.Patches)
		} else {
			variant = &v1alpha1.AddonVariant{}
		}
		replacer := strings.NewReplacer("$(CLUSTER)", facts.Cluster, "$(REGION)", facts.Region,
			"$(POD_CIDR)", facts.PodCIDR, "$(SERVICE_CIDR)", facts.ServiceCIDR, "$(ROLE_ARN)", role)
		if err := fillValues(a, variant.Values, replacer); err != nil {
			return fmt.Errorf("addon %s: values: %w", a.Name, err)
		}
	}
	return nil
}

// fillValues merges more over the addon's values and replaces the references to facts.
func fillValues(a *v1alpha1.ReleaseAddon, more *runtime.RawExtension, replacer *strings.Replacer) error {
	var values map[string]any
	for _, layer := range []*runtime.RawExtension{a.Values, more} {
		if layer == nil || len(layer.Raw) == 0 {
			continue
		}
		var decoded map[string]any
		if err := json.Unmarshal(layer.Raw, &decoded); err != nil {
			return err //nolint:wrapcheck // The caller names the addon.
		}
		values = Overlay(values, decoded)
	}
	if values == nil {
		return nil
	}
	raw, err := json.Marshal(fill(values, replacer))
	if err != nil {
		return err //nolint:wrapcheck // The caller names the addon.
	}
	a.Values = &runtime.RawExtension{Raw: raw}
	return nil
}

// Overlay merges values like Helm: maps are merged, everything else is replaced, and null removes.
// https://helm.sh/docs/chart_template_guide/values_files/
func Overlay(under, over map[string]any) map[string]any {
	if len(over) == 0 {
		return under
	}
	merged := make(map[string]any, len(under)+len(over))
	maps.Copy(merged, under)
	for name, value := range over {
		below, isMap := merged[name].(map[string]any)
		if above, ok := value.(map[string]any); ok && isMap {
			merged[name] = Overlay(below, above)
			continue
		}
		merged[name] = value
	}
	return merged
}

// fill replaces references in all strings, including keys.
func fill(value any, replacer *strings.Replacer) any {
	switch v := value.(type) {
	case string:
		return replacer.Replace(v)
	case []any:
		for i := range v {
			v[i] = fill(v[i], replacer)
		}
		return v
	case map[string]any:
		filled := make(map[string]any, len(v))
		for key, one := range v {
			filled[replacer.Replace(key)] = fill(one, replacer)
		}
		return filled
	}
	return value
}
