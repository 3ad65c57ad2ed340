package config_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/aws-operator/aws-operator/internal/golden"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
)

// The tables that docs/reference/rights.md shows are what the API server itself lists, as kubectl
// auth can-i --list does, for subjects that are bound to the shipped roles.
func TestTablesOfRightsAreWhatTheAPIServerLists(t *testing.T) {
	_, c := withRoles(t)
	var page bytes.Buffer
	for _, table := range []struct{ subject, title, roles string }{
		{servicesEditor, "Editor of a namespace", "RoleBindings to `edit` and `aws-operator-edit`, or to `edit` alone after `config/aggregate.yaml` is applied."},
		{servicesViewer, "Viewer of a namespace", "RoleBindings to `view` and `aws-operator-view`, or to `view` alone after `config/aggregate.yaml` is applied."},
		{templatesEditor, "Editor of templates", "RoleBindings to `edit`, `aws-operator-edit` and `aws-operator-templates-edit`."},
		{clustersEditor, "Editor of clusters", "RoleBindings to `edit` and `aws-operator-clusters-edit`."},
		{clustersViewer, "Viewer of clusters", "RoleBindings to `view` and `aws-operator-clusters-view`."},
		{operatorAdmin, "Administrator of the operator", "A ClusterRoleBinding to `aws-operator-admin`."},
		{clusterAdmin, "Cluster administrator", "A ClusterRoleBinding to `cluster-admin`."},
	} {
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n%s", table.title, table.roles, listed(t, table.subject))
	}
	golden.Equal(t, "rights.md", page.Bytes())

	for _, role := range apply(t, c, aggregateManifest) {
		t.Cleanup(func() { _ = c.Delete(context.WithoutCancel(t.Context()), role) })
	}
	for aggregate, of := range map[string]string{aggregatedEditor: servicesEditor, aggregatedViewer: servicesViewer} {
		want := listed(t, of)
		if err := poll(t, func() bool { return listed(t, aggregate) == want }); err != nil {
			t.Errorf("%s may do\n%swant what %s may\n%s", aggregate, listed(t, aggregate), of, want)
		}
	}
}

func poll(t *testing.T, done func() bool) error {
	t.Helper()
	return wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, readyToAggregate, true, func(context.Context) (bool, error) {
		return done(), nil
	})
}

// listed returns what the API server lists for a subject in its namespace, as a table: the rules on
// the operator's groups, and on Secrets, which have the keys of clusters.
func listed(t *testing.T, subject string) string {
	t.Helper()
	config := rest.CopyConfig(controlplanetest.SharedWithControllers(t).RESTConfig())
	config.Impersonate = rest.ImpersonationConfig{UserName: subject, Groups: []string{"system:authenticated"}}
	theirs, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: team}}
	answer, err := theirs.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil || answer.Status.Incomplete {
		t.Fatalf("%s: incomplete: %t, %v", subject, answer.Status.Incomplete, err)
	}
	verbs := map[string][]string{}
	for _, rule := range answer.Status.ResourceRules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				name := group + "/" + resource
				if slices.Contains([]string{serviceGroup, clusterGroup, identityGroup, "*"}, group) || name == "/secrets" {
					verbs[name] = append(verbs[name], rule.Verbs...)
				}
			}
		}
	}
	return table(verbs)
}

// table has a row for resources of one group with the same verbs.
func table(verbs map[string][]string) string {
	rows := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(verbs)) {
		group, resource, _ := strings.Cut(name, "/")
		if group == "" {
			group = "core"
		}
		row := "| `" + group + "` | %s | " + strings.ReplaceAll(strings.Join(ordered(verbs[name]), ", "), "*", "`*`") + " |\n"
		rows[row] = append(rows[row], "`"+resource+"`")
	}
	text := "| group | resources | verbs |\n| --- | --- | --- |\n"
	for _, row := range slices.Sorted(maps.Keys(rows)) {
		text += fmt.Sprintf(row, strings.Join(rows[row], ", "))
	}
	return text
}

// ordered returns verbs in the usual order, others last.
func ordered(verbs []string) []string {
	known := slices.DeleteFunc(slices.Clone(all), func(verb string) bool { return !slices.Contains(verbs, verb) })
	for _, verb := range slices.Sorted(slices.Values(verbs)) {
		if !slices.Contains(known, verb) {
			known = append(known, verb)
		}
	}
	return known
}
