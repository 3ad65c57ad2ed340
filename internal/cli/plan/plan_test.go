package plan_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cli"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/programs"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/plan"
	"github.com/aws-operator/aws-operator/internal/state"
)

// asCommand makes this program run as aws-operator, for tests of a whole process.
const asCommand = "BE_AWS_OPERATOR"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

const examples = "../../../examples/clusters/"

// folder is a state in a folder, with clusters that are deployed as the status says.
type folder struct {
	t      testing.TB
	dir    string
	nodeup string
	state  *state.State
}

func newFolder(tb testing.TB) *folder {
	tb.Helper()
	f := &folder{t: tb, dir: tb.TempDir(), nodeup: tb.TempDir()}
	f.must(os.WriteFile(filepath.Join(f.nodeup, "nodeup-linux-amd64"), []byte("nodeup"), 0o600))
	var err error
	f.state, err = state.Open(tb.Context(), f.dir, state.Options{})
	f.must(err)
	// No call may leave: nothing listens there.
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ACCESS_KEY_ID": "123456789012", "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_MAX_ATTEMPTS":   "1",
		"AWS_OPERATOR_STATE": f.dir, "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
	} {
		setenv(tb, name, value)
	}
	return f
}

func setenv(tb testing.TB, name, value string) {
	tb.Helper()
	tb.Setenv(name, value)
}

func (f *folder) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// put writes the cluster of an example under a name, with its instance groups.
func (f *folder) put(file, name string) {
	f.t.Helper()
	sources, err := manifest.Open([]string{examples + file}, nil)
	f.must(err)
	set, err := manifest.Read(sources, manifest.Options{})
	f.must(err)
	var objects []client.Object
	for _, m := range set.Manifests {
		m.Object.SetNamespace("default")
		switch o := m.Object.(type) {
		case *v1alpha1.Cluster:
			o.Name = name
		case *v1alpha1.InstanceGroup:
			o.Name, o.Spec.Cluster = name+"-workers", name
		}
		objects = append(objects, m.Object)
	}
	_, err = f.state.Replace(f.t.Context(), objects)
	f.must(err)
}

// deploy writes the status of a cluster all of which is made.
func (f *folder) deploy(name string) {
	f.t.Helper()
	ctx := f.t.Context()
	objects, err := f.state.Load(ctx, name)
	f.must(err)
	c := objects.Cluster
	releases, err := release.Builtin()
	f.must(err)
	in := model.Input{
		Cluster:   c,
		Operator:  operator.DefaultClusterName,
		AccountID: "123456789012",
		Partition: "aws",
		DNSSuffix: "amazonaws.com",
	}
	for _, one := range releases {
		if one.Name == c.Spec.Release {
			in.Release = one
		}
	}
	resolved, err := model.Resolve(in)
	f.must(err)
	base, err := render.Base(resolved)
	f.must(err)
	c.Status.Account, c.Status.Release, c.Status.Outputs = "123456789012", c.Spec.Release, map[string]string{}
	for output := range base.Template.Outputs {
		c.Status.Outputs[output] = strings.ToLower(output) + "-1"
	}
	c.Status.Stacks = []v1alpha1.StackStatus{f.status(base, nil)}
	find := func(a v1alpha1.Architecture) (string, error) {
		file, err := programs.In(f.nodeup).Find(a)
		return file.Hash, err
	}
	for i := range resolved.Slots {
		made, err := stacks.Slot(resolved, i, c.Status.Outputs, &record.Stack{}, find)
		f.must(err)
		c.Status.Stacks = append(c.Status.Stacks, f.status(made.Stack, &made.Machines))
	}
	for _, g := range objects.Groups {
		shape, err := model.ResolveGroup(resolved, g)
		f.must(err)
		made, err := stacks.Group(resolved, shape, c.Status.Outputs, plan.From(objects).CACertificate, &record.Stack{}, find)
		f.must(err)
		status := f.status(made.Stack, &made.Machines)
		g.Status.Stack = &status
		f.must(f.state.Save(ctx, name, g))
	}
	f.must(f.state.Save(ctx, name, c))
}

func (f *folder) status(made *render.Stack, machines *record.Machines) v1alpha1.StackStatus {
	f.t.Helper()
	want, status := stacks.Desired(made), v1alpha1.StackStatus{Name: made.Name}
	f.must(record.Encode(&status, record.Stack{
		Record: stack.Record{
			StackID: "arn:aws:cloudformation:eu-central-1:123456789012:stack/" + made.Name + "/1", Status: "CREATE_COMPLETE", Digest: want.Digest(),
		},
		Machines: &record.History{Now: machines},
	}))
	return status
}

// run runs the command in this process.
func (f *folder) run(args ...string) (code int, out, errOut string) {
	f.t.Helper()
	var stdout, stderr bytes.Buffer
	code = cli.Main(append([]string{"plan", "--nodeup-dir", f.nodeup}, args...), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestNoChangesNeedNoCalls(t *testing.T) {
	f := newFolder(t)
	f.put("private-three-slots.yaml", "private")
	f.deploy("private")
	for _, args := range [][]string{{}, {"cluster", "private"}, {"--detailed-exitcode"}} {
		code, out, errOut := f.run(args...)
		if code != 0 || out != "Cluster private\n\nNo changes.\n" || errOut != "" {
			t.Errorf("plan %v exits with %d and says %s%s", args, code, out, errOut)
		}
	}
}

func TestCreationIsPlannedFromFilesOnly(t *testing.T) {
	f := newFolder(t)
	file := []string{"-f", examples + "minimal-public.yaml", "--aws-account-id", "123456789012"}
	code, out, errOut := f.run(append(file, "--detailed-exitcode", "-o", "json")...)
	var read struct {
		Plans []struct {
			Cluster string
			Stacks  []struct{ Name, Action string }
			Summary plan.Summary
		}
	}
	if err := json.Unmarshal([]byte(out), &read); err != nil || code != 2 || errOut != "" {
		t.Fatalf("it exits with %d and says %s%s (%v)", code, out, errOut, err)
	}
	if len(read.Plans) != 1 || read.Plans[0].Cluster != "minimal" || len(read.Plans[0].Stacks) != 3 ||
		read.Plans[0].Stacks[0].Action != "Create" ||
		read.Plans[0].Summary.Create < 20 {
		t.Errorf("it plans %s", out)
	}
	if code, out, _ = f.run(file...); code != 0 || !strings.Contains(out, "in 3 stacks.") {
		t.Errorf("without --detailed-exitcode it exits with %d and says %s", code, out)
	}
	if entries, err := os.ReadDir(f.dir); err != nil || len(entries) > 0 {
		t.Errorf("the plan wrote into the state: %v (%v)", entries, err)
	}
}

func TestMistakesAreReportedInOneSentence(t *testing.T) {
	f := newFolder(t)
	f.put("minimal-public.yaml", "minimal")
	f.deploy("minimal")
	edited := filepath.Join(t.TempDir(), "edited.yaml")
	text, err := os.ReadFile(examples + "minimal-public.yaml")
	f.must(err)
	f.must(os.WriteFile(edited, bytes.ReplaceAll(text, []byte("maxSize: "), []byte("maxSize: 1")), 0o600))
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	f.must(os.WriteFile(broken, bytes.ReplaceAll(text, []byte("release: v1.36.3"), []byte("release: v0.1.0")), 0o600))
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"a cluster that is not there":             {[]string{"cluster", "other"}, "there is no Cluster other"},
		"two names":                               {[]string{"cluster", "a", "b"}, "name one cluster"},
		"another format":                          {[]string{"-o", "yaml"}, "--output yaml is unknown"},
		"a release that is not there":             {[]string{"-f", broken}, `there is no release "v0.1.0"`},
		"AWS that must be asked and is not there": {[]string{"-f", edited}, "AWS cannot be reached at 127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := f.run(test.args...)
			if code != 1 || out != "" || !strings.Contains(strings.ToLower(errOut), strings.ToLower(test.want)) ||
				strings.Count(errOut, "Error:") != 1 ||
				strings.Count(errOut, "\n") > 2 {
				t.Errorf("it exits with %d and says %s%s", code, out, errOut)
			}
		})
	}
}

func TestPlainTextHasNoColours(t *testing.T) {
	f := newFolder(t)
	_, out, _ := f.run("-f", examples+"minimal-public.yaml", "--aws-account-id", "123456789012")
	if out == "" || strings.Contains(out, "\x1b") {
		t.Errorf("where no terminal is it says %q", out)
	}
}

// The CA is read from the state; it never gets into what is printed.
func TestNoSecretIsPrinted(t *testing.T) {
	f := newFolder(t)
	f.put("minimal-public.yaml", "minimal")
	objects, err := f.state.Load(t.Context(), "minimal")
	f.must(err)
	for _, format := range []string{"text", "json"} {
		_, out, _ := f.run("-o", format, "--aws-account-id", "123456789012")
		for _, secret := range objects.Secrets {
			for key, value := range secret.Data {
				if key == corev1.TLSPrivateKeyKey && strings.Contains(out, string(value[30:60])) {
					t.Errorf("%s of %s is printed", key, secret.Name)
				}
			}
		}
	}
}

// process runs a whole process.
func process(ctx context.Context, f *folder, args ...string) error {
	cmd := exec.CommandContext(ctx, os.Args[0], append([]string{"plan", "--nodeup-dir", f.nodeup}, args...)...)
	cmd.Env = append(os.Environ(), asCommand+"=yes")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("No changes.")) {
		return errors.Join(err, fmt.Errorf("it says %s", out))
	}
	return nil
}

// BenchmarkPlan is a whole process with nothing to change, of one cluster and of a hundred, without
// a call of AWS.
func BenchmarkPlan(b *testing.B) {
	for _, count := range []int{1, 100} {
		b.Run(fmt.Sprintf("clusters=%d", count), func(b *testing.B) {
			f := newFolder(b)
			for i := range count {
				name := fmt.Sprintf("c%d", i)
				f.put("private-three-slots.yaml", name)
				f.deploy(name)
			}
			for b.Loop() {
				f.must(process(b.Context(), f))
			}
		})
	}
}
