package eks

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Authorize reports whether the access policies of a user let the user do something. It knows nothing of
// the roles that a cluster has, nor of what nodes and system:masters may do: its host does.
// https://docs.aws.amazon.com/eks/latest/userguide/access-policies.html
func (s *Service) Authorize(key machine.ControlPlaneKey, user machine.KubernetesUser, request machine.KubernetesRequest) bool {
	r := s.enter(wire.Target{Account: key.Account, Region: key.Region})
	defer s.leave(r)
	c, ok := r.clusters[key.Cluster]
	if !ok || !c.hasEntries() {
		return false
	}
	e, ok := c.entries[user.PrincipalARN]
	if !ok {
		return false
	}
	return slices.ContainsFunc(e.policies, func(p types.AssociatedAccessPolicy) bool {
		return applies(p.AccessScope, request) && permits(c, *p.PolicyArn, request)
	})
}

// applies reports whether a request is in the scope of an associated policy. A scope of namespaces may
// end in an asterisk.
func applies(scope *types.AccessScope, request machine.KubernetesRequest) bool {
	if scope.Type == types.AccessScopeTypeCluster {
		return true
	}
	return request.Namespace != "" && slices.ContainsFunc(scope.Namespaces, func(namespace string) bool {
		return matchesNamespace(namespace, request.Namespace)
	})
}

func matchesNamespace(pattern, namespace string) bool {
	if n := len(pattern); n > 0 && pattern[n-1] == '*' {
		return len(namespace) >= n-1 && namespace[:n-1] == pattern[:n-1]
	}
	return pattern == namespace
}

// permits reports whether an access policy permits a request. The policies are as Kubernetes' own cluster
// roles admin, edit and view, which are about what is in namespaces.
//   - https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html
//   - https://kubernetes.io/docs/reference/access-authn-authz/rbac/#user-facing-roles
func permits(c *cluster, arn string, request machine.KubernetesRequest) bool {
	reads := slices.Contains([]string{"get", "list", "watch"}, request.Verb)
	roles := request.Group == "rbac.authorization.k8s.io"
	resource, part, _ := strings.Cut(request.Resource, "/")
	inNamespace := resource != "" && !slices.Contains(clusterResources, resource)
	readable := inNamespace || resource == "namespaces"
	// Only administrators of the cluster change quotas.
	changeable := inNamespace && resource != "resourcequotas" && resource != "limitranges"
	switch arn {
	case policyARN(c, clusterAdminPolicy):
		return true
	case policyARN(c, adminViewPolicy):
		return reads
	case policyARN(c, adminPolicy):
		return reads && readable || changeable
	case policyARN(c, editPolicy):
		return !roles && (reads && readable || changeable)
	case policyARN(c, viewPolicy):
		return reads && readable && !roles && resource != "secrets" && slices.Contains(viewable, part)
	default:
		return false
	}
}

// viewable are the subresources that viewers may read. A proxy, for example, reaches into a pod.
var viewable = []string{"", "log", "scale", "status"}

// clusterResources are resources outside of namespaces.
// https://kubernetes.io/docs/reference/kubernetes-api/
var clusterResources = []string{
	"apiservices", "certificatesigningrequests", "clusterrolebindings", "clusterroles", "componentstatuses", "csidrivers", "csinodes",
	"customresourcedefinitions", "flowschemas", "ingressclasses", "mutatingwebhookconfigurations", "namespaces", "nodes",
	"persistentvolumes", "priorityclasses", "prioritylevelconfigurations", "runtimeclasses", "storageclasses", "subjectaccessreviews",
	"tokenreviews", "validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations",
	"volumeattachments",
}
