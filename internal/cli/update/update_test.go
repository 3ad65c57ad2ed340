package update

import (
	"bytes"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cli/replace"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

const examples = "../../../examples/clusters/"

// run runs the verb with a nodeup that is there.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	programs := t.TempDir()
	for _, name := range []string{"nodeup-linux-amd64", "nodeup-linux-arm64"} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte("the program "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := Command()
	var out bytes.Buffer
	cmd.SetArgs(append([]string{"cluster", "--nodeup-dir", programs, "--target", "terraform"}, args...))
	cmd.SetOut(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// minimal are the arguments for a cluster that is complete.
func minimal(dir string, more ...string) []string {
	return append(
		[]string{
			"minimal",
			"-f",
			examples + "minimal-public.yaml",
			"--aws-account-id",
			"123456789012",
			"--ca-certificate",
			"testdata/ca.crt",
			"--out",
			dir,
		},
		more...)
}

// files returns the contents of all files below a folder.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		contents, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir+"/")] = string(contents)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTheConfigurationIsWrittenAndThenUnchanged(t *testing.T) {
	dir := t.TempDir()
	out, err := run(t, minimal(dir)...)
	if err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	for _, want := range []string{"kubernetes.tf", "data/minimal/minimal-workers.bundle.json"} {
		if before[want] == "" || !strings.Contains(out, "created "+filepath.Join(dir, want)) {
			t.Errorf("there is no %s, or it is not said:\n%s", want, out)
		}
	}
	nodeup := slices.ContainsFunc(slices.Collect(maps.Values(before)), func(s string) bool { return s == "the program nodeup-linux-amd64" })
	if !nodeup || !strings.Contains(out, "s3://minimal-123456789012-eu-central-1/pki/") {
		t.Errorf("there is no nodeup, or what is left to do is not said:\n%s", out)
	}
	out, err = run(t, minimal(dir)...)
	if err != nil || !strings.Contains(out, ": 0 files changed") || !maps.Equal(before, files(t, dir)) {
		t.Errorf("the second time it says %s (%v)", out, err)
	}
}

// EKS boots the nodes and has the keys, so a cluster of EKS needs no nodeup, no CA and no charts of the release.
func TestTheConfigurationOfEKSIsWritten(t *testing.T) {
	dir := t.TempDir()
	out, err := run(t, "managed", "-f", examples+"eks.yaml", "--aws-account-id", "123456789012", "--out", dir)
	if err != nil {
		t.Fatal(err)
	}
	written := files(t, dir)
	for _, want := range []string{"aws_eks_cluster", "aws_eks_node_group", "aws_eks_addon", "aws_eks_pod_identity_association"} {
		if !strings.Contains(written["kubernetes.tf"], `resource "`+want+`" `) {
			t.Errorf("kubernetes.tf has no %s", want)
		}
	}
	for name := range written {
		if strings.Contains(name, "nodeup") {
			t.Errorf("%s was written", name)
		}
	}
	if strings.Contains(out, "helm") || strings.Contains(out, "s3://") {
		t.Errorf("it says %s", out)
	}
}

func TestFilesNoLongerPartOfTheClusterAreRemoved(t *testing.T) {
	dir := t.TempDir()
	for name, contents := range map[string]string{"main.tf": "# A user's.\n", "values.json": "{}"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(contents), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := run(t, minimal(dir, "--layout", "stack")...); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "data/minimal/minimal-removed.bundle.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, minimal(dir)...); err != nil {
		t.Fatal(err)
	}
	after := files(t, dir)
	if after["main.tf"] == "" || after["values.json"] == "" || after["kubernetes.tf"] == "" {
		t.Errorf("a file is missing: %v", slices.Sorted(maps.Keys(after)))
	}
	for _, removed := range []string{"kubernetes-minimal.tf", "kubernetes-minimal-workers.tf", "data/minimal/minimal-removed.bundle.json"} {
		if after[removed] != "" {
			t.Errorf("%s still exists", removed)
		}
	}
}

func TestMistakesAreReportedAndNothingIsWritten(t *testing.T) {
	const foreign = "# A user's.\n"
	for name, test := range map[string]struct {
		args     func(dir string) []string
		existing string
		want     string
	}{
		"a cluster that is not in the files": {
			func(dir string) []string { return append([]string{"other"}, minimal(dir)[1:]...) }, "",
			"the files have no cluster other; they have minimal",
		},
		"another account than the role's": {
			func(dir string) []string {
				return []string{
					"abroad", "-f", examples + "two-accounts.yaml", "--aws-account-id", "123456789012", "--ca-certificate",
					"testdata/ca.crt", "--out", dir,
				}
			}, "",
			"cluster abroad is made by a role of account 210987654321",
		},
		"no CA": {
			func(dir string) []string {
				return []string{"minimal", "-f", examples + "minimal-public.yaml", "--aws-account-id", "123456789012", "--out", dir}
			}, "",
			"or the certificate with --ca-certificate",
		},
		"no nodeup":         {func(dir string) []string { return minimal(dir, "--nodeup-dir", dir) }, "", "there is no nodeup for amd64 in"},
		"another target":    {func(dir string) []string { return minimal(dir, "--target", "pulumi") }, "", "--target pulumi is unknown; use terraform or cloudformation"},
		"another layout":    {func(dir string) []string { return minimal(dir, "--layout", "many") }, "", "--layout many is unknown; use cluster or stack"},
		"a user's own file": {func(dir string) []string { return minimal(dir) }, foreign, "kubernetes.tf was not written by aws-operator"},
		"another cluster's": {func(dir string) []string { return minimal(dir) }, "# Written by aws-operator for cluster big. The next\n", "kubernetes.tf belongs to cluster big"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if test.existing != "" {
				if err := os.WriteFile(filepath.Join(dir, "kubernetes.tf"), []byte(test.existing), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := run(t, test.args(dir)...); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if now := files(t, dir); len(now) > 1 || now["kubernetes.tf"] != test.existing {
				t.Errorf("there is %v", now)
			}
		})
	}
}

func TestClusterOfFilesIsFoundByItsNameInKops(t *testing.T) {
	text, err := os.ReadFile(examples + "minimal-public.yaml")
	if err != nil {
		t.Fatal(err)
	}
	named := strings.Replace(string(text), "  name: minimal\n", "  name: minimal\n  annotations: {cluster-operator.aws/kops-name: k8s.example.com}\n", 1)
	file, dir := filepath.Join(t.TempDir(), "cluster.yaml"), t.TempDir()
	if err := os.WriteFile(file, []byte(named), 0o600); err != nil {
		t.Fatal(err)
	}
	args := slices.Replace(minimal(dir), 0, 3, "k8s.example.com", "-f", file)
	if out, err := run(t, args...); err != nil || !strings.Contains(out, "Cluster minimal is in ") || files(t, dir)["data/minimal/minimal-workers.bundle.json"] == "" {
		t.Errorf("%v\n%s", err, out)
	}
	args[0] = "other.example.com"
	if _, err := run(t, args...); err == nil || !strings.Contains(err.Error(), "the files have no cluster other.example.com; they have minimal") {
		t.Errorf("another name: %v", err)
	}
}

// kept puts an example into a state in a folder, with keys, and returns its reference.
func kept(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	cmd := replace.Command()
	cmd.SetArgs([]string{"-f", examples + name + ".yaml", "--state", dir})
	cmd.SetOut(&bytes.Buffer{})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestStateHasAllInputs(t *testing.T) {
	state, dir := kept(t, "minimal-public"), t.TempDir()
	before := files(t, state)
	out, err := run(t, "minimal", "--state", state, "--out", dir)
	if err != nil {
		t.Fatal(err)
	}
	after := files(t, dir)
	if strings.Contains(out, "machines wait for it") || !strings.Contains(out, " --repo https://helm.cilium.io --version ") ||
		!strings.Contains(out, "\n  aws-operator addons apply minimal --state "+state+" --yes\n") {
		t.Errorf("it says\n%s", out)
	}
	if after["data/minimal/chart-cilium.values.yaml"] == "" {
		t.Error("the values of the chart are missing")
	}
	for _, file := range []string{"ca.crt", "ca.key", "etcd/ca.key", "front-proxy-ca.key", "sa.key", "sa.pub"} {
		info, err := os.Stat(filepath.Join(dir, "data/minimal/secrets", file))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "data/minimal/secrets")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of the keys: %v, %v", info, err)
	}
	if !strings.Contains(after["data/minimal/secrets/.gitignore"], "\n*\n") {
		t.Error("Git would take the keys")
	}
	for file, contents := range after {
		if strings.Contains(contents, "PRIVATE KEY") && !strings.HasPrefix(file, "data/minimal/secrets/") {
			t.Errorf("there is a key in %s", file)
		}
	}
	if !maps.Equal(before, files(t, state)) {
		t.Error("the state has changed")
	}
	out, err = run(t, "minimal", "--state", state, "--out", dir)
	if err != nil || !strings.Contains(out, ": 0 files changed") {
		t.Errorf("the second time it says %s (%v)", out, err)
	}
}

// Terraform would delete the keys from the bucket, and machines that boot later would have none.
func TestUpdateWithoutKeysDoesNotRemoveThem(t *testing.T) {
	dir := t.TempDir()
	if _, err := run(t, "minimal", "--state", kept(t, "minimal-public"), "--out", dir); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	if _, err := run(t, minimal(dir)...); err == nil || !strings.Contains(err.Error(), "name the state that has them with --state") {
		t.Errorf("it says %v", err)
	}
	if !maps.Equal(before, files(t, dir)) {
		t.Error("files have changed")
	}
}

func TestModeOfReadableFileIsRestricted(t *testing.T) {
	state, dir := kept(t, "minimal-public"), t.TempDir()
	if _, err := run(t, "minimal", "--state", state, "--out", dir); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, "data/minimal/secrets/ca.key")
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, "minimal", "--state", state, "--out", dir); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("it is %v, %v", info, err)
	}
}

// alone runs the verb without a target.
func alone(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := Command()
	var out bytes.Buffer
	cmd.SetArgs(append([]string{"cluster"}, args...))
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestDefaultTargetIsCloudFormationAndRequiresYes(t *testing.T) {
	sim := simulatortest.New(t, simulator.Options{Account: "123456789012", Region: "eu-central-1"})
	server := httptest.NewServer(sim.Handler())
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "123456789012", "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_PROFILE": "",
	} {
		t.Setenv(name, value)
	}
	programs := t.TempDir()
	if err := os.WriteFile(filepath.Join(programs, "nodeup-linux-amd64"), []byte("nodeup"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := alone(t, "minimal", "--state", kept(t, "minimal-public"), "--nodeup-dir", programs)
	if err != nil || !strings.Contains(out, "AWS::EC2::VPC") || !strings.Contains(out, "--yes") {
		t.Errorf("it says %v\n%s", err, out)
	}
	if sim.Calls()["cloudformation/CreateStack"] > 0 {
		t.Error("a stack was made")
	}
}

// The resources of Terraform are those of CloudFormation, and so are their prices.
func TestPriceOfAConfigurationIsThatOfThePlan(t *testing.T) {
	cmd := Command()
	var errOut bytes.Buffer
	programs := t.TempDir()
	for _, name := range []string{"nodeup-linux-amd64", "nodeup-linux-arm64"} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte("the program "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd.SetArgs(append([]string{"cluster", "--nodeup-dir", programs, "--target", "terraform"}, minimal(t.TempDir())...))
	cmd.SetOut(&bytes.Buffer{})
	cmd.SetErr(&errOut)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	planned, err := os.ReadFile("../../plan/testdata/price-minimal.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, total, _ := strings.Cut(string(planned), "Total: 0.00 → ")
	if total == "" || !strings.HasSuffix(errOut.String(), "  Total: "+total) || !strings.Contains(errOut.String(), "network load balancer") {
		t.Errorf("a plan says %s, but this\n%s", total, errOut.String())
	}
}

func TestFlagsOfTheOtherTargetAreRefused(t *testing.T) {
	if _, err := alone(t, "minimal", "-f", examples+"minimal-public.yaml", "--layout", "stack"); err == nil ||
		!strings.Contains(err.Error(), "--layout requires --target terraform") {
		t.Errorf("it says %v", err)
	}
	if _, err := run(t, minimal(t.TempDir(), "--yes")...); err == nil ||
		!strings.Contains(err.Error(), "--yes requires --target cloudformation") {
		t.Errorf("it says %v", err)
	}
}
