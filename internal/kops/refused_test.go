package kops_test

import (
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/kops"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

const (
	minimal = `
apiVersion: kops.k8s.io/v1alpha2
kind: Cluster
metadata: {name: demo.example.com}
spec:
  cloudProvider: aws
  kubernetesVersion: 1.36.3
  networkCIDR: 172.20.0.0/16
  topology: {masters: private, nodes: private}
  subnets:
  - {name: a, zone: eu-central-1a, type: Private}
  - {name: utility-a, zone: eu-central-1a, type: Utility}
`
	master = `
apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata: {name: master-a, labels: {kops.k8s.io/cluster: demo.example.com}}
spec: {role: Master, minSize: 1, maxSize: 1, machineType: m5.large, subnets: [a]}
`
	nodes = `
apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata: {name: nodes, labels: {kops.k8s.io/cluster: demo.example.com}}
spec: {role: Node, minSize: 1, maxSize: 3, machineType: m5.large, subnets: [a]}
`
)

// with returns a manifest with another put over it: maps are merged, all else is replaced.
func with(t *testing.T, manifest, patch string) string {
	t.Helper()
	var base, over map[string]any
	if err := yaml.Unmarshal([]byte(manifest), &base); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(patch), &over); err != nil {
		t.Fatal(err)
	}
	data, err := yaml.Marshal(merged(base, over))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func merged(base, over map[string]any) map[string]any {
	for key, value := range over {
		below, isMap := base[key].(map[string]any)
		patch, patchIsMap := value.(map[string]any)
		if isMap && patchIsMap {
			value = merged(below, patch)
		}
		base[key] = value
	}
	return base
}

func translate(t *testing.T, o kops.Options, manifests ...string) ([]kops.Translated, []kops.Note, error) {
	t.Helper()
	documents, err := yamltree.Parse("demo.yaml", []byte(strings.Join(manifests, "\n---\n")))
	if err != nil {
		t.Fatal(err)
	}
	return kops.Translate(documents, o)
}

func TestTheMinimalClusterIsTranslated(t *testing.T) {
	made, notes, err := translate(t, kops.Options{}, minimal, master, nodes)
	if err != nil {
		t.Fatal(err)
	}
	cluster, ok := made[0].Object.(*v1alpha1.Cluster)
	if len(made) != 2 || !ok || cluster.Spec.Network.NAT != v1alpha1.NATPerZone || cluster.Spec.ControlPlane.Replicas != 1 {
		t.Errorf("made %+v", made)
	}
	if len(notes) == 0 {
		t.Error("nothing is said of the name in DNS")
	}
}

// TestDangerousFieldsAreRefused holds what must not be dropped: each is an error that names the
// field and its line.
func TestDangerousFieldsAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ cluster, master, nodes, path, want string }{
		"Secrets that were encrypted":            {cluster: "{spec: {encryptionConfig: true}}", path: "spec.encryptionConfig", want: "without encryption"},
		"Secrets that were encrypted by a file":  {cluster: "{spec: {kubeAPIServer: {encryptionProviderConfig: /a}}}", path: "spec.kubeAPIServer.encryptionProviderConfig", want: "without encryption"},
		"a key of one's own for etcd":            {cluster: "{spec: {etcdClusters: [{name: main, etcdMembers: [{name: a, instanceGroup: master-a, kmsKeyId: k}]}]}}", path: "spec.etcdClusters[0].etcdMembers[0].kmsKeyId", want: "default EBS key"},
		"a key of one's own for a disk":          {nodes: "{spec: {rootVolumeEncryptionKey: k}}", path: "spec.rootVolumeEncryptionKey", want: "default EBS key"},
		"a key of one's own for a volume":        {nodes: "{spec: {volumes: [{device: /dev/sdf, size: 1, key: k}]}}", path: "spec.volumes[0].key", want: "default EBS key"},
		"traffic that was encrypted by IPsec":    {cluster: "{spec: {networking: {cilium: {enableEncryption: true}}}}", path: "spec.networking.cilium.enableEncryption", want: "would not be encrypted"},
		"pods' range overlaps the network's":     {cluster: "{spec: {nonMasqueradeCIDR: 172.20.0.0/14}}", path: "spec.nonMasqueradeCIDR", want: "overlaps the network's 172.20.0.0/16"},
		"services' range overlaps the network's": {cluster: "{spec: {serviceClusterIPRange: 172.20.0.0/20}}", path: "spec.serviceClusterIPRange", want: "overlaps the network's"},
		"services' range overlaps the pods'":     {cluster: "{spec: {serviceClusterIPRange: 10.0.0.0/16, podCIDR: 10.0.0.0/12}}", path: "spec.podCIDR", want: "overlaps that of services"},
		"a second range of a new network":        {cluster: "{spec: {additionalNetworkCIDRs: [10.1.0.0/16]}}", path: "spec.additionalNetworkCIDRs", want: "one range"},
		"addresses of IPv6":                      {cluster: "{spec: {nonMasqueradeCIDR: \"::/0\"}}", path: "spec.nonMasqueradeCIDR", want: "IPv4"},
		"another way out by an instance":         {cluster: "{spec: {subnets: [{name: a, zone: eu-central-1a, type: Private, egress: i-1}, {name: u, zone: eu-central-1a, type: Utility}]}}", path: "spec.subnets[0].egress", want: "take another route"},
		"another way out by a gateway":           {cluster: "{spec: {subnets: [{name: a, zone: eu-central-1a, type: Private, egress: nat-1}, {name: u, zone: eu-central-1a, type: Utility}]}}", path: "spec.subnets[0].egress", want: "take another route"},
		"another address to leave by":            {cluster: "{spec: {subnets: [{name: a, zone: eu-central-1a, type: Private}, {name: u, zone: eu-central-1a, type: Utility, publicIP: 192.0.2.1}]}}", path: "spec.subnets[1].publicIP", want: "another address"},
		"routes of its own":                      {cluster: "{spec: {subnets: [{name: a, zone: eu-central-1a, type: Private, additionalRoutes: [{cidr: 10.0.0.0/8, target: pcx-1}]}]}}", path: "spec.subnets[0].additionalRoutes", want: "another route"},
		"two ways out":                           {cluster: "{spec: {subnets: [{name: a, zone: eu-central-1a, type: Private, egress: External}, {name: b, zone: eu-central-1b, type: Private}]}}", path: "spec.subnets", want: "take another route"},
		"a proxy to leave by":                    {cluster: "{spec: {egressProxy: {httpProxy: {host: proxy, port: 3128}}}}", path: "spec.egressProxy", want: "not use the proxy"},
		"a mirror to fetch from":                 {cluster: "{spec: {assets: {containerRegistry: mirror.example.com}}}", path: "spec.assets", want: "mirror"},
		"new subnets in an existing network":     {cluster: "{spec: {networkID: vpc-0123456789abcdef0}}", path: "spec.networkID", want: "set the id of each"},
		"existing subnets without their network": {cluster: "{spec: {subnets: [{name: a, zone: eu-central-1a, type: Private, id: subnet-1}]}}", path: "spec.networkID", want: "set their VPC"},
		"some existing subnets":                  {cluster: "{spec: {subnets: [{name: a, zone: eu-central-1a, type: Private, id: subnet-1}, {name: u, zone: eu-central-1a, type: Utility}]}}", path: "spec.subnets", want: "some have none"},
		"two masters":                            {master: "{spec: {minSize: 2}}", path: "spec", want: "2 masters are not supported"},
		"five masters":                           {master: "{spec: {minSize: 5}}", path: "spec", want: "5 masters are not supported"},
		"no masters":                             {master: "{spec: {role: Node}}", path: "spec", want: "no groups have the role Master"},
		"more masters than members of etcd":      {cluster: "{spec: {etcdClusters: [{name: main, etcdMembers: [{name: a, instanceGroup: master-a}]}]}}", master: "{spec: {minSize: 3}}", path: "spec.etcdClusters", want: "etcd has 1 members, but the cluster has 3 masters"},
		"a member of etcd without a master":      {cluster: "{spec: {etcdClusters: [{name: main, etcdMembers: [{name: a, instanceGroup: other}]}]}}", path: "spec.etcdClusters", want: "not a master in the manifests"},
		"API servers of their own":               {nodes: "{spec: {role: APIServer}}", path: "spec.role", want: "Node or Bastion"},
		"no address may reach the API":           {cluster: "{spec: {kubernetesApiAccess: []}}", path: "spec.kubernetesApiAccess", want: "would mean that all may"},
		"only IPv6 may reach the API":            {cluster: "{spec: {kubernetesApiAccess: [\"2001:db8::/32\"]}}", path: "spec.kubernetesApiAccess", want: "would mean that all may"},
		"a security group in place of kops' own": {cluster: "{spec: {api: {loadBalancer: {securityGroupOverride: sg-1}}}}", path: "spec.api.loadBalancer.securityGroupOverride", want: "the clients that can reach the API would change"},
		"the same of machines":                   {nodes: "{spec: {securityGroupOverride: sg-1}}", path: "spec.securityGroupOverride", want: "the clients that can reach the instances would change"},
		"permissions of its own":                 {nodes: "{spec: {iam: {profile: p}}}", path: "spec.iam.profile", want: "the permissions of instances would change"},
		"hardware of its own":                    {nodes: "{spec: {tenancy: dedicated}}", path: "spec.tenancy", want: "share their hardware"},
		"more security groups than can be":       {nodes: "{spec: {additionalSecurityGroups: [a, b, c, d, e]}}", path: "spec.additionalSecurityGroups", want: "at most 4"},
		"masters and nodes in unlike subnets":    {cluster: "{spec: {topology: {masters: public}}}", path: "spec.topology.masters", want: "subnets of the same kind"},
		"another domain of services":             {cluster: "{spec: {clusterDNSDomain: k8s.example.com}}", path: "spec.clusterDNSDomain", want: "would not find them"},
		"another cloud":                          {cluster: "{spec: {cloudProvider: gce}}", path: "spec.cloudProvider", want: "only clusters on AWS"},
		"a manager that kops does not know":      {nodes: "{spec: {manager: Gardener}}", path: "spec.manager", want: "CloudGroup or Karpenter"},
		"public subnets without addresses":       {cluster: "{spec: {topology: {masters: public, nodes: public}, subnets: [{name: a, zone: eu-central-1a, type: Public}]}}", nodes: "{spec: {associatePublicIp: false}}", path: "spec.associatePublicIp", want: "have public addresses"},
	} {
		t.Run(name, func(t *testing.T) {
			or := func(patch string) string {
				if patch == "" {
					return "{}"
				}
				return patch
			}
			_, _, err := translate(
				t, kops.Options{}, with(t, minimal, or(test.cluster)), with(t, master, or(test.master)), with(t, nodes, or(test.nodes)),
			)
			refused(t, err, test.path, test.want)
		})
	}
}

// refused fails the test unless there is a problem of that path, with a line and these words.
func refused(t *testing.T, err error, path, want string) {
	t.Helper()
	problems, _ := errors.AsType[yamltree.Problems](err)
	for _, p := range problems {
		if p.Path == path && strings.Contains(p.Error(), want) && p.Line > 0 && p.Document > 0 && p.File == "demo.yaml" {
			return
		}
	}
	t.Errorf("got %v, want %q of %s", err, want, path)
}

func TestMistakesAreReported(t *testing.T) {
	for name, test := range map[string]struct {
		manifests  []string
		path, want string
	}{
		"a field of a cluster that kops does not have": {[]string{with(t, minimal, "{spec: {kubernetesAPIAccess: [10.0.0.0/8]}}"), master}, "spec.kubernetesAPIAccess", "did you mean kubernetesApiAccess?"},
		"one of a group":                {[]string{minimal, with(t, master, "{spec: {machinetype: m5.large}}")}, "spec.machinetype", "did you mean machineType?"},
		"one of a subnet":               {[]string{with(t, minimal, "{spec: {subnets: [{name: a, zone: eu-central-1a, type: Private, egres: nat-1}]}}"), master}, "spec.subnets[0].egres", "did you mean egress?"},
		"one of a component":            {[]string{with(t, minimal, "{spec: {kubelet: {maxPod: 3}}}"), master}, "spec.kubelet.maxPod", "did you mean maxPods?"},
		"a version of another time":     {[]string{"{apiVersion: kops/v1alpha1, kind: Cluster, metadata: {name: a}, spec: {}}"}, "apiVersion", "did you mean kops.k8s.io/v1alpha2?"},
		"a kind that there is not":      {[]string{"{apiVersion: kops/v1alpha2, kind: Clustr, metadata: {name: a}, spec: {}}"}, "kind", "did you mean Cluster?"},
		"a group without its cluster":   {[]string{nodes}, "metadata.labels[kops.k8s.io/cluster]", "pass both together"},
		"a subnet that there is not":    {[]string{minimal, with(t, master, "{spec: {subnets: [b]}}")}, "spec.subnets", "no subnet b"},
		"a taint that is none":          {[]string{minimal, master, with(t, nodes, "{spec: {taints: [\"a=b\"]}}")}, "spec.taints", "is not a taint"},
		"a number that is none":         {[]string{minimal, master, with(t, nodes, "{spec: {minSize: few}}")}, "spec.minSize", "whole number"},
		"a list that is none":           {[]string{with(t, minimal, "{spec: {sshAccess: 10.0.0.0/8}}"), master}, "spec.sshAccess", "must be a list"},
		"a name that no cluster can be": {[]string{with(t, minimal, "{metadata: {name: 1.example.com}}"), with(t, master, "{metadata: {labels: {kops.k8s.io/cluster: 1.example.com}}}")}, "metadata.name", "--kops-name"},
		"two clusters of one name":      {[]string{minimal, master, with(t, minimal, "{metadata: {name: demo.example.org}}"), with(t, master, "{metadata: {labels: {kops.k8s.io/cluster: demo.example.org}}}")}, "metadata.name", "both have the name demo"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := translate(t, kops.Options{}, test.manifests...)
			refused(t, err, test.path, test.want)
		})
	}
}

func TestStrictMakesErrorsOfNotes(t *testing.T) {
	_, notes, err := translate(t, kops.Options{}, with(t, minimal, "{spec: {channel: stable}}"), master)
	if err != nil || len(notes) == 0 {
		t.Fatalf("%v, %v", notes, err)
	}
	_, _, err = translate(t, kops.Options{Strict: true}, with(t, minimal, "{spec: {channel: stable}}"), master)
	refused(t, err, "spec.channel", "Releases replace channels")
}

func TestTheReleaseIsTheNearest(t *testing.T) {
	for version, want := range map[string]string{
		"1.15.12": "v1.34.11", "v1.34.2": "v1.34.11", "1.35.0": "v1.35.8", "1.36.3": "v1.36.3", "1.36.1": "v1.36.4", "1.99.0": "v1.36.4",
		"stable": "v1.36.4",
	} {
		made, _, err := translate(t, kops.Options{}, with(t, minimal, `{spec: {kubernetesVersion: "`+version+`"}}`), master)
		if err != nil {
			t.Fatal(err)
		}
		if got := made[0].Object.(*v1alpha1.Cluster).Spec.Release; got != want { //nolint:forcetypeassert // the cluster comes first
			t.Errorf("%s runs %s, want %s", version, got, want)
		}
	}
	made, _, err := translate(t, kops.Options{Release: "v1.36.3-acme.1", Name: "other"}, minimal, master)
	if err != nil {
		t.Fatal(err)
	}
	if c := made[0].Object.(*v1alpha1.Cluster); c.Spec.Release != "v1.36.3-acme.1" ||
		c.Name != "other" { //nolint:forcetypeassert // the cluster comes first
		t.Errorf("the options make %s with release %s", c.Name, c.Spec.Release)
	}
}
