package state_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/state"
)

const (
	demo = `apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata:
  name: demo
spec:
  network:
    cidr: 10.0.0.0/16
    zones:
    - eu-central-1a
  region: eu-central-1
  release: v1.36.3
`
	workers = `apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata:
  name: workers
spec:
  cluster: demo
  instanceTypes:
  - m6i.large
  maxSize: 3
  minSize: 1
`
)

func objects(t *testing.T, texts ...string) []client.Object {
	t.Helper()
	set, err := manifest.Read(
		[]manifest.Source{{Name: "x.yaml", Reader: strings.NewReader(strings.Join(texts, "---\n"))}}, manifest.Options{},
	)
	if err != nil {
		t.Fatal(err)
	}
	var found []client.Object
	for _, m := range set.Manifests {
		found = append(found, m.Object)
	}
	return found
}

func open(t *testing.T, ref string) *state.State {
	t.Helper()
	s, err := state.Open(t.Context(), ref, state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// made is a state in a folder with a cluster and its instance group.
func made(t *testing.T) (*state.State, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	s := open(t, dir)
	if _, err := s.Replace(t.Context(), objects(t, demo, workers)); err != nil {
		t.Fatal(err)
	}
	return s, dir
}

// tree are all files below a folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[name] = string(data)
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return all
}

func TestClusterIsStoredInReadableFiles(t *testing.T) {
	_, dir := made(t)
	files := tree(t, dir)
	if diff := cmp.Diff(demo, files["demo/cluster.yaml"]); diff != "" {
		t.Errorf("the definition of the cluster:\n%s", diff)
	}
	if diff := cmp.Diff(workers, files["demo/instancegroups/workers.yaml"]); diff != "" {
		t.Errorf("the definition of the instance group:\n%s", diff)
	}
	for _, name := range []string{"demo-ca", "demo-etcd-ca", "demo-front-proxy-ca", "demo-sa"} {
		path := filepath.Join("demo", "secrets", name+".yaml")
		info, err := os.Stat(filepath.Join(dir, path))
		if err != nil || info.Mode().Perm() != 0o600 || !strings.Contains(files[path], "kind: Secret") {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if !strings.Contains(files["demo/secrets/.gitignore"], "\n*\n") {
		t.Errorf("the keys are not in .gitignore: %q", files["demo/secrets/.gitignore"])
	}
	if _, ok := files["demo/lock"]; ok {
		t.Error("the lock is still there")
	}
}

func TestReplaceReportsItsActions(t *testing.T) {
	s, dir := made(t)
	before := tree(t, dir)
	if got := actions(t, s, demo, workers); got != "Cluster demo unchanged, InstanceGroup workers unchanged" {
		t.Errorf("the same again: %s", got)
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("the same again changes files:\n%s", diff)
	}
	if got := actions(t, s, demo, strings.Replace(workers, "maxSize: 3", "maxSize: 5", 1)); got != "Cluster demo unchanged, InstanceGroup workers changed" {
		t.Errorf("another size: %s", got)
	}
	if got := actions(t, s, strings.Replace(workers, "name: workers", "name: more", 1)); got != "InstanceGroup more created" {
		t.Errorf("another group: %s", got)
	}
	loaded, err := s.Load(t.Context(), "demo")
	if err != nil || len(loaded.Groups) != 2 || loaded.Groups[1].Spec.MaxSize != 5 || loaded.Cluster.UID == "" {
		t.Errorf("%+v, %v", loaded, err)
	}
}

func actions(t *testing.T, s *state.State, texts ...string) string {
	t.Helper()
	changes, err := s.Replace(t.Context(), objects(t, texts...))
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, change := range changes {
		words = append(words, manifest.Kind(change.Object)+" "+change.Object.GetName()+" "+string(change.Action))
	}
	return strings.Join(words, ", ")
}

func TestKeysAreCreatedOnceAndBelongToTheCluster(t *testing.T) {
	s, _ := made(t)
	before, err := s.Load(t.Context(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	cas, err := before.CAs(clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	actions(t, s, strings.Replace(demo, "10.0.0.0/16", "10.0.0.0/16\n    topology: Private", 1))
	after, err := s.Load(t.Context(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	again, err := after.CAs(clock.RealClock{})
	if err != nil || string(cas.CACertificate()) != string(again.CACertificate()) || before.Cluster.UID != after.Cluster.UID {
		t.Errorf("the CAs differ after a change: %v", err)
	}
}

func TestStatusIsStoredSeparately(t *testing.T) {
	s, dir := made(t)
	loaded, err := s.Load(t.Context(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	c := loaded.Cluster
	c.Finalizers = []string{"aws-operator/cluster"}
	c.Status.Endpoint = "https://api.example.com:6443"
	c.Status.Conditions = []metav1.Condition{
		{Type: "Ready", Status: "True", Reason: "Done", LastTransitionTime: metav1.NewTime(time.Unix(1e9, 0))},
	}
	if err := s.Save(t.Context(), "demo", c); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(demo, tree(t, dir)["demo/cluster.yaml"]); diff != "" {
		t.Errorf("the definition has changed:\n%s", diff)
	}
	again, err := s.Load(t.Context(), "demo")
	if err != nil || again.Cluster.Status.Endpoint != c.Status.Endpoint || again.Cluster.Generation != 1 ||
		len(again.Cluster.Finalizers) != 1 {
		t.Errorf("%+v, %v", again, err)
	}
	edit(t, dir, "demo/cluster.yaml", "v1.36.3", "v1.36.4")
	if again, err = s.Load(t.Context(), "demo"); err != nil || again.Cluster.Generation != 2 || again.Cluster.Spec.Release != "v1.36.4" {
		t.Errorf("an edit by hand: %+v, %v", again, err)
	}
}

func edit(t *testing.T, dir, name, old, with string) {
	t.Helper()
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		t.Fatalf("%s has no %q", name, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), old, with, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRemovingTheFileOfAGroupDeletesIt(t *testing.T) {
	s, dir := made(t)
	loaded, err := s.Load(t.Context(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "demo/instancegroups/workers.yaml")); err != nil {
		t.Fatal(err)
	}
	if without, err := s.Load(t.Context(), "demo"); err != nil || len(without.Groups) != 0 {
		t.Errorf("one that never came to anything is still there: %+v, %v", without, err)
	}
	group := loaded.Groups[0]
	group.Finalizers = []string{"aws-operator/cluster"}
	if err := s.Save(t.Context(), "demo", group); err != nil {
		t.Fatal(err)
	}
	gone, err := s.Load(t.Context(), "demo")
	if err != nil || len(gone.Groups) != 1 || gone.Groups[0].DeletionTimestamp.IsZero() || gone.Groups[0].Spec.Cluster != "demo" {
		t.Fatalf("%+v, %v", gone, err)
	}
	if got := actions(t, s, workers); got != "InstanceGroup workers created" {
		t.Errorf("put back: %s", got)
	}
	if back, err := s.Load(t.Context(), "demo"); err != nil || !back.Groups[0].DeletionTimestamp.IsZero() {
		t.Errorf("put back, and still being deleted: %+v, %v", back, err)
	}
}

func TestRemoveLeavesNothing(t *testing.T) {
	s, dir := made(t)
	unlock, err := s.Lock(t.Context(), "demo", "delete")
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := s.Load(t.Context(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range loaded.All() {
		if err := s.Remove(t.Context(), "demo", object); err != nil {
			t.Error(err)
		}
		if err := s.Remove(t.Context(), "demo", object); err != nil {
			t.Errorf("a second time: %v", err)
		}
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "demo")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is left: %v", tree(t, dir))
	}
}

func TestInterruptedReplaceIsCompletedByTheNext(t *testing.T) {
	s, dir := made(t)
	before, err := s.Load(t.Context(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"demo/cluster.yaml", "demo/secrets/demo-sa.yaml"} { // what is written last
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Load(t.Context(), "demo"); err == nil || !strings.Contains(err.Error(), "cluster.yaml is missing") ||
		!strings.Contains(err.Error(), "replace -f") {
		t.Errorf("half of it: %v", err)
	}
	if got := actions(t, s, demo, workers); got != "Cluster demo created, InstanceGroup workers unchanged" {
		t.Errorf("again: %s", got)
	}
	after, err := s.Load(t.Context(), "demo")
	if err != nil || after.Cluster.UID != before.Cluster.UID ||
		string(after.Secret("demo-ca").Data["tls.key"]) != string(before.Secret("demo-ca").Data["tls.key"]) {
		t.Errorf("%+v, %v", after, err)
	}
}

func TestCloneFromGitDoesNotGetNewKeys(t *testing.T) {
	s, dir := made(t)
	for _, name := range []string{"demo/status", "demo/secrets"} { // files that are not in Git
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	left := tree(t, dir)
	_, err := s.Replace(t.Context(), objects(t, demo))
	if err == nil || !strings.Contains(err.Error(), "neither its status nor its keys") ||
		!strings.Contains(err.Error(), "demo/cluster.yaml") {
		t.Errorf("it says: %v", err)
	}
	if diff := cmp.Diff(left, tree(t, dir)); diff != "" {
		t.Errorf("something has changed:\n%s", diff)
	}
}

func TestTheStateKeepsSecretsOfTheEngine(t *testing.T) {
	s, _ := made(t)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "demo-kubeconfig", Namespace: "default"},
		Data:       map[string][]byte{"value": []byte("a\x00b")},
	}
	if err := s.Save(t.Context(), "demo", secret); err != nil {
		t.Fatal(err)
	}
	loaded, err := s.Load(t.Context(), "demo")
	if err != nil || string(loaded.Secret("demo-kubeconfig").Data["value"]) != "a\x00b" {
		t.Errorf("%+v, %v", loaded, err)
	}
}

func TestOwnReleasesAreStored(t *testing.T) {
	s, _ := made(t)
	release := &v1alpha1.Release{}
	*release = *objects(t, ownRelease)[0].(*v1alpha1.Release)
	if _, err := s.Replace(t.Context(), []client.Object{release}); err != nil {
		t.Fatal(err)
	}
	if got := actions(t, s, strings.Replace(demo, "v1.36.3", "v1.36.3-acme.1", 1)); got != "Cluster demo changed" {
		t.Error(got)
	}
	loaded, err := s.Load(t.Context(), "demo")
	if err != nil || len(loaded.Releases) != 1 || loaded.Releases[0].Spec.Kubernetes != "v1.36.3" {
		t.Errorf("%+v, %v", loaded, err)
	}
	if names, err := s.Clusters(t.Context()); err != nil || strings.Join(names, " ") != "demo" {
		t.Errorf("%v, %v", names, err)
	}
}

// TestReleasesForAllStates tests that they come after those of the state and before built-in ones,
// and that no state stores them.
func TestReleasesForAllStates(t *testing.T) {
	shared, dir := t.TempDir(), t.TempDir()
	for name, kubernetes := range map[string]string{"v1.36.3": "v1.36.3", "v1.36.3-acme.1": "v1.36.1"} {
		text := strings.NewReplacer("v1.36.3-acme.1", name, "kubernetes: v1.36.3", "kubernetes: "+kubernetes).Replace(ownRelease)
		if err := os.WriteFile(filepath.Join(shared, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := state.Open(t.Context(), dir, state.Options{Releases: shared})
	if err != nil {
		t.Fatal(err)
	}
	if got := actions(t, s, demo, ownRelease); !strings.Contains(got, "Release v1.36.3-acme.1 created") {
		t.Error(got)
	}
	loaded, err := s.Load(t.Context(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range loaded.Releases {
		got[r.Name] = r.Spec.Kubernetes + " " + r.Spec.Images["amd64"].Parameter
	}
	want := map[string]string{"v1.36.3": "v1.36.3 /images/acme", "v1.36.3-acme.1": "v1.36.3 /images/acme"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("releases (-want +got):\n%s", d)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "releases/*")); len(files) != 1 {
		t.Errorf("the state has %v, want its own release", files)
	}
	s, err = state.Open(t.Context(), dir, state.Options{Releases: filepath.Join(shared, "missing")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Releases(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that the folder does not exist", err)
	}
}

const ownRelease = `apiVersion: cluster-operator.aws/v1alpha1
kind: Release
metadata: {name: v1.36.3-acme.1}
spec:
  kubernetes: v1.36.3
  resourceSet: 1.1.0
  images: {amd64: {parameter: /images/acme}}
`

func hostname(t *testing.T) string {
	t.Helper()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return name
}
