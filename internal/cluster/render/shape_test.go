package render_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
)

// rollsNothing are the changes of a group that must not replace a machine.
var rollsNothing = map[string]func(*rapid.T, *v1alpha1.InstanceGroupSpec){
	"sizes": func(rt *rapid.T, s *v1alpha1.InstanceGroupSpec) {
		s.MaxSize = rapid.Int32Range(1, 1000).Draw(rt, "max")
		s.MinSize = rapid.Int32Range(0, s.MaxSize).Draw(rt, "min")
	},
	"tags": func(rt *rapid.T, s *v1alpha1.InstanceGroupSpec) {
		s.Tags = map[string]string{"team": rapid.StringMatching("[a-z]{1,9}").Draw(rt, "team")}
	},
	"autoscaling": func(rt *rapid.T, s *v1alpha1.InstanceGroupSpec) { s.Autoscale = rapid.Bool().Draw(rt, "autoscale") },
	"rolling settings": func(rt *rapid.T, s *v1alpha1.InstanceGroupSpec) {
		s.RollingUpdate.BatchSize = new(intstr.FromInt32(rapid.Int32Range(1, 100).Draw(rt, "batch")))
		s.RollingUpdate.MinInService = new(intstr.FromInt32(rapid.Int32Range(0, 100).Draw(rt, "stay")))
		s.RollingUpdate.Pause = &metav1.Duration{Duration: time.Duration(rapid.Int64Range(0, 2700).Draw(rt, "pause")) * time.Second}
		s.RollingUpdate.ReadyTimeout = &metav1.Duration{Duration: time.Duration(rapid.Int64Range(10, 900).Draw(rt, "ready")) * time.Second}
		s.RollingUpdate.Engine = rapid.SampledFrom([]v1alpha1.RollingEngine{"", v1alpha1.RollCloudFormation, v1alpha1.RollOperator}).
			Draw(rt, "engine")
	},
	"drain settings": func(rt *rapid.T, s *v1alpha1.InstanceGroupSpec) {
		s.RollingUpdate.DrainTimeout = &metav1.Duration{Duration: time.Duration(rapid.Int64Range(0, 86400).Draw(rt, "drain")) * time.Second}
		s.RollingUpdate.OnDrainTimeout = rapid.SampledFrom([]v1alpha1.DrainPolicy{"", v1alpha1.DrainContinue, v1alpha1.DrainAbandon}).
			Draw(rt, "then")
	},
	"repair settings": func(rt *rapid.T, s *v1alpha1.InstanceGroupSpec) {
		s.Repair.Disabled = rapid.Bool().Draw(rt, "disabled")
		s.Repair.MaxUnhealthy = new(intstr.FromInt32(rapid.Int32Range(0, 100).Draw(rt, "unhealthy")))
	},
	"approval": func(rt *rapid.T, s *v1alpha1.InstanceGroupSpec) {
		s.UpdatePolicy = rapid.SampledFrom([]v1alpha1.UpdatePolicy{"", v1alpha1.UpdateManual}).Draw(rt, "policy")
	},
}

// rollsAll are changes of what shapes a node without being in its bundle, each of which replaces
// the machines. That all else that shapes a node is in the bundle, and so in the user data, is
// package bootstrap's to hold.
var rollsAll = map[string]func(*v1alpha1.InstanceGroupSpec){
	"another type":  func(s *v1alpha1.InstanceGroupSpec) { s.InstanceTypes = []string{"m6i.xlarge"} },
	"one more type": func(s *v1alpha1.InstanceGroupSpec) { s.InstanceTypes = append(s.InstanceTypes, "m6a.large") },
	"spot":          func(s *v1alpha1.InstanceGroupSpec) { s.Spot = &v1alpha1.Spot{} },
	"another image": func(s *v1alpha1.InstanceGroupSpec) { s.Image = "ami-0123456789abcdef9" },
	"a bigger disk": func(s *v1alpha1.InstanceGroupSpec) { s.RootVolume.SizeGiB = 99 },
	"one more disk": func(s *v1alpha1.InstanceGroupSpec) { s.Volumes = []v1alpha1.DataVolume{{Device: "/dev/sdp"}} },
	"a placement group of its own": func(s *v1alpha1.InstanceGroupSpec) {
		s.Placement = &v1alpha1.Placement{Strategy: v1alpha1.PlacementPartition, Partitions: 3}
	},
	"an existing placement group": func(s *v1alpha1.InstanceGroupSpec) { s.Placement = &v1alpha1.Placement{Group: "a"} },
	"no reserved capacity": func(s *v1alpha1.InstanceGroupSpec) {
		s.CapacityReservation = &v1alpha1.CapacityReservation{Preference: v1alpha1.CapacityNone}
	},
	"a Capacity Block": func(s *v1alpha1.InstanceGroupSpec) {
		s.CapacityReservation = &v1alpha1.CapacityReservation{ID: "cr-0123456789abcdef0", Type: v1alpha1.CapacityBlock}
	},
	"a security group": func(s *v1alpha1.InstanceGroupSpec) { s.SecurityGroups = []string{"sg-0123456789abcdef9"} },
}

// shaped renders the first group of a cluster, whose disks have those tags if there are any.
func shaped(t *testing.T, spec *v1alpha1.InstanceGroupSpec, diskTags map[string]string) *render.Stack {
	t.Helper()
	f := read(t, "testdata/public.yaml")
	f.groups[0].Spec = *spec
	c, groups := f.resolve(t, setRelease("1.1.0"))
	base, err := render.Base(c)
	if err != nil {
		t.Fatal(err)
	}
	if diskTags != nil {
		groups[0].DiskTags = diskTags
	}
	s, err := render.Group(c, groups[0], outputs(base), userData(t, c, groups[0].Spec.Architecture))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// replaces is all for which CloudFormation replaces a group's machines.
func replaces(s *render.Stack) string {
	parts := []string{property(s, "LaunchTemplate", "LaunchTemplateData")}
	for _, name := range []string{"VPCZoneIdentifier", "LaunchTemplate", "MixedInstancesPolicy", "PlacementGroup"} {
		parts = append(parts, property(s, "AutoScalingGroup", name))
	}
	for name, value := range s.Parameters {
		parts[0] = strings.ReplaceAll(parts[0], `{"Ref":"`+name+`"}`, value)
		parts[1] = strings.ReplaceAll(parts[1], `{"Ref":"`+name+`"}`, value)
	}
	return strings.Join(parts, "\n")
}

func TestWhatRollsNothing(t *testing.T) {
	spec := read(t, "testdata/public.yaml").groups[0].Spec
	spec.Tags = map[string]string{"team": "first"}
	before := shaped(t, &spec, nil)
	was := map[string]string{"team": "first"}
	rapid.Check(t, func(rt *rapid.T) {
		changed := spec.DeepCopy()
		for name, change := range rollsNothing {
			if rapid.Bool().Draw(rt, name) {
				change(rt, changed)
			}
		}
		after := shaped(t, changed, nil)
		if before.Shape() != after.Shape() {
			rt.Fatalf("the shape of %+v is another", changed)
		}
		// With the tags that disks had before, no machine is replaced; the machines get the new
		// ones.
		kept := shaped(t, changed, diskTags(t, &spec))
		if replaces(before) != replaces(kept) {
			rt.Errorf("%+v replaces machines:\n%s\n%s", changed, replaces(before), replaces(kept))
		}
		if want := changed.Tags["team"]; want != was["team"] &&
			!strings.Contains(property(kept, "AutoScalingGroup", "Tags"), `{"Key":"team","PropagateAtLaunch":true,"Value":"`+want+`"}`) {
			rt.Errorf("new machines do not get the tag team=%s: %s", want, property(kept, "AutoScalingGroup", "Tags"))
		}
	})
}

// diskTags returns the default tags of the volumes of a group.
func diskTags(t *testing.T, spec *v1alpha1.InstanceGroupSpec) map[string]string {
	t.Helper()
	f := read(t, "testdata/public.yaml")
	f.groups[0].Spec = *spec
	_, groups := f.resolve(t, setRelease("1.1.0"))
	return groups[0].DiskTags
}

func TestWhatRollsAll(t *testing.T) {
	spec := read(t, "testdata/public.yaml").groups[0].Spec
	before := shaped(t, &spec, nil)
	for name, change := range rollsAll {
		t.Run(name, func(t *testing.T) {
			changed := spec.DeepCopy()
			change(changed)
			after := shaped(t, changed, nil)
			if before.Shape() == after.Shape() || replaces(before) == replaces(after) {
				t.Error("no machine is replaced")
			}
		})
	}
	t.Run("another bundle", func(t *testing.T) {
		f := read(t, "testdata/public.yaml")
		c, groups := f.resolve(t, setRelease("1.1.0"))
		base, err := render.Base(c)
		if err != nil {
			t.Fatal(err)
		}
		s, err := render.Group(c, groups[0], outputs(base), "#!/bin/sh\n# another\n")
		if err != nil {
			t.Fatal(err)
		}
		if s.Shape() == before.Shape() || replaces(s) == replaces(before) {
			t.Error("no machine is replaced")
		}
	})
}

func TestHowGroupsRoll(t *testing.T) {
	policy := func(s *render.Stack) string {
		return string(s.Template.Resources["AutoScalingGroup"].UpdatePolicy.AppendJSON(nil))
	}
	const always = `"AutoScalingScheduledAction":{"IgnoreUnmodifiedGroupSizeProperties":true}`
	for name, one := range map[string]struct {
		change func(*v1alpha1.InstanceGroupSpec)
		policy string
		hook   string
		keep   string
		spot   string
	}{
		"by CloudFormation, which waits for signals": {
			change: func(s *v1alpha1.InstanceGroupSpec) {
				s.MinSize, s.MaxSize = 3, 3
				s.RollingUpdate.Pause = &metav1.Duration{Duration: time.Minute}
			},
			policy: `{"AutoScalingRollingUpdate":{"MaxBatchSize":1,"MinInstancesInService":2,"MinSuccessfulInstancesPercent":100,"PauseTime":"PT960S",` +
				`"SuspendProcesses":["HealthCheck","ReplaceUnhealthy","AZRebalance","AlarmNotification","ScheduledActions"],"WaitOnResourceSignals":true},` + always + `}`,
			hook: `[{"DefaultResult":"CONTINUE","HeartbeatTimeout":600,"LifecycleHookName":"drain","LifecycleTransition":"autoscaling:EC2_INSTANCE_TERMINATING"}]`,
		},
		"by the operator, which CloudFormation leaves alone": {
			change: func(s *v1alpha1.InstanceGroupSpec) {
				s.RollingUpdate = v1alpha1.RollingUpdate{
					Engine: v1alpha1.RollOperator, DrainTimeout: &metav1.Duration{Duration: 3 * time.Hour},
					OnDrainTimeout: v1alpha1.DrainAbandon,
				}
				s.Spot = &v1alpha1.Spot{OnDemandPercentage: 50}
			},
			policy: `{` + always + `}`,
			hook:   `[{"DefaultResult":"CONTINUE","HeartbeatTimeout":7200,"LifecycleHookName":"drain","LifecycleTransition":"autoscaling:EC2_INSTANCE_TERMINATING"}]`,
			keep:   `{"RetentionTriggers":{"TerminateHookAbandon":"retain"}}`,
			spot:   "true",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := groupOf(t, one.change)
			for what, got := range map[string][2]string{
				"update policy": {policy(s), one.policy},
				"hooks":         {property(s, "AutoScalingGroup", "LifecycleHookSpecificationList"), one.hook},
				"retention":     {property(s, "AutoScalingGroup", "InstanceLifecyclePolicy"), one.keep},
				"rebalancing":   {property(s, "AutoScalingGroup", "CapacityRebalance"), one.spot},
			} {
				if got[0] != got[1] {
					t.Errorf("%s is %s, want %s", what, got[0], got[1])
				}
			}
		})
	}
}

// Toggling what the autoscaler may do is on the Auto Scaling group alone: neither a stack's tag,
// which would be on everything, nor a disk's.
func TestAutoscalerTagsAreTheGroupsAlone(t *testing.T) {
	s := groupOf(t, func(spec *v1alpha1.InstanceGroupSpec) {
		spec.Autoscale = true
		spec.Taints = []corev1.Taint{{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}}
	})
	if got := property(s, "AutoScalingGroup", "Tags"); !strings.Contains(
		got,
		`{"Key":"`+model.TagAutoscalerEnabled+`","PropagateAtLaunch":false,"Value":"true"}`,
	) {
		t.Errorf("the group's tags are %s", got)
	}
	if s.Tags[model.TagAutoscalerEnabled] != "" || strings.Contains(property(s, "LaunchTemplate"), model.TagAutoscalerEnabled) {
		t.Error("others have the autoscaler's tag, too")
	}
}
