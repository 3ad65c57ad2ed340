package kubeapi

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Register has all APIs of this process serve another kind, whose objects are kept as they are: nothing is
// defaulted or validated. It is to be called before the first API is made.
func Register(gvk schema.GroupVersionKind, plural string, namespaced bool) {
	kinds = append(kinds, &kind{group: gvk.Group, version: gvk.Version, APIResource: metav1.APIResource{
		Name: plural, SingularName: strings.ToLower(gvk.Kind), Namespaced: namespaced, Kind: gvk.Kind,
		Verbs: metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
	}})
}
