package fake

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/aws-operator/aws-operator/internal/kubeapi"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

var demo = machine.ControlPlaneKey{Account: "123456789012", Region: "eu-central-1", Cluster: "demo"}

// users are the tokens of these tests and whose they are.
var users = map[string]machine.KubernetesUser{
	"admin": {Name: "arn:aws:iam::123456789012:role/admin", Groups: []string{"system:authenticated"}},
	"ann":   {Name: "ann", Groups: []string{"team", "system:authenticated"}},
	"node":  {Name: "system:node:ip-10-0-0-1", Groups: []string{"system:nodes", "system:authenticated"}},
}

// control describes a control plane with these users, of whom only admin has an access policy.
func control(key machine.ControlPlaneKey) machine.ControlPlaneSpec {
	return machine.ControlPlaneSpec{
		ControlPlaneKey: key, Version: "1.36",
		Authenticate: func(token string) (machine.KubernetesUser, error) {
			user, ok := users[token]
			if !ok {
				return user, errors.New("the token is no presigned request")
			}
			return user, nil
		},
		Authorize: func(user machine.KubernetesUser, _ machine.KubernetesRequest) bool {
			return user.Name == users["admin"].Name
		},
	}
}

// startEKS returns a host with the API of one EKS cluster.
func startEKS(t *testing.T) (*Host, machine.ControlPlaneEndpoint) {
	t.Helper()
	host := New(Options{})
	t.Cleanup(host.Close)
	endpoint, err := host.StartControlPlane(control(demo))
	if err != nil {
		t.Fatal(err)
	}
	return host, endpoint
}

func configOf(at machine.ControlPlaneEndpoint, token string) *rest.Config {
	return &rest.Config{
		Host: at.URL, BearerToken: token, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: at.CertificateAuthority},
	}
}

func clientOf(at machine.ControlPlaneEndpoint, token string) *kubernetes.Clientset {
	return kubernetes.NewForConfigOrDie(configOf(at, token))
}

// https://docs.aws.amazon.com/eks/latest/userguide/eks-add-ons.html
func TestNewEKSClusterHasNamespacesAndAddons(t *testing.T) {
	host, at := startEKS(t)
	namespaces, err := clientOf(at, "admin").CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, namespace := range namespaces.Items {
		names = append(names, namespace.Name)
	}
	if want := []string{"default", "kube-node-lease", "kube-public", "kube-system"}; !slices.Equal(names, want) {
		t.Errorf("namespaces %v, want %v", names, want)
	}
	api, ok := host.ControlPlane(demo)
	if !ok {
		t.Fatal("the host does not know the cluster")
	}
	inSystem := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "kube-system", Name: name} }
	for _, object := range []kubeapi.Object{
		&appsv1.DaemonSet{ObjectMeta: inSystem("aws-node")}, &appsv1.DaemonSet{ObjectMeta: inSystem("kube-proxy")},
		&appsv1.Deployment{ObjectMeta: inSystem("coredns")}, &policyv1.PodDisruptionBudget{ObjectMeta: inSystem("coredns")},
	} {
		if err := api.Get(object); err != nil {
			t.Error(err)
		}
	}
}

// https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions-standard.html says which paths are
// open to anonymous callers since version 1.32.
func TestEKSRefusesCallersAsKubernetesDoes(t *testing.T) {
	_, at := startEKS(t)
	status := func(token, path string) (int, metav1.Status) {
		t.Helper()
		config := configOf(at, token)
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		var body metav1.Status
		_ = json.NewDecoder(answer.Body).Decode(&body) // others are no Status
		return answer.StatusCode, body
	}
	for _, c := range []struct {
		token, path string
		code        int
		message     string
	}{
		{"", "/readyz", 200, ""},
		{"", "/version", 401, "Unauthorized"},
		{"", "/api/v1/nodes", 401, "Unauthorized"},
		{"stolen", "/api/v1/nodes", 401, "Unauthorized"},
		{"ann", "/version", 200, ""},
		{"ann", "/apis/apps/v1", 200, ""},
		{"ann", "/metrics", 403, `forbidden: User "ann" cannot get path "/metrics"`},
		{"ann", "/api/v1/nodes", 403, `nodes is forbidden: User "ann" cannot list resource "nodes" in API group "" at the cluster scope`},
		{"ann", "/api/v1/nodes?watch=1", 403, `nodes is forbidden: User "ann" cannot watch resource "nodes" in API group "" at the cluster scope`},
		{
			"ann", "/apis/apps/v1/namespaces/kube-system/deployments/coredns", 403,
			`deployments.apps "coredns" is forbidden: User "ann" cannot get resource "deployments" in API group "apps" in the namespace "kube-system"`,
		},
		{"node", "/api/v1/nodes", 200, ""},
		{"node", "/api/v1/secrets", 403, `secrets is forbidden: User "system:node:ip-10-0-0-1" cannot list resource "secrets" in API group "" at the cluster scope`},
		{"admin", "/api/v1/secrets", 200, ""},
	} {
		code, body := status(c.token, c.path)
		if code != c.code || body.Message != c.message || c.message != "" && int(body.Code) != c.code {
			t.Errorf("%q gets %s: %d %q, want %d %q", c.token, c.path, code, body.Message, c.code, c.message)
		}
	}
}

// https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html
func TestRBACPermitsGroupsOfAccessEntries(t *testing.T) {
	_, at := startEKS(t)
	admin, ann := clientOf(at, "admin"), clientOf(at, "ann")
	list := func() error {
		_, err := ann.CoreV1().ConfigMaps("team").List(t.Context(), metav1.ListOptions{})
		return err
	}
	if err := list(); !apierrors.IsForbidden(err) {
		t.Errorf("without a binding: %v", err)
	}
	if _, err := admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	subjects := []rbacv1.Subject{{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "team"}}
	if _, err := admin.RbacV1().Roles("team").Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"configmaps"}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.RbacV1().RoleBindings("team").Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Subjects: subjects, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "reader"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := list(); err != nil {
		t.Errorf("with a binding: %v", err)
	}
	if _, err := ann.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("in another namespace: %v", err)
	}
	if err := ann.CoreV1().ConfigMaps("team").Delete(t.Context(), "any", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("another verb: %v", err)
	}
	if _, err := admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "admins"}, Subjects: subjects, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "cluster-admin"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := ann.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("as a cluster-admin: %v", err)
	}
}

func TestUpgradedControlPlaneKeepsItsObjects(t *testing.T) {
	host, at := startEKS(t)
	client := clientOf(at, "admin")
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	version := func(minor string) {
		t.Helper()
		got, err := client.Discovery().ServerVersion()
		if err != nil || !strings.HasPrefix(got.GitVersion, "v1."+minor+".0-eks-") || got.Minor != minor+"+" {
			t.Errorf("version %v, %v, want 1.%s of EKS", got, err, minor)
		}
	}
	version("36")
	if err := host.UpgradeControlPlane(demo, "1.37"); err != nil {
		t.Fatal(err)
	}
	version("37")
	if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if err := host.UpgradeControlPlane(machine.ControlPlaneKey{Cluster: "other"}, "1.37"); err == nil {
		t.Error("a cluster that does not exist is upgraded")
	}
	if err := host.UpgradeControlPlane(demo, "latest"); err == nil {
		t.Error("a version that is not one is accepted")
	}
}

func TestStoppedControlPlaneForgetsItsObjects(t *testing.T) {
	host, at := startEKS(t)
	if _, err := host.StartControlPlane(control(demo)); err == nil {
		t.Error("a cluster has two control planes")
	}
	if _, err := clientOf(at, "admin").CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "old"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	host.StopControlPlane(demo)
	host.StopControlPlane(demo)
	if _, err := clientOf(at, "admin").Discovery().ServerVersion(); err == nil {
		t.Error("the API answers after its end")
	}
	again, err := host.StartControlPlane(control(demo))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clientOf(again, "admin").CoreV1().Namespaces().Get(t.Context(), "old", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a new cluster of the name has the objects of the old one: %v", err)
	}
	if slices.Equal(at.CertificateAuthority, again.CertificateAuthority) {
		t.Error("a new cluster has the CA of the old one")
	}
	host.Close()
	if _, err := host.StartControlPlane(control(machine.ControlPlaneKey{Cluster: "late"})); err == nil {
		t.Error("a closed host starts a control plane")
	}
}
