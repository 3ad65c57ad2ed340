package export

import (
	"bytes"
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/state"
)

// kept is a state with a cluster whose API is known.
func kept(t *testing.T) (*state.State, string) {
	t.Helper()
	dir := t.TempDir()
	s, err := state.Open(t.Context(), dir, state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo"}, Spec: v1alpha1.ClusterSpec{
		Release: "v1.36.3", Region: "eu-central-1", Network: v1alpha1.Network{CIDR: "10.0.0.0/16", Zones: []string{"eu-central-1a"}},
	}}
	if _, err := s.Replace(t.Context(), []client.Object{cluster}); err != nil {
		t.Fatal(err)
	}
	loaded, err := s.Load(t.Context(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	loaded.Cluster.Status.Endpoint = "https://api.example.com:6443"
	if err := s.Save(t.Context(), "demo", loaded.Cluster); err != nil {
		t.Fatal(err)
	}
	return s, dir
}

func run(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := Command()
	cmd.SetArgs(append([]string{"kubeconfig", "demo"}, args...))
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// reaches is whom a kubeconfig reaches: the server, and for how long from now.
func reaches(t *testing.T, config *clientcmdapi.Config) (server string, left time.Duration, groups string) {
	t.Helper()
	current := config.Contexts[config.CurrentContext]
	user := config.AuthInfos[current.AuthInfo]
	pair, err := tls.X509KeyPair(user.ClientCertificateData, user.ClientKeyData)
	if err != nil {
		t.Fatal(err)
	}
	return config.Clusters[current.Cluster].Server, time.Until(pair.Leaf.NotAfter), strings.Join(pair.Leaf.Subject.Organization, ",")
}

func TestKubeconfigIsMergedIntoTheUsers(t *testing.T) {
	_, dir := kept(t)
	path := filepath.Join(t.TempDir(), "config")
	t.Setenv("KUBECONFIG", path)
	own := clientcmdapi.NewConfig()
	own.Clusters["mine"] = &clientcmdapi.Cluster{Server: "https://mine"}
	own.Contexts["mine"] = &clientcmdapi.Context{Cluster: "mine"}
	own.CurrentContext = "mine"
	if err := clientcmd.WriteToFile(*own, path); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second time is no different
		run(t, "--state", dir)
	}
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	server, left, groups := reaches(t, config)
	if server != "https://api.example.com:6443" || left > defaultLifetime || left < defaultLifetime-time.Hour ||
		groups != "kubeadm:cluster-admins" {
		t.Errorf("it reaches %s for %s as %s", server, left, groups)
	}
	if config.CurrentContext != "demo" || config.Clusters["mine"].Server != "https://mine" || len(config.Contexts) != 2 {
		t.Errorf("what was there is not: %+v", config)
	}
}

func TestExistingKubeconfigIsExportedUnlessALifetimeIsSet(t *testing.T) {
	s, dir := kept(t)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "demo-kubeconfig", Namespace: "default"},
		Data:       map[string][]byte{"value": []byte("the one")},
	}
	if err := s.Save(t.Context(), "demo", secret); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "--state", dir, "--out=-"); got != "the one" {
		t.Errorf("got %s", got)
	}
	config, err := clientcmd.Load([]byte(run(t, "--state", dir, "--out=-", "--admin-lifetime=1h", "--server=https://other:6443")))
	if err != nil {
		t.Fatal(err)
	}
	if server, left, _ := reaches(t, config); server != "https://other:6443" || left > time.Hour {
		t.Errorf("it reaches %s for %s", server, left)
	}
}

func TestFileIsReadableByItsOwnerOnly(t *testing.T) {
	_, dir := kept(t)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, "--state", dir, "--out", path)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := clientcmd.LoadFromFile(path); err != nil {
		t.Error(err)
	}
}
