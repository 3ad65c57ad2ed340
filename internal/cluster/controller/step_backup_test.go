package controller_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/etcdbackup"
)

// The Cluster says which backups the slots have put into its bucket, from what is there. The slots of
// this test make none.
func TestClusterReportsTheBackupsInItsBucket(t *testing.T) {
	r := runs(t, 1, func(cluster *v1alpha1.Cluster, group *v1alpha1.InstanceGroup) {
		cluster.Spec.Backup.Bucket = &v1alpha1.BucketBackup{}
		group.Spec.MinSize = 0
	})
	r.condition(r.cluster, "BackedUpToBucket", metav1.ConditionFalse, "NoBackup")
	made := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	r.putsBackup(r.cluster, etcdbackup.Key(made, 0))
	r.putsBackup(r.cluster, etcdbackup.Key(made.Add(-48*time.Hour), 0))
	r.putsBackup(r.cluster, "backups/etcd/notes.txt")
	r.stop()
	r.start()
	c := r.condition(r.cluster, "BackedUpToBucket", metav1.ConditionTrue, "BackedUp")
	if !strings.Contains(c.Message, etcdbackup.Key(made, 0)) {
		t.Errorf("the message is %q", c.Message)
	}
	if found := r.cluster.Status.Backup.Bucket; found == nil || !found.LastTime.Time.Equal(made) || found.Count != 2 {
		t.Errorf("the status is %+v", found)
	}
	r.edit(r.cluster, func() { r.cluster.Spec.Backup.Bucket.Interval = &metav1.Duration{Duration: 20 * time.Minute} })
	r.condition(r.cluster, "BackedUpToBucket", metav1.ConditionFalse, "BackupLate")
	r.condition(r.cluster, "Ready", metav1.ConditionTrue, "")
	r.edit(r.cluster, func() { r.cluster.Spec.Backup.Bucket = nil })
	r.eventually("the condition is removed", func() error {
		if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(r.cluster), r.cluster); err != nil {
			return err
		}
		if meta.FindStatusCondition(r.cluster.Status.Conditions, "BackedUpToBucket") != nil || r.cluster.Status.Backup.Bucket != nil {
			return errStill
		}
		return nil
	})
}

// putsBackup puts an object into the bucket of a cluster, as a slot does.
func (w *suite) putsBackup(cluster *v1alpha1.Cluster, key string) {
	w.t.Helper()
	_, err := w.s3(account, region).PutObject(w.t.Context(), &s3.PutObjectInput{
		Bucket: aws.String(cluster.Status.Outputs["Bucket"]), Key: &key, Body: strings.NewReader("a backup"),
	})
	if err != nil {
		w.t.Fatal(err)
	}
}
