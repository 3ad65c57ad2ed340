package model_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

func TestSubnetsOfANewVPC(t *testing.T) {
	of := func(c *model.Cluster) map[string]string {
		found := map[string]string{}
		for _, s := range c.Subnets {
			found[s.LogicalID] = s.CIDR
		}
		return found
	}
	cases := []struct {
		reason, with string
		want         map[string]string
	}{
		{"private nodes with public subnets beside them", "", map[string]string{
			"PrivateSubnetEuCentral1a": "10.0.0.0/20", "PublicSubnetEuCentral1a": "10.0.16.0/21",
			"PrivateSubnetEuCentral1b": "10.0.32.0/20", "PublicSubnetEuCentral1b": "10.0.48.0/21",
			"PrivateSubnetEuCentral1c": "10.0.64.0/20", "PublicSubnetEuCentral1c": "10.0.80.0/21",
		}},
		{
			"public nodes need no private subnets", `spec: {network: {topology: Public, zones: [eu-central-1b]}}`,
			map[string]string{"PublicSubnetEuCentral1b": "10.0.32.0/20"},
		},
		{
			"the smallest network has the smallest subnets that AWS allows",
			`spec: {network: {cidr: 10.1.2.0/24, zones: [eu-central-1a, eu-central-1h]}}`,
			map[string]string{
				"PrivateSubnetEuCentral1a": "10.1.2.0/28", "PublicSubnetEuCentral1a": "10.1.2.16/28",
				"PrivateSubnetEuCentral1h": "10.1.2.224/28", "PublicSubnetEuCentral1h": "10.1.2.240/28",
			},
		},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			if diff := cmp.Diff(c.want, of(resolve(t, newVPC, c.with))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSlotsStandInTheZonesInTurn(t *testing.T) {
	cases := []struct {
		reason, manifest, with string
		want                   []string
	}{
		{"a zone for each", newVPC, "", []string{"eu-central-1a", "eu-central-1b", "eu-central-1c"}},
		{
			"fewer zones than slots",
			newVPC,
			`spec: {network: {zones: [eu-central-1b, eu-central-1a]}}`,
			[]string{"eu-central-1b", "eu-central-1a", "eu-central-1b"},
		},
		{
			"the control plane's own zones",
			newVPC,
			`spec: {controlPlane: {zones: [eu-central-1c]}}`,
			[]string{"eu-central-1c", "eu-central-1c", "eu-central-1c"},
		},
		{"one slot", newVPC, `spec: {controlPlane: {replicas: 1}}`, []string{"eu-central-1a"}},
		{"the zones of existing subnets for nodes", existingVPC, "", []string{"eu-central-1a", "eu-central-1b", "eu-central-1a"}},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			var zones []string
			for i, s := range resolve(t, c.manifest, c.with).Slots {
				zones = append(zones, s.Zone)
				if s.Index != i || s.Subnet.Zone != s.Zone || s.Subnet.Role != v1alpha1.SubnetPrivate {
					t.Errorf("slot %d is %+v", i, s)
				}
			}
			if !slices.Equal(zones, c.want) {
				t.Errorf("zones %v, want %v", zones, c.want)
			}
		})
	}
}

func TestWhatAClusterIsCalled(t *testing.T) {
	c := resolve(t, newVPC, `spec: {tags: {team: a}, serviceAccountIssuer: {}}`)
	slot := c.Slots[2]
	got := []string{
		c.StackName, c.Bucket, c.ZoneName, c.TokenParameter, c.Issuer,
		slot.StackName, slot.EtcdName, slot.EtcdDNS, model.OutputEtcdVolume(2), model.OutputSubnet(slot.Subnet),
	}
	want := []string{
		"demo", "demo-123456789012-eu-central-1", "demo.internal", "/cluster-operator/demo/bootstrap-token",
		"https://demo-123456789012-eu-central-1.s3.eu-central-1.amazonaws.com/oidc",
		"demo-control-plane-2", "etcd-2", "etcd-2.demo.internal", "EtcdVolume2", "PrivateSubnetEuCentral1c",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	tags := map[string]string{
		"team": "a", "kubernetes.io/cluster/demo": "owned", "cluster-operator.aws/cluster": "demo",
		"cluster-operator.aws/namespace": "default", "cluster-operator.aws/operator": "aws-operator",
	}
	if diff := cmp.Diff(tags, c.Tags); diff != "" {
		t.Error(diff)
	}
	tags["cluster-operator.aws/role"], tags["cluster-operator.aws/slot"] = "control-plane", "2"
	if diff := cmp.Diff(tags, slot.Tags); diff != "" {
		t.Error(diff)
	}
}

func TestNamesAreCutWhereAWSLimitsThem(t *testing.T) {
	long := strings.Repeat("a", 40)
	bucket := model.BucketName(long, "123456789012", "ap-southeast-2")
	if len(bucket) > 63 || bucket == model.BucketName(long, "210987654321", "ap-southeast-2") {
		t.Errorf("bucket %s", bucket)
	}
	cases := []struct{ reason, got, want string }{
		{"short enough stays", model.ShortName(9, "demo", "api"), "demo-api"},
		{"too long ends in a hash", model.ShortName(20, "demo", "a-very-long-name"), "demo-a-very-18d3fa6b"},
		{"a group's name that begins with the cluster's stays", model.GroupStackName("demo", "demo-workers"), "demo-workers"},
		{"another group's is put behind the cluster's", model.GroupStackName("demo", "workers"), "demo-workers"},
		{"a name that only looks alike is put behind too", model.GroupStackName("demo", "demonstration"), "demo-demonstration"},
	}
	for _, c := range cases {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.reason, c.got, c.want)
		}
	}
}

func TestDefaults(t *testing.T) {
	c := resolve(t, newVPC, `spec: {bastion: {}, ssh: {allowedCIDRs: [192.0.2.0/24]}}`)
	gp3 := v1alpha1.Volume{Type: v1alpha1.VolumeGP3, SizeGiB: 30, IOPS: 3000, ThroughputMiBps: 125}
	etcd := gp3
	etcd.SizeGiB = 20
	want := v1alpha1.ControlPlane{Replicas: 3, InstanceType: "m6i.large", RootVolume: gp3, EtcdVolume: etcd}
	if diff := cmp.Diff(want, c.Spec.ControlPlane); diff != "" {
		t.Error(diff)
	}
	bastion := v1alpha1.Bastion{InstanceType: "t3.micro", Replicas: 1, AllowedCIDRs: []string{"192.0.2.0/24"}}
	if diff := cmp.Diff(bastion, *c.Spec.Bastion); diff != "" {
		t.Error(diff)
	}
	if c.BastionArchitecture != v1alpha1.AMD64 || c.BastionImage != c.ControlPlaneImage {
		t.Errorf("the bastion boots %+v", c.BastionImage)
	}
	cases := []struct {
		reason, manifest, with string
		nat                    v1alpha1.NAT
		api                    v1alpha1.SubnetRole
	}{
		{"private nodes share a gateway", newVPC, "", v1alpha1.NATSingle, v1alpha1.SubnetPublic},
		{
			"public nodes need none",
			newVPC,
			`spec: {network: {topology: Public}, api: {access: Internal}}`,
			v1alpha1.NATNone,
			v1alpha1.SubnetPublic,
		},
		{"an existing VPC has its own", existingVPC, `spec: {api: {access: Internal}}`, v1alpha1.NATExisting, v1alpha1.SubnetPrivate},
		{"what is said stays", newVPC, `spec: {network: {nat: PerZone}}`, v1alpha1.NATPerZone, v1alpha1.SubnetPublic},
	}
	for _, one := range cases {
		c := resolve(t, one.manifest, one.with)
		if c.Spec.Network.NAT != one.nat || c.APIRole != one.api {
			t.Errorf("%s: nat %s, API in %s subnets", one.reason, c.Spec.Network.NAT, c.APIRole)
		}
	}
}

func TestResolvingChangesNothingThatItIsGiven(t *testing.T) {
	in := input(t, newVPC, `spec: {tags: {a: b}, controlPlane: {labels: {a: b}}, bastion: {}}`)
	cluster, releaseBefore := in.Cluster.DeepCopy(), in.Release.DeepCopy()
	if _, err := model.Resolve(in); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cluster, in.Cluster); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(releaseBefore, in.Release); diff != "" {
		t.Error(diff)
	}
}

func TestImages(t *testing.T) {
	arm := `spec: {controlPlane: {instanceType: m7g.large}}`
	if c := resolve(t, newVPC, arm); c.ControlPlaneArchitecture != v1alpha1.ARM64 ||
		!strings.Contains(c.ControlPlaneImage.Parameter, "arm64") {
		t.Errorf("an Arm machine boots %+v", c.ControlPlaneImage)
	}
	own := resolve(t, newVPC, `spec: {controlPlane: {image: ami-01234567}}`)
	if diff := cmp.Diff(model.Image{ID: "ami-01234567", User: "ubuntu"}, own.ControlPlaneImage); diff != "" {
		t.Error(diff)
	}
	in := input(t, newVPC, "")
	in.Release.Spec.Images[v1alpha1.AMD64] = v1alpha1.MachineImage{
		ByRegion: map[string]string{"eu-central-1": "ami-89abcdef"},
		User:     "admin",
	}
	c, err := model.Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(model.Image{ID: "ami-89abcdef", User: "admin"}, c.ControlPlaneImage); diff != "" {
		t.Error(diff)
	}
}

func TestArchitectureOf(t *testing.T) {
	arm := []string{
		"a1.large",
		"m6g.large",
		"c7gn.xlarge",
		"r8gd.large",
		"im4gn.large",
		"is4gen.large",
		"x2gd.medium",
		"hpc7g.4xlarge",
		"g5g.xlarge",
		"t4g.nano",
	}
	other := []string{
		"m6i.large",
		"g4dn.xlarge",
		"g6e.xlarge",
		"u-6tb1.metal",
		"u7i-12tb.224xlarge",
		"p5.48xlarge",
		"inf2.xlarge",
		"trn1.2xlarge",
		"i4i.large",
		"",
		"?",
	}
	for want, types := range map[v1alpha1.Architecture][]string{v1alpha1.ARM64: arm, v1alpha1.AMD64: other} {
		for _, one := range types {
			if got := model.ArchitectureOf(one); got != want {
				t.Errorf("%s is %s, want %s", one, got, want)
			}
		}
	}
}

func TestReleaseOfAClusterHasItsFacts(t *testing.T) {
	c := resolve(t, newVPC, "")
	i := slices.IndexFunc(c.Release.Spec.Addons, func(a v1alpha1.ReleaseAddon) bool { return a.Name == "cluster-autoscaler" })
	if got := string(c.Release.Spec.Addons[i].Values.Raw); !strings.Contains(got, `"clusterName":"demo"`) ||
		!strings.Contains(got, `"eu-central-1"`) {
		t.Errorf("the autoscaler's values are %s", got)
	}
	if !c.Features.CrossZoneAPI || c.ResourceSet != "1.1.0" {
		t.Errorf("%s has %+v", c.ResourceSet, c.Features)
	}
	if now := resolve(t, newVPC, `spec: {release: v1.35.8}`); !now.Features.ShortNodeShutdown || now.ResourceSet != "1.2.0" {
		t.Errorf("%s has %+v", now.ResourceSet, now.Features)
	}
}

func TestGroups(t *testing.T) {
	c := resolve(t, newVPC, "")
	g := resolveGroup(t, c, `
spec: {zones: [eu-central-1c, eu-central-1a], labels: {a: b}, tags: {team: b}, autoscale: true}`)
	if len(g.Subnets) != 2 || g.Subnets[0].Zone != "eu-central-1a" || g.Subnets[1].Zone != "eu-central-1c" {
		t.Errorf("subnets %+v", g.Subnets)
	}
	wantLabels := map[string]string{"a": "b", model.LabelCluster: "demo", model.LabelInstanceGroup: "workers"}
	if diff := cmp.Diff(wantLabels, g.Labels); diff != "" {
		t.Error(diff)
	}
	wantTags := maps.Clone(c.Tags)
	maps.Copy(wantTags, map[string]string{
		"team": "b", model.TagRole: model.RoleWorker, model.TagInstanceGroup: "workers",
	})
	if diff := cmp.Diff(wantTags, g.Tags); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{
		"k8s.io/cluster-autoscaler/enabled": "true", "k8s.io/cluster-autoscaler/demo": "owned",
	}, g.AutoscalerTags); diff != "" {
		t.Error(diff)
	}
	if all := resolveGroup(t, c, ""); len(all.Subnets) != 3 || all.StackName != "demo-workers" {
		t.Errorf("a group of no zones is %+v", all)
	}
}

func TestGroupsInSubnetsOfTheirOwn(t *testing.T) {
	in := input(t, existingVPC, "")
	in.Existing = &model.ExistingVPC{ID: "vpc-01234567", CIDRs: []string{"10.0.0.0/16"}, Subnets: []model.ExistingSubnet{
		{ID: "subnet-0000000a", Zone: "eu-central-1a", CIDR: "10.0.0.0/24"},
		{ID: "subnet-0000000b", Zone: "eu-central-1b", CIDR: "10.0.1.0/24"},
		{ID: "subnet-0000000c", Zone: "eu-central-1a", CIDR: "10.0.2.0/24"},
		{ID: "subnet-0000000d", Zone: "eu-central-1a", CIDR: "10.0.3.0/24"},
	}}
	c, err := model.Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Slots[0].Subnet; got.CIDR != "10.0.0.0/24" || got.ID != "subnet-0000000a" {
		t.Errorf("slot 0 stands in %+v", got)
	}
	g := resolveGroup(t, c, `spec: {subnets: [subnet-0000000d, subnet-0000000b]}`)
	want := []model.Subnet{
		{
			Zone:      "eu-central-1a",
			Role:      v1alpha1.SubnetPrivate,
			CIDR:      "10.0.3.0/24",
			ID:        "subnet-0000000d",
			LogicalID: "Subnetsubnet0000000d",
		},
		{
			Zone:      "eu-central-1b",
			Role:      v1alpha1.SubnetPrivate,
			CIDR:      "10.0.1.0/24",
			ID:        "subnet-0000000b",
			LogicalID: "PrivateSubnetEuCentral1b",
		},
	}
	if diff := cmp.Diff(want, g.Subnets); diff != "" {
		t.Error(diff)
	}
}
