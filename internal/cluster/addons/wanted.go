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

// Chart is an addon as it is wanted.
type Chart struct {
	// Name is the addon's and its Helm release's, Namespace where it is installed.
	Name, Namespace string
	// Chart is the chart's name in Repository, or an oci:// address.
	Chart, Repository string
	// Version is the chart's version.
	Version string
	// Values are laid over the chart's own.
	Values map[string]any
	// Archive is the SHA-256 that the chart's archive must have; empty if neither the release nor the Cluster says.
	Archive string `json:",omitempty"` //nolint:tagliatelle // as the other fields, of which the digest is made
	// Patches change what the chart renders.
	Patches []v1alpha1.AddonPatch `json:",omitempty"` //nolint:tagliatelle // as above
}

// digestLength is what fits a label beside being unique enough.
const digestLength = 32

// Digest tells one form of an addon from another. Fields that are newer than Helm releases in clusters are left out of it
// while they are empty, so that a newer operator does not upgrade what it finds.
func (c *Chart) Digest() string {
	data, err := json.Marshal(c)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:digestLength]
}

// Wanted merges a release's addons with what a Cluster says of them, sorted by name. It errs, naming the field,
// on an addon of the Cluster's own that lacks a chart or a version, and on values that are no object.
func Wanted(released []v1alpha1.ReleaseAddon, own []v1alpha1.Addon) ([]Chart, error) {
	charts := map[string]*Chart{}
	for i := range released {
		addon := &released[i]
		values, err := decode(addon.Values)
		if err != nil {
			return nil, fmt.Errorf("the release's addon %s: values: %w", addon.Name, err)
		}
		charts[addon.Name] = &Chart{
			Name: addon.Name, Namespace: addon.Namespace, Chart: addon.Chart, Repository: addon.Repository, Version: addon.Version, Values: values,
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

// wantedBy is Wanted for a cluster: the release's values with the cluster's facts in them.
func wantedBy(cluster *v1alpha1.Cluster, of *v1alpha1.Release) ([]Chart, error) {
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
	if addon.Chart != "" { // Another chart: the release's repository, version and patches say nothing about it.
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
		return fmt.Errorf("the release has no addon of that name; say where its chart is: chart")
	case chart.Version == "":
		return fmt.Errorf("name the chart's version: without one the addon would change by itself")
	case chart.Repository == "" && !strings.HasPrefix(chart.Chart, "oci://"):
		return fmt.Errorf("chart %q is a name; say in repository where it is, or give an oci:// address", chart.Chart)
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
