package roles_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Only these files have roles, users or policies that the project creates. Terraform creates those of
// the same templates, which test/terraform shows.
func TestAllRolesAreTried(t *testing.T) {
	want := map[string]string{
		"internal/cluster/render/templates/iam.yaml":                  "Roles of nodes.",
		"internal/cluster/render/templates/addon-ebs-csi.yaml":        "The role of an addon.",
		"internal/cluster/render/templates/addon-load-balancers.yaml": "The role of an addon.",
		"internal/cluster/render/templates/addon-external-dns.yaml":   "The role of an addon.",
		"internal/cluster/render/templates/addon-cert-manager.yaml":   "The role of an addon.",
		"internal/cluster/render/templates/eks.yaml":                  "Roles of EKS, its nodes and pods, with policies of AWS or the user only.",
		"internal/cli/trial/roles.yaml":                               "A role without policies, for the trial of capabilities.",
	}
	for kind := range kindsWithRoles {
		want["internal/service/catalog/"+strings.ToLower(kind)+".yaml"] = "Roles of objects."
	}
	identity := regexp.MustCompile(`Type: "?AWS::IAM::(Role|User|Group|Policy|ManagedPolicy|RolePolicy|UserPolicy|GroupPolicy)\b`)
	var got []string
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() {
			if path != root && (name == "testdata" || name == "bin" || name[0] == '.') && name != ".." {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".yaml" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && identity.Match(text) {
			relative, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			got = append(got, filepath.ToSlash(relative))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), got); diff != "" {
		t.Errorf("the files with roles, users or policies differ (-want +got):\n%s", diff)
	}
	trial, err := os.ReadFile(filepath.Join(root, "internal", "cli", "trial", "roles.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if regexp.MustCompile(`\b(Policies|ManagedPolicyArns):`).Match(trial) {
		t.Error("the role of the trial has policies")
	}
}
