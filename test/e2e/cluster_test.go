package e2e

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/aws-operator/aws-operator/examples"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/test/inventory"
)

const (
	// other is a second account.
	other = "210987654321"
)

// example returns one of examples/clusters.
func example(t *testing.T, name string) string {
	t.Helper()
	manifest, err := fs.ReadFile(examples.Clusters, "clusters/"+name+".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(manifest)
}

// Each example becomes a cluster whose nodes match its manifest, and is deleted without a trace.
func TestExamples(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T, *cloud, string) string{
		"minimal-public":      asItIs,
		"private-three-slots": asItIs,
		"existing-vpc":        inExistingVPC,
		"internal-api":        asItIs,
		"spot-mixed":          asItIs,
		"two-groups":          asItIs,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t, cloudOptions{})
			manifest := prepare(t, c, example(t, name))
			before := c.inventory(account)
			objects := c.apply(manifest)
			c.awaitReady(objects...)
			c.asManifest(objects)
			c.remove(objects...)
			if diff := cmp.Diff(before, c.inventory(account)); diff != "" {
				t.Errorf("deletion left a trace (-before +after):\n%s", diff)
			}
			if strings.Contains(c.log(), `"reason":"Connecting"`) {
				t.Error("an operator that stayed connected reconnected to terminated machines")
			}
		})
	}
}

func asItIs(_ *testing.T, _ *cloud, manifest string) string { return manifest }

// Two clusters in two accounts concurrently, the second through a role that requires an external
// ID.
func TestTwoAccounts(t *testing.T) {
	t.Parallel()
	c := newCloud(t, cloudOptions{})
	manifest := example(t, "two-accounts")
	objects := decode(t, manifest)
	c.allowRole(objects)
	before := map[string][]string{account: c.inventory(account), other: c.inventory(other)}
	c.apply(manifest)
	c.awaitReady(objects...)
	c.asManifest(objects)
	if len(c.inventory(other)) == len(before[other]) {
		t.Error("nothing was created in the second account")
	}
	c.mutex.Lock()
	if diff := cmp.Diff(map[string]string{"arn:aws:iam::" + other + ":role/cluster-operator": "abroad"}, c.assumed); diff != "" {
		t.Errorf("external IDs by role (-want +got):\n%s", diff)
	}
	c.mutex.Unlock()
	c.remove(objects...)
	for _, as := range []string{account, other} {
		if diff := cmp.Diff(before[as], c.inventory(as)); diff != "" {
			t.Errorf("deletion left a trace in %s (-before +after):\n%s", as, diff)
		}
	}
}

// allowRole creates the role that a Cluster references, in the account of its ARN.
func (c *cloud) allowRole(objects []*unstructured.Unstructured) {
	c.t.Helper()
	for _, object := range objects {
		arn, found, _ := unstructured.NestedString(object.Object, "spec", "role", "arn")
		if !found {
			continue
		}
		external, _, _ := unstructured.NestedString(object.Object, "spec", "role", "externalID")
		parts := strings.Split(arn, ":")
		if parts[4] != other {
			c.t.Fatalf("the example's second account is %s, the test's %s", parts[4], other)
		}
		root := c.config(other)
		simulatortest.Role(c.t, root, parts[5][strings.LastIndex(parts[5], "/")+1:], account, external,
			simulatortest.Policies(c.t, root, operatorPolicies...)...)
	}
}

// inventory lists an account's resources without the operator's own stack of events.
func (c *cloud) inventory(as string) []string {
	c.t.Helper()
	var there []string
	for _, line := range inventory.Of(c.t, c.config(as)) {
		if !strings.HasPrefix(line, "stack aws-operator-events") {
			there = append(there, line)
		}
	}
	return there
}

// asManifest compares the nodes of every cluster with its manifest.
func (c *cloud) asManifest(objects []*unstructured.Unstructured) {
	c.t.Helper()
	for n, object := range objects {
		objects[n] = c.get(object)
	}
	for _, object := range objects {
		if object.GetKind() != "Cluster" {
			continue
		}
		slots := int64(3)
		if n, found, _ := unstructured.NestedInt64(object.Object, "spec", "controlPlane", "replicas"); found {
			slots = n
		}
		release, _, _ := unstructured.NestedString(object.Object, "spec", "release")
		want := map[string]int64{"control-plane": slots}
		shape := map[string]*unstructured.Unstructured{}
		for _, group := range objects {
			if of, _, _ := unstructured.NestedString(group.Object, "spec", "cluster"); of == object.GetName() {
				want[group.GetName()], _, _ = unstructured.NestedInt64(group.Object, "spec", "minSize")
				shape[group.GetName()] = group
			}
		}
		c.awaitRoles(object.GetName())
		got := map[string]int64{}
		zones := map[string]bool{}
		for _, node := range c.nodes(object.GetName()) {
			group := c.checkNode(&node, release, shape)
			got[group]++
			zones[node.Labels[corev1.LabelTopologyZone]] = true
		}
		if diff := cmp.Diff(want, got); diff != "" {
			c.t.Errorf("nodes of cluster %s by group (-want +got):\n%s", object.GetName(), diff)
		}
		if wide, _, _ := unstructured.NestedSlice(object.Object, "spec", "network", "zones"); len(zones) < len(wide) {
			c.t.Errorf("the nodes of cluster %s are only in %v", object.GetName(), zones)
		}
	}
}

// awaitRoles waits until all nodes of a cluster have the label of their role: the operator sets it when it sees the
// node, and a Cluster is Ready with its first worker.
func (c *cloud) awaitRoles(cluster string) {
	c.t.Helper()
	lacking := ""
	c.await(func() string { return "the role of node " + lacking }, func() bool {
		for _, node := range c.nodes(cluster) {
			_, isSlot := node.Labels["node-role.kubernetes.io/control-plane"]
			if _, isWorker := node.Labels["node-role.kubernetes.io/worker"]; !isSlot && !isWorker {
				lacking = node.Name
				return false
			}
		}
		return true
	})
}

// checkNode checks one node and returns its group.
func (c *cloud) checkNode(node *corev1.Node, release string, shape map[string]*unstructured.Unstructured) string {
	c.t.Helper()
	if !nodeReady(node) || node.Status.NodeInfo.KubeletVersion != release {
		c.t.Errorf("node %s: ready %v, version %s", node.Name, nodeReady(node), node.Status.NodeInfo.KubeletVersion)
	}
	if !strings.HasPrefix(node.Spec.ProviderID, "aws:///"+node.Labels[corev1.LabelTopologyZone]+"/i-") {
		c.t.Errorf("node %s in zone %q is %q", node.Name, node.Labels[corev1.LabelTopologyZone], node.Spec.ProviderID)
	}
	if _, isSlot := node.Labels["node-role.kubernetes.io/control-plane"]; isSlot {
		return "control-plane"
	}
	group := node.Labels["cluster-operator.aws/instance-group"]
	if _, isWorker := node.Labels["node-role.kubernetes.io/worker"]; !isWorker {
		c.t.Errorf("node %s of group %s has no role: %v", node.Name, group, node.Labels)
	}
	wanted := shape[group]
	if wanted == nil {
		c.t.Errorf("node %s has no group: %v", node.Name, node.Labels)
		return group
	}
	labels, _, _ := unstructured.NestedStringMap(wanted.Object, "spec", "labels")
	for name, value := range labels {
		if node.Labels[name] != value {
			c.t.Errorf("label %s of node %s is %q, want %q", name, node.Name, node.Labels[name], value)
		}
	}
	taints, _, _ := unstructured.NestedSlice(wanted.Object, "spec", "taints")
	if len(taints) != len(node.Spec.Taints) {
		c.t.Errorf("taints of node %s: %v, want %v", node.Name, node.Spec.Taints, taints)
	}
	return group
}

func nodeReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// inExistingVPC creates a VPC with the example's subnets and puts its IDs into the manifest.
func inExistingVPC(t *testing.T, c *cloud, manifest string) string {
	t.Helper()
	api := ec2.NewFromConfig(c.config(account))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	vpc, err := api.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.9.0.0/16")})
	must(err)
	_, err = api.ModifyVpcAttribute(t.Context(), &ec2.ModifyVpcAttributeInput{
		VpcId: vpc.Vpc.VpcId, EnableDnsHostnames: &ec2types.AttributeBooleanValue{Value: aws.Bool(true)},
	})
	must(err)
	gateway, err := api.CreateInternetGateway(t.Context(), &ec2.CreateInternetGatewayInput{})
	must(err)
	_, err = api.AttachInternetGateway(t.Context(), &ec2.AttachInternetGatewayInput{
		InternetGatewayId: gateway.InternetGateway.InternetGatewayId, VpcId: vpc.Vpc.VpcId,
	})
	must(err)
	routes, err := api.CreateRouteTable(t.Context(), &ec2.CreateRouteTableInput{VpcId: vpc.Vpc.VpcId})
	must(err)
	_, err = api.CreateRoute(t.Context(), &ec2.CreateRouteInput{
		RouteTableId: routes.RouteTable.RouteTableId, DestinationCidrBlock: aws.String("0.0.0.0/0"),
		GatewayId: gateway.InternetGateway.InternetGatewayId,
	})
	must(err)
	for _, object := range decode(t, manifest) {
		id, found, _ := unstructured.NestedString(object.Object, "spec", "network", "vpc")
		if !found {
			continue
		}
		manifest = strings.ReplaceAll(manifest, id, *vpc.Vpc.VpcId)
		subnets, _, _ := unstructured.NestedSlice(object.Object, "spec", "network", "subnets")
		for n, entry := range subnets {
			wanted, _ := entry.(map[string]any)
			made, err := api.CreateSubnet(t.Context(), &ec2.CreateSubnetInput{
				VpcId: vpc.Vpc.VpcId, AvailabilityZone: aws.String(wanted["zone"].(string)),
				CidrBlock: aws.String("10.9." + string(rune('0'+n)) + ".0/24"),
			})
			must(err)
			if wanted["role"] == "Public" {
				_, err = api.AssociateRouteTable(t.Context(), &ec2.AssociateRouteTableInput{
					RouteTableId: routes.RouteTable.RouteTableId, SubnetId: made.Subnet.SubnetId,
				})
				must(err)
			}
			manifest = strings.ReplaceAll(manifest, wanted["id"].(string), *made.Subnet.SubnetId)
		}
	}
	return manifest
}

const small = `
apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: small}
spec:
  release: v1.36.3
  region: eu-central-1
  network: {cidr: 10.0.0.0/16, zones: [eu-central-1a, eu-central-1b, eu-central-1c], topology: Private, nat: Single}
  controlPlane: {replicas: 3, instanceType: m6i.large}
---
apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata: {name: small-workers}
spec: {cluster: small, minSize: 2, maxSize: 4, instanceTypes: [m6i.large]}
`

// A cluster whose deletion starts at several moments of its creation is deleted without a trace.
func TestDeletionDuringCreation(t *testing.T) {
	for name, reached := range map[string]func(*cloud, *unstructured.Unstructured) bool{
		"at once": func(_ *cloud, cluster *unstructured.Unstructured) bool {
			return len(cluster.GetFinalizers()) > 0 // before that, the operator has not observed it
		},
		"base stack under way": func(_ *cloud, cluster *unstructured.Unstructured) bool {
			stacks, _, _ := unstructured.NestedSlice(cluster.Object, "status", "stacks")
			return len(stacks) > 0
		},
		"slots under way": func(_ *cloud, cluster *unstructured.Unstructured) bool {
			stacks, _, _ := unstructured.NestedSlice(cluster.Object, "status", "stacks")
			return len(stacks) > 1
		},
		"control plane up": func(_ *cloud, cluster *unstructured.Unstructured) bool {
			return condition(cluster, "APIReachable") == "True"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t, cloudOptions{latency: 50 * time.Millisecond})
			before := c.inventory(account)
			objects := c.apply(small)
			c.await(func() string { return "the moment " + name }, func() bool { return reached(c, c.get(objects[0])) })
			c.remove(objects...)
			if diff := cmp.Diff(before, c.inventory(account)); diff != "" {
				t.Errorf("deletion left a trace (-before +after):\n%s", diff)
			}
		})
	}
}

// A cluster's deletion also deletes what its own controllers created in AWS and no user deleted: a
// load balancer with its security group, and, with this policy, a claim's volume.
func TestDeletedWithLoadBalancerAndVolume(t *testing.T) {
	t.Parallel()
	c := newCloud(t, cloudOptions{})
	before := c.inventory(account)
	objects := c.apply(strings.Replace(small, "spec:\n", "spec:\n  volumePolicy: Delete\n", 1))
	c.awaitReady(objects...)
	c.makeAsControllersDo(c.get(objects[0]))
	c.remove(objects...)
	if diff := cmp.Diff(before, c.inventory(account)); diff != "" {
		t.Errorf("deletion left a trace (-before +after):\n%s", diff)
	}
}

// By default, the volume of a claim is kept, and nothing else.
func TestVolumesOfClaimsStayByDefault(t *testing.T) {
	t.Parallel()
	c := newCloud(t, cloudOptions{})
	before := c.inventory(account)
	objects := c.apply(small)
	c.awaitReady(objects...)
	volume := c.makeAsControllersDo(c.get(objects[0]))
	c.remove(objects...)
	if diff := cmp.Diff(slices.Sorted(slices.Values(append(before, "volume "+volume))), c.inventory(account)); diff != "" {
		t.Errorf("after deletion (-want +got):\n%s", diff)
	}
}

// makeAsControllersDo creates what the cloud controller and the CSI driver create for a Service and
// a claim, with their tags, and returns the volume's ID.
func (c *cloud) makeAsControllersDo(cluster *unstructured.Unstructured) (volume string) {
	c.t.Helper()
	must := func(err error) {
		c.t.Helper()
		if err != nil {
			c.t.Fatal(err)
		}
	}
	ctx := c.t.Context()
	outputs, _, _ := unstructured.NestedStringMap(cluster.Object, "status", "outputs")
	api := ec2.NewFromConfig(c.config(account))
	tag := ec2types.Tag{Key: aws.String("kubernetes.io/cluster/" + cluster.GetName()), Value: aws.String("owned")}
	group, err := api.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
		GroupName: aws.String("k8s-elb-a1"), Description: aws.String("Security group for Kubernetes ELB"),
		VpcId:             aws.String(outputs["VPC"]),
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup, Tags: []ec2types.Tag{tag}}},
	})
	must(err)
	_, err = api.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{
		GroupId: aws.String(outputs["WorkerSecurityGroup"]), IpPermissions: []ec2types.IpPermission{{
			IpProtocol: aws.String("-1"), UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: group.GroupId}},
		}},
	})
	must(err)
	public, zone := "", "eu-central-1a"
	for name, id := range outputs {
		if strings.HasPrefix(name, "PublicSubnet") && strings.HasSuffix(name, "1a") {
			public = id
		}
	}
	_, err = elb.NewFromConfig(c.config(account)).CreateLoadBalancer(ctx, &elb.CreateLoadBalancerInput{
		LoadBalancerName: aws.String("a1b2c3"), Subnets: []string{public}, SecurityGroups: []string{*group.GroupId},
		Listeners: []elbtypes.Listener{{Protocol: aws.String("TCP"), LoadBalancerPort: 80, InstancePort: aws.Int32(30080)}},
		Tags: []elbtypes.Tag{
			{Key: tag.Key, Value: tag.Value},
			{Key: aws.String("kubernetes.io/service-name"), Value: aws.String("default/web")},
		},
	})
	must(err)
	made, err := api.CreateVolume(ctx, &ec2.CreateVolumeInput{
		AvailabilityZone: aws.String(zone), Size: aws.Int32(8), VolumeType: ec2types.VolumeTypeGp3,
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeVolume, Tags: []ec2types.Tag{
			tag, {Key: aws.String("kubernetes.io/created-for/pvc/name"), Value: aws.String("data")},
		}}},
	})
	must(err)
	return *made.VolumeId
}

// A slot whose machine dies is replaced and returns with etcd's data, while the API is served by
// the others. A worker that dies is replaced too.
func TestMachinesThatDieAreReplaced(t *testing.T) {
	t.Parallel()
	c := newCloud(t, cloudOptions{})
	objects := c.apply(small)
	c.awaitReady(objects...)
	workload := c.workload("small")
	write(t, workload, "written", "before")
	api := c.watchAPI(workload)
	c.replace(workload, "node-role.kubernetes.io/control-plane")
	c.replace(workload, "cluster-operator.aws/instance-group")
	api.end("machines were replaced", outage)
	found, err := workload.CoreV1().ConfigMaps("default").Get(t.Context(), "written", metav1.GetOptions{})
	if err != nil || found.Data["written"] != "before" {
		t.Errorf("data from before the replacement: %v, %v", found.Data, err)
	}
	c.awaitReady(objects...)
}

// replace terminates the machine of a node with a label, and waits until there are as many nodes as
// before, all Ready.
func (c *cloud) replace(workload kubernetes.Interface, label string) {
	c.t.Helper()
	list, err := workload.CoreV1().Nodes().List(c.t.Context(), metav1.ListOptions{LabelSelector: label})
	if err != nil {
		c.t.Fatal(err)
	}
	victim, count := list.Items[0].Spec.ProviderID, len(list.Items)
	_, err = ec2.NewFromConfig(c.config(account)).TerminateInstances(c.t.Context(), &ec2.TerminateInstancesInput{
		InstanceIds: []string{victim[strings.LastIndex(victim, "/")+1:]},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	var seen string
	c.await(func() string { return "the node of " + victim + " to be replaced: " + seen }, func() bool {
		now, err := workload.CoreV1().Nodes().List(c.t.Context(), metav1.ListOptions{LabelSelector: label})
		if err != nil { // the machine may have been the one that answered
			seen = err.Error()
			return false
		}
		seen = fmt.Sprintf("%d of %d nodes", len(now.Items), count)
		for n := range now.Items {
			if now.Items[n].Spec.ProviderID == victim || !nodeReady(&now.Items[n]) {
				seen += ", not so " + now.Items[n].Name
				return false
			}
		}
		return len(now.Items) == count
	})
}

// The operator is killed repeatedly while a cluster is created, and while it is deleted.
func TestKilledWhileAClusterIsCreated(t *testing.T) {
	t.Parallel()
	c := newCloud(t, cloudOptions{latency: 50 * time.Millisecond})
	before := c.inventory(account)
	objects := decode(t, small)
	c.apply(small)
	kills := c.killRepeatedly(func() bool {
		for _, object := range objects {
			if !isReady(c.get(object)) {
				return false
			}
		}
		return true
	})
	c.asManifest(objects)
	t.Logf("killed %d times during the creation", kills)
	if err := c.of(objects[0]).Delete(t.Context(), objects[0].GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	kills = c.killRepeatedly(func() bool {
		list, err := c.client.Resource(clusters).Namespace(c.namespace).List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 0
	})
	t.Logf("killed %d times during the deletion", kills)
	if diff := cmp.Diff(before, c.inventory(account)); diff != "" {
		t.Errorf("deletion left a trace (-before +after):\n%s", diff)
	}
}

// killRepeatedly kills the operator after every fifth, then tenth, … of its calls until done.
func (c *cloud) killRepeatedly(done func() bool) (kills int) {
	c.t.Helper()
	deadline := patience.Context(c.t)
	for !done() {
		if deadline.Err() != nil {
			c.t.Fatalf("killed %d times, and not done\n%s", kills, c.story())
		}
		target := c.calls() + 5 + 2*kills
		c.await(func() string { return "calls, or the end" }, func() bool { return c.calls() >= target || done() })
		if done() {
			return kills
		}
		c.kill()
		c.start()
		kills++
	}
	return kills
}

// calls returns the number of AWS calls, without long polls for events.
func (c *cloud) calls() int {
	n := 0
	for operation, count := range c.simulator.Calls() {
		if !strings.HasPrefix(operation, "sqs/") && !strings.HasPrefix(operation, "sts/") {
			n += count
		}
	}
	return n
}
