package containerbuild

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// Addon is an addon of releases that is built here: its chart, and the tag of its image.
type Addon struct {
	// Chart and Version are the name and the version of the chart, Digest the SHA-256 of its archive.
	Chart, Version, Digest string
	// Tag is the tag of the image, which is newer than the one that the chart names.
	Tag string
}

// addonModules are the modules that contain an addon's program and its chart.
var addonModules = []struct{ module, chart, tag string }{
	{cloudManager, "aws-cloud-controller-manager", "v" + cloudManagerVersion},
	{metricsServer, "metrics-server", "v" + metricsServerVersion},
}

const (
	chartsDir  = "charts"
	addonsFile = "addons.json"
)

// ChartsDir returns the repository of charts in the folder of programs, as an address of Helm's
// `repository` names it.
func ChartsDir(dir string) string { return filepath.Join(dir, chartsDir) }

// Addons returns the addons whose charts are in a folder of programs.
func Addons(dir string) ([]Addon, error) {
	text, err := os.ReadFile(filepath.Join(ChartsDir(dir), addonsFile)) //nolint:gosec // our own
	if err != nil {
		return nil, fmt.Errorf("read the addons: %w", err)
	}
	var addons []Addon
	if err := json.Unmarshal(text, &addons); err != nil {
		return nil, fmt.Errorf("read the addons: %w", err)
	}
	return addons, nil
}

// writeCharts packs the charts from the modules' own sources as a chart repository
// (https://helm.sh/docs/topics/chart_repository/).
func writeCharts(ctx context.Context, root, dir string) error {
	folder := ChartsDir(dir)
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // charts that all users read
		return fmt.Errorf("make the folder of charts: %w", err)
	}
	var addons []Addon
	entries := map[string]any{}
	for _, m := range addonModules {
		list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", m.module) //nolint:gosec // one of the above
		list.Dir = filepath.Join(root, addonsModule)
		out, err := list.Output()
		if err != nil {
			return fmt.Errorf("find the sources of %s: %w", m.module, err)
		}
		addon, err := packChart(os.DirFS(filepath.Join(strings.TrimSpace(string(out)), "charts")), m.chart, folder)
		if err != nil {
			return fmt.Errorf("pack the chart %s: %w", m.chart, err)
		}
		addon.Tag = m.tag
		addons = append(addons, addon)
		entries[addon.Chart] = []map[string]any{{
			"apiVersion": "v2", "name": addon.Chart, "version": addon.Version, "digest": addon.Digest,
			"urls": []string{addon.archive()},
		}}
	}
	index, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "entries": entries})
	if err != nil {
		return fmt.Errorf("write the index of charts: %w", err)
	}
	list, err := json.Marshal(addons)
	if err != nil {
		return fmt.Errorf("write the list of addons: %w", err)
	}
	for name, text := range map[string][]byte{"index.yaml": index, addonsFile: list} {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			return fmt.Errorf("write the index of charts: %w", err)
		}
	}
	return nil
}

func (a Addon) archive() string { return a.Chart + "-" + a.Version + ".tgz" }

// packChart writes the archive of a chart: one folder of its name. Equal sources give equal archives.
func packChart(charts fs.FS, name, folder string) (Addon, error) {
	var meta struct{ Version string }
	text, err := fs.ReadFile(charts, path.Join(name, "Chart.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &meta)
	}
	if err != nil {
		return Addon{}, err
	}
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	err = fs.WalkDir(charts, name, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(charts, file)
		if err != nil {
			return err
		}
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: file, Size: int64(len(text)), Mode: 0o644}); err != nil {
			return err
		}
		_, err = archive.Write(text)
		return err
	})
	if err != nil {
		return Addon{}, err
	}
	if err := archive.Close(); err != nil {
		return Addon{}, err
	}
	if err := zipped.Close(); err != nil {
		return Addon{}, err
	}
	sum := sha256.Sum256(packed.Bytes())
	addon := Addon{Chart: name, Version: meta.Version, Digest: hex.EncodeToString(sum[:])}
	return addon, os.WriteFile(filepath.Join(folder, addon.archive()), packed.Bytes(), 0o600)
}
