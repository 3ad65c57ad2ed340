package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// TestObjectsOfAClusterAreInOneShard tests the keys by which the caches divide a Cluster's objects.
func TestObjectsOfAClusterAreInOneShard(t *testing.T) {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "team", Name: name, OwnerReferences: []metav1.OwnerReference{{Name: "demo", Controller: new(true)}}}
	}
	for name, c := range map[string]struct {
		obj  runtime.Object
		key  func(runtime.Object) (string, bool)
		want string
	}{
		"the Cluster":         {&v1alpha1.Cluster{ObjectMeta: meta("demo")}, clusterOf, "team/demo"},
		"its group":           {&v1alpha1.InstanceGroup{ObjectMeta: meta("workers"), Spec: v1alpha1.InstanceGroupSpec{Cluster: "demo"}}, clusterOf, "team/demo"},
		"its Secret":          {&metav1.PartialObjectMetadata{ObjectMeta: meta("demo-kubeconfig")}, clusterOfSecret, "team/demo"},
		"a Secret of others":  {&metav1.PartialObjectMetadata{}, clusterOfSecret, ""},
		"a Release, all need": {&v1alpha1.Release{}, clusterOf, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, divided := c.key(c.obj)
			if got != c.want || divided != (c.want != "") {
				t.Errorf("the key is %q (%v), want %q", got, divided, c.want)
			}
		})
	}
}
