package operatorkit_test

import (
	"context"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestEnsureCRDsReturnsWhenKindsAreServed(t *testing.T) {
	cfg := apiServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	clients, err := clientset.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ensure := func(crds ...*apiextensionsv1.CustomResourceDefinition) error {
		return operatorkit.EnsureCRDs(ctx, cfg, "operatorkit-test", crds...)
	}
	get := func(name string) *apiextensionsv1.CustomResourceDefinition {
		t.Helper()
		crd, err := clients.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return crd
	}
	crds := []*apiextensionsv1.CustomResourceDefinition{
		definition("Gear", "gear", "gears"), definition("Cog", "cog", "cogs"), definition("Rod", "rod", "rods"),
	}
	if err := ensure(crds...); err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		established := false
		for _, c := range get(crd.Name).Status.Conditions {
			established = established || c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
		}
		if !established {
			t.Errorf("%s is not established", crd.Name)
		}
	}

	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(cfg, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		kind := schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
		if _, err := mapper.RESTMapping(kind, crd.Spec.Versions[0].Name); err != nil {
			t.Errorf("discovery does not list %s: %v", kind, err)
		}
	}

	before := get("gears.example.com")
	if err := ensure(crds...); err != nil {
		t.Fatal(err)
	}
	if after := get("gears.example.com"); after.ResourceVersion != before.ResourceVersion {
		t.Error("applying an unchanged definition wrote something")
	}

	changed := definition("Gear", "gear", "gears")
	changed.Spec.Names.ShortNames = []string{"gr"}
	if err := ensure(changed); err != nil {
		t.Fatal(err)
	}
	if got := get("gears.example.com").Spec.Names.ShortNames; len(got) != 1 {
		t.Errorf("short names %v, want gr: a changed definition replaces the old one", got)
	}

	taken := definition("Gear", "gear", "otherGears")
	taken.Name, taken.Spec.Names.Plural = "othergears.example.com", "othergears"
	if err := ensure(taken); err == nil || !strings.Contains(err.Error(), "names are not accepted") {
		t.Errorf("a definition whose kind is already defined: %v", err)
	}

	ended, end := context.WithCancel(ctx)
	end()
	if err := operatorkit.EnsureCRDs(ended, cfg, "operatorkit-test", definition("Nut", "nut", "nuts")); err == nil {
		t.Error("a canceled context returned no error")
	}
}
