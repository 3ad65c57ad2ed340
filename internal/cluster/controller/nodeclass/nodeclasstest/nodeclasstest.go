// Package nodeclasstest defines the kind EC2NodeClass in tests, with any spec. make test-karpenter uses
// Karpenter's own definition.
package nodeclasstest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	version = "karpenter.k8s.aws/v1"
	kind    = "EC2NodeClass"
)

// New returns a NodeClass without a spec.
func New(name string) *unstructured.Unstructured {
	class := &unstructured.Unstructured{Object: map[string]any{}}
	class.SetAPIVersion(version)
	class.SetKind(kind)
	class.SetName(name)
	return class
}

// List returns an empty list of NodeClasses.
func List() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(version)
	list.SetKind(kind + "List")
	return list
}

// Definition returns the kind's CustomResourceDefinition.
func Definition() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "ec2nodeclasses.karpenter.k8s.aws"},
		"spec": map[string]any{
			"group": "karpenter.k8s.aws", "scope": "Cluster",
			"names": map[string]any{"kind": kind, "listKind": kind + "List", "plural": "ec2nodeclasses", "singular": "ec2nodeclass"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object",
					"properties": map[string]any{
						"spec": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
					},
				}},
			}},
		},
	}}
}
