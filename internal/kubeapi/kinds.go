package kubeapi

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
)

// kind is one kind of object that the API keeps.
type kind struct {
	metav1.APIResource

	group, version string
}

func (k *kind) groupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: k.group, Version: k.version}
}

func (k *kind) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.group, Resource: k.Name}
}

// served are the built-in kinds, as "group/version kind plural scope shortnames".
const served = `
/v1 ConfigMap configmaps Namespaced cm
/v1 Endpoints endpoints Namespaced ep
/v1 Event events Namespaced ev
/v1 Namespace namespaces Cluster ns
/v1 Node nodes Cluster no
/v1 PersistentVolumeClaim persistentvolumeclaims Namespaced pvc
/v1 PersistentVolume persistentvolumes Cluster pv
/v1 Pod pods Namespaced po
/v1 Secret secrets Namespaced
/v1 ServiceAccount serviceaccounts Namespaced sa
/v1 Service services Namespaced svc
apiextensions.k8s.io/v1 CustomResourceDefinition customresourcedefinitions Cluster crd crds
apps/v1 ControllerRevision controllerrevisions Namespaced
apps/v1 DaemonSet daemonsets Namespaced ds
apps/v1 Deployment deployments Namespaced deploy
apps/v1 ReplicaSet replicasets Namespaced rs
apps/v1 StatefulSet statefulsets Namespaced sts
batch/v1 CronJob cronjobs Namespaced cj
batch/v1 Job jobs Namespaced
certificates.k8s.io/v1 CertificateSigningRequest certificatesigningrequests Cluster csr
coordination.k8s.io/v1 Lease leases Namespaced
discovery.k8s.io/v1 EndpointSlice endpointslices Namespaced
events.k8s.io/v1 Event events Namespaced ev
networking.k8s.io/v1 Ingress ingresses Namespaced ing
networking.k8s.io/v1 NetworkPolicy networkpolicies Namespaced netpol
policy/v1 PodDisruptionBudget poddisruptionbudgets Namespaced pdb
rbac.authorization.k8s.io/v1 ClusterRoleBinding clusterrolebindings Cluster
rbac.authorization.k8s.io/v1 ClusterRole clusterroles Cluster
rbac.authorization.k8s.io/v1 RoleBinding rolebindings Namespaced
rbac.authorization.k8s.io/v1 Role roles Namespaced
scheduling.k8s.io/v1 PriorityClass priorityclasses Cluster pc
storage.k8s.io/v1 CSIDriver csidrivers Cluster
storage.k8s.io/v1 CSINode csinodes Cluster
storage.k8s.io/v1 StorageClass storageclasses Cluster sc
storage.k8s.io/v1 VolumeAttachment volumeattachments Cluster
`

// builtin are the kinds that every API has.
var builtin = parseKinds()

func parseKinds() []*kind {
	var all []*kind
	for line := range strings.Lines(strings.TrimSpace(served)) {
		word := strings.Fields(line)
		group, version, _ := strings.Cut(word[0], "/")
		all = append(all, &kind{group: group, version: version, APIResource: metav1.APIResource{
			Name: word[2], SingularName: strings.ToLower(word[1]), Namespaced: word[3] == "Namespaced", Kind: word[1],
			Verbs: allVerbs, ShortNames: word[4:],
		}})
	}
	return all
}

// allVerbs are what can be done with objects of every kind.
var allVerbs = metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// findKind finds a built-in kind.
func findKind(group, version, plural string) *kind { return findIn(builtin, group, version, plural) }

func findIn(kinds []*kind, group, version, plural string) *kind {
	for _, k := range kinds {
		if k.Name == plural && k.group == group && k.version == version {
			return k
		}
	}
	return nil
}

// Kinds that this package knows more about.
var (
	podKind         = findKind("", "v1", "pods")
	nodeKind        = findKind("", "v1", "nodes")
	namespaceKind   = findKind("", "v1", "namespaces")
	definitionKind  = findKind("apiextensions.k8s.io", "v1", "customresourcedefinitions")
	deploymentKind  = findKind("apps", "v1", "deployments")
	replicaSetKind  = findKind("apps", "v1", "replicasets")
	statefulSetKind = findKind("apps", "v1", "statefulsets")
	daemonSetKind   = findKind("apps", "v1", "daemonsets")
	budgetKind      = findKind("policy", "v1", "poddisruptionbudgets")
)

// subresources are those served beside "status".
var subresources = map[*kind][]metav1.APIResource{
	podKind: {
		{Name: "pods/binding", Namespaced: true, Kind: "Binding", Verbs: metav1.Verbs{"create"}},
		// kubectl drain looks for this one:
		// https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/
		{Name: "pods/eviction", Namespaced: true, Kind: "Eviction", Group: "policy", Version: "v1", Verbs: metav1.Verbs{"create"}},
		{Name: "pods/proxy", Namespaced: true, Kind: "PodProxyOptions", Verbs: metav1.Verbs{"get"}},
	},
}

// codecs reads bodies in JSON, YAML and protobuf.
var codecs = serializer.NewCodecFactory(scheme.Scheme)

// typed returns an empty object of the Go type of a kind.
func typed(k *kind) (runtime.Object, error) {
	return scheme.Scheme.New(k.groupVersion().WithKind(k.Kind)) //nolint:wrapcheck // The error names the kind.
}

func versions() metav1.APIVersions {
	return metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
}

func groups(kinds []*kind) metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
	seen := map[string]bool{"": true}
	for _, k := range kinds {
		if seen[k.group] {
			continue
		}
		seen[k.group] = true
		version := metav1.GroupVersionForDiscovery{GroupVersion: k.groupVersion().String(), Version: k.version}
		list.Groups = append(list.Groups, metav1.APIGroup{
			Name: k.group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
		})
	}
	return list
}

func resources(kinds []*kind, group, version string) *metav1.APIResourceList {
	list := &metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: schema.GroupVersion{Group: group, Version: version}.String(),
	}
	for _, k := range kinds {
		if k.group == group && k.version == version {
			list.APIResources = append(list.APIResources, k.APIResource)
			list.APIResources = append(list.APIResources, subresources[k]...)
		}
	}
	if len(list.APIResources) == 0 {
		return nil
	}
	return list
}
