package model_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

const (
	newVPC = `
metadata: {name: demo, namespace: default}
spec:
  release: v1.36.3
  region: eu-central-1
  network: {cidr: 10.0.0.0/16, zones: [eu-central-1a, eu-central-1b, eu-central-1c]}
`
	existingVPC = `
metadata: {name: demo, namespace: default}
spec:
  release: v1.36.3
  region: eu-central-1
  network:
    vpc: vpc-01234567
    subnets:
    - {id: subnet-0000000a, zone: eu-central-1a, role: Private}
    - {id: subnet-0000000b, zone: eu-central-1b, role: Private}
    - {id: subnet-0000000c, zone: eu-central-1a, role: Public}
`
	workers = `
metadata: {name: workers, namespace: default}
spec: {cluster: demo, minSize: 1, maxSize: 3, instanceTypes: [m6i.large]}
`
)

// parse reads a manifest with fields over it.
func parse[T any](t *testing.T, manifest, with string) *T {
	t.Helper()
	base, over := map[string]any{}, map[string]any{}
	for text, into := range map[string]*map[string]any{manifest: &base, with: &over} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	merge(base, over)
	data, err := yaml.Marshal(base)
	if err != nil {
		t.Fatal(err)
	}
	obj := new(T)
	if err := yaml.UnmarshalStrict(data, obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func merge(into, over map[string]any) {
	for key, value := range over {
		deeper, isMap := value.(map[string]any)
		there, wasMap := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isMap && wasMap:
			merge(there, deeper)
		default:
			into[key] = value
		}
	}
}

func builtin(t *testing.T, name string) *v1alpha1.Release {
	t.Helper()
	all, err := release.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if one.Name == name {
			return one
		}
	}
	return nil
}

// input is what a cluster's model is made from.
func input(t *testing.T, manifest, with string) model.Input {
	t.Helper()
	cluster := parse[v1alpha1.Cluster](t, manifest, with)
	return model.Input{
		Cluster: cluster, Release: builtin(t, cluster.Spec.Release), Operator: "aws-operator",
		AccountID: "123456789012", Partition: "aws", DNSSuffix: "amazonaws.com",
	}
}

func resolve(t *testing.T, manifest, with string) *model.Cluster {
	t.Helper()
	c, err := model.Resolve(input(t, manifest, with))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func resolveGroup(t *testing.T, c *model.Cluster, with string) *model.Group {
	t.Helper()
	g, err := model.ResolveGroup(c, parse[v1alpha1.InstanceGroup](t, workers, with))
	if err != nil {
		t.Fatal(err)
	}
	return g
}
