package render_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
)

// What holds of every machine: credentials only by IMDSv2 and one hop, every
// disk encrypted, and no desired capacity that an update would enforce.
func TestEveryMachine(t *testing.T) {
	seen := 0
	for _, path := range manifests(t, "testdata/*.yaml") {
		f := read(t, path)
		for _, s := range f.stacks(t, setRelease(strings.TrimPrefix(f.cluster.Spec.Release, "set-"))) {
			for _, id := range ofType(s, "AWS::EC2::LaunchTemplate") {
				seen++
				if got := property(s, id, "LaunchTemplateData", "MetadataOptions"); got != `{"HttpEndpoint":"enabled","HttpPutResponseHopLimit":1,"HttpTokens":"required"}` {
					t.Errorf("%s of %s: metadata options are %s", id, s.Name, got)
				}
				disks := property(s, id, "LaunchTemplateData", "BlockDeviceMappings")
				if strings.Count(disks, "DeviceName") != strings.Count(disks, `"Encrypted":true`) {
					t.Errorf("%s of %s: disks are %s", id, s.Name, disks)
				}
			}
			for _, id := range ofType(s, "AWS::AutoScaling::AutoScalingGroup") {
				if property(s, id, "DesiredCapacity") != "" {
					t.Errorf("%s of %s sets the desired capacity", id, s.Name)
				}
			}
			for _, id := range ofType(s, "AWS::EC2::Volume") {
				r := s.Template.Resources[id]
				if r.DeletionPolicy != "Snapshot" || r.UpdateReplacePolicy != "Snapshot" || property(s, id, "Encrypted") != "true" {
					t.Errorf("%s of %s is not kept", id, s.Name)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("there were no machines")
	}
}

// groupOf renders the first instance group of a cluster after a change.
func groupOf(t *testing.T, change func(*v1alpha1.InstanceGroupSpec)) *render.Stack {
	t.Helper()
	f := read(t, "testdata/public.yaml")
	change(&f.groups[0].Spec)
	stacks := f.stacks(t, setRelease("1.1.0"))
	return stacks[len(stacks)-1]
}

func TestMix(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*v1alpha1.InstanceGroupSpec)
		want   string
	}{
		{"one type on demand needs no mixing", func(*v1alpha1.InstanceGroupSpec) {}, ""},
		{
			"several types are tried in their order",
			func(s *v1alpha1.InstanceGroupSpec) { s.InstanceTypes = []string{"m6i.large", "m6a.large"} },
			`{"OnDemandAllocationStrategy":"prioritized","OnDemandBaseCapacity":0,"OnDemandPercentageAboveBaseCapacity":100}`,
		},
		{
			"all spot, of one type",
			func(s *v1alpha1.InstanceGroupSpec) { s.Spot = &v1alpha1.Spot{} },
			`{"OnDemandAllocationStrategy":"prioritized","OnDemandBaseCapacity":0,"OnDemandPercentageAboveBaseCapacity":0,"SpotAllocationStrategy":"price-capacity-optimized"}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := groupOf(t, c.change)
			if got := property(s, "AutoScalingGroup", "MixedInstancesPolicy", "InstancesDistribution"); got != c.want {
				t.Errorf("got %s", got)
			}
			if plain := property(s, "AutoScalingGroup", "LaunchTemplate"); (plain == "") != (c.want != "") {
				t.Errorf("the launch template is %s", plain)
			}
		})
	}
}

// https://docs.aws.amazon.com/autoscaling/ec2/userguide/launch-template-capacity-blocks.html
func TestCapacityBlock(t *testing.T) {
	s := groupOf(t, func(s *v1alpha1.InstanceGroupSpec) {
		s.CapacityReservation = &v1alpha1.CapacityReservation{ID: "cr-0123456789abcdef0", Type: v1alpha1.CapacityBlock}
	})
	if got := property(s, "LaunchTemplate", "LaunchTemplateData", "InstanceMarketOptions"); got != `{"MarketType":"capacity-block"}` {
		t.Errorf("the market is %s", got)
	}
	const want = `{"CapacityReservationTarget":{"CapacityReservationId":"cr-0123456789abcdef0"}}`
	if got := property(s, "LaunchTemplate", "LaunchTemplateData", "CapacityReservationSpecification"); got != want {
		t.Errorf("the reserved capacity is %s", got)
	}
	if got := property(s, "AutoScalingGroup", "MixedInstancesPolicy"); got != "" {
		t.Errorf("the group mixes instances: %s", got)
	}
}

// https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html
func TestCapacityBlockOfEKS(t *testing.T) {
	f := read(t, "../../../examples/clusters/eks.yaml")
	f.cluster.Spec.Release = "set-1.2.0"
	spec := &f.groups[0].Spec
	spec.InstanceTypes, spec.Zones, spec.Spot = spec.InstanceTypes[:1], []string{"eu-central-1a"}, nil
	spec.CapacityReservation = &v1alpha1.CapacityReservation{ID: "cr-0123456789abcdef0", Type: v1alpha1.CapacityBlock}
	c, groups := f.resolve(t, setRelease("1.2.0"))
	base, err := render.Base(c)
	if err != nil {
		t.Fatal(err)
	}
	s, err := render.Group(c, groups[0], outputs(base), "")
	if err != nil {
		t.Fatal(err)
	}
	if got := property(s, "NodeGroup", "CapacityType"); got != `"CAPACITY_BLOCK"` {
		t.Errorf("the capacity type is %s", got)
	}
	if got := property(s, "NodeGroup", "InstanceTypes"); got != "" {
		t.Errorf("the node group has the instance types %s", got)
	}
	if got := property(s, "LaunchTemplate", "LaunchTemplateData", "InstanceType"); got != `"`+spec.InstanceTypes[0]+`"` {
		t.Errorf("the launch template has the instance type %s", got)
	}
	valid(t, s)
}

// Whatever people write comes out as they wrote it, and as nothing else.
func TestTextStaysText(t *testing.T) {
	const odd = "a: {{ .Name }} \"b\" # ${AWS::AccountId}\n- !Ref c \\ 'd' \u2028 €"
	s := groupOf(t, func(spec *v1alpha1.InstanceGroupSpec) { spec.Tags = map[string]string{"odd": odd} })
	for _, n := range s.Template.Resources["AutoScalingGroup"].Properties.Get("Tags").Items {
		if n.Get("Key").Text == "odd" {
			if diff := cmp.Diff(odd, n.Get("Value").Text); diff != "" {
				t.Errorf("the tag (-want +got):\n%s", diff)
			}
			return
		}
	}
	t.Error("there is no such tag")
}

// A stack asks only for what it uses, so that outputs of the base stack that
// come later change no other stack; and says so if something is not there.
func TestWhatIsAskedOfTheBaseStack(t *testing.T) {
	f := read(t, "testdata/public.yaml")
	c, groups := f.resolve(t, setRelease("1.1.0"))
	given := map[string]string{
		"ControlPlaneSecurityGroup": "sg-1", "ControlPlaneInstanceProfile": "profile", "APITargetGroup": "arn",
		"PublicSubnetEuCentral1a": "subnet-1",
		"WorkerSecurityGroup":     "sg-2", "WorkerInstanceProfile": "profile",
	}
	renderBoth := func(outputs map[string]string) []error {
		_, slot := render.Slot(c, 0, outputs, "#!/bin/sh\n")
		_, group := render.Group(c, groups[0], outputs, "#!/bin/sh\n")
		return []error{slot, group}
	}
	for _, err := range renderBoth(given) {
		if err != nil {
			t.Error(err)
		}
	}
	delete(given, "PublicSubnetEuCentral1a")
	for _, err := range renderBoth(given) {
		if err == nil || !strings.Contains(err.Error(), "the base stack has no output PublicSubnetEuCentral1a") {
			t.Errorf("got %v", err)
		}
	}
	if _, err := render.Slot(c, 7, given, ""); err == nil {
		t.Error("there is a slot 7")
	}
}
