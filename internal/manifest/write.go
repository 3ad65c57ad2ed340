package manifest

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clusterv1alpha1 "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Content returns an object as a person would write it, as a map: parts that hold nothing are left
// out, and so is what only an API server gives it (managedFields, an empty creationTimestamp).
// Objects of cluster-operator.aws need not say their kind.
func Content(object client.Object) (map[string]any, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("convert %T %s: %w", object, object.GetName(), err)
	}
	prune(reflect.ValueOf(object), content)
	switch object.(type) {
	case *clusterv1alpha1.Cluster, *clusterv1alpha1.InstanceGroup, *clusterv1alpha1.Release:
		content["apiVersion"], content["kind"] = clusterv1alpha1.GroupVersion.String(), Kind(object)
	}
	if metadata, ok := content["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
		if metadata["creationTimestamp"] == nil {
			delete(metadata, "creationTimestamp")
		}
	}
	return content, nil
}

// Definition is Content without what is not part of a definition: of the metadata it keeps the
// name, the namespace, labels and annotations, and it has no status.
func Definition(object client.Object) (map[string]any, error) {
	content, err := Content(object)
	if err != nil {
		return nil, err
	}
	delete(content, "status")
	metadata, _ := content["metadata"].(map[string]any)
	for key := range metadata {
		switch key {
		case "name", "namespace", "labels", "annotations":
		default:
			delete(metadata, key)
		}
	}
	return content, nil
}

// Write writes maps as documents of YAML.
func Write(contents ...map[string]any) ([]byte, error) {
	var text []byte
	for i, content := range contents {
		document, err := yaml.Marshal(content)
		if err != nil {
			return nil, fmt.Errorf("write YAML: %w", err)
		}
		if i > 0 {
			text = append(text, "---\n"...)
		}
		text = append(text, document...)
	}
	return text, nil
}

// Kind returns the kind of an object of cluster-operator.aws, whether it says so or not; of others
// what they say.
func Kind(object client.Object) string {
	switch object.(type) {
	case *clusterv1alpha1.Cluster:
		return "Cluster"
	case *clusterv1alpha1.InstanceGroup:
		return "InstanceGroup"
	case *clusterv1alpha1.Release:
		return "Release"
	}
	return object.GetObjectKind().GroupVersionKind().Kind
}

// prune removes empty structs and strings within v from a map, since no field gives an empty string
// a meaning. It keeps empty values behind pointers, such as a bastion, because they do have a
// meaning.
func prune(v reflect.Value, content any) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			prune(v.Elem(), content)
		}
	case reflect.Slice:
		items, _ := content.([]any)
		for i := range min(v.Len(), len(items)) {
			prune(v.Index(i), items[i])
		}
	case reflect.Struct:
		fields, ok := content.(map[string]any)
		if !ok {
			return
		}
		for i := range v.NumField() {
			pruneField(v.Type().Field(i), v.Field(i), fields)
		}
	default:
	}
}

func pruneField(field reflect.StructField, v reflect.Value, fields map[string]any) {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	switch {
	case !field.IsExported() || name == "-":
	case field.Anonymous && name == "":
		prune(v, fields)
	case (v.Kind() == reflect.Struct || v.Kind() == reflect.String) && v.IsZero():
		delete(fields, name)
	default:
		prune(v, fields[name])
	}
}
