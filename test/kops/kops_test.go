package kops

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/aws-operator/aws-operator/internal/cli/apply"
	"github.com/aws-operator/aws-operator/internal/cli/deletion"
	"github.com/aws-operator/aws-operator/internal/cli/export"
	"github.com/aws-operator/aws-operator/internal/cli/validate"
	"github.com/aws-operator/aws-operator/test/inventory"
)

// TestKopsClusterBecomesReady applies the example, with only the IDs of the network replaced, and
// checks the result in the cluster and in AWS.
func TestKopsClusterBecomesReady(t *testing.T) {
	c := newCloud(t)
	network := c.network()
	before, inventoryBefore := c.describeNetwork(), inventory.Of(t, c.config())
	manifest := c.manifest(network)

	shown, notes := c.command(apply.Command(), "-f", manifest, "-f", c.release(), "--kops-release", "v1.36.3", "--poll", "100ms", "--yes")
	if !strings.Contains(shown, "Cluster apps is ready at https://") {
		t.Errorf("apply ends with\n%s", shown)
	}
	for _, note := range []string{
		"warning: .*spec.kubernetesVersion: 1.15.12: the cluster runs release v1.36.3",
		"warning: .*spec.networking.calico: .*Cilium replaces it",
		`info: .*spec.subnets\[2\].egress: ` + network["NATC"] + ": the operator, like kops, does not change the routes of existing subnets",
	} {
		if !regexp.MustCompile(note).MatchString(notes) {
			t.Errorf("the note %q is missing:\n%s", note, notes)
		}
	}
	c.checkNodes()
	c.checkMachines(network)
	c.checkAPI(network)
	c.checkBastion()
	c.command(validate.Command(), "cluster", "apps", "--wait", "1m", "--interval", "1s")
	if shown, _ := c.command(apply.Command(), "-f", manifest, "--kops-release", "v1.36.3", "--poll", "100ms", "--yes"); !strings.Contains(
		shown, "o changes",
	) {
		t.Errorf("the second apply has something to do:\n%s", shown)
	}

	c.command(deletion.Command(), "cluster", "apps", "--poll", "100ms", "--yes")
	if diff := cmp.Diff(inventoryBefore, inventory.Of(t, c.config())); diff != "" {
		t.Errorf("the resources changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before, c.describeNetwork()); diff != "" {
		t.Errorf("the network changed (-before +after):\n%s", diff)
	}
}

// manifest writes the example with the IDs of a network, by their names in the template.
func (c *cloud) manifest(network map[string]string) string {
	c.t.Helper()
	text, err := os.ReadFile("../../examples/kops/cluster.yaml")
	if err != nil {
		c.t.Fatal(err)
	}
	pairs := make([]string, 0, 2*len(written))
	for _, name := range slices.Sorted(maps.Keys(written)) {
		if !strings.Contains(string(text), written[name]) {
			c.t.Fatalf("the example has no %s", written[name])
		}
		pairs = append(pairs, written[name], network[name])
	}
	file := filepath.Join(c.dir, "kops.yaml")
	c.write(file, strings.NewReplacer(pairs...).Replace(string(text)))
	return file
}

// nodes returns the cluster's nodes by instance group, sorted by zone.
func (c *cloud) nodes() map[string][]corev1.Node {
	c.t.Helper()
	file := filepath.Join(c.dir, "kubeconfig")
	c.command(export.Command(), "kubeconfig", "apps", "--out", file)
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		c.t.Fatal(err)
	}
	found, err := kubernetes.NewForConfigOrDie(config).CoreV1().Nodes().List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	nodes := map[string][]corev1.Node{}
	for _, node := range found.Items {
		group := node.Labels["cluster-operator.aws/instance-group"]
		if _, slot := node.Labels["node-role.kubernetes.io/control-plane"]; slot {
			group = "masters"
		}
		nodes[group] = append(nodes[group], node)
	}
	for _, of := range nodes {
		slices.SortFunc(of, func(a, b corev1.Node) int {
			return strings.Compare(a.Labels[corev1.LabelTopologyZone], b.Labels[corev1.LabelTopologyZone])
		})
	}
	return nodes
}

func (c *cloud) checkNodes() {
	c.t.Helper()
	zones, nodes := map[string][]string{}, c.nodes()
	for group, of := range nodes {
		for i := range of {
			node := &of[i]
			zones[group] = append(zones[group], node.Labels[corev1.LabelTopologyZone])
			if !ready(node) || node.Status.NodeInfo.KubeletVersion != "v1.36.3" {
				c.t.Errorf("node %s of %s: ready %v, version %s", node.Name, group, ready(node), node.Status.NodeInfo.KubeletVersion)
			}
			for label := range node.Labels {
				if strings.Contains(label, "kops") {
					c.t.Errorf("node %s has the label %s", node.Name, label)
				}
			}
			if label := node.Labels["stack"]; (label == "apps") != (group == "nodes") {
				c.t.Errorf("node %s of %s has the label stack=%s", node.Name, group, label)
			}
		}
	}
	want := map[string][]string{
		"masters": {"eu-central-1a", "eu-central-1b", "eu-central-1c"}, "ingress": {"eu-central-1b"}, "nodes": zones["nodes"],
	}
	if diff := cmp.Diff(want, zones); diff != "" || len(zones["nodes"]) != 2 || zones["nodes"][0] == zones["nodes"][1] {
		c.t.Errorf("zones of nodes by group (-want +got): %v\n%s", zones["nodes"], diff)
	}
	taint := corev1.Taint{Key: "dedicated", Value: "ingress", Effect: corev1.TaintEffectNoSchedule}
	if of := nodes["ingress"]; len(of) == 1 && !slices.Contains(of[0].Spec.Taints, taint) {
		c.t.Errorf("the taints of ingress are %v", of[0].Spec.Taints)
	}
}

func ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// checkMachines checks the subnets, security groups and tags of machines.
func (c *cloud) checkMachines(network map[string]string) {
	c.t.Helper()
	private := []string{network["PrivateA"], network["PrivateB"], network["PrivateC"]}
	utility := []string{network["UtilityA"], network["UtilityB"], network["UtilityC"]}
	kinds := map[string]int{}
	for _, instance := range c.instances() {
		tags := tagsOf(instance.Tags)
		kind := kindOf(tags)
		kinds[kind]++
		if !slices.Contains(map[bool][]string{true: utility, false: private}[kind == "bastion"], aws.ToString(instance.SubnetId)) {
			c.t.Errorf("a machine of %s is in subnet %s", kind, aws.ToString(instance.SubnetId))
		}
		extra := false
		for _, group := range instance.SecurityGroups {
			extra = extra || aws.ToString(group.GroupId) == network["SecurityIngress"]
		}
		if extra != (kind == "ingress") {
			c.t.Errorf("a machine of %s is in the security groups %v", kind, instance.SecurityGroups)
		}
		if tags["Environment"] != "apps-devstg" || tags["Terraform"] != "true" || tags["kubernetes.io/cluster/apps"] != "owned" ||
			(tags["Team"] == "apps") != (kind == "nodes") {
			c.t.Errorf("a machine of %s has the tags %v", kind, tags)
		}
		if _, former := tags["kubernetes.io/cluster/apps.k8s.example.com"]; former {
			c.t.Errorf("a machine of %s is tagged as one of the cluster of kops", kind)
		}
	}
	if diff := cmp.Diff(map[string]int{"control-plane": 3, "nodes": 2, "ingress": 1, "bastion": 1}, kinds); diff != "" {
		c.t.Errorf("machines (-want +got):\n%s", diff)
	}
	zones := map[string]int32{}
	for _, volume := range c.etcdVolumes() {
		zones[aws.ToString(volume.AvailabilityZone)] += aws.ToInt32(volume.Size)
	}
	if diff := cmp.Diff(map[string]int32{"eu-central-1a": 30, "eu-central-1b": 30, "eu-central-1c": 30}, zones); diff != "" {
		c.t.Errorf("GiB of etcd's volumes (-want +got):\n%s", diff)
	}
}

// checkAPI checks the load balancer: internal, and accessible from the ranges of
// kubernetesApiAccess and by the additional groups.
func (c *cloud) checkAPI(network map[string]string) {
	c.t.Helper()
	balancer := c.balancer()
	if balancer.Scheme != "internal" || !slices.Contains(balancer.SecurityGroups, network["SecurityAPI"]) ||
		len(balancer.SecurityGroups) != 2 {
		c.t.Errorf("the load balancer is %s, in the groups %v", balancer.Scheme, balancer.SecurityGroups)
	}
	var subnets []string
	for _, zone := range balancer.AvailabilityZones {
		subnets = append(subnets, aws.ToString(zone.SubnetId))
	}
	slices.Sort(subnets)
	want := []string{network["PrivateA"], network["PrivateB"], network["PrivateC"]}
	slices.Sort(want)
	if diff := cmp.Diff(want, subnets); diff != "" {
		c.t.Errorf("subnets of the load balancer (-want +got):\n%s", diff)
	}
	own := slices.DeleteFunc(slices.Clone(balancer.SecurityGroups), func(id string) bool { return id == network["SecurityAPI"] })
	if diff := cmp.Diff([]string{"6443 10.0.0.0/8", "6443 172.18.32.0/20"}, c.open(own...)); diff != "" {
		c.t.Errorf("access to the API (-want +got):\n%s", diff)
	}
}

// checkBastion checks SSH access: to the bastion from the ranges of sshAccess, and to the nodes
// from no outside address.
func (c *cloud) checkBastion() {
	c.t.Helper()
	for _, instance := range c.instances() {
		want, kind := []string(nil), kindOf(tagsOf(instance.Tags))
		if kind == "bastion" {
			want = []string{"22 10.0.0.0/8"}
		}
		var own []string
		for _, group := range instance.SecurityGroups {
			own = append(own, aws.ToString(group.GroupId))
		}
		if diff := cmp.Diff(want, c.open(own...)); diff != "" {
			c.t.Errorf("open ports of a machine of %s (-want +got):\n%s", kind, diff)
		}
	}
}
