package kops_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/kops"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// TestTheAPIServerAcceptsTranslatedManifests makes the translated objects on a real API server,
// whose defaults they then have, and renders their stacks.
func TestTheAPIServerAcceptsTranslatedManifests(t *testing.T) {
	server := controlplanetest.Shared(t)
	crds, err := v1alpha1.CustomResourceDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	if err := operatorkit.EnsureCRDs(t.Context(), server.RESTConfig(), "kops-test", crds...); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(server.RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"private", "public"} {
		t.Run(name, func(t *testing.T) {
			namespace := controlplanetest.Namespace(t, server)
			made, _ := translated(t, name, kops.Options{})
			for _, one := range made {
				one.Object.SetNamespace(namespace)
				if err := client.WithFieldValidation(c, "Strict").Create(t.Context(), one.Object); err != nil {
					t.Fatal(err)
				}
			}
			renders(t, made)
		})
	}
}

// renders makes all stacks of one cluster and its groups.
func renders(t *testing.T, made []kops.Translated) {
	t.Helper()
	cluster, _ := made[0].Object.(*v1alpha1.Cluster)
	resolved, err := model.Resolve(model.Input{
		Cluster: cluster, Release: builtin(t, cluster.Spec.Release), Operator: "management",
		AccountID: "123456789012", Partition: "aws", DNSSuffix: "amazonaws.com",
	})
	if err != nil {
		t.Fatal(err)
	}
	base, err := render.Base(resolved)
	if err != nil {
		t.Fatal(err)
	}
	outputs := map[string]string{}
	for name := range base.Template.Outputs {
		outputs[name] = "the-" + name
	}
	stacks := []*render.Stack{base}
	for _, slot := range resolved.Slots {
		stack, err := render.Slot(resolved, slot.Index, outputs, "#!/bin/sh")
		if err != nil {
			t.Fatal(err)
		}
		stacks = append(stacks, stack)
	}
	for _, one := range made[1:] {
		g, _ := one.Object.(*v1alpha1.InstanceGroup)
		group, err := model.ResolveGroup(resolved, g)
		if err != nil {
			t.Fatal(err)
		}
		stack, err := render.Group(resolved, group, outputs, "#!/bin/sh")
		if err != nil {
			t.Fatal(err)
		}
		stacks = append(stacks, stack)
	}
	for _, s := range stacks {
		if problems := slices.Concat(s.Template.Check(), schema.Default().Validate(s.Template)); len(problems) > 0 {
			t.Errorf("stack %s: %v", s.Name, problems)
		}
	}
}

func builtin(t *testing.T, name string) *v1alpha1.Release {
	t.Helper()
	releases, err := release.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(releases, func(r *v1alpha1.Release) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("there is no release %s", name)
	}
	return releases[i]
}
