package addons

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/addons/chartrender"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/state"
	"github.com/aws-operator/aws-operator/test/livetest"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == chartrender.Command { // Apply starts this program again.
		os.Exit(chartrender.Main(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// run runs addons apply, and returns what it prints.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := Command()
	cmd.SetArgs(append([]string{"apply"}, args...))
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// charts serves a repository with versions of the chart greeter, which has a ConfigMap. The process
// trusts its certificate, if it has not verified another one before.
func charts(t *testing.T, versions ...string) (url string) {
	t.Helper()
	var index strings.Builder
	index.WriteString("apiVersion: v1\nentries:\n  greeter:\n")
	archives := map[string][]byte{}
	for _, version := range versions {
		fmt.Fprintf(&index, "  - {name: greeter, version: %s, apiVersion: v2, urls: [greeter-%s.tgz]}\n", version, version)
		archives["/greeter-"+version+".tgz"] = chart(t, version)
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if archive, ok := archives[r.URL.Path]; ok {
			_, _ = w.Write(archive)
			return
		}
		_, _ = w.Write([]byte(index.String()))
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", file)
	return server.URL
}

func chart(t *testing.T, version string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	zipped := gzip.NewWriter(&buffer)
	packed := tar.NewWriter(zipped)
	for name, content := range map[string]string{
		"greeter/Chart.yaml": "apiVersion: v2\nname: greeter\nversion: " + version + "\n",
		"greeter/templates/greeting.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: greeter}\n" +
			"data: {greeting: '{{ .Values.greeting }} from {{ .Chart.Version }}'}\n",
	} {
		if err := packed.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := packed.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

// withoutAddons disables what a cluster's release installs.
func withoutAddons(t *testing.T, cluster *v1alpha1.Cluster) {
	t.Helper()
	runs, err := release.Find(cluster.Spec.Release)
	if err != nil {
		t.Fatal(err)
	}
	for i := range runs.Spec.Addons {
		cluster.Spec.Addons = append(cluster.Spec.Addons, v1alpha1.Addon{Name: runs.Spec.Addons[i].Name, Disabled: true})
	}
}

func TestAddonsAreInstalledUpgradedAndUninstalled(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	url := charts(t, "1.0.0", "1.1.0")
	w := livetest.New(t, livetest.Options{Slots: 1, Terraform: true})
	withoutAddons(t, w.Cluster)
	before := len(w.Cluster.Spec.Addons)
	steps := []struct {
		what           string
		addons         []v1alpha1.Addon
		plan, now, say string
	}{
		{
			"a new addon",
			[]v1alpha1.Addon{{Name: "greeter", Chart: "greeter", Repository: url, Version: "1.0.0"}},
			"+ greeter 1.0.0: install into namespace kube-system", "from 1.0.0", "greeter 1.0.0 was installed.",
		},
		{
			"another version",
			[]v1alpha1.Addon{{Name: "greeter", Chart: "greeter", Repository: url, Version: "1.1.0"}},
			"~ greeter: 1.0.0 → 1.1.0", "from 1.1.0", "greeter 1.1.0 was installed over 1.0.0.",
		},
		{"no addon", nil, "- greeter 1.1.0: uninstall", "", "greeter was uninstalled."},
	}
	for _, step := range steps {
		t.Run(step.what, func(t *testing.T) {
			w.Cluster.Spec.Addons = append(w.Cluster.Spec.Addons[:before:before], step.addons...)
			state := w.State()
			was := greeting(t, w)
			out, err := run(t, "demo", "--state", state)
			const shown = "1 change. Nothing has been changed; --yes makes the changes."
			if err != nil || !strings.Contains(out, step.plan) || !strings.Contains(out, shown) {
				t.Fatalf("without --yes: %v\n%s", err, out)
			}
			if got := greeting(t, w); got != was {
				t.Errorf("without --yes, the chart says %q", got)
			}
			if out, err = run(t, "demo", "--state", state, "--yes"); err != nil || !strings.Contains(out, step.say) {
				t.Fatalf("with --yes: %v\n%s", err, out)
			}
			if got := greeting(t, w); !strings.Contains(got, step.now) || step.now == "" && got != "" {
				t.Errorf("the chart says %q, want %q", got, step.now)
			}
			if out, err = run(t, "demo", "--state", state, "--yes"); err != nil || out != "The addons of cluster demo are as desired.\n" {
				t.Errorf("again: %v\n%s", err, out)
			}
		})
	}
}

func TestAddonsOfOtherClustersAreRefused(t *testing.T) {
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
	cluster.Status.Stacks = []v1alpha1.StackStatus{{Name: "demo"}}
	from, err := state.Open(t.Context(), t.TempDir(), state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = wantedBy(from, &state.Objects{Cluster: cluster})
	if err == nil || !strings.Contains(err.Error(), "cluster demo was made by CloudFormation: aws-operator apply installs its addons") {
		t.Errorf("got %v", err)
	}
}

// greeting returns what the chart's ConfigMap says, "" if there is none.
func greeting(t *testing.T, w *livetest.Suite) string {
	t.Helper()
	session := w.Session()
	defer session.Close()
	found, err := session.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	connection, problem := session.Connect(t.Context(), found)
	if connection == nil {
		t.Fatal(problem)
	}
	clients, err := connection.Kubernetes()
	if err != nil {
		t.Fatal(err)
	}
	made, err := clients.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "greeter", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return made.Data["greeting"]
}
