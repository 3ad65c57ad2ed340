package addons_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/release/common"
	helmrelease "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage"
	"helm.sh/helm/v4/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/addons"
	"github.com/aws-operator/aws-operator/internal/cluster/addons/chartrender"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == chartrender.Command { // The installer starts this program again.
		os.Exit(chartrender.Main(os.Stdin, os.Stdout, os.Stderr))
	}
	controlplanetest.Main(m)
}

// suite is a workload cluster, a chart repository and an installer.
type suite struct {
	t         *testing.T
	clients   kubernetes.Interface
	to        *workload.Cluster
	installer *addons.Installer
	charts    *charts
	folder    string
	clock     clock.PassiveClock
	transport http.RoundTripper
	enqueued  chan struct{}
	cluster   *v1alpha1.Cluster
	release   *v1alpha1.Release
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	config := controlplanetest.Shared(t).RESTConfig()
	clusters := workload.New(
		workload.Options{Config: func(types.NamespacedName, []byte) (*rest.Config, error) { return rest.CopyConfig(config), nil }},
	)
	key := types.NamespacedName{Namespace: "default", Name: strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))}
	to, err := clusters.Connect(key, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { clusters.Close(key) })
	w := &suite{
		t: t, clients: kubernetes.NewForConfigOrDie(config), to: to, folder: t.TempDir(), charts: &charts{},
		enqueued: make(chan struct{}, 16),
		cluster:  &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "u"}},
	}
	server := httptest.NewServer(w.charts)
	t.Cleanup(server.Close)
	w.charts.url = server.URL
	w.release = &v1alpha1.Release{Spec: v1alpha1.ReleaseSpec{Addons: []v1alpha1.ReleaseAddon{
		{
			Name:       "greeter",
			Namespace:  key.Name,
			Chart:      "greeter",
			Repository: server.URL,
			Version:    "1.0.0",
			Values:     raw(`{"greeting":"hello"}`),
		},
	}}}
	w.restart()
	t.Cleanup(func() { // The API server is shared with the package's other tests.
		w.release.Spec.Addons, w.cluster.Spec.Addons = nil, nil
		w.cluster.Generation++
		w.settle(operatorkit.KindDone)
	})
	return w
}

func (w *suite) restart() {
	w.installer = addons.New(addons.Options{Folder: w.folder, Clock: w.clock, Transport: w.transport})
}

// settle reconciles the cluster until the installer is idle.
func (w *suite) settle(want operatorkit.Kind) operatorkit.Outcome {
	w.t.Helper()
	for {
		outcome := w.installer.Ensure(w.t.Context(), w.cluster, w.release, w.to, func() { w.enqueued <- struct{}{} })
		if outcome.Kind() != operatorkit.KindWait || outcome.After() > 0 {
			if outcome.Kind() != want {
				w.t.Fatalf("outcome %v, want %v", outcome, want)
			}
			return outcome
		}
		select {
		case <-w.enqueued:
		case <-time.After(patience.Left(w.t)):
			w.t.Fatalf("the installer did not come back: %v", outcome)
		}
	}
}

// greeting is what the chart's ConfigMap says; "" when it is not there.
func (w *suite) greeting() string {
	w.t.Helper()
	made, err := w.clients.CoreV1().ConfigMaps(w.cluster.Name).Get(w.t.Context(), "greeter", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return made.Data["greeting"] + " " + made.Data["version"]
}

func TestInstallUpgradePinConfigureLeaveOut(t *testing.T) {
	w := newSuite(t)
	steps := []struct {
		what   string
		change func()
		want   string
	}{
		{"a new cluster gets the release's addons", func() {}, "hello 1.0.0"},
		{"a cluster pins a version", func() {
			w.cluster.Spec.Addons = []v1alpha1.Addon{{Name: "greeter", Version: "1.1.0"}}
		}, "hello 1.1.0"},
		{"and configures it", func() {
			w.cluster.Spec.Addons[0].Values = raw(`{"greeting":"welcome"}`)
		}, "welcome 1.1.0"},
		{"a release with another version does not touch what is pinned", func() {
			w.release.Spec.Addons[0].Version = "1.2.0"
		}, "welcome 1.1.0"},
		{"without the pin it is upgraded", func() { w.cluster.Spec.Addons = nil }, "hello 1.2.0"},
		{"left out it goes", func() {
			w.cluster.Spec.Addons = []v1alpha1.Addon{{Name: "greeter", Disabled: true}}
		}, ""},
	}
	for _, step := range steps {
		step.change()
		w.cluster.Generation++
		w.settle(operatorkit.KindDone)
		if got := w.greeting(); got != step.want {
			t.Fatalf("%s: the cluster says %q, want %q", step.what, got, step.want)
		}
		if c := operatorkit.FindCondition(w.cluster, addons.ConditionAddonsReady); c == nil || c.Status != metav1.ConditionTrue {
			t.Errorf("%s: condition %+v", step.what, c)
		}
	}
}

func TestNothingIsDoneTwiceAndARestartChangesNothing(t *testing.T) {
	w := newSuite(t)
	w.settle(operatorkit.KindDone)
	before := w.revisions()
	w.restart()
	w.settle(operatorkit.KindDone)
	w.settle(operatorkit.KindDone)
	if after := w.revisions(); after != before {
		t.Errorf("after a restart there are %d revisions, before %d", after, before)
	}
}

func (w *suite) revisions() int {
	w.t.Helper()
	list, err := w.clients.CoreV1().Secrets(w.cluster.Name).List(w.t.Context(), metav1.ListOptions{LabelSelector: "owner=helm"})
	if err != nil {
		w.t.Fatal(err)
	}
	return len(list.Items)
}

// An upgrade that the operator was killed at stays "pending" in the cluster; Helm itself refuses to
// go on from there.
func TestAnInterruptedUpgradeIsTakenUp(t *testing.T) {
	w := newSuite(t)
	w.settle(operatorkit.KindDone)
	releases := storage.Init(driver.NewSecrets(w.clients.CoreV1().Secrets(w.cluster.Name)))
	last, err := releases.Last("greeter")
	if err != nil {
		t.Fatal(err)
	}
	interrupted, ok := last.(*helmrelease.Release)
	if !ok {
		t.Fatalf("a release of type %T", last)
	}
	interrupted.SetStatus(common.StatusPendingUpgrade, "")
	if err := releases.Update(interrupted); err != nil {
		t.Fatal(err)
	}
	w.release.Spec.Addons[0].Version = "1.1.0"
	w.cluster.Generation++
	w.restart()
	w.settle(operatorkit.KindDone)
	if got := w.greeting(); got != "hello 1.1.0" {
		t.Errorf("the cluster says %q", got)
	}
}

func TestAChartThatCannotBeFetchedIsNamedAndTriedAgain(t *testing.T) {
	w := newSuite(t)
	w.charts.broken.Store(true)
	outcome := w.settle(operatorkit.KindWait)
	if !strings.Contains(outcome.Message(), "greeter 1.0.0") || outcome.Reason() != "AddonFailed" {
		t.Errorf("outcome %v", outcome)
	}
	w.charts.broken.Store(false)
	w.restart()
	w.settle(operatorkit.KindDone)
	if got := w.greeting(); got != "hello 1.0.0" {
		t.Errorf("the cluster says %q", got)
	}
}

type panicking struct{}

func (panicking) RoundTrip(*http.Request) (*http.Response, error) { panic("out of range") }

func TestAPanicFailsTheAddonAndNotTheProcess(t *testing.T) {
	w := newSuite(t)
	w.transport = panicking{}
	w.restart()
	outcome := w.settle(operatorkit.KindWait)
	if status, reason, message := w.addonsReady(); status != "False" || reason != addons.ReasonFailed ||
		!strings.Contains(message, "out of range") ||
		outcome.After() <= 0 {
		t.Errorf("condition %s %s: %s; tried again after %s", status, reason, message, outcome.After())
	}
	w.transport = nil
	w.restart()
	w.settle(operatorkit.KindDone)
	if got := w.greeting(); got != "hello 1.0.0" {
		t.Errorf("the cluster says %q", got)
	}
}

func TestAPersonsReleaseOfThatNameIsLeftAlone(t *testing.T) {
	w := newSuite(t)
	if _, err := w.clients.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: w.cluster.Name},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	own := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.cluster.Name, Name: "greeter"},
		Data:       map[string]string{"greeting": "mine"},
	}
	if _, err := w.clients.CoreV1().ConfigMaps(w.cluster.Name).Create(t.Context(), own, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	outcome := w.settle(operatorkit.KindWait)
	if outcome.Reason() != "AddonFailed" || w.greeting() != "mine " {
		t.Errorf("outcome %v; the cluster says %q", outcome, w.greeting())
	}
}

// charts is a repository with the chart greeter in three versions.
type charts struct {
	url    string
	broken atomic.Bool
	// replaced has all archives be others of the same versions, and template adds a template to
	// them.
	replaced atomic.Bool
	template atomic.Value
}

// ServeHTTP serves the index and the archives.
func (c *charts) ServeHTTP(out http.ResponseWriter, req *http.Request) {
	if c.broken.Load() {
		http.Error(out, "the repository is down", http.StatusServiceUnavailable)
		return
	}
	if req.URL.Path == "/index.yaml" {
		_, _ = fmt.Fprint(out, "apiVersion: v1\nentries:\n  greeter:\n")
		for _, version := range []string{"1.0.0", "1.1.0", "1.2.0"} {
			_, _ = fmt.Fprintf(
				out, "  - {apiVersion: v2, name: greeter, version: %s, urls: [\"%s/greeter-%s.tgz\"]}\n", version, c.url, version,
			)
		}
		return
	}
	version, ok := strings.CutPrefix(strings.TrimSuffix(req.URL.Path, ".tgz"), "/greeter-")
	if !ok {
		http.NotFound(out, req)
		return
	}
	_, _ = out.Write(c.archive(version))
}

func (c *charts) archive(version string) []byte {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	tape := tar.NewWriter(zipped)
	more, _ := c.template.Load().(string)
	files := map[string]string{
		"greeter/templates/more.yaml": more,
		"greeter/README.md":           fmt.Sprint("replaced: ", c.replaced.Load()),
		"greeter/Chart.yaml":          "apiVersion: v2\nname: greeter\nversion: " + version + "\n",
		"greeter/values.yaml":         "greeting: nothing\n",
		"greeter/templates/greeting.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: greeter, namespace: {{ .Release.Namespace }}}
data: {greeting: {{ .Values.greeting | quote }}, version: {{ .Chart.Version | quote }}}
`,
	}
	for _, name := range slices.Sorted(maps.Keys(files)) { // The same files are the same archive.
		content := files[name]
		_ = tape.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))})
		_, _ = tape.Write([]byte(content))
	}
	_ = tape.Close()
	_ = zipped.Close()
	return out.Bytes()
}
