package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
)

// refusal is something that AWS refuses to one object, and how that is fixed.
type refusal struct {
	// kind and name are the affected object's; condition is the condition that is False.
	kind, name, condition string
	// reason is the operator's reason, words are part of AWS's message.
	reason, words string
	fix           func()
}

// slotOf returns a cluster of one slot in a region, with an instance type.
func slotOf(name, region, instanceType string) string {
	return fmt.Sprintf(`
apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: %[1]s}
spec:
  release: v1.36.3
  region: %[2]s
  network: {cidr: 10.0.0.0/16, zones: [%[2]sa], topology: Public}
  controlPlane: {replicas: 1, instanceType: %[3]s}
---
`, name, region, instanceType)
}

// groupOf returns a group of one worker with an instance type.
func groupOf(cluster, name, instanceType string) string {
	return fmt.Sprintf(`
apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata: {name: %s}
spec: {cluster: %s, minSize: 1, maxSize: 1, instanceTypes: [%s]}
---
`, name, cluster, instanceType)
}

// A refusal of AWS appears on the object that caused it, with AWS's message, and in an Event; other
// objects are not affected. After it is fixed in AWS or in the object, the cluster continues
// without further action.
func TestAWSRefusals(t *testing.T) {
	t.Parallel()
	c := newCloud(t, cloudOptions{})
	image := c.makeScarce(t)
	refusals := []refusal{
		{
			"Cluster", "crowded", "NetworkReady", "QuotaExceeded", "The maximum number of VPCs has been reached.",
			func() { c.simulator.Network().SetQuota(account, "eu-west-1", vpc.VPCs, 5) },
		}, {
			"Cluster", "faceless", "ControlPlaneReady", "ImageNotFound", "The image id '[" + image + "]' does not exist",
			func() { c.simulator.Instances().RestoreImage("us-west-2", image) },
		}, {
			"Cluster", "unoffered", "NetworkReady", "InstanceTypeUnsupported",
			"spec.controlPlane.instanceType: zone eu-west-2a does not offer m5.large; eu-west-2b, eu-west-2c offer it.",
			func() {
				c.edit("Cluster", "unoffered", `{"spec":{"controlPlane":{"instanceType":"m6i.large"}}}`)
			},
		}, {
			"InstanceGroup", "many", "Ready", "QuotaExceeded",
			"You have requested more vCPU capacity than your current vCPU limit of 7 allows",
			func() { c.simulator.Instances().SetQuota(account, region, false, 64) },
		}, {
			"InstanceGroup", "scarce", "Ready", "CapacityShortage",
			"We currently do not have sufficient c5.large capacity in the Availability Zone you requested (eu-central-1a).",
			func() { c.simulator.Instances().SetCapacity("eu-central-1a", "c5.large", true) },
		}, {
			"InstanceGroup", "invented", "Ready", "InstanceTypeUnsupported",
			"spec.instanceTypes: AWS does not offer instance type m6i.gigantic in the cluster's region.",
			func() {
				c.edit("InstanceGroup", "invented", `{"spec":{"instanceTypes":["m6i.large"]}}`)
			},
		},
	}
	objects := c.apply(slotOf("crowded", "eu-west-1", "m6i.large") + slotOf("faceless", "us-west-2", "m6i.large") +
		slotOf("unoffered", "eu-west-2", "m5.large") + slotOf("grouped", region, "m6i.large") +
		groupOf(
			"grouped", "many", "m6i.2xlarge",
		) + groupOf("grouped", "scarce", "c5.large") + groupOf("grouped", "invented", "m6i.gigantic"))
	for _, r := range refusals {
		c.awaitRefusal(t, r)
	}
	c.await(func() string { return "the Cluster whose groups are all in trouble to wait for workers" }, func() bool {
		return strings.Contains(said(c.get(find(objects, "Cluster", "grouped"))), `"reason":"WorkersMissing"`)
	})
	for _, r := range refusals {
		r.fix()
	}
	c.awaitReady(objects...)
	for _, r := range refusals {
		object := c.get(find(objects, r.kind, r.name))
		if text := said(object); strings.Contains(text, r.words) {
			t.Errorf("%s %s still reports what is fixed: %s", r.kind, r.name, text)
		}
	}
}

// makeScarce removes what the test's clusters need, and returns the removed image.
func (c *cloud) makeScarce(t *testing.T) (image string) {
	t.Helper()
	release, err := environment.LocalRelease(nil)
	if err != nil {
		t.Fatal(err)
	}
	instances := c.simulator.Instances()
	image, found := instances.PublicParameter("us-west-2", release.Spec.Images[v1alpha1.Architecture("amd64")].Parameter)
	if !found {
		t.Fatalf("no image is named by %v", release.Spec.Images)
	}
	instances.RemoveImage("us-west-2", image)
	instances.SetOffered("eu-west-2a", "m5.large", false)
	instances.SetCapacity("eu-central-1a", "c5.large", false)
	instances.SetQuota(account, region, false, 7) // a slot and two small workers, but not one with eight vCPUs
	c.simulator.Network().SetQuota(account, "eu-west-1", vpc.VPCs, 0)
	return image
}

// awaitRefusal waits until the object, and an Event about it, contain AWS's message.
func (c *cloud) awaitRefusal(t *testing.T, r refusal) {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetKind(r.kind)
	object.SetName(r.name)
	reported := ""
	c.await(func() string {
		return fmt.Sprintf("%s %s to say %s, %q; it said %s", r.kind, r.name, r.reason, r.words, reported)
	}, func() bool {
		found := c.get(object)
		reported = said(found)
		for _, kind := range []string{r.condition, "Ready"} {
			if status, reason, message := conditionOf(found, kind); status != "False" || reason != r.reason ||
				!strings.Contains(message, r.words) {
				return false
			}
		}
		return true
	})
	if status, _, _ := conditionOf(c.get(object), "Stalled"); status == "True" {
		t.Errorf("%s %s is Stalled", r.kind, r.name)
	}
	c.await(func() string { return fmt.Sprintf("an Event of %s %s with %q", r.kind, r.name, r.words) }, func() bool {
		list, err := c.core.CoreV1().Events(c.namespace).List(t.Context(), metav1.ListOptions{
			FieldSelector: "involvedObject.kind=" + r.kind + ",involvedObject.name=" + r.name,
		})
		if err != nil {
			t.Fatal(err)
		}
		for n := range list.Items {
			if e := &list.Items[n]; e.Type == corev1.EventTypeWarning && e.Reason == r.reason && strings.Contains(e.Message, r.words) {
				return true
			}
		}
		return false
	})
}

// edit patches an object.
func (c *cloud) edit(kind, name, patch string) {
	c.t.Helper()
	_, err := c.client.Resource(resources[kind]).
		Namespace(c.namespace).
		Patch(c.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
}

func find(objects []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	for _, object := range objects {
		if object.GetKind() == kind && object.GetName() == name {
			return object
		}
	}
	return nil
}

// conditionOf returns the content of a condition.
func conditionOf(object *unstructured.Unstructured, kind string) (status, reason, message string) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if fields, ok := c.(map[string]any); ok && fields["type"] == kind {
			status, _ = fields["status"].(string)
			reason, _ = fields["reason"].(string)
			message, _ = fields["message"].(string)
		}
	}
	return status, reason, message
}

// said returns all conditions of an object.
func said(object *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	text, _ := json.Marshal(conditions)
	return string(text)
}
