package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"github.com/aws-operator/aws-operator/config/chart"
)

func info() *debug.BuildInfo {
	return &debug.BuildInfo{
		GoVersion: "go1.26.5", Main: debug.Module{Path: "github.com/aws-operator/aws-operator", Version: "v1.2.3"},
		Deps: []*debug.Module{
			{Path: "github.com/Masterminds/semver/v3", Version: "v3.5.0"},
			{Path: "example.com/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/new", Version: "v2.0.0+incompatible"}},
		},
		Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "arm64"}},
	}
}

var created = time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))

// The rules are those of https://spdx.github.io/spdx-spec/v2.3/: every identifier begins with SPDXRef-
// and is unique, and relationships are between elements that exist.
func TestSBOMNamesAllModules(t *testing.T) {
	data, err := sbom("aws-operator_v1.2.3_linux-arm64", []byte("program"), info(), created)
	if err != nil {
		t.Fatal(err)
	}
	again, err := sbom("aws-operator_v1.2.3_linux-arm64", []byte("program"), info(), created)
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("two SBOMs of a program differ: %v", err)
	}
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	if d.Version != "SPDX-2.3" || d.License != "CC0-1.0" || d.Creation.Created != "2026-01-02T02:04:05Z" {
		t.Errorf("the document is %s, %s, of %s", d.Version, d.License, d.Creation.Created)
	}
	ids := map[string]bool{d.ID: true}
	var locators []string
	for _, m := range d.Packages {
		if !regexp.MustCompile(`^SPDXRef-[A-Za-z0-9.-]+$`).MatchString(m.ID) || ids[m.ID] {
			t.Errorf("%s is no identifier, or not unique", m.ID)
		}
		ids[m.ID] = true
		locators = append(locators, m.References[0].Locator)
	}
	for _, r := range d.Relationships {
		if !ids[r.From] || !ids[r.To] {
			t.Errorf("%s %s %s names an element that does not exist", r.From, r.Type, r.To)
		}
	}
	want := "pkg:golang/github.com/aws-operator/aws-operator@v1.2.3 pkg:golang/stdlib@1.26.5 " +
		"pkg:golang/github.com/masterminds/semver/v3@v3.5.0 pkg:golang/example.com/new@v2.0.0%2Bincompatible"
	if got := strings.Join(locators, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := d.Packages[0].Checksums[0].Value; got != "1310ca2c8932dbd118668bd97442558a3e1f546b5e15c69699dfbd6024f548d8" {
		t.Errorf("the SHA-256 of the program is %s", got)
	}
}

func TestProgramsOfAnotherPlatformOrVersionAreRefused(t *testing.T) {
	if err := check(info(), "linux-arm64", "v1.2.3"); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ platform, version, want string }{
		{"linux-amd64", "v1.2.3", "the program is for linux-arm64"},
		{"linux-arm64", "v1.2.4", "the program has the version v1.2.3: build it from a clean checkout of the tag v1.2.4"},
	} {
		if err := check(info(), c.platform, c.version); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func TestVersionsAreChecked(t *testing.T) {
	for _, version := range []string{"", "1.2.3", "v1.2", "latest", "v1.2.3-4-gabc/x"} {
		err := run([]string{"-programs", "p", "-out", "o", "-version", version, "-time", "2026-01-02T03:04:05Z"}, nil)
		if err == nil || !strings.Contains(err.Error(), "is not a version such as v1.2.3") {
			t.Errorf("%q gives %v", version, err)
		}
	}
}

// Helm reads the archive, and the chart runs the images of its version.
func TestChartHasTheVersion(t *testing.T) {
	file, packed, err := chartArchive(os.DirFS("../../config/chart/aws-operator"), "aws-operator", "v1.2.3")
	if err != nil || file != "aws-operator-1.2.3.tgz" {
		t.Fatalf("got %s, %v", file, err)
	}
	loaded, err := loader.LoadArchive(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if m := loaded.Metadata; m.Version != "1.2.3" || m.AppVersion != "v1.2.3" {
		t.Errorf("the chart has the version %s, of the application %s", m.Version, m.AppVersion)
	}
	path := t.TempDir() + "/" + file
	if err := os.WriteFile(path, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	manifests, err := chart.Render(path, chart.Release{Name: "aws-operator", Namespace: "aws-operator"}, nil)
	if err != nil || !strings.Contains(manifests, "image: aws-operator:v1.2.3\n") {
		t.Errorf("the image of the version is not in the manifests: %v", err)
	}
}

func TestChartWithoutItsVersionIsRefused(t *testing.T) {
	without := fstest.MapFS{"Chart.yaml": {Data: []byte("name: aws-operator\nversion: 1.0.0\n"), Mode: fs.ModePerm}}
	if _, _, err := chartArchive(without, "aws-operator", "v1.2.3"); err == nil || !strings.Contains(err.Error(), `"version: 0.0.0"`) {
		t.Errorf("got %v", err)
	}
}
