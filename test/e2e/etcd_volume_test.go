package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/local/environment"
)

// rejoinRelease is the release of slots that join etcd with a blank volume.
const rejoinRelease = "v1.36.3-rejoin"

const rejoining = `
apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: real}
spec:
  release: ` + rejoinRelease + `
  region: eu-central-1
  network: {cidr: 10.0.0.0/16, zones: [eu-central-1a, eu-central-1b, eu-central-1c], topology: Private, nat: Single}
  backup: {disabled: true}
  controlPlane: {replicas: 3, instanceType: m6i.large, repair: {after: 40s}}
---
apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata: {name: real-workers}
spec: {cluster: real, minSize: 2, maxSize: 2, instanceTypes: [m6i.large]}
`

// TestLostEtcdVolumes deletes the etcd volume of one slot of three, which rejoins with a blank
// volume and gets all data while clients write. Then it deletes those of two slots, after which the
// operator changes nothing. The machines, etcd and its membership are real.
func TestLostEtcdVolumes(t *testing.T) {
	requireOperations(t)
	c, host := newProcessCloud(t, nil)
	with, err := environment.LocalRelease(host)
	if err != nil {
		t.Fatal(err)
	}
	with.Name, with.Spec.ResourceSet = rejoinRelease, release.Set120
	if err := environment.ApplyRelease(t.Context(), controlplanetest.Shared(t).RESTConfig(), with); err != nil {
		t.Fatal(err)
	}
	objects := c.apply(rejoining)
	cluster := objects[0]
	c.awaitReady(objects...)
	workload := c.workload("real")
	write(t, workload, "written", "before")
	volumes, nodes := c.etcdVolumes(), c.nodesOfSlots()

	api := c.watchAPI(workload)
	c.loseVolumes("0")
	c.await(func() string { return "slot 0 to rejoin: " + c.story() }, func() bool {
		now, of := c.etcdVolumes(), c.nodesOfSlots()
		return len(now) == 3 && now["0"] != volumes["0"] && len(of) == 3 && of["0"] != nodes["0"] && c.slotsServe(of)
	})
	api.end("a volume was lost and replaced", outage)
	now := c.etcdVolumes()
	if now["1"] != volumes["1"] || now["2"] != volumes["2"] {
		t.Errorf("the volumes were %v and are %v", volumes, now)
	}
	found, err := workload.CoreV1().ConfigMaps("default").Get(t.Context(), "written", metav1.GetOptions{})
	if err != nil || found.Data["written"] != "before" {
		t.Errorf("data from before the volume was lost: %v, %v", found.Data, err)
	}
	c.awaitReady(objects...)

	c.loseVolumes("0", "1")
	var says string
	c.await(func() string { return "the condition to say what to do: " + says }, func() bool {
		conditions, _, _ := unstructured.NestedSlice(c.get(cluster).Object, "status", "conditions")
		for _, one := range conditions {
			if of, _ := one.(map[string]any); of["type"] == "APIReachable" {
				says, _ = of["message"].(string)
				return of["reason"] == "EtcdVolumeLost"
			}
		}
		return false
	})
	if !strings.Contains(says, "2 of 3 slots are lost (slot 0, 1)") || !strings.Contains(says, "spec.controlPlane.restoreSnapshot") {
		t.Errorf("the condition says %q", says)
	}
	if left := c.etcdVolumes(); !maps.Equal(left, map[string]string{"2": volumes["2"]}) {
		t.Errorf("the remaining volumes are %v, want that of slot 2, %s", left, volumes["2"])
	}
	c.remove(objects...)
}

// etcdVolumes returns the IDs of etcd's volumes by slot.
func (c *cloud) etcdVolumes() map[string]string {
	c.t.Helper()
	volumes := map[string]string{}
	for _, volume := range c.describeEtcdVolumes() {
		for _, tag := range volume.Tags {
			if aws.ToString(tag.Key) == "cluster-operator.aws/etcd-slot" {
				volumes[aws.ToString(tag.Value)] = aws.ToString(volume.VolumeId)
			}
		}
	}
	return volumes
}

func (c *cloud) describeEtcdVolumes(slots ...string) []types.Volume {
	c.t.Helper()
	filter := types.Filter{Name: aws.String("tag-key"), Values: []string{"cluster-operator.aws/etcd-slot"}}
	if len(slots) > 0 {
		filter = types.Filter{Name: aws.String("tag:cluster-operator.aws/etcd-slot"), Values: slots}
	}
	out, err := ec2.NewFromConfig(c.config(account)).
		DescribeVolumes(c.t.Context(), &ec2.DescribeVolumesInput{Filters: []types.Filter{filter}})
	if err != nil {
		c.t.Fatal(err)
	}
	return out.Volumes
}

// loseVolumes terminates the instances of slots and deletes their current etcd volumes. Meanwhile
// the Auto Scaling groups launch other instances, which may attach them first.
func (c *cloud) loseVolumes(slots ...string) {
	c.t.Helper()
	client := ec2.NewFromConfig(c.config(account))
	var lost []string
	for _, volume := range c.describeEtcdVolumes(slots...) {
		lost = append(lost, aws.ToString(volume.VolumeId))
	}
	c.await(func() string { return "etcd's volumes to be deleted" }, func() bool {
		left := false
		for _, volume := range c.describeEtcdVolumes(slots...) {
			if !slices.Contains(lost, aws.ToString(volume.VolumeId)) {
				continue
			}
			left = true
			for _, held := range volume.Attachments { // each refusal is retried
				_, _ = client.TerminateInstances(
					c.t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{aws.ToString(held.InstanceId)}},
				)
			}
			_, _ = client.DeleteVolume(c.t.Context(), &ec2.DeleteVolumeInput{VolumeId: volume.VolumeId})
		}
		return !left
	})
}

// nodesOfSlots returns the provider IDs of the Ready nodes of slots, by slot.
func (c *cloud) nodesOfSlots() map[string]string {
	c.t.Helper()
	of := map[string]string{}
	workload := c.workload("real")
	list, err := workload.CoreV1().Nodes().List(c.t.Context(), metav1.ListOptions{LabelSelector: "cluster-operator.aws/slot"})
	if err != nil {
		return of
	}
	for i := range list.Items {
		for _, condition := range list.Items[i].Status.Conditions {
			if condition.Type == "Ready" && condition.Status == "True" {
				of[list.Items[i].Labels["cluster-operator.aws/slot"]] = list.Items[i].Spec.ProviderID
			}
		}
	}
	return of
}

// slotsServe reports whether the API server of every slot reads from its etcd member with quorum.
func (c *cloud) slotsServe(of map[string]string) bool {
	c.t.Helper()
	workload := c.workload("real")
	list, err := workload.CoreV1().Nodes().List(c.t.Context(), metav1.ListOptions{LabelSelector: "cluster-operator.aws/slot"})
	if err != nil || len(list.Items) != len(of) {
		return false
	}
	for i := range list.Items {
		answer := workload.CoreV1().
			RESTClient().
			Get().
			AbsPath("/api/v1/namespaces/kube-system/pods/https:kube-apiserver-" + list.Items[i].Name + ":6443/proxy/readyz").
			Do(c.t.Context())
		if answer.Error() != nil {
			return false
		}
	}
	return true
}
