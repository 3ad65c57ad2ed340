// Command archives writes what a release publishes besides images, from programs that make release has
// compiled: an archive and an SBOM for each operating system and architecture, the chart, and a list of
// checksums. It downloads nothing.
package main

import (
	"bytes"
	"debug/buildinfo"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/aws-operator/aws-operator/release/archive"
)

// platforms are the operating systems and architectures that have an archive. The commands do not
// compile for macOS and Windows yet, because of local mode.
var platforms = []string{"linux-amd64", "linux-arm64"}

// shipped are the programs of instances, which commands and the operator find beside their own.
var shipped = []string{"nodeup-linux-amd64", "nodeup-linux-arm64", "etcd-restore-linux-amd64", "etcd-restore-linux-arm64"}

const (
	program   = "aws-operator"
	checksums = "SHA256SUMS"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "archives:", err)
		os.Exit(1)
	}
}

// options are the flags of the command.
type options struct {
	programs, out, chart, license, version string
	created                                time.Time
}

func run(args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("archives", flag.ContinueOnError)
	flags.StringVar(&o.programs, "programs", "", "folder with aws-operator-OS-ARCHITECTURE and the programs of instances")
	flags.StringVar(&o.out, "out", "", "folder of the archives, which must not exist")
	flags.StringVar(&o.chart, "chart", "config/chart/aws-operator", "folder of the chart")
	flags.StringVar(&o.license, "license", "LICENSE", "file of the license")
	flags.StringVar(&o.version, "version", "", "version, such as v1.2.3")
	created := flags.String("time", "", "time of the commit, for SBOMs, as 2006-01-02T15:04:05Z")
	if err := flags.Parse(args); err != nil {
		return err //nolint:wrapcheck // It is the flag's own sentence.
	}
	if o.programs == "" || o.out == "" || flags.NArg() > 0 {
		return fmt.Errorf("usage: archives -programs FOLDER -out FOLDER -version VERSION -time TIME")
	}
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(o.version, "v")); err != nil || !strings.HasPrefix(o.version, "v") {
		return fmt.Errorf("-version %q is not a version such as v1.2.3 (make release VERSION=v1.2.3)", o.version)
	}
	var err error
	if o.created, err = time.Parse(time.RFC3339, *created); err != nil {
		return fmt.Errorf("-time: %w", err)
	}
	files, err := pack(o)
	if err != nil {
		return err
	}
	if err := os.Mkdir(o.out, 0o755); err != nil { //nolint:gosec // A release is for everybody.
		return fmt.Errorf("create the folder of the archives, which must not exist: %w", err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(o.out, name), content, 0o644); err != nil { //nolint:gosec // A release is for everybody.
			return fmt.Errorf("write: %w", err)
		}
	}
	_, err = out.Write(files[checksums])
	return err //nolint:wrapcheck // It is the writer's own.
}

// pack returns the files of the release by their names.
func pack(o options) (map[string][]byte, error) {
	license, err := os.ReadFile(o.license)
	if err != nil {
		return nil, fmt.Errorf("read the license: %w", err)
	}
	common := map[string]archive.File{"LICENSE": {Mode: archive.ModeFile, Content: license}}
	for _, name := range shipped {
		content, err := os.ReadFile(filepath.Join(o.programs, name)) //nolint:gosec // The flag names the folder.
		if err != nil {
			return nil, fmt.Errorf("read a program: %w", err)
		}
		common[name] = archive.File{Mode: archive.ModeProgram, Content: content}
	}
	files := map[string][]byte{}
	for _, platform := range platforms {
		if err := packPlatform(files, o, platform, common); err != nil {
			return nil, fmt.Errorf("%s: %w", platform, err)
		}
	}
	name, packed, err := chartArchive(os.DirFS(o.chart), program, o.version)
	if err != nil {
		return nil, err
	}
	files[name] = packed
	files[checksums] = archive.Checksums(files)
	return files, nil
}

// packPlatform adds the archive of a platform and its SBOM.
func packPlatform(files map[string][]byte, o options, platform string, common map[string]archive.File) error {
	content, err := os.ReadFile(filepath.Join(o.programs, program+"-"+platform)) //nolint:gosec // The flag names the folder.
	if err != nil {
		return fmt.Errorf("read the program: %w", err)
	}
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("read which modules the program has: %w", err)
	}
	if err := check(info, platform, o.version); err != nil {
		return err
	}
	name := program + "_" + o.version + "_" + platform
	inside := map[string]archive.File{name + "/" + program: {Mode: archive.ModeProgram, Content: content}}
	for file, f := range common {
		inside[name+"/"+file] = f
	}
	if files[name+".tar.gz"], err = archive.TarGzip(inside); err != nil {
		return err //nolint:wrapcheck // The caller names the platform.
	}
	files[name+".spdx.json"], err = sbom(name, content, info, o.created)
	return err
}

// check returns an error unless a program is of the platform and the version.
func check(info *debug.BuildInfo, platform, version string) error {
	var system, architecture string
	for _, setting := range info.Settings {
		switch setting.Key {
		case "GOOS":
			system = setting.Value
		case "GOARCH":
			architecture = setting.Value
		}
	}
	if built := system + "-" + architecture; built != platform {
		return fmt.Errorf("the program is for %s", built)
	}
	if info.Main.Version != version {
		return fmt.Errorf("the program has the version %s: build it from a clean checkout of the tag %s", info.Main.Version, version)
	}
	return nil
}
