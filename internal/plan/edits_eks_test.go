package plan_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/lazyregexp"
	"github.com/aws-operator/aws-operator/internal/plan"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

// eksEdits are carried out one after the other on one cluster whose control plane EKS runs.
var eksEdits = []edit{
	{"the release of EKS", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) { c.Spec.Release = "v1.36.3" }, []string{groupStack}},
	{"the logs of EKS", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.ControlPlane.EKS.Logs = []v1alpha1.EKSLog{v1alpha1.EKSLogAudit}
	}, nil},
	{"the support of EKS", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.ControlPlane.EKS.Support = v1alpha1.EKSExtended
	}, nil},
	{"who may reach EKS", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.API.AllowedCIDRs = []string{"127.0.0.0/8", "192.0.2.0/24"}
	}, nil},
	{"access to EKS", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.ControlPlane.EKS.Access = []v1alpha1.EKSAccess{{Principal: "arn:aws:iam::123456789012:role/developers", Policy: v1alpha1.EKSView}}
	}, nil},
	{"more access to EKS", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.ControlPlane.EKS.Access[0].Policy = v1alpha1.EKSAdmin
	}, nil},
	{"the first add-ons of EKS", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.ControlPlane.EKS.Addons = []v1alpha1.EKSAddon{{Name: "eks-pod-identity-agent"}, {Name: "kube-proxy"}}
	}, nil},
	{"the version and values of an add-on of EKS", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.ControlPlane.EKS.Addons[0] = v1alpha1.EKSAddon{
			Name: "eks-pod-identity-agent", Version: "v1.4.0-eksbuild.2", Values: &runtime.RawExtension{Raw: []byte(`{"priorityClassName":"a"}`)},
		}
	}, nil},
	{"a role of pods in EKS", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.ControlPlane.EKS.PodIdentities = []v1alpha1.EKSPodIdentity{{
			Namespace: "default", ServiceAccount: "web", Policies: []string{"arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"},
		}}
	}, nil},
	{"another role of pods in EKS", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.ControlPlane.EKS.PodIdentities[0].Policies = nil
		c.Spec.ControlPlane.EKS.PodIdentities[0].Role = podRole
	}, nil},
	{"fewer add-ons of EKS", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.ControlPlane.EKS.Addons, c.Spec.ControlPlane.EKS.PodIdentities = c.Spec.ControlPlane.EKS.Addons[:1], nil
	}, nil},
	{"Auto Mode of EKS", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.ControlPlane.EKS.AutoMode = &v1alpha1.EKSAutoMode{
			NodePools: []v1alpha1.EKSNodePool{v1alpha1.EKSSystem}, SelfManagedAddons: v1alpha1.EKSKeepSelfManagedAddons,
		}
	}, nil},
	{"another node pool of EKS", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.ControlPlane.EKS.AutoMode.NodePools = []v1alpha1.EKSNodePool{v1alpha1.EKSGeneralPurpose, v1alpha1.EKSSystem}
	}, nil},
	{"no node pools of EKS", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.ControlPlane.EKS.AutoMode.NodePools = []v1alpha1.EKSNodePool{}
	}, nil},
	{"Auto Mode of EKS is disabled", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.ControlPlane.EKS.AutoMode.State = v1alpha1.EKSAutoModeDisabled
	}, nil},
	{"the sizes of a node group", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) { g.Spec.MaxSize = 6 }, nil},
	{"a label of a node group", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.Labels = map[string]string{"tier": "web"}
	}, nil},
	{"a taint of a node group", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.Taints = []corev1.Taint{{Key: "only", Value: "web", Effect: corev1.TaintEffectPreferNoSchedule}}
	}, nil},
	{"the batches of a node group", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.RollingUpdate.BatchSize = new(intstr.FromInt32(2))
	}, nil},
	{"repair of a node group", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) { g.Spec.Repair.Disabled = true }, nil},
	{"a placement group of a node group", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.Placement = &v1alpha1.Placement{Strategy: v1alpha1.PlacementSpread}
	}, []string{groupStack}},
	{"the root volume of a node group", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.RootVolume.SizeGiB = 40
	}, []string{groupStack}},
	{"a roll of a node group", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) { g.Spec.Roll = "now" }, []string{groupStack}},
	{"the images of a node group", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.EKS = &v1alpha1.EKSNodes{ImageFamily: v1alpha1.EKSBottlerocket}
	}, []string{groupStack}},
	{"the instance type of a node group", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.InstanceTypes = []string{"m6a.large"}
	}, []string{groupStack}},
}

// A plan of a cluster of EKS has the changes that CloudFormation's events report, and says whose nodes are replaced.
func TestPlanOfEKSMatchesWhatHappens(t *testing.T) {
	w := newSuite(t)
	simulatortest.Role(t, simulatortest.Root(w.observer, account, region), "developers", account, "")
	w.podRole()
	cluster, group := aClusterOfEKS()
	w.put(w.simulated("v1.35.8"), cluster, group)
	w.apply("demo")
	seen := map[string]bool{}
	w.events(seen)
	if !w.tryAllEKS(t, eksEdits, seen) {
		return
	}

	// The stack of the last add-on is deleted, and its events with it.
	w.edit("demo", func(c *v1alpha1.Cluster, _ []*v1alpha1.InstanceGroup) { c.Spec.ControlPlane.EKS.Addons = nil })
	goldenText(t, "edit-no-add-ons-of-EKS.txt", text(t, w.plan("demo")))
	w.apply("demo")
	if again := w.plan("demo"); !again.Empty() {
		t.Errorf("afterwards there is something left to do:\n%s", text(t, again))
	}
}

// aClusterOfEKS returns a cluster whose control plane EKS runs, and its group.
func aClusterOfEKS() (cluster *v1alpha1.Cluster, group *v1alpha1.InstanceGroup) {
	cluster = &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default"},
		Spec: v1alpha1.ClusterSpec{
			Release: "v1.35.8", Region: region,
			Network: v1alpha1.Network{
				CIDR: "10.0.0.0/16", Zones: []string{"eu-central-1a", "eu-central-1b"}, Topology: v1alpha1.TopologyPrivate,
			},
			ControlPlane: v1alpha1.ControlPlane{EKS: &v1alpha1.EKS{}},
		},
	}
	group = &v1alpha1.InstanceGroup{
		ObjectMeta: metav1.ObjectMeta{Name: "workers", Namespace: "default"},
		Spec:       v1alpha1.InstanceGroupSpec{Cluster: "demo", MinSize: 2, MaxSize: 4, InstanceTypes: []string{"m6i.large"}},
	}
	return cluster, group
}

// selfManagedEdits are carried out one after the other on a cluster of EKS whose group is self-managed.
var selfManagedEdits = []edit{
	{"the release of self-managed nodes", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) { c.Spec.Release = "v1.36.3" }, []string{groupStack}},
	{"the sizes of a self-managed group", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) { g.Spec.MaxSize = 6 }, nil},
	{"a label of self-managed nodes", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.Labels = map[string]string{"tier": "web"}
	}, []string{groupStack}},
	{"a policy of self-managed nodes", func(c *v1alpha1.Cluster, _ *v1alpha1.InstanceGroup) {
		c.Spec.IAM.WorkerPolicies = []string{"arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"}
	}, nil},
	{"the images of self-managed nodes", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.EKS.ImageFamily = v1alpha1.EKSBottlerocket
	}, []string{groupStack}},
	{"the instance type of self-managed nodes", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.InstanceTypes = []string{"m6a.large"}
	}, []string{groupStack}},
}

// The same for a group with an Auto Scaling group of its own.
func TestPlanOfSelfManagedGroupMatchesWhatHappens(t *testing.T) {
	w := newSuite(t)
	cluster, group := aClusterOfEKS()
	group.Spec.EKS = &v1alpha1.EKSNodes{Management: v1alpha1.EKSSelfManaged}
	group.Spec.RollingUpdate.MinInService = new(intstr.FromInt32(1)) // CloudFormation adds no instance meanwhile, which a plan may count.
	w.put(w.simulated("v1.35.8"), cluster, group)
	w.apply("demo")
	seen := map[string]bool{}
	w.events(seen)
	w.tryAllEKS(t, selfManagedEdits, seen)
}

// tryAllEKS tries edits one after another, and reports whether all passed. After one that failed it ends: the next ones would go
// by what that one left behind.
func (w *suite) tryAllEKS(t *testing.T, edits []edit, seen map[string]bool) bool {
	t.Helper()
	for _, e := range edits {
		passed := t.Run(e.name, func(t *testing.T) {
			of := *w
			of.t = t
			of.tryEKS(&e, seen)
		})
		if !passed {
			return false
		}
	}
	return true
}

// podRole is the ARN of a role that pods in EKS may have.
const podRole = "arn:aws:iam::" + account + ":role/web"

// podRole creates it.
func (w *suite) podRole() {
	w.t.Helper()
	_, err := iam.NewFromConfig(simulatortest.Root(w.observer, account, region)).CreateRole(w.t.Context(), &iam.CreateRoleInput{
		RoleName: aws.String("web"), AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[
			{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]}]}`),
	})
	w.must(err)
}

// tryEKS plans an edit, carries it out, and compares.
func (w *suite) tryEKS(e *edit, seen map[string]bool) {
	w.t.Helper()
	before := w.instances()
	w.edit("demo", func(c *v1alpha1.Cluster, groups []*v1alpha1.InstanceGroup) { e.change(c, groups[0]) })
	made := w.planWith("demo", plan.Options{ChangeSets: true})
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
	var planned, rolled []string
	for i := range made.Stacks {
		s := &made.Stacks[i]
		if d := cmp.Diff(said(s, happened[s.Name]), happened[s.Name].actions); d != "" {
			w.t.Errorf("stack %s (-planned +happened):\n%s\n%s", s.Name, d, text(w.t, made))
		}
		if slices.ContainsFunc(s.Resources, func(r plan.Resource) bool { return r.Rolls }) {
			planned = append(planned, s.Name)
		}
	}
	after := w.instances()
	if !slices.ContainsFunc(before, func(id string) bool { return slices.Contains(after, id) }) {
		rolled = []string{groupStack}
	}
	if !slices.Equal(planned, rolled) || !slices.Equal(e.rolls, rolled) {
		w.t.Errorf("the nodes of %v were replaced, planned are %v, meant %v\n%s", rolled, planned, e.rolls, text(w.t, made))
	}
	if again := w.plan("demo"); !again.Empty() {
		w.t.Errorf("afterwards there is something left to do:\n%s", text(w.t, again))
	}
	goldenText(w.test(), "edit-"+strings.ReplaceAll(e.name, " ", "-")+".txt", port.ReplaceAllString(text(w.t, made), "${1}…"))
}

// port matches what follows the address of an API in a text that is cut.
var port = lazyregexp.New(`(https://127\.0\.0\.1:)[^…\n]*…`)

// instances returns the IDs of the running instances, sorted.
func (w *suite) instances() []string {
	w.t.Helper()
	api := ec2.NewFromConfig(simulatortest.Root(w.observer, account, region))
	out, err := api.DescribeInstances(w.t.Context(), &ec2.DescribeInstancesInput{
		Filters: []ec2types.Filter{{Name: aws.String("instance-state-name"), Values: []string{"pending", "running"}}},
	})
	w.must(err)
	found := map[string]bool{}
	for i := range out.Reservations {
		for j := range out.Reservations[i].Instances {
			found[aws.ToString(out.Reservations[i].Instances[j].InstanceId)] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
