package release

import (
	"embed"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

//go:embed data/*.yaml
var data embed.FS

// Builtin returns new copies of the operator's built-in Releases, sorted by name. It returns an
// error if the embedded data is invalid, which a test rules out.
func Builtin() ([]*v1alpha1.Release, error) {
	entries, err := data.ReadDir("data")
	if err != nil {
		return nil, fmt.Errorf("list the built-in releases: %w", err)
	}
	releases := make([]*v1alpha1.Release, 0, len(entries))
	for _, entry := range entries {
		text, err := data.ReadFile("data/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read built-in release %s: %w", entry.Name(), err)
		}
		one := &v1alpha1.Release{}
		if err := yaml.UnmarshalStrict(text, one); err != nil {
			return nil, fmt.Errorf("parse built-in release %s: %w", entry.Name(), err)
		}
		if _, err := Set(one.Spec.ResourceSet); err != nil {
			return nil, fmt.Errorf("built-in release %s: %w", one.Name, err)
		}
		releases = append(releases, one)
	}
	return releases, nil
}
