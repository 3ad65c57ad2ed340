package modules_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// TestLibrariesAreUsableFromOtherModules uses the programs in testdata.
func TestLibrariesAreUsableFromOtherModules(t *testing.T) {
	cases := map[string]struct {
		dir    string // the library's folder in the checkout
		module string
		output string // what the program prints
		// forbidden are modules that users of the library must not depend on.
		forbidden []string
	}{
		"operatorkit": {
			dir: "pkg/operatorkit", module: "github.com/aws-operator/aws-operator/pkg/operatorkit",
			output: "Ready True Complete\n",
			forbidden: []string{
				"github.com/aws-operator/aws-operator ", "github.com/aws/", "github.com/hashicorp/", "go.etcd.io/", "helm.sh/",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := newModule(t, filepath.Join(root, tc.dir), tc.module, filepath.Join("testdata", name))
			if got := run(t, dir, "run", "."); got != tc.output {
				t.Errorf("the program prints %q, want %q", got, tc.output)
			}
			list := run(t, dir, "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{end}}", ".")
			for _, module := range tc.forbidden {
				if strings.Contains("\n"+list, "\n"+module) {
					t.Errorf("the program depends on %s", module)
				}
			}
		})
	}
}

// TestLibrariesRequireTheVersionsOfTheRootModule ensures that the root module is tested with the
// versions that a library requires. Equal versions also share compiled packages in the build cache.
func TestLibrariesRequireTheVersionsOfTheRootModule(t *testing.T) {
	versions := requirements(t, root)
	for module, version := range requirements(t, filepath.Join(root, "pkg/operatorkit")) {
		if got := versions[module]; got != version {
			t.Errorf("pkg/operatorkit requires %s %s, the root module requires %q", module, version, got)
		}
	}
}

// requirements returns the versions that the go.mod file in a folder requires.
func requirements(t *testing.T, dir string) map[string]string {
	t.Helper()
	gomod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(string(gomod), -1) {
		versions[match[1]] = match[2]
	}
	if len(versions) == 0 {
		t.Fatalf("%s/go.mod requires nothing", dir)
	}
	return versions
}

// newModule creates a module with the Go files of source, which uses the library in the given
// folder, and returns its folder. The versions of further dependencies are the library's, so that
// nothing needs to be resolved.
func newModule(t *testing.T, library, module, source string) string {
	t.Helper()
	library, err := filepath.Abs(library)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	gomod, err := os.ReadFile(filepath.Join(library, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^module .*$`).ReplaceAllString(string(gomod), "module example.com/user")
	text += "\nrequire " + module + " v0.1.0\n\nreplace " + module + " => " + library + "\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(library, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// run runs the go command in a module and returns its output.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -trimpath -ldflags=-w", "CGO_ENABLED=0")
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, problems.String())
	}
	return string(out)
}
