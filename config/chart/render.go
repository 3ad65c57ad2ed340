package chart

import (
	"fmt"
	"strings"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/loader"
	release "helm.sh/helm/v4/pkg/release/v1"
)

// Release is the name and the namespace of a Helm release.
type Release struct{ Name, Namespace string }

// Render returns the manifests of the chart in a folder, in the order in which Helm creates them. It
// returns an error if the values do not match the chart's schema.
func Render(folder string, r Release, values map[string]any) (string, error) {
	loaded, err := loader.Load(folder)
	if err != nil {
		return "", fmt.Errorf("load the chart: %w", err)
	}
	install := action.NewInstall(action.NewConfiguration())
	install.DryRunStrategy, install.ReleaseName, install.Namespace = action.DryRunClient, r.Name, r.Namespace
	rendered, err := install.Run(loaded, values)
	if err != nil {
		return "", err //nolint:wrapcheck // It is Helm's own sentence.
	}
	made, ok := rendered.(*release.Release)
	if !ok {
		return "", fmt.Errorf("read the Helm release: unknown type %T", rendered)
	}
	return made.Manifest, nil
}

// From returns those of rendered manifests that come from a template of the chart. Helm begins each
// document with the path of its template.
func From(manifests, template string) string {
	var theirs []string
	for document := range strings.SplitSeq("\n"+manifests, "\n"+separator) {
		first, _, _ := strings.Cut(document, "\n")
		if strings.HasPrefix(first, "# Source: ") && strings.HasSuffix(first, "/templates/"+template) {
			theirs = append(theirs, separator+strings.TrimSuffix(document, "\n")+"\n")
		}
	}
	return strings.Join(theirs, "")
}

const separator = "---\n"
