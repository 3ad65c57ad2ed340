package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/plan"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

// edit is a change of one thing, and whose machines it should have replaced.
type edit struct {
	name   string
	change func(*v1alpha1.Cluster, *v1alpha1.InstanceGroup)
	// rolls are the stacks whose machines are replaced.
	rolls []string
}

const slotStack, groupStack = "demo-control-plane-0", "demo-workers"

// edits are carried out one after the other on one cluster.
var edits = []edit{
	{"the release", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) { c.Spec.Release = "v1.36.3" }, []string{slotStack, groupStack}},
	{"the greatest size", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) { g.Spec.MaxSize = 6 }, nil},
	{"the least size", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) { g.Spec.MinSize = 3 }, nil},
	{"rolling settings", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.RollingUpdate.BatchSize = new(intstr.FromInt32(2))
		g.Spec.RollingUpdate.DrainTimeout = &metav1.Duration{Duration: 5 * time.Minute}
	}, nil},
	{"autoscaling", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) { g.Spec.Autoscale = true }, nil},
	{"a tag of the group", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) { g.Spec.Tags = map[string]string{"team": "a"} }, nil},
	{"a tag of the cluster", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) { c.Spec.Tags = map[string]string{"cost": "1"} }, nil},
	{
		"the instance type",
		func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) { g.Spec.InstanceTypes = []string{"m6a.large"} },
		[]string{groupStack},
	},
	{
		"a label",
		func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) { g.Spec.Labels = map[string]string{"tier": "web"} },
		[]string{groupStack},
	},
	{"a taint", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.Taints = []corev1.Taint{{Key: "only", Value: "web", Effect: corev1.TaintEffectPreferNoSchedule}}
	}, []string{groupStack}},
	{"user data", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.ExtraUserData = "#!/bin/sh\necho hello\n"
	}, []string{groupStack}},
	{"a file of the group", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.Files = []v1alpha1.NodeFile{{Path: "/etc/motd", Content: "hello\n"}}
	}, []string{groupStack}},
	{"another content of the file", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.Files[0].Content = "good morning\n"
	}, []string{groupStack}},
	{"a unit of all nodes", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.Nodes.Units = []v1alpha1.NodeUnit{{Name: "agent.service", Content: "[Service]\nExecStart=/bin/true\n"}}
	}, []string{slotStack, groupStack}},
	{"a drop-in of the slots", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.ControlPlane.Units = []v1alpha1.NodeUnit{
			{Name: "kubelet.service", DropIns: []v1alpha1.UnitDropIn{{Name: "10-nice.conf", Content: "[Service]\nNice=-5\n"}}},
		}
	}, []string{slotStack}},
	{"the same file for all nodes", func(c *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		c.Spec.Nodes.Files, g.Spec.Files = g.Spec.Files, nil
	}, []string{slotStack}}, // The group's nodes have it.
	{"no files and units", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.Nodes, c.Spec.ControlPlane.Units = v1alpha1.NodeSetup{}, nil
	}, []string{slotStack, groupStack}},
	{"a placement group of the account", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.Placement = &v1alpha1.Placement{Group: "existing"}
	}, []string{groupStack}},
	{"a placement group of its own", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.Placement = &v1alpha1.Placement{Strategy: v1alpha1.PlacementPartition, Partitions: 3}
	}, []string{groupStack}},
	{"no reserved capacity", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.CapacityReservation = &v1alpha1.CapacityReservation{Preference: v1alpha1.CapacityNone}
	}, []string{groupStack}},
	{"open reserved capacity", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.CapacityReservation = nil
	}, []string{groupStack}},
	{"another tag of the cluster", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.Tags = map[string]string{"cost": "2"}
	}, nil}, // CloudFormation leaves the placement group alone.
	{"the root volume", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) { g.Spec.RootVolume.SizeGiB = 50 }, []string{groupStack}},
	{"another text in roll", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) { g.Spec.Roll = "1" }, []string{groupStack}},
	{
		"another text in the control plane's",
		func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) { c.Spec.ControlPlane.Roll = "1" },
		[]string{slotStack},
	},
	{"a second type", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.InstanceTypes = []string{"m6a.large", "m6i.large"}
	}, nil}, // The machines that there are still fit.
	{"a second type that is not the first", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.InstanceTypes = []string{"m6i.large", "c6i.large"}
	}, []string{groupStack}},
	{"an audit log", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.API.Audit = &v1alpha1.Audit{}
	}, []string{slotStack}},
	{"a bucket for the audit log", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.API.Audit.Ship = &v1alpha1.AuditShipping{}
	}, []string{slotStack}},
	{"another bucket for the audit log", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.API.Audit.Ship = &v1alpha1.AuditShipping{Bucket: "logs", Prefix: "k8s/"}
	}, []string{slotStack}},
	{"the account of the bucket", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.API.Audit.Ship.Account = "210987654321"
		c.Spec.API.Audit.Ship.KMSKeyARN = "arn:aws:kms:" + region + ":210987654321:key/1234abcd-12ab-34cd-56ef-1234567890ab"
	}, nil}, // Only the role's policy has them.
	{"the time between objects of the audit log", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.API.Audit.Ship.Every = &metav1.Duration{Duration: 30 * time.Second}
	}, []string{slotStack}},
	{"an audit log that stays on the nodes", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.API.Audit.Ship = nil
	}, []string{slotStack}},
	{"the access list", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.API.AllowedCIDRs = []string{"198.51.100.0/24"}
	}, nil},
	{"the etcd volume", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) { c.Spec.ControlPlane.EtcdVolume.SizeGiB = 30 }, nil},
	{"a bastion", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) { c.Spec.Bastion = &v1alpha1.Bastion{} }, nil},
	{"the bastion's type", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) { c.Spec.Bastion.InstanceType = "t3.small" }, nil},
	{"a zone", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.Network.Zones = append(c.Spec.Network.Zones, "eu-central-1b")
	}, nil}, // The machines that there are still fit.
	{"a NAT gateway in each zone", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) { c.Spec.Network.NAT = v1alpha1.NATPerZone }, nil},
	{
		"the control plane's type",
		func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) { c.Spec.ControlPlane.InstanceType = "m6a.large" },
		[]string{slotStack},
	},
	{"keys of people", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.SSH.AuthorizedKeys = []string{
			"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA someone@example.com",
		}
	}, []string{slotStack, groupStack}},
	{"no bastion", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) { c.Spec.Bastion = nil }, nil},
	{
		"a release of the next resource set",
		func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) { c.Spec.Release = "v1.36.4" },
		[]string{slotStack, groupStack},
	},
	{"a DNS cache on nodes", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.Network.NodeLocalDNS = &v1alpha1.NodeLocalDNS{}
	}, []string{slotStack, groupStack}},
	{"CoreDNS for all names", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.Network.NodeLocalDNS.Forward = v1alpha1.ForwardToCoreDNS
	}, []string{slotStack, groupStack}},
	{"no DNS cache on nodes", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.Network.NodeLocalDNS = nil
	}, []string{slotStack, groupStack}},
	{"serving certificates from the cluster", serving(v1alpha1.KubeletsIssued), []string{slotStack, groupStack}},
	{"API servers that verify kubelets", serving(v1alpha1.KubeletsVerified), []string{slotStack}},
	{"API servers that no longer verify kubelets", serving(v1alpha1.KubeletsIssued), []string{slotStack}},
	{"self-signed serving certificates", serving(v1alpha1.KubeletsSelfSigned), []string{slotStack, groupStack}},
	{"an issuer for service accounts", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.ServiceAccountIssuer = &v1alpha1.ServiceAccountIssuer{}
	}, []string{slotStack}},
}

func serving(certificates v1alpha1.KubeletServing) func(*v1alpha1.Cluster, *v1alpha1.InstanceGroup) {
	return func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.Certificates = &v1alpha1.Certificates{KubeletServing: certificates}
	}
}

// For each edit the plan says what then happens in CloudFormation, when the operator's controllers
// carry it out; and then nothing is left to do.
func TestPlanMatchesWhatHappens(t *testing.T) {
	w := newSuite(t)
	cluster := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default"},
		Spec: v1alpha1.ClusterSpec{
			Release: "v1.35.8", Region: region,
			Network:      v1alpha1.Network{CIDR: "10.0.0.0/16", Zones: []string{"eu-central-1a"}, Topology: v1alpha1.TopologyPrivate},
			ControlPlane: v1alpha1.ControlPlane{Replicas: 1, InstanceType: "m6i.large"},
		},
	}
	group := &v1alpha1.InstanceGroup{
		ObjectMeta: metav1.ObjectMeta{Name: "workers", Namespace: "default"},
		Spec:       v1alpha1.InstanceGroupSpec{Cluster: "demo", MinSize: 2, MaxSize: 4, InstanceTypes: []string{"m6i.large"}},
	}
	first := w.simulated("v1.35.8")
	first.Spec.ResourceSet = release.Set100 // so that the templates differ from those of the release that it moves to
	api := ec2.NewFromConfig(simulatortest.Root(w.observer, account, region))
	_, err := api.CreatePlacementGroup(t.Context(), &ec2.CreatePlacementGroupInput{
		GroupName: aws.String("existing"), Strategy: ec2types.PlacementStrategySpread,
	})
	w.must(err)
	w.put(first, w.simulated("v1.36.4"), cluster, group)
	w.apply("demo")
	seen := map[string]bool{}
	w.events(seen)
	for _, e := range edits {
		ok := t.Run(e.name, func(t *testing.T) {
			of := *w
			of.t = t
			of.try(&e, seen)
		})
		if !ok {
			return // The next ones would go by what this one left behind.
		}
	}
}

// try plans an edit, carries it out, and compares.
func (w *suite) try(e *edit, seen map[string]bool) {
	w.t.Helper()
	w.edit("demo", func(c *v1alpha1.Cluster, groups []*v1alpha1.InstanceGroup) { e.change(c, groups[0]) })
	in := w.input("demo")
	// Machines that the edit before replaced may still be on their way out, and are counted.
	in.Groups[0].Status.Nodes.Desired = in.Groups[0].Spec.MinSize
	made, err := plan.Of(w.t.Context(), in, w.options(plan.Options{ChangeSets: true}))
	w.must(err)
	if made.Empty() {
		w.t.Fatal("the plan says that nothing changes")
	}
	for i := range made.Stacks {
		if s := &made.Stacks[i]; len(s.Differences) > 0 {
			w.t.Errorf("CloudFormation's change set of stack %s differs: %s", s.Name, s.Differences)
		}
	}
	w.apply("demo")
	happened := w.events(seen)
	for i := range made.Stacks {
		s := &made.Stacks[i]
		if d := cmp.Diff(said(s, happened[s.Name]), happened[s.Name].actions); d != "" {
			w.t.Errorf("stack %s (-planned +happened):\n%s\n%s", s.Name, d, text(w.t, made))
		}
	}
	var planned, rolled []string
	for i := range made.Stacks {
		for _, r := range made.Stacks[i].Resources {
			if r.Rolls && (!r.FitStay || happened[made.Stacks[i].Name].rolled) { // Those stay that fit.
				planned = append(planned, made.Stacks[i].Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(happened)) {
		if happened[name].rolled {
			rolled = append(rolled, name)
		}
	}
	if !slices.Equal(sorted(planned), rolled) || !slices.Equal(sorted(slices.Clone(e.rolls)), rolled) {
		w.t.Errorf("the machines of %v were replaced, planned are %v, meant %v\n%s", rolled, planned, e.rolls, text(w.t, made))
	}
	if again := w.plan("demo"); !again.Empty() {
		w.t.Errorf("afterwards there is something left to do:\n%s", text(w.t, again))
	}
	goldenText(w.test(), "edit-"+strings.ReplaceAll(strings.ReplaceAll(e.name, " ", "-"), "'", "")+".txt", text(w.t, made))
}

// said returns what a plan says of a stack, as events would. Where tags of the stack change,
// CloudFormation puts them on what can be tagged, which the plan says in one line.
func said(s *plan.Stack, happened happening) map[string]plan.Action {
	all := map[string]plan.Action{}
	for _, r := range s.Resources {
		all[r.LogicalID] = r.Action
		if action, ok := happened.actions[r.LogicalID]; ok && r.Action == plan.MayReplace {
			all[r.LogicalID] = action // That is what it says: either.
		}
	}
	if len(s.Tags) > 0 {
		for id, action := range happened.actions {
			if _, ok := all[id]; !ok && action == plan.Update {
				all[id] = action
			}
		}
	}
	return all
}

// happening is what the events of a stack tell.
type happening struct {
	actions map[string]plan.Action
	rolled  bool
}

// events returns the events since the last call, by stack.
func (w *suite) events(seen map[string]bool) map[string]happening {
	w.t.Helper()
	api := w.cloudformation()
	found := map[string]happening{}
	all, err := api.DescribeStacks(w.t.Context(), &cloudformation.DescribeStacksInput{})
	w.must(err)
	for i := range all.Stacks {
		name := aws.ToString(all.Stacks[i].StackName)
		h := happening{actions: map[string]plan.Action{}}
		pages := cloudformation.NewDescribeStackEventsPaginator(api, &cloudformation.DescribeStackEventsInput{StackName: &name})
		for pages.HasMorePages() {
			page, err := pages.NextPage(w.t.Context())
			w.must(err)
			for j := range page.StackEvents {
				e := &page.StackEvents[j]
				if id := aws.ToString(e.EventId); !seen[id] {
					seen[id] = true
					h.note(name, aws.ToString(e.LogicalResourceId), string(e.ResourceStatus), aws.ToString(e.ResourceStatusReason))
				}
			}
		}
		found[name] = h
	}
	return found
}

func (h *happening) note(stack, id, status, reason string) {
	if id == stack {
		return
	}
	h.rolled = h.rolled || strings.HasPrefix(reason, "Rolling update initiated")
	switch replaced := strings.Contains(reason, "requires the creation of a new physical resource"); {
	case replaced:
		h.actions[id] = plan.Replace
	case h.actions[id] == plan.Replace:
	case status == "CREATE_COMPLETE":
		h.actions[id] = plan.Create
	case status == "DELETE_COMPLETE":
		h.actions[id] = plan.Delete
	case status == "UPDATE_COMPLETE":
		h.actions[id] = plan.Update
	case strings.HasSuffix(status, "_FAILED"):
		h.actions[id] = plan.Action(fmt.Sprintf("%s: %s", status, reason))
	}
}
