package config_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/service/catalog"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	serviceGroup = "service-operator.aws"
	// identityGroup is the group of AWSIdentities.
	identityGroup = "aws-operator.aws"
	clusterGroup  = "cluster-operator.aws"
)

// A verb that reads, one that writes, and both.
var (
	reads  = []string{"get", "list", "watch"}
	writes = []string{"create", "update", "patch", "delete", "deletecollection"}
	all    = append(slices.Clone(reads), writes...)
)

// subjects of the table. Each is a user who is bound, in the team's namespace only, to one
// ClusterRole.
const (
	unbound           = "unbound"           // bound to nothing
	editor            = "editor"            // Kubernetes' edit, as shipped
	viewer            = "viewer"            // Kubernetes' view, as shipped
	servicesEditor    = "services-editor"   // edit and aws-operator-edit
	servicesViewer    = "services-viewer"   // view and aws-operator-view
	templatesEditor   = "templates-editor"  // edit, aws-operator-edit and aws-operator-templates-edit
	clustersEditor    = "clusters-editor"   // edit and aws-operator-clusters-edit
	clustersViewer    = "clusters-viewer"   // view and aws-operator-clusters-view
	operatorAdmin     = "operator-admin"    // aws-operator-admin, in every namespace
	clusterAdmin      = "cluster-admin"     // Kubernetes' cluster-admin, in every namespace
	aggregatedEditor  = "editor-aggregated" // Kubernetes' edit, after aggregate.yaml
	aggregatedViewer  = "viewer-aggregated" // Kubernetes' view, after aggregate.yaml
	operatorItself    = "system:serviceaccount:aws-operator:aws-operator"
	team, other       = "team", "other-team"
	everywhere        = ""
	readyToAggregate  = time.Minute
	aggregateManifest = "aggregate.yaml"
)

var rolesOf = map[string][]string{
	editor: {"edit"}, viewer: {"view"},
	servicesEditor: {"edit", "aws-operator-edit"}, servicesViewer: {"view", "aws-operator-view"},
	templatesEditor: {"edit", "aws-operator-edit", "aws-operator-templates-edit"},
	clustersEditor:  {"edit", "aws-operator-clusters-edit"}, clustersViewer: {"view", "aws-operator-clusters-view"},
	aggregatedEditor: {"edit"}, aggregatedViewer: {"view"},
}

// right is one row: who may do what, and all others of the subjects may not.
type right struct {
	what                         string
	verbs                        []string
	group, resource, subresource string
	namespace                    string
	may                          []string
}

func rights() []right {
	rows := []right{
		{
			"an object of a service is read",
			reads,
			serviceGroup,
			"sqsqueues",
			"",
			team,
			[]string{servicesEditor, servicesViewer, templatesEditor},
		},
		{"an object of a service is written", writes, serviceGroup, "sqsqueues", "", team, []string{servicesEditor, templatesEditor}},
		{"an object of a service in another namespace", all, serviceGroup, "sqsqueues", "", other, nil},
		{"a status of a service: it names the stack that the operator changes", all, serviceGroup, "sqsqueues", "status", team, nil},
		{"the finalizers of a service", all, serviceGroup, "sqsqueues", "finalizers", team, nil},
		{"a template", all, serviceGroup, "cloudformationtemplates", "", team, []string{templatesEditor}},
		{"the status of a template", all, serviceGroup, "cloudformationtemplates", "status", team, nil},
		{"a template in another namespace", all, serviceGroup, "cloudformationtemplates", "", other, nil},
		{"a model", all, serviceGroup, "modeldefinitions", "", everywhere, []string{operatorAdmin}},
		{"the status of a model", all, serviceGroup, "modeldefinitions", "status", everywhere, nil},
		{"a revision of a model is read", reads, serviceGroup, "modelrevisions", "", everywhere, []string{operatorAdmin}},
		{"a revision of a model is written: it decides what the operator makes", writes, serviceGroup, "modelrevisions", "", everywhere, nil},
		{"an identity", all, identityGroup, "awsidentities", "", everywhere, []string{operatorAdmin}},
		{"the status of an identity", all, identityGroup, "awsidentities", "status", everywhere, nil},
		{"a kind of a model for which no role was bound", all, serviceGroup, "kinesisstreams", "", team, nil},
		{"all kinds of the group at once", all, serviceGroup, "*", "", team, nil},
		{"a definition of a kind", writes, "apiextensions.k8s.io", "customresourcedefinitions", "", everywhere, nil},

		{"a cluster is read", reads, clusterGroup, "clusters", "", team, []string{clustersEditor, clustersViewer}},
		{"a cluster is written", writes, clusterGroup, "clusters", "", team, []string{clustersEditor}},
		{"an instance group is read", reads, clusterGroup, "instancegroups", "", team, []string{clustersEditor, clustersViewer}},
		{"an instance group is written", writes, clusterGroup, "instancegroups", "", team, []string{clustersEditor}},
		{"a fleet is read", reads, clusterGroup, "fleets", "", team, []string{clustersEditor, clustersViewer}},
		{"a fleet is written: it changes clusters", writes, clusterGroup, "fleets", "", team, []string{clustersEditor}},
		{"the status of a fleet: it says which clusters are changed", all, clusterGroup, "fleets", "status", team, nil},
		{"a cluster in another namespace", all, clusterGroup, "clusters", "", other, nil},
		{"the status of a cluster: it names the stacks that the operator changes", all, clusterGroup, "clusters", "status", team, nil},
		{"the status of an instance group", all, clusterGroup, "instancegroups", "status", team, nil},
		{"a release: it names what every cluster runs as root", all, clusterGroup, "releases", "", everywhere, []string{operatorAdmin}},

		// Kubernetes' own edit reads and writes Secrets: a kubeconfig and the CAs are in the
		// namespace of their Cluster.
		{
			"a Secret, as those of kubeconfigs and CAs",
			all,
			"",
			"secrets",
			"",
			team,
			[]string{editor, servicesEditor, templatesEditor, clustersEditor},
		},
		{"a Secret in another namespace", all, "", "secrets", "", other, nil},
		{"the operator's own Secrets", all, "", "secrets", "", "aws-operator", nil},
		{"the operator itself", []string{"update", "patch", "delete"}, "apps", "deployments", "", "aws-operator", nil},
		{"to act as the operator", []string{"impersonate"}, "", "serviceaccounts", "", "aws-operator", nil},
	}
	return rows
}

// aggregated are the rows of the built-in roles after aggregate.yaml is applied.
func aggregated() []right {
	return []right{
		{"an object of a service is read", reads, serviceGroup, "dynamodbs", "", team, []string{aggregatedEditor, aggregatedViewer}},
		{"an object of a service is written", writes, serviceGroup, "dynamodbs", "", team, []string{aggregatedEditor}},
		{"an object of a service in another namespace", all, serviceGroup, "dynamodbs", "", other, nil},
		{"a status of a service", all, serviceGroup, "dynamodbs", "status", team, nil},
		{"a template", all, serviceGroup, "cloudformationtemplates", "", team, nil},
		{"a model", all, serviceGroup, "modeldefinitions", "", everywhere, nil},
		{"a cluster", all, clusterGroup, "clusters", "", team, nil},
		{"a fleet", all, clusterGroup, "fleets", "", team, nil},
		{"a release", all, clusterGroup, "releases", "", everywhere, nil},
	}
}

// The API server itself says what each subject may do with the shipped manifests.
func TestWhatEachSubjectMayDo(t *testing.T) {
	clients, c := withRoles(t)
	subjects := []string{
		unbound, editor, viewer, servicesEditor, servicesViewer, templatesEditor, clustersEditor, clustersViewer, operatorAdmin,
	}
	for _, row := range rights() {
		check(t, clients, row, subjects)
	}
	for _, row := range []right{
		{"statuses of services", all, serviceGroup, "sqsqueues", "status", team, []string{operatorItself}},
		{"statuses of clusters", all, clusterGroup, "clusters", "status", team, []string{operatorItself}},
		{"service accounts of grants", append([]string{"patch"}, reads...), "", "serviceaccounts", "", team, []string{operatorItself}},
		{"to make or replace a service account", []string{"create", "update", "delete"}, "", "serviceaccounts", "", team, nil},
		{"tokens of service accounts", []string{"create"}, "", "serviceaccounts", "token", team, nil},
	} {
		check(t, clients, row, []string{operatorItself})
	}

	for _, role := range apply(t, c, aggregateManifest) {
		t.Cleanup(func() { _ = c.Delete(context.WithoutCancel(t.Context()), role) })
	}
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, readyToAggregate, true, func(context.Context) (bool, error) {
		return allowed(t, clients, aggregatedViewer, "get", aggregated()[0]), nil
	})
	if err != nil {
		t.Fatalf("aggregate.yaml adds nothing to view: %v", err)
	}
	for _, row := range aggregated() {
		check(t, clients, row, []string{unbound, aggregatedEditor, aggregatedViewer})
	}
}

// What the table says is what happens: an editor's attempt to write a status is refused by the API
// server.
func TestAnEditorCannotWriteAStatus(t *testing.T) {
	_, c := withRoles(t)
	models, err := catalog.Models(schema.Default())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range models {
		if err := operatorkit.EnsureCRDs(t.Context(), controlplanetest.Shared(t).RESTConfig(), "aws-operator", m.CRD()); err != nil {
			t.Fatal(err)
		}
	}
	queue := apply(t, c, "testdata/queue.yaml")[0]
	bound := rest.CopyConfig(controlplanetest.Shared(t).RESTConfig())
	bound.Impersonate = rest.ImpersonationConfig{UserName: servicesEditor, Groups: []string{"system:authenticated"}}
	theirs, err := client.New(bound, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := theirs.Patch(t.Context(), queue, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`))); err != nil {
		t.Errorf("the editor cannot change the object itself: %v", err)
	}
	stolen := []byte(`{"status":{"stackID":"arn:aws:cloudformation:eu-central-2:123456789012:stack/theirs/1"}}`)
	if err := theirs.Status().Patch(t.Context(), queue, client.RawPatch("application/merge-patch+json", stolen)); !apierrors.IsForbidden(
		err,
	) {
		t.Errorf("writing the status gives %v, want it forbidden", err)
	}
	if err := c.Delete(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	await(t, c, queue, "deleted", func(_ *unstructured.Unstructured, err error) bool {
		return err != nil && client.IgnoreNotFound(err) == nil
	})
}

// The roles name every built-in kind, and no wildcard: what a ModelDefinition adds is granted by
// name.
func TestRolesNameTheBuiltInKindsOneByOne(t *testing.T) {
	_, c := withRoles(t)
	for _, role := range apply(t, c, aggregateManifest) {
		t.Cleanup(func() { _ = c.Delete(context.WithoutCancel(t.Context()), role) })
	}
	definitions, err := catalog.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, definition := range definitions {
		kinds = append(kinds, definition.Spec.Plural)
	}
	slices.Sort(kinds)
	for _, name := range []string{
		"aws-operator-edit", "aws-operator-view", "aws-operator-aggregate-to-edit", "aws-operator-aggregate-to-view",
	} {
		role := &rbacv1.ClusterRole{}
		if err := c.Get(t.Context(), client.ObjectKey{Name: name}, role); err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(slices.Values(role.Rules[0].Resources)); len(role.Rules) != 1 || !slices.Equal(got, kinds) {
			t.Errorf("%s names %q, want %q", name, got, kinds)
		}
	}
	var roles rbacv1.ClusterRoleList
	if err := c.List(t.Context(), &roles); err != nil {
		t.Fatal(err)
	}
	for _, role := range roles.Items {
		if !strings.HasPrefix(role.Name, "aws-operator-") {
			continue
		}
		for _, rule := range role.Rules {
			if slices.ContainsFunc(rule.Resources, func(name string) bool { return strings.ContainsAny(name, "*/") }) ||
				slices.Contains(rule.Verbs, "*") {
				t.Errorf("%s has the rule %v: name resources and verbs one by one", role.Name, rule)
			}
		}
	}
}

// withRoles applies operator.yaml and binds the subjects.
func withRoles(t *testing.T) (kubernetes.Interface, client.Client) {
	t.Helper()
	config := controlplanetest.SharedWithControllers(t).RESTConfig()
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	apply(t, c, "operator.yaml", "Deployment")
	for _, namespace := range []string{team, other} {
		err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		if client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	for subject, roles := range rolesOf {
		for _, role := range roles {
			binding := &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: subject + "-" + role},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
				Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: subject}},
			}
			if err := c.Create(t.Context(), binding); client.IgnoreAlreadyExists(err) != nil {
				t.Fatal(err)
			}
		}
	}
	for subject, role := range map[string]string{operatorAdmin: "aws-operator-admin", clusterAdmin: "cluster-admin"} {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: subject + "-of-the-test"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: subject}},
		}
		if err := c.Create(t.Context(), binding); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	bound := right{group: clusterGroup, resource: "releases"}
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, readyToAggregate, true, func(context.Context) (bool, error) {
		return allowed(t, clients, operatorAdmin, "get", bound) && allowed(t, clients, clusterAdmin, "get", bound), nil // the last bound
	})
	if err != nil {
		t.Errorf("the API server does not know the bindings: %v", err)
	}
	return clients, c
}

func check(t *testing.T, clients kubernetes.Interface, row right, subjects []string) {
	t.Helper()
	for _, subject := range subjects {
		for _, verb := range row.verbs {
			want := slices.Contains(row.may, subject)
			if got := allowed(t, clients, subject, verb, row); got != want {
				t.Errorf("%s: %s %s: allowed is %t, want %t", row.what, subject, row.words(verb), got, want)
			}
		}
	}
}

func (r right) words(verb string) string {
	return fmt.Sprintf("%s %s.%s/%s in namespace %q", verb, r.resource, r.group, r.subresource, r.namespace)
}

func allowed(t *testing.T, clients kubernetes.Interface, subject, verb string, row right) bool {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: subject, Groups: []string{"system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: row.namespace, Verb: verb, Group: row.group, Resource: row.resource, Subresource: row.subresource,
		},
	}}
	answer, err := clients.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Allowed
}
