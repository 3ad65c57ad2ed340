package model_test

import (
	"math"
	"net/netip"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

var zones = []string{
	"eu-central-1a", "eu-central-1b", "eu-central-1c", "eu-central-1d",
	"eu-central-1e", "eu-central-1f", "eu-central-1g", "eu-central-1h",
}

func TestAZoneAddedLaterRenumbersNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := input(t, newVPC, "")
		n := &in.Cluster.Spec.Network
		bits := rapid.IntRange(16, 24).Draw(rt, "bits")
		vpc := netip.PrefixFrom(netip.MustParseAddr("10.77.99.0"), bits).Masked()
		n.CIDR = vpc.String()
		n.Topology = rapid.SampledFrom([]v1alpha1.Topology{v1alpha1.TopologyPublic, v1alpha1.TopologyPrivate}).Draw(rt, "topology")
		all := rapid.Permutation(zones).Draw(rt, "zones")
		n.Zones = all[:rapid.IntRange(1, len(all)-1).Draw(rt, "first")]
		before, err := model.Resolve(in)
		if err != nil {
			rt.Fatal(err)
		}
		n.Zones = all
		after, err := model.Resolve(in)
		if err != nil {
			rt.Fatal(err)
		}
		for _, s := range before.Subnets {
			if !slices.Contains(after.Subnets, s) {
				rt.Errorf("%+v is no longer there", s)
			}
		}
		var ranges []netip.Prefix
		for _, s := range after.Subnets {
			p := netip.MustParsePrefix(s.CIDR)
			if p != p.Masked() || p.Bits() > 28 || !vpc.Contains(p.Addr()) {
				rt.Errorf("%+v cannot be a subnet of %s", s, vpc)
			}
			if slices.ContainsFunc(ranges, p.Overlaps) {
				rt.Errorf("%+v overlaps another", s)
			}
			ranges = append(ranges, p)
		}
	})
}

// Whatever an object says, there is a model or there are problems, and never a panic.
func TestResolvingIsTotal(t *testing.T) {
	releases := []*v1alpha1.Release{nil, {}, builtin(t, "v1.36.3"), builtin(t, "v1.34.11")}
	rapid.Check(t, func(rt *rapid.T) {
		cluster := &v1alpha1.Cluster{ObjectMeta: drawMeta(rt), Spec: drawSpec(rt)}
		in := model.Input{
			Cluster:   cluster,
			Release:   rapid.SampledFrom(releases).Draw(rt, "release"),
			Operator:  "o",
			AccountID: "123456789012",
		}
		if rapid.Bool().Draw(rt, "existing") {
			in.Existing = &model.ExistingVPC{ID: cluster.Spec.Network.VPC, CIDRs: drawWords(rt, "cidrs")}
			for _, s := range cluster.Spec.Network.Subnets {
				in.Existing.Subnets = append(in.Existing.Subnets, model.ExistingSubnet{ID: s.ID, Zone: s.Zone})
			}
		}
		c, err := model.Resolve(in)
		if problems, ok := model.AsProblems(err); (c == nil) != ok || ok && len(problems) == 0 {
			rt.Fatalf("model %v, error %v", c, err)
		}
		if c == nil {
			c = resolve(t, newVPC, "")
		}
		if len(c.Slots) != int(c.Spec.ControlPlane.Replicas) {
			rt.Errorf("%d slots of %d", len(c.Slots), c.Spec.ControlPlane.Replicas)
		}
		g, err := model.ResolveGroup(c, &v1alpha1.InstanceGroup{ObjectMeta: drawMeta(rt), Spec: drawGroup(rt)})
		if problems, ok := model.AsProblems(err); (g == nil) != ok || ok && len(problems) == 0 {
			rt.Fatalf("group %v, error %v", g, err)
		}
		if g != nil && (len(g.Subnets) == 0 || g.Rolling.MinInService >= g.Spec.MaxSize || g.Rolling.BatchSize < 1) {
			rt.Errorf("group %+v", g)
		}
	})
}

func drawMeta(rt *rapid.T) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:      rapid.OneOf(rapid.SampledFrom([]string{"demo", "demo-control-plane-1"}), rapid.String()).Draw(rt, "name"),
		Namespace: "default",
	}
}

func drawWord(rt *rapid.T, label string) string {
	known := []string{
		"", "demo", "v1.36.3", "v1.34.11", "eu-central-1", "eu-central-1a", "eu-central-1b", "vpc-01234567", "subnet-01234567",
		"subnet-89abcdef",
		"10.0.0.0/16", "10.0.0.0/24", "172.16.0.0/12", "::/0", "100.64.0.0/13", "m6i.large", "m7g.large", "aws:a", "a/b", "kubernetes.io/a",
		"Public", "Private", "Internal", "PerZone", "Existing", "None", "gp3", "io2", "arm64", "25%", "/dev/sdf", "cilium",
	}
	return rapid.OneOf(rapid.SampledFrom(known), rapid.String()).Draw(rt, label)
}

func drawWords(rt *rapid.T, label string) []string {
	return rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) string { return drawWord(rt, label) }), 0, 3).Draw(rt, label)
}

func drawMap(rt *rapid.T, label string) map[string]string {
	m := map[string]string{}
	for _, key := range drawWords(rt, label) {
		m[key] = drawWord(rt, label)
	}
	return m
}

func drawNumber(rt *rapid.T, label string) int32 {
	return rapid.OneOf(rapid.SampledFrom([]int32{0, 1, 3, -1, 3000, math.MaxInt32, math.MinInt32}), rapid.Int32()).Draw(rt, label)
}

func drawVolume(rt *rapid.T) v1alpha1.Volume {
	return v1alpha1.Volume{
		Type: v1alpha1.VolumeType(drawWord(rt, "type")), SizeGiB: drawNumber(rt, "size"),
		IOPS: drawNumber(rt, "iops"), ThroughputMiBps: drawNumber(rt, "throughput"),
	}
}

func drawSetup(rt *rapid.T) (s v1alpha1.NodeSetup) {
	for _, path := range drawWords(rt, "paths") {
		s.Files = append(s.Files, v1alpha1.NodeFile{
			Path: path, Content: drawWord(rt, "content"), Encoding: v1alpha1.FileEncoding(drawWord(rt, "encoding")), Mode: drawWord(rt, "mode"),
		})
	}
	for _, name := range drawWords(rt, "units") {
		s.Units = append(s.Units, v1alpha1.NodeUnit{
			Name: name, Content: drawWord(rt, "content"), State: v1alpha1.UnitState(drawWord(rt, "state")),
			DropIns: []v1alpha1.UnitDropIn{{Name: drawWord(rt, "drop-in"), Content: drawWord(rt, "content")}},
		})
	}
	return s
}

func drawSpec(rt *rapid.T) v1alpha1.ClusterSpec {
	s := v1alpha1.ClusterSpec{
		Release: drawWord(rt, "release"), Region: drawWord(rt, "region"), Tags: drawMap(rt, "tags"),
		Network: v1alpha1.Network{
			CIDR: drawWord(rt, "cidr"), Zones: drawWords(rt, "zones"), VPC: drawWord(rt, "vpc"), PodCIDR: drawWord(rt, "pods"),
			ServiceCIDR: drawWord(rt, "services"),
			Topology:    v1alpha1.Topology(drawWord(rt, "topology")), NAT: v1alpha1.NAT(drawWord(rt, "nat")),
			NATGateways: drawMap(rt, "gateways"),
		},
		API: v1alpha1.APIEndpoint{Access: v1alpha1.APIAccess(drawWord(rt, "access"))},
		ControlPlane: v1alpha1.ControlPlane{
			Replicas: drawNumber(rt, "replicas"), InstanceType: drawWord(rt, "type"), Zones: drawWords(rt, "slots"),
			RootVolume: drawVolume(rt), EtcdVolume: drawVolume(rt), Labels: drawMap(rt, "labels"), NodeSetup: drawSetup(rt),
		},
		Nodes: drawSetup(rt),
	}
	for _, id := range drawWords(rt, "subnets") {
		s.Network.Subnets = append(
			s.Network.Subnets, v1alpha1.Subnet{ID: id, Zone: drawWord(rt, "zone"), Role: v1alpha1.SubnetRole(drawWord(rt, "role"))},
		)
	}
	for _, name := range drawWords(rt, "addons") {
		s.Addons = append(s.Addons, v1alpha1.Addon{Name: name, Disabled: rapid.Bool().Draw(rt, "disabled"), Chart: drawWord(rt, "chart")})
	}
	if rapid.Bool().Draw(rt, "more") {
		s.Bastion, s.ServiceAccountIssuer = &v1alpha1.Bastion{InstanceType: drawWord(rt, "bastion")}, &v1alpha1.ServiceAccountIssuer{}
	}
	if rapid.Bool().Draw(rt, "good") { // most that is drawn at random is not
		good := resolveSpec()
		good.Tags, good.ControlPlane.Labels = s.Tags, s.ControlPlane.Labels
		good.Bastion, good.ServiceAccountIssuer = s.Bastion, s.ServiceAccountIssuer
		return good
	}
	return s
}

func resolveSpec() v1alpha1.ClusterSpec {
	return v1alpha1.ClusterSpec{
		Release: "v1.36.3",
		Region:  "eu-central-1",
		Network: v1alpha1.Network{CIDR: "10.0.0.0/16", Zones: zones[:2]},
	}
}

func drawGroup(rt *rapid.T) v1alpha1.InstanceGroupSpec {
	number := func(label string) *intstr.IntOrString {
		if rapid.Bool().Draw(rt, label) {
			return nil
		}
		return new(
			rapid.SampledFrom([]intstr.IntOrString{
				intstr.FromInt32(drawNumber(rt, label)), intstr.FromString(drawWord(rt, label)), {Type: 7},
			}).Draw(rt, label),
		)
	}
	s := v1alpha1.InstanceGroupSpec{
		Cluster: drawWord(rt, "cluster"), MinSize: drawNumber(rt, "min"), MaxSize: drawNumber(rt, "max"),
		InstanceTypes: drawWords(rt, "types"),
		Architecture:  v1alpha1.Architecture(drawWord(rt, "architecture")), Zones: drawWords(rt, "zones"),
		Subnets:    drawWords(rt, "subnets"),
		RootVolume: drawVolume(rt), Labels: drawMap(rt, "labels"), Tags: drawMap(rt, "tags"),
		RollingUpdate: v1alpha1.RollingUpdate{BatchSize: number("batch"), MinInService: number("stay")},
		NodeSetup:     drawSetup(rt),
	}
	if rapid.Bool().Draw(rt, "more") {
		s.Spot = &v1alpha1.Spot{OnDemandBase: drawNumber(rt, "base"), OnDemandPercentage: drawNumber(rt, "percentage")}
		s.Volumes = []v1alpha1.DataVolume{{Device: drawWord(rt, "device"), Volume: drawVolume(rt)}}
		s.RollingUpdate.Pause = &metav1.Duration{Duration: time.Duration(rapid.Int64().Draw(rt, "pause"))}
		s.RollingUpdate.DrainTimeout = &metav1.Duration{Duration: time.Duration(rapid.Int64().Draw(rt, "drain"))}
	}
	if rapid.Bool().Draw(rt, "good") {
		s = v1alpha1.InstanceGroupSpec{
			Cluster:       "demo",
			MinSize:       1,
			MaxSize:       3,
			InstanceTypes: []string{"m6i.large"},
			RollingUpdate: s.RollingUpdate,
		}
	}
	return s
}
