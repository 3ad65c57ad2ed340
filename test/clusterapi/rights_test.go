package clusterapi_test

import (
	"os"
	"path/filepath"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/config/chart"
)

// as returns a configuration of the rights of ClusterRoles, and no others.
func (e *environment) as(user string, roles ...*rbacv1.ClusterRole) *rest.Config {
	e.t.Helper()
	for _, role := range roles {
		role.GenerateName, role.Name, role.Labels = role.Name+"-", "", nil
		if err := e.client.Create(e.t.Context(), role); err != nil {
			e.t.Fatal(err)
		}
		binding := &rbacv1.ClusterRoleBinding{
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		}
		binding.GenerateName = role.GenerateName
		if err := e.client.Create(e.t.Context(), binding); err != nil {
			e.t.Fatal(err)
		}
	}
	config := rest.CopyConfig(e.cluster.RESTConfig())
	config.QPS = -1
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	return config
}

// ofChart returns the ClusterRole of a template of the chart.
func (e *environment) ofChart(template string) *rbacv1.ClusterRole {
	e.t.Helper()
	rendered, err := chart.Render("../../config/chart/aws-operator", chart.Release{Name: "aws-operator", Namespace: "aws-operator"},
		map[string]any{"clusterAPI": map[string]any{"enabled": true}})
	if err != nil {
		e.t.Fatal(err)
	}
	for document := range strings.SplitSeq(chart.From(rendered, template), "---\n") {
		role := &rbacv1.ClusterRole{}
		if err := yaml.Unmarshal([]byte(document), role); err != nil {
			e.t.Fatal(err)
		}
		if role.Kind == "ClusterRole" {
			return role
		}
	}
	e.t.Fatalf("%s has no ClusterRole", template)
	return nil
}

// ofModule returns the ClusterRole of Cluster API's core provider.
func (e *environment) ofModule() *rbacv1.ClusterRole {
	e.t.Helper()
	data, err := os.ReadFile(filepath.Join(e.module(), "core/config/rbac/role.yaml"))
	if err != nil {
		e.t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.Unmarshal(data, role); err != nil {
		e.t.Fatal(err)
	}
	return role
}
