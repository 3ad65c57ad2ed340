package release

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Facts are what the values of a release's addons can ask of a cluster.
type Facts struct {
	// Cluster takes the place of $(CLUSTER): the cluster's name.
	Cluster string
	// Region takes the place of $(REGION).
	Region string
	// PodCIDR takes the place of $(POD_CIDR).
	PodCIDR string
	// ServiceCIDR takes the place of $(SERVICE_CIDR).
	ServiceCIDR string
}

// Addons returns a copy of the release's addons with the facts of a cluster, as
// the API server has it, in their values. It errs on values that are no object.
func Addons(r *v1alpha1.Release, c *v1alpha1.Cluster) ([]v1alpha1.ReleaseAddon, error) {
	addons := r.DeepCopy().Spec.Addons
	n := &c.Spec.Network
	err := FillAddons(addons, Facts{Cluster: c.Name, Region: c.Spec.Region, PodCIDR: n.PodCIDR, ServiceCIDR: n.ServiceCIDR})
	if err != nil {
		return nil, err
	}
	return addons, nil
}

// FillAddons puts a cluster's facts into the values of the release's addons,
// in place. It errs on values that are no object.
func FillAddons(addons []v1alpha1.ReleaseAddon, facts Facts) error {
	replacer := strings.NewReplacer("$(CLUSTER)", facts.Cluster, "$(REGION)", facts.Region,
		"$(POD_CIDR)", facts.PodCIDR, "$(SERVICE_CIDR)", facts.ServiceCIDR)
	for i := range addons {
		a := &addons[i]
		if a.Values == nil || len(a.Values.Raw) == 0 {
			continue
		}
		values := map[string]any{}
		if err := json.Unmarshal(a.Values.Raw, &values); err != nil {
			return fmt.Errorf("addon %s: values: %w", a.Name, err)
		}
		raw, err := json.Marshal(fill(values, replacer))
		if err != nil {
			return fmt.Errorf("addon %s: values: %w", a.Name, err)
		}
		a.Values = &runtime.RawExtension{Raw: raw}
	}
	return nil
}

// fill replaces in all strings, those of keys too.
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
