package controller

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// lastApplied is kubectl's copy of the manifest.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// contentDigest is an annotation that replaces, only in the cache, the content of a ConfigMap,
// Secret or Service.
const contentDigest = v1alpha1.Group + "/content"

// common interns the strings of all cached objects.
var common interner

// slim strips unused data from an object before it is cached, and interns its strings.
func slim(obj any) (any, error) {
	if o, ok := obj.(client.Object); ok {
		o.SetManagedFields(nil)
		if annotations := o.GetAnnotations(); annotations[lastApplied] != "" {
			annotations = maps.Clone(annotations)
			delete(annotations, lastApplied)
			o.SetAnnotations(annotations)
		}
	}
	if o, ok := obj.(*v1alpha1.Object); ok {
		common.internObject(o)
	}
	return obj, nil
}

// slimFor returns slim, which also strips from the objects of other shards what only their own reconciles
// need: references, rollouts and identities need the rest.
func slimFor(shard operatorkit.Shard) toolscache.TransformFunc {
	return func(obj any) (any, error) {
		if o, ok := obj.(*v1alpha1.Object); ok && !shard.Has(o.Namespace) {
			strip(o)
		}
		return slim(obj)
	}
}

// strip removes from an object of another shard what this one never reads.
func strip(obj *v1alpha1.Object) {
	status := &obj.Status
	status.ResourceStatus, status.ResourceStatusReason = "", ""
	status.AdditionalResources, status.Grants, status.Drift, status.Stack = nil, nil, nil, nil
	obj.OwnerReferences, obj.Labels = nil, nil
	for i := range status.PendingChanges {
		status.PendingChanges[i] = v1alpha1.PendingChange{}
	}
}

// digestOnly keeps only the owner and a digest of the content of an object made from outputs.
func digestOnly(obj any) (any, error) {
	var meta *metav1.ObjectMeta
	var digest string
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		meta, digest = &o.ObjectMeta, dataDigest(o.Data, len(o.BinaryData))
		o.Data, o.BinaryData = nil, nil
	case *corev1.Secret:
		meta, digest = &o.ObjectMeta, secretDigest(o.Data)
		o.Data = nil
	case *corev1.Service:
		meta, digest = &o.ObjectMeta, serviceDigest(o)
		o.Spec, o.Status = corev1.ServiceSpec{}, corev1.ServiceStatus{}
	case toolscache.DeletedFinalStateUnknown:
		return obj, nil
	default:
		return obj, nil
	}
	meta.ManagedFields, meta.Labels = nil, nil
	meta.Annotations = map[string]string{contentDigest: digest}
	common.internMeta(meta)
	return obj, nil
}

// roleOnly keeps only the name and the role of a ServiceAccount.
func roleOnly(obj any) (any, error) {
	if account, ok := obj.(*corev1.ServiceAccount); ok {
		account.Secrets, account.ImagePullSecrets = nil, nil
		account.ManagedFields, account.Labels, account.OwnerReferences, account.Finalizers = nil, nil, nil, nil
		annotations := map[string]string{}
		if role := account.Annotations[v1alpha1.RoleAnnotation]; role != "" {
			annotations[v1alpha1.RoleAnnotation] = role
		}
		account.Annotations = annotations
		common.internMeta(&account.ObjectMeta)
	}
	return obj, nil
}

// dataDigest hashes the content of a ConfigMap. Binary is the number of binary entries, which the
// operator never creates.
func dataDigest(data map[string]string, binary int) string {
	return digestOf(map[string]any{"data": data, "binary": binary})
}

func secretDigest(data map[string][]byte) string {
	texts := make(map[string]string, len(data))
	for key, value := range data {
		texts[key] = string(value)
	}
	return dataDigest(texts, 0)
}

// serviceDigest hashes the part of a Service that is made from outputs.
func serviceDigest(s *corev1.Service) string {
	ports := make([]int32, len(s.Spec.Ports))
	for i, port := range s.Spec.Ports {
		ports[i] = port.Port
	}
	return digestOf(map[string]any{"type": s.Spec.Type, "externalName": s.Spec.ExternalName, "ports": ports})
}

func digestOf(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("not encodable: %v", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// additionalCacheOptions select the objects made from outputs, by label, and keep only their
// digests.
func additionalCacheOptions(namespaces []string, shard operatorkit.Shard) (cache.Options, error) {
	made, err := labels.NewRequirement(v1alpha1.KindLabel, selection.Exists, nil)
	if err != nil {
		return cache.Options{}, fmt.Errorf("select additional resources: %w", err)
	}
	by := cache.ByObject{Label: labels.NewSelector().Add(*made), Transform: digestOnly}
	return cache.Options{
		ByObject: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: by, &corev1.Secret{}: by, &corev1.Service{}: by,
			&corev1.ServiceAccount{}: {Transform: roleOnly},
		},
		DefaultNamespaces: inNamespaces(namespaces),
		NewInformer:       shard.NewInformer(namespaceOf),
	}, nil
}

// namespaceOf is the key by which objects are divided into shards.
func namespaceOf(obj runtime.Object) (namespace string, divided bool) {
	o, ok := obj.(client.Object)
	if !ok {
		return "", false
	}
	return o.GetNamespace(), true
}

func inNamespaces(namespaces []string) map[string]cache.Config {
	if len(namespaces) == 0 {
		return nil
	}
	in := map[string]cache.Config{}
	for _, namespace := range namespaces {
		in[namespace] = cache.Config{}
	}
	return in
}
