package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
)

// After all three slots and their volumes were destroyed, the restored cluster has a key from
// before the backup and lacks one from after it. The machines, etcd and its restore are real; the
// workers rejoin.
func TestRestoreFromSnapshot(t *testing.T) {
	requireOperations(t)
	c, _ := newProcessCloud(t, nil)
	objects := c.apply(strings.Replace(booting, "  controlPlane:", "  backup: {disabled: true}\n  controlPlane:", 1))
	cluster := objects[0]
	c.awaitReady(objects...)
	write(t, c.workload("real"), "kept", "before the backup")

	c.patch(cluster, `{"spec":{"backup":{"disabled":false}}}`)
	var snapshot string
	c.await(func() string { return "the backup to be complete" }, func() bool {
		backups, _, _ := unstructured.NestedSlice(c.get(cluster).Object, "status", "backup", "backups")
		if len(backups) == 0 || condition(c.get(cluster), "BackedUp") != "True" {
			return false
		}
		newest, _ := backups[0].(map[string]any)
		snapshot, _ = newest["snapshot"].(string)
		return newest["state"] == "completed"
	})
	write(t, c.workload("real"), "lost", "after the backup")
	c.destroyEtcd()
	t.Log("all slots and their volumes are destroyed")

	start := time.Now()
	c.patch(
		cluster,
		`{"metadata":{"annotations":{"cluster-operator.aws/allow":"remove"}},"spec":{"controlPlane":{"restoreSnapshot":"`+snapshot+`"}}}`,
	)
	generation := c.get(cluster).GetGeneration()
	c.await(func() string { return "the cluster to be restored: " + c.story() }, func() bool {
		object := c.get(cluster)
		observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
		return observed >= generation && isReady(object)
	})
	t.Logf("the cluster was restored after %s", time.Since(start).Round(time.Second/10))
	workload := c.workload("real")
	found, err := workload.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
	if err != nil || found.Data["kept"] != "before the backup" {
		t.Errorf("data from before the backup: %v, %v", found.Data, err)
	}
	if _, err := workload.CoreV1().ConfigMaps("default").Get(t.Context(), "lost", metav1.GetOptions{}); err == nil {
		t.Error("data from after the backup exists")
	}
	write(t, workload, "new", "after the restore")
	c.awaitReady(objects...)
	c.checkProcessNodes(objects)
	c.remove(objects...)
}

// patch changes an object as kubectl patch --type merge does.
func (c *cloud) patch(object *unstructured.Unstructured, patch string) {
	c.t.Helper()
	if _, err := c.of(object).Patch(
		c.t.Context(), object.GetName(), apitypes.MergePatchType, []byte(patch), metav1.PatchOptions{},
	); err != nil {
		c.t.Fatal(err)
	}
}

// destroyEtcd terminates the slots' instances and deletes their volumes, by EC2's API, until none
// is left. Meanwhile the Auto Scaling groups launch other instances.
func (c *cloud) destroyEtcd() {
	c.t.Helper()
	client := ec2.NewFromConfig(c.config(account))
	c.await(func() string { return "etcd's volumes to be deleted" }, func() bool {
		out, err := client.DescribeVolumes(c.t.Context(), &ec2.DescribeVolumesInput{
			Filters: []types.Filter{{Name: aws.String("tag-key"), Values: []string{"cluster-operator.aws/etcd-slot"}}},
		})
		if err != nil {
			c.t.Fatal(err)
		}
		for _, volume := range out.Volumes {
			for _, held := range volume.Attachments { // each refusal is retried
				_, _ = client.TerminateInstances(
					c.t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{aws.ToString(held.InstanceId)}},
				)
			}
			_, _ = client.DeleteVolume(c.t.Context(), &ec2.DeleteVolumeInput{VolumeId: volume.VolumeId})
		}
		return len(out.Volumes) == 0
	})
}
