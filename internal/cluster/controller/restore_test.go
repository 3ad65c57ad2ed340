package controller_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

func (w *suite) ec2() *ec2.Client { return ec2.NewFromConfig(w.awsConfig(account, region)) }

// backups returns the snapshots that the operator created.
func (w *suite) backups() []types.Snapshot {
	w.t.Helper()
	out, err := w.ec2().DescribeSnapshots(w.t.Context(), &ec2.DescribeSnapshotsInput{
		OwnerIds: []string{"self"}, Filters: []types.Filter{{Name: aws.String("tag-key"), Values: []string{"cluster-operator.aws/backup"}}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out.Snapshots
}

// etcdVolumes returns etcd's volumes by their IDs.
func (w *suite) etcdVolumes() map[string]types.Volume {
	w.t.Helper()
	out, err := w.ec2().DescribeVolumes(w.t.Context(), &ec2.DescribeVolumesInput{
		Filters: []types.Filter{{Name: aws.String("tag-key"), Values: []string{"cluster-operator.aws/etcd-slot"}}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	found := map[string]types.Volume{}
	for _, volume := range out.Volumes {
		found[*volume.VolumeId] = volume
	}
	return found
}

// deleteVolume deletes a detached volume.
func (w *suite) deleteVolume(id string) {
	w.t.Helper()
	if _, err := w.ec2().DeleteVolume(w.t.Context(), &ec2.DeleteVolumeInput{VolumeId: &id}); err != nil {
		w.t.Fatal(err)
	}
}

// slots returns the instances that have etcd volumes attached.
func (w *suite) slots() []string {
	w.t.Helper()
	var machines []string
	for _, volume := range w.etcdVolumes() {
		for _, held := range volume.Attachments {
			machines = append(machines, *held.InstanceId)
		}
	}
	return machines
}

// withRestore provides the restore program, which simulated instances do not run.
func (w *suite) withRestore() *suite {
	w.t.Helper()
	for _, architecture := range []string{"amd64", "arm64"} {
		if err := os.WriteFile(filepath.Join(w.nodeup, "etcd-restore-linux-"+architecture), []byte("etcd-restore"), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	return w
}

// edit changes a Cluster like a user.
func (w *suite) edit(cluster *v1alpha1.Cluster, change func()) {
	w.t.Helper()
	w.eventually("the cluster is edited", func() error {
		if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
			return err
		}
		change()
		return w.client.Update(w.t.Context(), cluster)
	})
}

// A cluster that is up is backed up once. The backups are in the status and are deleted with the
// cluster.
func TestBackups(t *testing.T) {
	w := newSuite(t, simulatedHost(), nil)
	cluster := w.aCluster("demo")
	cluster.Spec.Tags = map[string]string{"cost": "center"}
	w.start()
	w.create(cluster)
	w.condition(cluster, "BackedUp", metav1.ConditionTrue, "BackedUp")
	made := w.backups()
	if len(made) != 1 {
		t.Fatalf("%d backups", len(made))
	}
	tags := map[string]string{}
	for _, tag := range made[0].Tags {
		tags[*tag.Key] = *tag.Value
	}
	for key, want := range map[string]string{
		"Name": "demo-etcd-0", "cost": "center", "cluster-operator.aws/backup": "interval", "cluster-operator.aws/etcd-slot": "0",
		"cluster-operator.aws/cluster": "demo", "cluster-operator.aws/namespace": w.namespace, "kubernetes.io/cluster/demo": "owned",
	} {
		if tags[key] != want {
			t.Errorf("the tag %s is %q, want %q", key, tags[key], want)
		}
	}
	status := cluster.Status.Backup
	if len(status.Backups) != 1 || status.Backups[0].Snapshot != *made[0].SnapshotId || status.LastTime == nil ||
		status.NextTime == nil || !status.NextTime.Time.Equal(status.Backups[0].Time.Add(6*time.Hour)) {
		t.Errorf("the status is %+v", status)
	}
	w.stop()
	w.start()
	w.edit(cluster, func() { cluster.Spec.Backup.Keep = 3 })
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	if made := w.backups(); len(made) != 1 {
		t.Errorf("%d backups after a restart and an edit", len(made))
	}
	if err := w.client.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.waitDeleted(cluster)
	if made := w.backups(); len(made) != 0 {
		t.Errorf("%d backups of the deleted cluster remain", len(made))
	}
}

// Backups missing from the status are found by their tags and not taken twice. Foreign snapshots
// are ignored, and surplus ones deleted.
func TestBackupsAreFoundAfterALostStatus(t *testing.T) {
	w := newSuite(t, simulatedHost(), nil)
	cluster := w.aCluster("demo")
	cluster.Spec.Backup.Keep = 2
	w.start()
	w.create(cluster)
	w.condition(cluster, "BackedUp", metav1.ConditionTrue, "")
	w.stop()
	first := w.backups()[0]
	var others []string
	for _, name := range []string{"demo", "demo", "another"} {
		tags := slices.Clone(first.Tags)
		for i := range tags {
			if *tags[i].Key == "kubernetes.io/cluster/demo" {
				tags[i].Key = aws.String("kubernetes.io/cluster/" + name)
			}
		}
		out, err := w.ec2().CreateSnapshot(t.Context(), &ec2.CreateSnapshotInput{
			VolumeId: first.VolumeId, TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeSnapshot, Tags: tags}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if name == "another" {
			others = append(others, *out.SnapshotId)
		}
	}
	w.eventually("the status is lost", func() error {
		if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
			return err
		}
		cluster.Status.Backup = nil
		return w.client.Status().Update(t.Context(), cluster)
	})
	w.start()
	w.eventually("the surplus is deleted", func() error {
		var ids []string
		for _, one := range w.backups() {
			ids = append(ids, *one.SnapshotId)
		}
		if len(ids) != 3 || !slices.Contains(ids, others[0]) {
			return fmt.Errorf("the backups are %v", ids)
		}
		return nil
	})
}

// Failed backups are reported in the condition and an Event, and leave the cluster Ready.
func TestFailedBackupsAreReported(t *testing.T) {
	w := newSuite(t, simulatedHost(), nil)
	end := w.sim.Faults().
		Add(fault.Rule{Service: "ec2", Operation: "CreateSnapshot", Code: "SnapshotLimitExceeded", Message: "You have too many."})
	cluster := w.aCluster("demo")
	w.start()
	w.create(cluster)
	failed := w.condition(cluster, "BackedUp", metav1.ConditionFalse, "BackupFailed")
	if !strings.Contains(failed.Message, "You have too many.") {
		t.Errorf("the message is %s", failed.Message)
	}
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	w.eventually("an Event is recorded", func() error {
		list := &corev1.EventList{}
		if err := w.client.List(t.Context(), list, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		if !slices.ContainsFunc(
			list.Items, func(e corev1.Event) bool { return e.Reason == "BackupFailed" && e.Type == corev1.EventTypeWarning },
		) {
			return errStill
		}
		return nil
	})
	end()
	w.stop()
	w.start()
	w.condition(cluster, "BackedUp", metav1.ConditionTrue, "")
}

// restoreFrom requests a restore.
func (w *suite) restoreFrom(cluster *v1alpha1.Cluster, snapshot string) {
	w.t.Helper()
	w.edit(cluster, func() {
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, "cluster-operator.aws/allow", "remove")
		cluster.Spec.ControlPlane.RestoreSnapshot = snapshot
	})
}

// A restore re-creates all volumes from one backup: those of a running cluster, and those of a
// cluster of which only the stacks remain.
func TestRestore(t *testing.T) {
	for name, disaster := range map[string]func(w *suite){
		"of a running cluster": func(*suite) {},
		"of a cluster whose machines and volumes were destroyed": func(w *suite) {
			for volume := range w.etcdVolumes() {
				w.eventually("the volume is destroyed", func() error {
					for _, v := range w.etcdVolumes() {
						for _, held := range v.Attachments {
							_, _ = w.ec2().TerminateInstances(w.t.Context(), &ec2.TerminateInstancesInput{
								InstanceIds: []string{*held.InstanceId},
							})
						}
					}
					_, err := w.ec2().DeleteVolume(w.t.Context(), &ec2.DeleteVolumeInput{VolumeId: &volume})
					return err
				})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSuite(t, simulatedHost(), nil).withRestore()
			cluster := w.aCluster("demo")
			w.start()
			w.create(cluster)
			w.condition(cluster, "BackedUp", metav1.ConditionTrue, "")
			w.condition(cluster, "Ready", metav1.ConditionTrue, "")
			before, snapshot := w.etcdVolumes(), cluster.Status.Backup.Backups[0].Snapshot
			disaster(w)
			w.restoreFrom(cluster, snapshot)
			w.condition(cluster, "Ready", metav1.ConditionTrue, "")
			after := w.etcdVolumes()
			slots := map[string]bool{}
			for id, volume := range after {
				for _, tag := range volume.Tags {
					if *tag.Key == "cluster-operator.aws/etcd-slot" {
						slots[*tag.Value] = true
					}
				}
				if _, old := before[id]; old || aws.ToString(volume.SnapshotId) != snapshot || len(volume.Attachments) != 1 {
					t.Errorf(
						"after the restore, the volume %s of %s exists, attached %v",
						id,
						aws.ToString(volume.SnapshotId),
						volume.Attachments,
					)
				}
			}
			if len(slots) != 3 || len(after) != 3 {
				t.Errorf("the volumes belong to the slots %v", slots)
			}
			stored := w.objects(account, region, cluster.Status.Outputs["Bucket"])
			if !slices.Contains(stored, "nodeup/restore-"+snapshot+"/etcd-restore-linux-amd64") {
				t.Errorf("the bucket contains %v", stored)
			}
		})
	}
}

// After a restore, etcd contains the snapshot's Nodes: Ready, but of terminated instances.
func TestRestoredClusterIgnoresStaleNodes(t *testing.T) {
	host := fake.New(fake.Options{})
	w := newSuite(t, host, nil).withRestore()
	cluster := w.aCluster("demo")
	w.start()
	w.create(cluster)
	w.condition(cluster, "BackedUp", metav1.ConditionTrue, "")
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	inside := w.inside("demo")
	w.stop() // The operator would delete a NotReady Node of an unknown instance.
	for slot := range 3 {
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("former-%d", slot), Labels: map[string]string{
				"cluster-operator.aws/slot": strconv.Itoa(slot), "cluster-operator.aws/bundle": "0123456789abcdef",
			}},
			Spec: corev1.NodeSpec{ProviderID: fmt.Sprintf("aws:///eu-central-1a/i-0000000000000000%d", slot)},
		}
		if err := inside.Create(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}
		if err := inside.Status().Update(t.Context(), node); err != nil {
			t.Fatal(err)
		}
	}
	w.start()
	out, err := w.ec2().DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: w.slots()[:1]})
	if err != nil {
		t.Fatal(err)
	}
	image := aws.ToString(out.Reservations[0].Instances[0].ImageId)
	host.SetImage(image, fake.Behaviour{NotReady: true})
	w.restoreFrom(cluster, cluster.Status.Backup.Backups[0].Snapshot)
	w.eventually("the cluster reports all nodes missing", func() error {
		if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(cluster.Status.Conditions, "Ready")
		switch {
		case ready.ObservedGeneration == cluster.Generation && ready.Status == metav1.ConditionTrue:
			t.Fatalf("it is Ready without a Ready node: %s", ready.Message)
		case ready.Message != "0 of 3 control-plane nodes are ready.":
			return errors.New(ready.Message)
		}
		return nil
	})
	host.SetImage(image, fake.Behaviour{})
	for _, id := range w.slots() {
		if err := host.SetKubelet(id, true); err != nil {
			t.Fatal(err)
		}
	}
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
}

// An invalid restore changes nothing and reports what to do. A restored snapshot must stay in the
// spec.
func TestInvalidRestoreChangesNothing(t *testing.T) {
	w := newSuite(t, simulatedHost(), nil).withRestore()
	cluster := w.aCluster("demo")
	cluster.Spec.ControlPlane.Replicas = 1
	w.start()
	w.create(cluster)
	w.condition(cluster, "BackedUp", metav1.ConditionTrue, "")
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	before, good := w.etcdVolumes(), cluster.Status.Backup.Backups[0].Snapshot
	unchanged := func() {
		t.Helper()
		for id, volume := range w.etcdVolumes() {
			if _, ok := before[id]; !ok || len(volume.Attachments) != 1 {
				t.Errorf("the volume %s is new or its instance is terminated: %v", id, volume.Attachments)
			}
		}
	}
	w.edit(cluster, func() { cluster.Spec.ControlPlane.RestoreSnapshot = good })
	if refused := w.condition(cluster, "Stalled", metav1.ConditionTrue, ""); !strings.Contains(
		refused.Message, "cluster-operator.aws/allow",
	) {
		t.Errorf("without the annotation, it reports %s", refused.Message)
	}
	unchanged()
	w.restoreFrom(cluster, "snap-0123456789abcdef0")
	w.condition(cluster, "Stalled", metav1.ConditionTrue, "SnapshotNotFound")
	unchanged()
	w.restoreFrom(cluster, "")
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	unchanged()
	w.restoreFrom(cluster, good)
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	before = w.etcdVolumes()
	w.restoreFrom(cluster, "")
	w.condition(cluster, "Stalled", metav1.ConditionTrue, "RestoreSnapshotMissing")
	unchanged()
	if !meta.IsStatusConditionTrue(cluster.Status.Conditions, "BackedUp") {
		t.Errorf("the backup was removed from the status: %s", describeConditions(cluster.Status.Conditions))
	}
}
