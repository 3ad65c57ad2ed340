package fake

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/aws-operator/aws-operator/internal/kubeapi"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

// Groups of Kubernetes: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings
const (
	groupMasters = "system:masters"
	groupNodes   = "system:nodes"
)

// healthPaths are open to anonymous callers. Since version 1.32, EKS answers their other requests with 401:
// https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions-standard.html
var healthPaths = []string{"/healthz", "/livez", "/readyz"}

// discoveryPaths are open to every user, as the ClusterRoles system:discovery and
// system:public-info-viewer say. A path that ends with a slash stands for all below it.
// https://kubernetes.io/docs/reference/access-authn-authz/rbac/#discovery-roles
var discoveryPaths = []string{"/api", "/api/", "/apis", "/apis/", "/openapi", "/openapi/", "/version", "/version/"}

// requests reads what a request asks for.
var requests = &request.RequestInfoFactory{
	APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
}

// ServeHTTP authenticates and authorizes a request, and serves it.
func (c *controlPlane) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !slices.Contains(healthPaths, req.URL.Path) {
		if err := c.admit(req); err != nil {
			kubeapi.Refuse(w, err)
			return
		}
	}
	c.api.Trusted().ServeHTTP(w, req)
}

// admit returns the error with which kube-apiserver refuses a request.
func (c *controlPlane) admit(req *http.Request) error {
	token, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		return apierrors.NewUnauthorized("Unauthorized")
	}
	user, err := c.spec.Authenticate(token)
	if err != nil { // kube-apiserver does not say why.
		return apierrors.NewUnauthorized("Unauthorized")
	}
	info, err := requests.NewRequestInfo(req)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if c.permits(req.Context(), user, info) {
		return nil
	}
	return forbidden(user.Name, info)
}

// permits reports whether a user may do what a request asks for, by access policies or by RBAC.
func (c *controlPlane) permits(ctx context.Context, user machine.KubernetesUser, info *request.RequestInfo) bool {
	if slices.Contains(user.Groups, groupMasters) || isDiscovery(info) || slices.Contains(user.Groups, groupNodes) && isOfNodes(info) {
		return true
	}
	asked := machine.KubernetesRequest{Verb: info.Verb}
	if info.IsResourceRequest {
		asked.Namespace, asked.Group, asked.Resource = info.Namespace, info.APIGroup, resourceOf(info)
	}
	return c.spec.Authorize(user, asked) || c.binds(ctx, user, info)
}

// resourceOf returns the resource as RBAC writes it, for example pods/eviction.
// https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources
func resourceOf(info *request.RequestInfo) string {
	if info.Subresource == "" {
		return info.Resource
	}
	return info.Resource + "/" + info.Subresource
}

func isDiscovery(info *request.RequestInfo) bool {
	return !info.IsResourceRequest && info.Verb == "get" && slices.ContainsFunc(discoveryPaths, func(path string) bool {
		return info.Path == path || strings.HasSuffix(path, "/") && strings.HasPrefix(info.Path, path)
	})
}

// isOfNodes reports whether kubelets may do what a request asks for. The list has what fake machines use.
// https://kubernetes.io/docs/reference/access-authn-authz/node/
func isOfNodes(info *request.RequestInfo) bool {
	return info.IsResourceRequest && info.APIGroup == "" && info.Resource == "nodes" &&
		slices.Contains([]string{"create", "get", "list", "watch", "update", "patch"}, info.Verb)
}

// forbidden returns kube-apiserver's error for a user who may not do something.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go
func forbidden(user string, info *request.RequestInfo) error {
	message := fmt.Sprintf("User %q cannot %s path %q", user, info.Verb, info.Path)
	if info.IsResourceRequest {
		where := "at the cluster scope"
		if info.Namespace != "" {
			where = fmt.Sprintf("in the namespace %q", info.Namespace)
		}
		message = fmt.Sprintf("User %q cannot %s resource %q in API group %q %s", user, info.Verb, resourceOf(info), info.APIGroup, where)
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, info.Name, errors.New(message))
}
