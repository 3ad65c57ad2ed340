package chartrender

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	"helm.sh/helm/v4/pkg/action"
	ci "helm.sh/helm/v4/pkg/chart"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	repo "helm.sh/helm/v4/pkg/repo/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// answer executes a request in the child.
func answer(asked *Request) *Response {
	switch {
	case asked.Chart != nil:
		rendered, err := render(asked.Chart)
		if err != nil {
			return &Response{Refused: err.Error()}
		}
		return &Response{Rendered: rendered}
	case asked.Find != nil:
		found, err := find(asked.Find)
		if err != nil {
			return &Response{Refused: err.Error()}
		}
		return &Response{Found: found}
	}
	return &Response{Refused: "the request is empty"}
}

// find finds a chart in a repository's index.
func find(asked *Find) (*Found, error) {
	index := repo.NewIndexFile()
	if err := yaml.Unmarshal(asked.Index, index); err != nil {
		return nil, fmt.Errorf("parse the repository's index: %w", err)
	}
	index.Entries = map[string]repo.ChartVersions{
		asked.Chart: slices.DeleteFunc(index.Entries[asked.Chart], func(v *repo.ChartVersion) bool {
			return v == nil || v.Metadata == nil
		}),
	}
	index.SortEntries()
	version, err := index.Get(asked.Chart, asked.Version)
	if err != nil {
		return nil, fmt.Errorf("the repository has no chart %s %s", asked.Chart, asked.Version)
	}
	if len(version.URLs) == 0 {
		return nil, fmt.Errorf("the repository's index has no URL for chart %s %s", asked.Chart, asked.Version)
	}
	return &Found{URL: version.URLs[0], Digest: strings.TrimPrefix(version.Digest, "sha256:")}, nil
}

// render renders a chart like Helm's install and upgrade.
func render(asked *Chart) (*Rendered, error) {
	archive.MaxDecompressedChartSize, archive.MaxDecompressedFileSize = maxUnpacked, maxFile
	loaded, err := loader.LoadArchive(bytes.NewReader(asked.Archive))
	if err != nil {
		return nil, fmt.Errorf("read the archive: %w", err)
	}
	capabilities, err := capabilitiesOf(asked)
	if err != nil {
		return nil, err
	}
	if err := usable(loaded, capabilities); err != nil {
		return nil, err
	}
	if err := chartutil.ProcessDependencies(loaded, asked.Values); err != nil {
		return nil, fmt.Errorf("prepare its dependencies: %w", err)
	}
	rendered := &Rendered{
		Name: loaded.Metadata.Name, Version: loaded.Metadata.Version, AppVersion: loaded.Metadata.AppVersion,
		Description: loaded.Metadata.Description,
	}
	if err := rendered.addCRDs(loaded, asked, capabilities); err != nil {
		return nil, err
	}
	values, err := util.ToRenderValues(loaded, asked.Values, common.ReleaseOptions{
		Name: asked.Release, Namespace: asked.Namespace, Revision: asked.Revision, IsInstall: !asked.Upgrade, IsUpgrade: asked.Upgrade,
	}, capabilities)
	if err != nil {
		return nil, err //nolint:wrapcheck // It is Helm's own sentence.
	}
	files, err := engine.Engine{}.Render(loaded, values)
	if err != nil {
		return nil, err //nolint:wrapcheck // It is Helm's own sentence.
	}
	return rendered, rendered.addManifests(files, asked.Patches)
}

func capabilitiesOf(asked *Chart) (*common.Capabilities, error) {
	version, err := common.ParseKubeVersion(asked.KubeVersion)
	if err != nil {
		return nil, fmt.Errorf("parse the cluster's version %q: %w", asked.KubeVersion, err)
	}
	return &common.Capabilities{
		KubeVersion: *version,
		APIVersions: asked.APIVersions,
		HelmVersion: common.DefaultCapabilities.HelmVersion,
	}, nil
}

// usable returns why a chart cannot be installed.
func usable(loaded *chart.Chart, capabilities *common.Capabilities) error {
	switch constraint := loaded.Metadata.KubeVersion; {
	case loaded.Metadata.Type == "library":
		return errors.New("it is a library chart and installs nothing")
	case constraint != "" && !chartutil.IsCompatibleRange(constraint, capabilities.KubeVersion.String()):
		return fmt.Errorf("it requires Kubernetes %s, but the cluster runs %s", constraint, capabilities.KubeVersion.Version)
	}
	needed := make([]ci.Dependency, 0, len(loaded.Metadata.Dependencies))
	for _, one := range loaded.Metadata.Dependencies {
		needed = append(needed, one)
	}
	if err := action.CheckDependencies(loaded, needed); err != nil {
		return fmt.Errorf("its archive lacks charts that it depends on: %w", err)
	}
	return nil
}

// addCRDs adds the chart's CustomResourceDefinitions and makes their kinds known to its templates.
func (r *Rendered) addCRDs(loaded *chart.Chart, asked *Chart, capabilities *common.Capabilities) error {
	for _, crd := range loaded.CRDObjects() {
		objects, err := objectsIn(string(crd.File.Data))
		if err != nil {
			return fmt.Errorf("%s: %w", crd.Filename, err)
		}
		content, err := documents(objects)
		if err != nil {
			return fmt.Errorf("%s: %w", crd.Filename, err)
		}
		r.CRDs = append(r.CRDs, File{Name: "crds/" + strings.ReplaceAll(crd.Filename, "/", "_"), Content: content})
		for _, object := range objects {
			var definition apiextensionsv1.CustomResourceDefinition
			if asked.Upgrade || json.Unmarshal(object, &definition) != nil { // An upgrade installs no CRDs.
				continue
			}
			for i := range definition.Spec.Versions {
				version := path.Join(definition.Spec.Group, definition.Spec.Versions[i].Name)
				capabilities.APIVersions = append(capabilities.APIVersions, version, version+"/"+definition.Spec.Names.Kind)
			}
		}
	}
	return nil
}

// addManifests adds the rendered and patched templates, without the notes that Helm prints after an
// installation.
func (r *Rendered) addManifests(files map[string]string, patches []Patch) error {
	size := 0
	patcher := &patcher{patches: patches, used: make([]bool, len(patches))}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Base(name) == "NOTES.txt" {
			continue
		}
		if size += len(files[name]); size > maxRendered {
			return fmt.Errorf("it renders more than %d megabytes", maxRendered>>20)
		}
		objects, err := objectsIn(files[name])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for i := range objects {
			if objects[i], err = patcher.apply(objects[i]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		content, err := documents(objects)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if content != "" {
			r.Manifests = append(r.Manifests, File{Name: name, Content: content})
		}
	}
	return patcher.unused()
}

// objectsIn returns the objects of YAML documents as JSON, without empty documents.
func objectsIn(text string) ([][]byte, error) {
	split := releaseutil.SplitManifests(text)
	keys := slices.Collect(maps.Keys(split))
	sort.Sort(releaseutil.BySplitManifestsOrder(keys))
	var objects [][]byte
	for _, key := range keys {
		object, err := yaml.YAMLToJSON([]byte(split[key]))
		if err != nil {
			return nil, fmt.Errorf("the rendered manifest is not valid YAML: %w", err)
		}
		if string(object) == "null" {
			continue
		}
		var of head
		if err := json.Unmarshal(object, &of); err != nil || of.Kind == "" || of.APIVersion == "" {
			return nil, errors.New("the rendered manifest is not a Kubernetes object: it has no apiVersion or kind")
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// documents encodes objects as YAML documents.
func documents(objects [][]byte) (string, error) {
	var out strings.Builder
	for i, object := range objects {
		document, err := yaml.JSONToYAML(object)
		if err != nil {
			return "", fmt.Errorf("encode an object: %w", err)
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(document)
		if out.Len() > maxRendered { // Anchors may have expanded.
			return "", fmt.Errorf("it renders more than %d megabytes", maxRendered>>20)
		}
	}
	return out.String(), nil
}
