package fake

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

// rbacPath is the path of the kinds of RBAC.
const rbacPath = "/apis/rbac.authorization.k8s.io/v1/"

// binds reports whether the cluster's own RBAC permits a user what a request asks for, as for the
// Kubernetes groups of access entries. Of the default ClusterRoles, the cluster has only cluster-admin.
// https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html
// https://kubernetes.io/docs/reference/access-authn-authz/rbac/
func (c *controlPlane) binds(ctx context.Context, user machine.KubernetesUser, info *request.RequestInfo) bool {
	var all rbacv1.ClusterRoleBindingList
	c.read(ctx, "clusterrolebindings", &all)
	for i := range all.Items {
		if isSubject(user, all.Items[i].Subjects) && permit(c.rules(ctx, "", all.Items[i].RoleRef), info) {
			return true
		}
	}
	if info.Namespace == "" {
		return false
	}
	var local rbacv1.RoleBindingList
	c.read(ctx, "namespaces/"+info.Namespace+"/rolebindings", &local)
	for i := range local.Items {
		if isSubject(user, local.Items[i].Subjects) && permit(c.rules(ctx, info.Namespace, local.Items[i].RoleRef), info) {
			return true
		}
	}
	return false
}

// rules returns the rules of a role, none if it does not exist.
func (c *controlPlane) rules(ctx context.Context, namespace string, role rbacv1.RoleRef) []rbacv1.PolicyRule {
	path := "clusterroles/" + role.Name
	if role.Kind == "Role" {
		path = "namespaces/" + namespace + "/roles/" + role.Name
	}
	var found rbacv1.ClusterRole // A Role has the same rules.
	c.read(ctx, path, &found)
	return found.Rules
}

// read reads an object or a list of RBAC. It leaves into as it is if there is none.
func (c *controlPlane) read(ctx context.Context, path string, into any) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+rbacPath+path, http.NoBody)
	if err != nil {
		return // A namespace or name that no URL can have.
	}
	answer, err := within{c.api.Trusted()}.Do(req)
	if err != nil {
		return
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode == http.StatusOK {
		_ = json.NewDecoder(answer.Body).Decode(into) // An object of another form permits nothing.
	}
}

func isSubject(user machine.KubernetesUser, subjects []rbacv1.Subject) bool {
	return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
		return s.Kind == rbacv1.UserKind && s.Name == user.Name || s.Kind == rbacv1.GroupKind && slices.Contains(user.Groups, s.Name)
	})
}

// permit reports whether one of the rules permits what a request asks for.
func permit(rules []rbacv1.PolicyRule, info *request.RequestInfo) bool {
	return slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
		if !hasOrAll(rule.Verbs, info.Verb) {
			return false
		}
		if !info.IsResourceRequest {
			return slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool {
				prefix, all := strings.CutSuffix(url, "*")
				return url == info.Path || all && strings.HasPrefix(info.Path, prefix)
			})
		}
		return hasOrAll(rule.APIGroups, info.APIGroup) &&
			(hasOrAll(rule.Resources, resourceOf(info)) || info.Subresource != "" && slices.Contains(rule.Resources, "*/"+info.Subresource)) &&
			(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, info.Name))
	})
}

func hasOrAll(values []string, value string) bool {
	return slices.Contains(values, value) || slices.Contains(values, "*")
}
