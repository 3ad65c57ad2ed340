package eksctl_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/eksctl"
	"github.com/aws-operator/aws-operator/internal/golden"
	"github.com/aws-operator/aws-operator/internal/translation"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// names are the ClusterConfigs in testdata.
var names = []string{"new", "existing", "automatic"}

func translate(t *testing.T, text string, options eksctl.Options) ([]eksctl.Translated, []translation.Note, error) {
	t.Helper()
	documents, err := yamltree.Parse("cluster.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return eksctl.Translate(documents, options)
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".eksctl.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestClustersAreTranslated(t *testing.T) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			made, notes, err := translate(t, read(t, name), eksctl.Options{Release: "v1.36.3"})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			for _, one := range made {
				data, err := yaml.Marshal(one.Object)
				if err != nil {
					t.Fatal(err)
				}
				text, _, _ := strings.Cut(string(data), "status:\n")
				fmt.Fprintf(&out, "---\n%s", strings.ReplaceAll(text, "  creationTimestamp: null\n", ""))
			}
			golden.Equal(t, name+".yaml", out.Bytes())
			out.Reset()
			for _, note := range notes {
				fmt.Fprintf(&out, "%s: %s\n", note.Severity, note)
			}
			golden.Equal(t, name+".notes", out.Bytes())
		})
	}
}

// TestTranslatedClustersAreValid resolves the cluster and its groups as commands do.
func TestTranslatedClustersAreValid(t *testing.T) {
	releases, err := release.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		made, _, err := translate(t, read(t, name), eksctl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		cluster := made[0].Object.(*v1alpha1.Cluster)
		var of *v1alpha1.Release
		for _, r := range releases {
			if r.Name == cluster.Spec.Release {
				of = r
			}
		}
		resolved, err := model.Resolve(model.Input{
			Cluster: cluster, Release: of, Operator: "management", AccountID: "123456789012", Partition: "aws", DNSSuffix: "amazonaws.com",
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, one := range made[1:] {
			if len(one.Object.(*v1alpha1.InstanceGroup).Spec.Subnets) > 0 {
				continue // only AWS knows these
			}
			if _, err := model.ResolveGroup(resolved, one.Object.(*v1alpha1.InstanceGroup)); err != nil {
				t.Errorf("%s: group %s: %v", name, one.Object.GetName(), err)
			}
		}
	}
}

const minimal = `
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: demo, region: eu-central-1, version: "1.36"}
availabilityZones: [eu-central-1a, eu-central-1b]
managedNodeGroups:
- {name: workers, instanceType: m5.large, minSize: 1, maxSize: 3}
`

// with returns the minimal ClusterConfig with other top-level fields.
func with(t *testing.T, patch string) string {
	t.Helper()
	var base, over map[string]any
	if err := yaml.Unmarshal([]byte(minimal), &base); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(patch), &over); err != nil {
		t.Fatal(err)
	}
	maps.Copy(base, over)
	data, err := yaml.Marshal(base)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestRefusalsNameFieldAndRemedy(t *testing.T) {
	for name, c := range map[string]struct{ patch, path, problem string }{
		"another version":       {"apiVersion: eksctl.io/v1alpha6", "apiVersion", "eksctl.io/v1alpha5"},
		"another kind":          {"kind: Nodegroup", "kind", "leave the document out"},
		"no region":             {"metadata: {name: demo}", "metadata.region", "set one"},
		"a name that is no one": {"metadata: {name: Demo_1, region: eu-central-1}", "metadata.name", "at most 40"},
		"a misspelled field":    {"managedNodegroups: []", "managedNodegroups", "managedNodeGroups"},
		"no zones":              {"availabilityZones: []", "availabilityZones", "list at least two zones"},
		"Fargate":               {"fargateProfiles: [{name: a}]", "fargateProfiles", "leave the profiles out"},
		"an unknown node pool":  {"autoModeConfig: {enabled: true, nodePools: [gpu]}", "autoModeConfig.nodePools", "use general-purpose and system"},
		"a private cluster":     {"privateCluster: {enabled: true}", "privateCluster.enabled", "existing subnets"},
		"IPv6":                  {"kubernetesNetworkConfig: {ipFamily: IPv6}", "kubernetesNetworkConfig.ipFamily", "IPv4"},
		"no endpoint":           {"vpc: {clusterEndpoints: {publicAccess: false}}", "vpc.clusterEndpoints.publicAccess", "set publicAccess or privateAccess"},
		"an unknown gateway":    {"vpc: {nat: {gateway: Many}}", "vpc.nat.gateway", "HighlyAvailable"},
		"subnets without a VPC": {"vpc: {subnets: {public: {a: {id: subnet-1, az: eu-central-1a}}}}", "vpc.id", "set the ID of their VPC"},
		"a new subnet's range":  {"vpc: {id: vpc-1, subnets: {public: {a: {cidr: 10.0.0.0/24}}}}", "vpc.subnets.public.a.id", "set the ID"},
		"a VPC without subnets": {"vpc: {id: vpc-1}", "vpc.subnets", "list them"},
		"only IPv6 may reach the API": {
			"vpc: {publicAccessCIDRs: ['2001:db8::/32']}", "vpc.publicAccessCIDRs", "name at least one IPv4 range",
		},
		"an unknown log":    {"cloudWatch: {clusterLogging: {enableTypes: [kubelet]}}", "cloudWatch.clusterLogging.enableTypes", "use api, audit"},
		"an unknown policy": {"accessConfig: {accessEntries: [{principalARN: 'arn:aws:iam::123456789012:role/a', accessPolicies: [{policyARN: x}]}]}", "accessConfig.accessEntries[0].accessPolicies[0].policyARN", "AmazonEKSViewPolicy"},
		"a scope without namespaces": {
			"accessConfig: {accessEntries: [{principalARN: 'arn:aws:iam::123456789012:role/a', accessPolicies: [{policyARN: 'arn:aws:eks::aws:cluster-access-policy/AmazonEKSEditPolicy', accessScope: {type: namespace}}]}]}",
			"accessConfig.accessEntries[0].accessPolicies[0].accessScope.namespaces", "name at least one namespace",
		},
		"two entries of a principal": {
			"accessConfig: {accessEntries: [{principalARN: 'arn:aws:iam::123456789012:role/a'}]}\niamIdentityMappings: [{arn: 'arn:aws:iam::123456789012:role/a', groups: [team]}]",
			"iamIdentityMappings[0].arn", "merge the two",
		},
		"mixed subnets":      {"managedNodeGroups: [{name: a}, {name: b, privateNetworking: true}]", "managedNodeGroups[0].privateNetworking", "same value"},
		"two groups of name": {"managedNodeGroups: [{name: a}, {name: A}]", "managedNodeGroups[1].name", "rename"},
		"Windows":            {"managedNodeGroups: [{name: a, amiFamily: WindowsServer2022CoreContainer}]", "managedNodeGroups[0].amiFamily", "leave the group out"},
		"commands":           {"managedNodeGroups: [{name: a, preBootstrapCommands: [x]}]", "managedNodeGroups[0].preBootstrapCommands", "DaemonSet"},
		"a launch template":  {"managedNodeGroups: [{name: a, launchTemplate: {id: lt-1}}]", "managedNodeGroups[0].launchTemplate", "leave it out"},
		"a price in words":   {"nodeGroups: [{name: a, instancesDistribution: {maxPrice: cheap}}]", "nodeGroups[0].instancesDistribution.maxPrice", "US dollars"},
		"an unknown subnet":  {"managedNodeGroups: [{name: a, subnets: [x]}]", "managedNodeGroups[0].subnets", "name one"},
		"an unknown effect":  {"nodeGroups: [{name: a, taints: {dedicated: 'gpu:Never'}}]", "nodeGroups[0].taints", "NoSchedule"},
	} {
		t.Run(name, func(t *testing.T) {
			made, _, err := translate(t, with(t, c.patch), eksctl.Options{})
			problems, ok := errors.AsType[yamltree.Problems](err)
			if !ok || len(made) > 0 {
				t.Fatalf("%d objects, %v", len(made), err)
			}
			for _, p := range problems {
				if p.Path == c.path && strings.Contains(p.Message+" "+p.Suggestion, c.problem) {
					return
				}
			}
			t.Errorf("%v, want %s: … %s", problems, c.path, c.problem)
		})
	}
}

// eksctl's default are both node pools of EKS, and an empty list is none.
func TestAutoMode(t *testing.T) {
	for patch, want := range map[string]*v1alpha1.EKSAutoMode{
		"autoModeConfig: {enabled: false}":                     nil,
		"autoModeConfig: {nodePools: [system]}":                nil,
		"autoModeConfig: {enabled: true}":                      {NodePools: []v1alpha1.EKSNodePool{"general-purpose", "system"}},
		"autoModeConfig: {enabled: true, nodePools: []}":       {NodePools: []v1alpha1.EKSNodePool{}},
		"autoModeConfig: {enabled: true, nodePools: [system]}": {NodePools: []v1alpha1.EKSNodePool{"system"}},
	} {
		made, _, err := translate(t, with(t, patch), eksctl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := made[0].Object.(*v1alpha1.Cluster).Spec.ControlPlane.EKS.AutoMode; !reflect.DeepEqual(got, want) {
			t.Errorf("%s becomes %+v", patch, got)
		}
	}
}

func TestStrictRefusesNotes(t *testing.T) {
	text := with(t, "karpenter: {version: '1.0'}")
	if _, notes, err := translate(t, text, eksctl.Options{}); err != nil || len(notes) == 0 {
		t.Fatalf("notes %v, %v", notes, err)
	}
	if _, _, err := translate(t, text, eksctl.Options{Strict: true}); err == nil || !strings.Contains(err.Error(), "karpenter") {
		t.Errorf("strict: %v", err)
	}
}

func TestReleaseIsNearestToTheVersion(t *testing.T) {
	of := func(name, kubernetes string) *v1alpha1.Release {
		r := &v1alpha1.Release{Spec: v1alpha1.ReleaseSpec{Kubernetes: kubernetes}}
		r.Name = name
		return r
	}
	releases := []*v1alpha1.Release{of("c", "v1.36.3"), of("a", "v1.34.1"), of("b", "v1.36.4"), of("d", "v1.37.0")}
	for version, want := range map[string]string{`"1.34"`: "a", `"1.35"`: "b", `"1.36"`: "b", `"1.38"`: "d", `""`: "d"} {
		made, _, err := translate(t, with(t, "metadata: {name: demo, region: eu-central-1, version: "+version+"}"), eksctl.Options{Releases: releases})
		if err != nil {
			t.Fatal(err)
		}
		if got := made[0].Object.(*v1alpha1.Cluster).Spec.Release; got != want {
			t.Errorf("version %s runs release %s, want %s", version, got, want)
		}
	}
}

// FuzzTranslate translates any document without a panic. One that is refused gives nothing, and the same
// document gives the same objects.
func FuzzTranslate(f *testing.F) {
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join("testdata", name+".eksctl.yaml"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Add("apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {name: a}\nvpc: {subnets: {private: {a: 1}}}\nnodeGroups: [{taints: 1}]\n")
	releases, err := release.Builtin()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		documents, err := yamltree.Parse("cluster.yaml", []byte(text))
		if err != nil {
			return
		}
		made, notes, err := eksctl.Translate(documents, eksctl.Options{Releases: releases})
		if err != nil {
			if len(made) > 0 || len(notes) > 0 {
				t.Errorf("it is refused (%v) and gives %d objects and %d notes", err, len(made), len(notes))
			}
			return
		}
		again, _, err := eksctl.Translate(documents, eksctl.Options{Releases: releases})
		if err != nil {
			t.Fatal(err)
		}
		first, second := asJSON(t, made), asJSON(t, again)
		if first != second {
			t.Errorf("the second translation differs:\n%s\n%s", first, second)
		}
	})
}

func asJSON(t *testing.T, made []eksctl.Translated) string {
	t.Helper()
	var all []any
	for _, one := range made {
		all = append(all, one.Object)
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
