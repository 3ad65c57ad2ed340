// Package v1 defines the Website kind.
//
// +kubebuilder:object:generate=true
// +groupName=example.com
package v1

import (
	_ "embed"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

//go:generate go tool -modfile=../../../../../../tools/go.mod controller-gen object crd paths=. output:crd:dir=.

// Group is the API group and version of Website.
var Group = schema.GroupVersion{Group: "example.com", Version: "v1"}

// Website serves one page.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WebsiteSpec   `json:"spec"`
	Status WebsiteStatus `json:"status,omitempty"`
}

// WebsiteSpec is the desired state of a Website.
type WebsiteSpec struct {
	// Title is the heading of the page.
	Title string `json:"title,omitempty"`
	// Replicas is the number of pods that serve the page.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Replicas int32 `json:"replicas,omitempty"`
}

// WebsiteStatus is the observed state of a Website.
type WebsiteStatus struct {
	// ObservedGeneration is the generation that the conditions describe.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Available is the number of pods that serve the page.
	Available int32 `json:"available,omitempty"`
	// Conditions are Ready, Synced, Stalled and Reconciling.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// GetConditions implements operatorkit.Conditioned.
func (w *Website) GetConditions() []metav1.Condition { return w.Status.Conditions }

// SetConditions implements operatorkit.Conditioned.
func (w *Website) SetConditions(conditions []metav1.Condition) { w.Status.Conditions = conditions }

// SetObservedGeneration implements operatorkit.GenerationObserver.
func (w *Website) SetObservedGeneration(generation int64) { w.Status.ObservedGeneration = generation }

// WebsiteList is a list of Websites.
//
// +kubebuilder:object:root=true
type WebsiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Website `json:"items"`
}

// AddToScheme registers the kinds of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(Group, &Website{}, &WebsiteList{})
	metav1.AddToGroupVersion(scheme, Group)
	return nil
}

//go:embed example.com_websites.yaml
var definition []byte

// CRD returns the definition of Website.
func CRD() (*apiextensionsv1.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	return crd, yaml.UnmarshalStrict(definition, crd)
}
