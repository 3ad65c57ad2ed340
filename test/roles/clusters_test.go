package roles_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/partition"
)

const account = "123456789012"

// settings are what the policies of a cluster's roles depend on.
type settings struct {
	name, operator, region, set string
	// existing says that the cluster is in a VPC that exists before it.
	existing bool
	// alone says that no operator manages the cluster: Terraform creates it.
	alone bool
}

// demo are the settings of the clusters whose roles are tried.
func demo(region, set string) settings {
	return settings{name: "demo", operator: "management", region: region, set: set}
}

func (s settings) String() string {
	name := fmt.Sprintf("set %s in %s", s.set, s.region)
	if s.existing {
		name += ", existing VPC"
	}
	if s.alone {
		name += ", Terraform"
	}
	return name
}

const sharedVPC = "vpc-0123456789abcdef0"

const manifest = `
metadata: {name: NAME, namespace: platform}
spec:
  release: the-release
  region: REGION
  network: NETWORK
  controlPlane: {replicas: 3}
  bastion: {allowedCIDRs: [198.51.100.0/24]}
  ssh: {authorizedKeys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB8Ht8Z3j6yDWPBHQtOp/R9rjWvfMYo3MSA/K6q8D86r person@example.com"]}
  serviceAccountIssuer: {}
  api: {audit: {ship: {}}, encryption: {}}
  iam: {hostedZones: [Z0OFTHEUSER]}
  addons: [{name: aws-load-balancer-controller}, {name: external-dns}, {name: cert-manager}]
`

const group = `
metadata: {name: workers, namespace: platform}
spec: {cluster: NAME, minSize: 1, maxSize: 3, instanceTypes: [m6i.large], autoscale: true}
`

// stacks renders the stacks of a cluster.
func (s settings) stacks(t *testing.T) []*stack {
	t.Helper()
	network := "{cidr: 10.0.0.0/16, zones: [REGIONa], topology: Private, nat: Single}"
	var vpc *model.ExistingVPC
	if s.existing {
		network = "{vpc: " + sharedVPC + ", subnets: [{id: subnet-0123456789abcdef1, zone: REGIONa, role: Private}, " +
			"{id: subnet-0123456789abcdef2, zone: REGIONa, role: Public}], topology: Private}"
		vpc = &model.ExistingVPC{ID: sharedVPC, CIDRs: []string{"10.9.0.0/16"}, Subnets: []model.ExistingSubnet{
			{ID: "subnet-0123456789abcdef1", Zone: s.region + "a", CIDR: "10.9.0.0/24", RouteTable: "rtb-0123456789abcdef0"},
			{ID: "subnet-0123456789abcdef2", Zone: s.region + "a", CIDR: "10.9.1.0/24", RouteTable: "rtb-0123456789abcdef0"},
		}}
	}
	fill := strings.NewReplacer("NETWORK", strings.ReplaceAll(network, "REGION", s.region), "NAME", s.name, "REGION", s.region)
	var cluster v1alpha1.Cluster
	var workers v1alpha1.InstanceGroup
	if err := yaml.UnmarshalStrict([]byte(fill.Replace(manifest)), &cluster); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict([]byte(fill.Replace(group)), &workers); err != nil {
		t.Fatal(err)
	}
	image := v1alpha1.MachineImage{Parameter: "/an/image"}
	name, suffix := partition.Of(s.region)
	c, err := model.Resolve(model.Input{
		Cluster: &cluster, Operator: s.operator, AccountID: account, Partition: name, DNSSuffix: suffix, Existing: vpc, Alone: s.alone,
		Release: &v1alpha1.Release{
			ObjectMeta: metav1.ObjectMeta{Name: "the-release"},
			Spec: v1alpha1.ReleaseSpec{
				Kubernetes: "v1.36.3", ResourceSet: s.set,
				Images: map[v1alpha1.Architecture]v1alpha1.MachineImage{v1alpha1.AMD64: image, v1alpha1.ARM64: image},
				Addons: []v1alpha1.ReleaseAddon{
					{Name: release.AddonLoadBalancerController, Optional: true},
					{Name: release.AddonExternalDNS, Optional: true},
					{Name: release.AddonCertManager, Optional: true},
				},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	base, err := render.Base(c)
	if err != nil {
		t.Fatal(err)
	}
	all := []*stack{{t: t, Stack: base, cluster: c}}
	outputs := map[string]string{}
	for output := range base.Template.Outputs {
		outputs[output] = "the-" + output
	}
	add := func(made *render.Stack, err error) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &stack{t: t, Stack: made, cluster: c})
	}
	for _, slot := range c.Slots {
		add(render.Slot(c, slot.Index, outputs, "IyEvYmluL3No"))
	}
	g, err := model.ResolveGroup(c, &workers)
	if err != nil {
		t.Fatal(err)
	}
	add(render.Group(c, g, outputs, "IyEvYmluL3No"))
	return all
}

// variants are the clusters whose roles are tried: all resource sets, which all stay offered, in a new
// and an existing VPC, with an operator and with Terraform; and the newest set in every partition.
func variants() []settings {
	var all []settings
	sets := release.Sets()
	for _, set := range sets {
		for _, existing := range []bool{false, true} {
			for _, alone := range []bool{false, true} {
				one := demo("eu-central-1", set)
				one.existing, one.alone = existing, alone
				all = append(all, one)
			}
		}
	}
	for _, region := range []string{"cn-north-1", "us-gov-west-1"} {
		all = append(all, demo(region, sets[len(sets)-1]))
	}
	return all
}
