package state_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/state"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// newManagement is a namespace of a real API server with the kinds of clusters, as the current
// context of the kubeconfig.
func newManagement(t *testing.T) *state.State {
	t.Helper()
	server := controlplanetest.Shared(t)
	ctx := patience.Context(t)
	crds, err := v1alpha1.CustomResourceDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	if err := operatorkit.EnsureCRDs(ctx, server.RESTConfig(), "state-test", crds...); err != nil {
		t.Fatal(err)
	}
	controlplanetest.UseKubeconfig(t, server.RESTConfig(), controlplanetest.Namespace(t, server))
	return open(t, state.Kubernetes)
}

func TestManagementClusterStoresClustersLikeAFolder(t *testing.T) {
	s := newManagement(t)
	if got := actions(t, s, demo, workers); got != "Cluster demo created, InstanceGroup workers created" {
		t.Error(got)
	}
	if got := actions(t, s, demo, strings.Replace(workers, "maxSize: 3", "maxSize: 4", 1)); got != "Cluster demo unchanged, InstanceGroup workers changed" {
		t.Error(got)
	}
	loaded, err := s.Load(t.Context(), "demo")
	if err != nil || len(loaded.Groups) != 1 || loaded.Groups[0].Spec.MaxSize != 4 || loaded.Groups[0].Generation != 2 ||
		len(loaded.Secrets) != 0 {
		t.Fatalf("%+v, %v", loaded, err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: loaded.Cluster.Namespace, Name: "demo-kubeconfig"},
		Data:       map[string][]byte{"value": []byte("x")},
	}
	if err := s.Kubernetes().Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if loaded, err = s.Load(t.Context(), "demo"); err != nil || loaded.Secret("demo-kubeconfig") == nil {
		t.Errorf("%+v, %v", loaded, err)
	}
	_, err = s.Load(t.Context(), "other")
	if found, ok := errors.AsType[*state.NotFoundError](err); !ok || strings.Join(found.Others, " ") != "demo" {
		t.Errorf("got %v", err)
	}
}

func TestLabelsOfOthersStayAndTheOperatorsOwnFollowTheManifest(t *testing.T) {
	s := newManagement(t)
	actions(t, s, strings.Replace(demo, "name: demo", "name: demo\n  annotations: {aws-operator/paused: \"true\"}\n  labels: {team: a}", 1))
	loaded, err := s.Load(t.Context(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	before := loaded.Cluster.DeepCopy()
	loaded.Cluster.Annotations["argocd.argoproj.io/tracking-id"] = "x"
	if err := s.Kubernetes().Patch(t.Context(), loaded.Cluster, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	if got := actions(t, s, demo); got != "Cluster demo changed" {
		t.Error(got)
	}
	if loaded, err = s.Load(t.Context(), "demo"); err != nil || len(loaded.Cluster.Annotations) != 1 ||
		loaded.Cluster.Annotations["argocd.argoproj.io/tracking-id"] != "x" {
		t.Errorf("%v, %v", loaded.Cluster.Annotations, err)
	}
}

func TestRejectedObjectsChangeNothing(t *testing.T) {
	s := newManagement(t)
	_, err := s.Replace(t.Context(), objects(t, demo, strings.Replace(workers, "maxSize: 3", "maxSize: 0", 1)))
	if invalid, ok := errors.AsType[*state.InvalidError](err); !ok || len(invalid.Problems) != 1 ||
		!strings.Contains(err.Error(), "minSize is greater than maxSize") ||
		strings.Contains(err.Error(), "admission") {
		t.Errorf("got %v", err)
	}
	if names, err := s.Clusters(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("there is %v, %v", names, err)
	}
}

func TestTheLockOfAManagementClusterNamesItsHolder(t *testing.T) {
	one := newManagement(t)
	other := open(t, state.Kubernetes)
	unlock, err := one.Lock(t.Context(), "demo", "rolling-update")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Lock(t.Context(), "demo", "rolling-update"); err == nil ||
		!strings.Contains(err.Error(), "kubectl delete lease demo-lock") ||
		!strings.Contains(err.Error(), "for rolling-update") {
		t.Errorf("got %v", err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
	unlock, err = other.Lock(t.Context(), "demo", "rolling-update")
	if err != nil {
		t.Fatal(err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
}

func TestManagementClusterErrorsAreOneSentence(t *testing.T) {
	server := controlplanetest.Shared(t)
	config := rest.CopyConfig(server.RESTConfig())
	for name, test := range map[string]struct {
		change func(*rest.Config)
		want   string
	}{
		"credentials that are not accepted": {func(c *rest.Config) {
			c.CertData, c.KeyData, c.CertFile, c.KeyFile, c.BearerToken = nil, nil, "", "", "unknown"
		}, "does not accept the kubeconfig's credentials"},
		"a user without a role": {func(c *rest.Config) { c.Impersonate.UserName = "ada" }, "you lack the permission in the management cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := rest.CopyConfig(config)
			test.change(changed)
			controlplanetest.UseKubeconfig(t, changed, "default")
			_, err := open(t, state.Kubernetes).Clusters(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("HOME", os.TempDir())
	if _, err := state.Open(t.Context(), state.Kubernetes, state.Options{}); err == nil ||
		!strings.Contains(err.Error(), "set KUBECONFIG") {
		t.Errorf("without a kubeconfig: %v", err)
	}
}
