package terraform

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cli/replace"
	"github.com/aws-operator/aws-operator/internal/cli/update"
	"github.com/aws-operator/aws-operator/internal/state"
)

// TestExamplesAreValid checks the configurations of all examples, in both layouts: fmt would change
// nothing, and the provider validates them. All are validated together as modules of one
// configuration, so that the provider starts only once; the modules use the requirements and the
// provider of the first.
func TestExamplesAreValid(t *testing.T) {
	c := newCloud(t)
	c.use()
	root, kept, binaries := t.TempDir(), filepath.Join(t.TempDir(), "state"), programs(t)
	files, err := filepath.Glob("../../examples/clusters/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no examples: %v", err)
	}
	for _, file := range files {
		c.command(replace.Command(), "-f", file, "--state", kept)
	}
	from, err := state.Open(t.Context(), kept, state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	names, err := from.Clusters(t.Context())
	if err != nil || len(names) < len(files) {
		t.Fatalf("the state has the clusters %v of %d files: %v", names, len(files), err)
	}
	modules := "provider \"aws\" {\n  region = \"" + region + "\"\n}\n"
	for i, name := range names {
		for _, layout := range []string{"cluster", "stack"} {
			whole, module := filepath.Join(t.TempDir(), name), filepath.Join("modules", name+"-"+layout)
			c.command(
				update.Command(),
				"cluster",
				name,
				"--state",
				kept,
				"--target",
				"terraform",
				"--out",
				whole,
				"--layout",
				layout,
				"--nodeup-dir",
				binaries,
			)
			c.command(update.Command(), "cluster", name, "--state", kept, "--target", "terraform", "--out", filepath.Join(root, module),
				"--layout", layout, "--nodeup-dir", binaries, "--no-provider")
			modules += fmt.Sprintf("\nmodule \"%s-%s\" {\n  source = \"./%s\"\n}\n", name, layout, module)
			p := &terraform{t: t, folder: whole, env: inherited()}
			if i == 0 {
				p = c.in(whole)
				p.run("validate", "-no-color")
				if err := os.Remove(filepath.Join(whole, "simulator_override.tf")); err != nil {
					t.Fatal(err)
				}
			}
			if out, said, code := p.try("fmt", "-check", "-recursive", "-no-color"); code != 0 {
				t.Errorf("terraform fmt would change %s, layout %s: %s%s", name, layout, out, said)
			}
		}
	}
	write(t, filepath.Join(root, "main.tf"), modules)
	all := &terraform{t: t, folder: root, env: inherited()}
	all.run(initialize()...)
	if said := all.run("validate", "-no-color"); !strings.Contains(said, "The configuration is valid.") {
		t.Errorf("terraform validate says %s", said)
	}
	t.Logf("terraform fmt and validate accept %d clusters in both layouts", len(names))
}
