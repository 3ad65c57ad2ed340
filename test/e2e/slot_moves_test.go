package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A slot of three moves to another zone while clients use the API, and the operator is killed. A second move
// fails after the slot's etcd member was replaced: the slot rolls back to a volume whose member etcd does not
// know any more. The machines, nodeup, etcd and the API servers are real.
func TestSlotOfRealMachinesMoves(t *testing.T) {
	requireOperations(t)
	c, host := newProcessCloud(t, nil)
	objects := c.apply(strings.Replace(resizing, "replicas: 1", "replicas: 3", 1))
	cluster := objects[0]
	c.awaitReady(objects...)
	workload := c.workload("real")
	write(t, workload, "written", "before")
	before := c.zonesOfSlots()

	api := c.watchAPI(workload)
	c.patch(cluster, `{"spec":{"controlPlane":{"zones":["eu-central-1a","eu-central-1c","eu-central-1c"]}}}`)
	c.await(func() string { return "slot 1 to change" }, func() bool { return c.statusOfSlot() == "UPDATE_IN_PROGRESS" })
	c.kill()
	c.start()
	c.awaitZones(objects, "0a", "1c", "2c")
	api.end("a slot moved to another zone", outage)
	if after := c.zonesOfSlots(); after["0a"] != before["0a"] || after["2c"] != before["2c"] {
		t.Errorf("the volumes were %v and are %v", before, after)
	}

	moved := c.zonesOfSlots()
	api = c.watchAPI(workload)
	c.patch(cluster, `{"spec":{"controlPlane":{"zones":["eu-central-1a","eu-central-1b","eu-central-1c"]}}}`)
	c.await(func() string { return "slot 1 to change" }, func() bool { return c.statusOfSlot() == "UPDATE_IN_PROGRESS" })
	c.kill() // Nothing signals that the slot is healthy in the other zone, and nothing drains its former node.
	former := c.userOf(moved["1c"])
	if _, err := ec2.NewFromConfig(c.config(account)).TerminateInstances(
		t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{former}},
	); err != nil {
		t.Fatal(err)
	}
	c.await(func() string { return "slot 1 to serve in the other zone" }, func() bool { return c.isReadyIn("1", "eu-central-1b") })
	if _, err := cloudformation.NewFromConfig(c.config(account)).CancelUpdateStack(
		t.Context(), &cloudformation.CancelUpdateStackInput{StackName: aws.String("real-control-plane-1")},
	); err != nil {
		t.Fatal(err)
	}
	c.start()
	c.await(func() string { return "the slot to roll back: " + c.statusOfSlot() }, func() bool {
		return c.statusOfSlot() == "UPDATE_ROLLBACK_COMPLETE"
	})
	c.await(func() string { return "the condition to say what to do" }, func() bool {
		conditions, _, _ := unstructured.NestedSlice(c.get(cluster).Object, "status", "conditions")
		return slices.ContainsFunc(conditions, func(one any) bool {
			of, _ := one.(map[string]any)
			says, _ := of["message"].(string)
			return of["type"] == "Stalled" && strings.Contains(says, "did not move from eu-central-1c to eu-central-1b")
		})
	})
	c.patch(cluster, `{"spec":{"controlPlane":{"zones":["eu-central-1a","eu-central-1c","eu-central-1c"]}}}`)
	c.awaitZones(objects, "0a", "1c", "2c")
	api.end("a slot rolled back from another zone", outage)
	if after := c.zonesOfSlots(); after["1c"] != moved["1c"] {
		t.Errorf("the volumes were %v and are %v", moved, after)
	}
	console, err := os.ReadFile(filepath.Join(host.Dir(), "consoles", c.userOf(moved["1c"])+".log"))
	if want := "whose data is lost, and added another"; err != nil || !strings.Contains(string(console), want) {
		t.Errorf("the slot that rolled back does not say that it %q: %v\n%s", want, err, console)
	}
	found, err := workload.CoreV1().ConfigMaps("default").Get(t.Context(), "written", metav1.GetOptions{})
	if err != nil || found.Data["written"] != "before" {
		t.Errorf("data from before was lost: %v, %v", found.Data, err)
	}
	c.remove(objects...)
}

// userOf returns the instance that has a volume attached.
func (c *cloud) userOf(volume string) string {
	c.t.Helper()
	for _, one := range c.describeEtcdVolumes() {
		for _, held := range one.Attachments {
			if aws.ToString(one.VolumeId) == volume {
				return aws.ToString(held.InstanceId)
			}
		}
	}
	c.t.Fatalf("no instance has the volume %s", volume)
	return ""
}

// isReadyIn reports whether a slot has a node in a zone that is Ready. A slot's kubelet uses its own API server.
func (c *cloud) isReadyIn(slot, zone string) bool {
	c.t.Helper()
	of := metav1.ListOptions{LabelSelector: "cluster-operator.aws/slot=" + slot}
	list, err := c.workload("real").CoreV1().Nodes().List(c.t.Context(), of)
	isReady := func(one corev1.NodeCondition) bool {
		return one.Type == corev1.NodeReady && one.Status == corev1.ConditionTrue
	}
	return err == nil && slices.ContainsFunc(list.Items, func(node corev1.Node) bool {
		return strings.Contains(node.Spec.ProviderID, zone) && slices.ContainsFunc(node.Status.Conditions, isReady)
	})
}

// awaitZones waits until the cluster is ready, its slots serve, and there are only these volumes, by slot and zone.
func (c *cloud) awaitZones(objects []*unstructured.Unstructured, slots ...string) {
	c.t.Helper()
	c.await(func() string { return fmt.Sprintf("the volumes of %v: %v", slots, c.zonesOfSlots()) }, func() bool {
		found := c.zonesOfSlots()
		for _, slot := range slots {
			if found[slot] == "" || len(found) != len(slots) {
				return false
			}
		}
		return c.slotsServe(c.nodesOfSlots())
	})
	c.awaitReady(objects...)
}

// zonesOfSlots returns the IDs of etcd's volumes by slot and the letter of the zone.
func (c *cloud) zonesOfSlots() map[string]string {
	c.t.Helper()
	found := map[string]string{}
	for _, volume := range c.describeEtcdVolumes() {
		for _, tag := range volume.Tags {
			if aws.ToString(tag.Key) == "cluster-operator.aws/etcd-slot" {
				letter := strings.TrimPrefix(aws.ToString(volume.AvailabilityZone), region)
				found[aws.ToString(tag.Value)+letter] = aws.ToString(volume.VolumeId)
			}
		}
	}
	return found
}

// statusOfSlot returns the status of the stack of slot 1.
func (c *cloud) statusOfSlot() string {
	out, err := cloudformation.NewFromConfig(c.config(account)).DescribeStacks(
		c.t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("real-control-plane-1")},
	)
	if err != nil || len(out.Stacks) == 0 {
		return ""
	}
	return string(out.Stacks[0].StackStatus)
}
