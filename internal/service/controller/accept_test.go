package controller_test

import (
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// notAccepted lists the resource types that cannot become kinds, and why.
var notAccepted = map[string]string{}

// TestAPIServerAcceptsDerivedKinds applies the CustomResourceDefinition of every resource type to a
// real API server, as a dry run.
func TestAPIServerAcceptsDerivedKinds(t *testing.T) {
	cluster := controlplanetest.Shared(t)
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cluster.RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	registry := schema.Default()
	names := registry.Names()
	work := make(chan string)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for name := range work {
				kind := strings.ReplaceAll(strings.TrimPrefix(name, "AWS::"), "::", "")
				if len(kind) > 59 { // with List at the end it has to fit into a DNS label
					kind = kind[:59]
				}
				m, err := model.Compile(name, &v1alpha1.ModelDefinitionSpec{Kind: kind, ResourceType: name}, registry)
				if err == nil {
					err = c.Create(t.Context(), m.CRD(), &client.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				}
				if reason, listed := notAccepted[name]; (err != nil) != listed {
					t.Errorf("%s: %v (listed: %q)", name, err, reason)
				}
			}
		})
	}
	for _, name := range names {
		work <- name
	}
	close(work)
	workers.Wait()
	if len(notAccepted)*20 > len(names) {
		t.Errorf("%d of %d types cannot be kinds, more than 1 in 20", len(notAccepted), len(names))
	}
}
