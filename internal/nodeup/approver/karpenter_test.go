package approver_test

import (
	"context"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/aws-operator/aws-operator/internal/patience"
)

var nodeClaims = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}

// installNodeClaims defines the kind NodeClaim, as Karpenter's chart does, until the test ends.
func (w *suite) installNodeClaims(t *testing.T) {
	t.Helper()
	client, err := apiextensions.NewForConfig(w.config)
	if err != nil {
		t.Fatal(err)
	}
	keep := true
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "nodeclaims.karpenter.sh", Annotations: map[string]string{
			"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/karpenter",
		}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "karpenter.sh", Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "nodeclaims", Singular: "nodeclaim", Kind: "NodeClaim", ListKind: "NodeClaimList",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &keep,
				}},
			}},
		},
	}
	definitions := client.ApiextensionsV1().CustomResourceDefinitions()
	if _, err := definitions.Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = definitions.Delete(context.Background(), definition.Name, metav1.DeleteOptions{}) })
}

// claim makes a NodeClaim of a NodePool for an instance.
func (w *suite) claim(t *testing.T, pool, instance string) {
	t.Helper()
	client, err := dynamic.NewForConfig(w.config)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
		"metadata": map[string]any{"name": pool + "-" + instance, "labels": map[string]any{"karpenter.sh/nodepool": pool}},
		"status":   map[string]any{"providerID": "aws:///eu-central-1a/" + instance},
	}}
	patience.Until(t, "the API serves NodeClaims", func() error {
		_, err := client.Resource(nodeClaims).Create(t.Context(), object, metav1.CreateOptions{})
		return err
	})
	t.Cleanup(func() {
		_ = client.Resource(nodeClaims).Delete(context.Background(), object.GetName(), metav1.DeleteOptions{})
	})
}

// An instance of no Auto Scaling group joins only if the cluster's own Karpenter has a NodeClaim for it,
// whatever its tags say.
func TestOnlyInstancesWithANodeClaimJoin(t *testing.T) {
	const unnamed = "no NodeClaim of Karpenter names it"
	tests := []struct{ name, instance, pool, want string }{
		{"without Karpenter", "i-claimed", "", unnamed}, // the first, because it needs an API without the kind
		{"an instance with a NodeClaim", "i-claimed", "spot", "instance i-claimed of NodePool spot"},
		{"an instance without a NodeClaim", "i-unclaimed", "spot", unnamed},
		{"a NodeClaim of another NodePool", "i-claimed", "other", unnamed},
		{"a tag that is no name of a NodePool", "i-bad-pool", "spot", unnamed},
		{"an instance that is from no launch template", "i-no-template", "spot", unnamed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := start(t)
			for _, id := range []string{"i-claimed", "i-no-template", "i-bad-pool"} {
				if test.pool != "" {
					w.claim(t, test.pool, id)
				}
			}
			r := w.newRequest(t, ownNode, test.instance)
			w.run(t)
			kind, message := w.decision(t, r.make(t, w))
			if approved := test.want != unnamed; approved != (kind == "Approved") || !strings.Contains(message, test.want) {
				t.Errorf("%s: %s; want %s", kind, message, test.want)
			}
		})
		if test.pool == "" {
			start(t).installNodeClaims(t)
		}
	}
}
