package addons

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

// Chart is a desired addon.
type Chart struct {
	// Name is the name of the addon and its Helm release, Namespace its namespace.
	Name, Namespace string
	// Chart is the chart's name in Repository, or an oci:// address.
	Chart, Repository string
	// Version is the chart's version.
	Version string
	// Values override the chart's own.
	Values map[string]any
	// Archive is the required SHA-256 of the chart's archive; empty if neither the Release nor the
	// Cluster specifies it.
	Archive string `json:",omitempty"` //nolint:tagliatelle // as the other fields, of which the digest is made
	// Patches modify the rendered manifests.
	Patches []v1alpha1.AddonPatch `json:",omitempty"` //nolint:tagliatelle // as above
}

// digestLength fits into a label and is sufficiently unique.
const digestLength = 32

// Digest identifies a version of an addon. It omits newer fields while they are empty, so that a
// newer operator does not upgrade existing Helm releases.
func (c *Chart) Digest() string {
	data, err := json.Marshal(c)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:digestLength]
}

// Wanted merges a Release's addons with those of a Cluster, sorted by name. It returns an error
// that names the field for an addon of the Cluster's own that lacks a chart or a version, and for
// values that are no object.
func Wanted(released []v1alpha1.ReleaseAddon, own []v1alpha1.Addon) ([]Chart, error) {
	charts := map[string]*Chart{}
	for i := range released {
		addon := &released[i]
		values, err := decode(addon.Values)
		if err != nil {
			return nil, fmt.Errorf("the release's addon %s: values: %w", addon.Name, err)
		}
		charts[addon.Name] = &Chart{
			Name: addon.Name, Namespace: addon.Namespace, Chart: addon.Chart, Repository: addon.Repository, Version: addon.Version,
			Values:  values,
			Archive: addon.Digest, Patches: addon.Patches,
		}
	}
	for i := range own {
		if err := amend(charts, &own[i]); err != nil {
			return nil, fmt.Errorf("spec.addons[%d] (%s): %w", i, own[i].Name, err)
		}
	}
	wanted := make([]Chart, 0, len(charts))
	for _, chart := range charts {
		chart.Namespace = cmp.Or(chart.Namespace, metav1.NamespaceSystem)
		wanted = append(wanted, *chart)
	}
	slices.SortFunc(wanted, func(a, b Chart) int { return cmp.Compare(a.Name, b.Name) })
	return wanted, nil
}

// WantedBy returns Wanted for a cluster, with the cluster's facts in the Release's values. The spec has
// its defaults.
func WantedBy(cluster *v1alpha1.Cluster, of *v1alpha1.Release) ([]Chart, error) {
	filled, err := release.Addons(of, cluster)
	if err != nil {
		return nil, fmt.Errorf("release %s: %w", of.Name, err)
	}
	return Wanted(filled, cluster.Spec.Addons)
}

func amend(charts map[string]*Chart, addon *v1alpha1.Addon) error {
	if addon.Disabled {
		delete(charts, addon.Name)
		return nil
	}
	chart := charts[addon.Name]
	if chart == nil {
		chart = &Chart{Name: addon.Name}
		charts[addon.Name] = chart
	}
	if addon.Chart != "" { // The Release's repository, version and patches do not apply to another chart.
		chart.Chart, chart.Repository, chart.Version, chart.Archive, chart.Patches = addon.Chart, "", "", "", nil
	}
	if addon.Version != "" && addon.Version != chart.Version {
		chart.Archive = ""
	}
	chart.Archive = cmp.Or(addon.Digest, chart.Archive)
	chart.Patches = slices.Concat(chart.Patches, addon.Patches)
	chart.Namespace = cmp.Or(addon.Namespace, chart.Namespace)
	chart.Repository = cmp.Or(addon.Repository, chart.Repository)
	chart.Version = cmp.Or(addon.Version, chart.Version)
	values, err := decode(addon.Values)
	if err != nil {
		return fmt.Errorf("values: %w", err)
	}
	chart.Values = release.Overlay(chart.Values, values)
	switch {
	case chart.Chart == "":
		return fmt.Errorf("the release has no addon with that name; set chart")
	case chart.Version == "":
		return fmt.Errorf("set the chart's version: without one, the addon would change unexpectedly")
	case chart.Repository == "" && !strings.HasPrefix(chart.Chart, "oci://"):
		return fmt.Errorf("chart %q is a name; set repository, or use an oci:// address", chart.Chart)
	}
	return nil
}

func decode(values *runtime.RawExtension) (map[string]any, error) {
	if values == nil || len(values.Raw) == 0 {
		return nil, nil
	}
	var decoded map[string]any
	if err := json.Unmarshal(values.Raw, &decoded); err != nil {
		return nil, fmt.Errorf("they must be an object: %w", err)
	}
	return decoded, nil
}
