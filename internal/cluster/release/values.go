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
	// VPC takes the place of $(VPC): the ID of the VPC, empty until it exists.
	VPC string
	// PodCIDR takes the place of $(POD_CIDR).
	PodCIDR string
	// ServiceCIDR takes the place of $(SERVICE_CIDR).
	ServiceCIDR string
	// HostedZones are the IDs of the Route 53 zones whose records addons may change. An item of a list with $(HOSTED_ZONE)
	// is there once for each of them.
	HostedZones []string
	// Roles are the ARNs of the IAM roles of addons' service accounts, by the addon's name. An
	// addon's takes the place of $(ROLE_ARN) in its values.
	Roles map[string]string
}

// The addons for which the operator creates an IAM role.
const (
	AddonEBSCSIDriver           = "aws-ebs-csi-driver"
	AddonLoadBalancerController = "aws-load-balancer-controller"
	AddonExternalDNS            = "external-dns"
	AddonCertManager            = "cert-manager"
)

// AddonCalico is the addon with the network of pods of Calico.
const AddonCalico = "calico"

// AddonRoles are the outputs of the base stack that hold the IAM role of an addon's service
// account, by the addon's name. The templates addon*.yaml of package render have the roles.
var AddonRoles = map[string]string{
	AddonEBSCSIDriver:           "EBSCSIRole",
	AddonLoadBalancerController: "LoadBalancerControllerRole",
	AddonExternalDNS:            "ExternalDNSRole",
	AddonCertManager:            "CertManagerRole",
}

// outputVPC is the output of the base stack that holds the ID of the VPC.
const outputVPC = "VPC"

// Outputs identifies the outputs of a cluster's base stack that the values of addons may contain.
func Outputs(c *v1alpha1.Cluster) string {
	parts := []string{c.Status.Outputs[outputVPC]}
	for _, addon := range slices.Sorted(maps.Keys(AddonRoles)) {
		parts = append(parts, c.Status.Outputs[AddonRoles[addon]])
	}
	return strings.Join(parts, " ")
}

// LeaveOut returns the release's addons without those that a cluster does not use: the optional ones that it does not name,
// disables, or replaces with another chart, what is part of them, and what those that it uses replace.
func LeaveOut(addons []v1alpha1.ReleaseAddon, own []v1alpha1.Addon) []v1alpha1.ReleaseAddon {
	named := func(name string) bool {
		return slices.ContainsFunc(own, func(o v1alpha1.Addon) bool { return o.Name == name && !o.Disabled && o.Chart == "" })
	}
	replaced := map[string]bool{}
	for _, a := range addons {
		if a.Optional && a.Replaces != "" && named(a.Name) {
			replaced[a.Replaces] = true
		}
	}
	return slices.DeleteFunc(addons, func(a v1alpha1.ReleaseAddon) bool {
		return replaced[a.Name] || a.Optional && !named(a.Name) && (a.PartOf == "" || !named(a.PartOf))
	})
}

// Replacement returns the addons of a release of which a cluster has the first one installed, and would get the second one
// in its place by its spec: pods that run keep the network of the first one. Both are empty if there are none.
func Replacement(addons []v1alpha1.ReleaseAddon, own []v1alpha1.Addon, installed []v1alpha1.AddonStatus) (before, after string) {
	used := LeaveOut(slices.Clone(addons), own)
	has := func(name string) bool {
		return slices.ContainsFunc(installed, func(i v1alpha1.AddonStatus) bool { return i.Name == name })
	}
	gets := func(name string) bool {
		return slices.ContainsFunc(used, func(a v1alpha1.ReleaseAddon) bool { return a.Name == name }) &&
			!slices.ContainsFunc(own, func(o v1alpha1.Addon) bool { return o.Name == name && o.Disabled })
	}
	for _, a := range addons {
		switch {
		case a.Replaces == "":
		case has(a.Replaces) && !has(a.Name) && gets(a.Name):
			return a.Replaces, a.Name
		case has(a.Name) && !has(a.Replaces) && gets(a.Replaces):
			return a.Name, a.Replaces
		}
	}
	return "", ""
}

// NeedsRole reports whether an addon cannot be installed, since the cluster has no IAM role for its service account. It is
// for addons that [FillAddons] has filled.
func NeedsRole(addon *v1alpha1.ReleaseAddon) bool { return addon.WithRole != nil }

// Addons returns a copy of the release's addons that a cluster uses, with the facts of the cluster in their values. It
// returns an error for values that are no object, and for an addon that lacks its IAM role. A control plane that EKS runs
// has none of them.
func Addons(r *v1alpha1.Release, c *v1alpha1.Cluster) ([]v1alpha1.ReleaseAddon, error) {
	if c.Spec.ControlPlane.EKS != nil {
		return nil, nil
	}
	addons := LeaveOut(r.DeepCopy().Spec.Addons, c.Spec.Addons)
	n := &c.Spec.Network
	facts := Facts{
		Cluster: c.Name, Region: c.Spec.Region, VPC: c.Status.Outputs[outputVPC],
		PodCIDR: n.PodCIDR, ServiceCIDR: n.ServiceCIDR, HostedZones: c.Spec.IAM.HostedZones, Roles: map[string]string{},
	}
	for addon, output := range AddonRoles {
		facts.Roles[addon] = c.Status.Outputs[output]
	}
	if err := FillAddons(addons, facts); err != nil {
		return nil, err
	}
	if err := verifyKubelets(addons, c); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(addons, func(a v1alpha1.ReleaseAddon) bool { return NeedsRole(&a) }); i >= 0 {
		return nil, fmt.Errorf("addon %s needs an IAM role for its service account, and the cluster's base stack has none", addons[i].Name)
	}
	return addons, nil
}

// FillAddons adds to each of the release's addons the values for clusters with or without a role
// for it, and replaces the references to facts in its values, in place. It returns an error for
// values that are no object. An addon that [NeedsRole] has no role, and cannot do without.
func FillAddons(addons []v1alpha1.ReleaseAddon, facts Facts) error {
	for i := range addons {
		a := &addons[i]
		role := facts.Roles[a.Name]
		variant := a.WithoutRole
		if role != "" {
			variant = a.WithRole
		}
		if role != "" || a.WithoutRole != nil {
			a.WithRole = nil
		}
		a.WithoutRole = nil
		if variant != nil {
			a.Patches = slices.Concat(a.Patches, variant.Patches)
		} else {
			variant = &v1alpha1.AddonVariant{}
		}
		replacer := strings.NewReplacer("$(CLUSTER)", facts.Cluster, "$(REGION)", facts.Region, "$(VPC)", facts.VPC,
			"$(POD_CIDR)", facts.PodCIDR, "$(SERVICE_CIDR)", facts.ServiceCIDR, "$(ROLE_ARN)", role)
		if err := fillValues(a, variant.Values, &filler{replacer, facts.HostedZones}); err != nil {
			return fmt.Errorf("addon %s: values: %w", a.Name, err)
		}
	}
	return nil
}

// fillValues merges more over the addon's values and replaces the references to facts.
func fillValues(a *v1alpha1.ReleaseAddon, more *runtime.RawExtension, with *filler) error {
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
	raw, err := json.Marshal(with.fill(values))
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

// filler replaces references to facts.
type filler struct {
	replacer *strings.Replacer
	zones    []string
}

// referenceToZone takes the place of one hosted zone.
const referenceToZone = "$(HOSTED_ZONE)"

// fill replaces references in all strings, including keys.
func (f *filler) fill(value any) any {
	switch v := value.(type) {
	case string:
		return f.replacer.Replace(v)
	case []any:
		filled := make([]any, 0, len(v))
		for _, item := range v {
			text, isText := item.(string)
			if !isText || !strings.Contains(text, referenceToZone) {
				filled = append(filled, f.fill(item))
				continue
			}
			for _, zone := range f.zones {
				filled = append(filled, f.replacer.Replace(strings.ReplaceAll(text, referenceToZone, zone)))
			}
		}
		return filled
	case map[string]any:
		filled := make(map[string]any, len(v))
		for key, one := range v {
			filled[f.replacer.Replace(key)] = f.fill(one)
		}
		return filled
	}
	return value
}
