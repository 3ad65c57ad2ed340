package bucketbackups_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/bucketbackups"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/etcdbackup"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// objects are the keys in a bucket.
type objects struct {
	awsapi.S3

	keys  []string
	err   error
	lists int
}

func (o *objects) ListObjectsV2(
	_ context.Context, in *s3.ListObjectsV2Input, _ ...func(*s3.Options),
) (*s3.ListObjectsV2Output, error) {
	o.lists++
	out := &s3.ListObjectsV2Output{}
	for _, key := range o.keys {
		if strings.HasPrefix(key, aws.ToString(in.Prefix)) {
			out.Contents = append(out.Contents, types.Object{Key: &key})
		}
	}
	return out, o.err
}

// The condition is that of the newest backup, and the bucket is listed only when the next backup
// should exist, or every ten minutes if it does not.
func TestEnsure(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	clock, bucket := clocktesting.NewFakePassiveClock(start), &objects{}
	var refused error
	checks := bucketbackups.New(bucketbackups.Options{
		S3: func(*v1alpha1.Cluster) awsapi.S3 { return bucket }, Clock: clock,
		Confirm: func(context.Context, *v1alpha1.Cluster) error { return refused },
	})
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", UID: "1"}}
	cluster.Spec.ControlPlane.Replicas = 3
	cluster.Spec.Backup.Bucket = &v1alpha1.BucketBackup{}
	cluster.Status.Outputs = map[string]string{model.OutputBucket: "demo"}
	step := func(name string, at time.Duration, want string, lists int) {
		t.Helper()
		clock.SetTime(start.Add(at))
		outcome := checks.Ensure(t.Context(), cluster)
		got := ""
		if c := operatorkit.FindCondition(cluster, "BackedUpToBucket"); c != nil {
			got = string(c.Status) + " " + c.Reason + " " + c.Message
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: the condition is %q, want %q", name, got, want)
		}
		if bucket.lists != lists {
			t.Errorf("%s: the bucket was listed %d times, want %d", name, bucket.lists, lists)
		}
		if !outcome.IsDone() {
			t.Errorf("%s: the Cluster waits: %s", name, outcome.Message())
		}
	}
	step("never up", 0, "", 0)
	cluster.Status.Version = "1.36.3"
	step("no backup", 0, "False NoBackup The bucket has no backup of etcd yet.", 1)
	bucket.keys = []string{etcdbackup.Key(start, 0), etcdbackup.Prefix + "notes", etcdbackup.Key(start.Add(-6*time.Hour), 2)}
	step("not listed again yet", 9*time.Minute, "False NoBackup", 1)
	step("the first backup", 10*time.Minute, "True BackedUp The newest backup of etcd in the bucket is "+etcdbackup.Key(start, 0), 2)
	found := cluster.Status.Backup.Bucket
	if found.Count != 2 || !found.LastTime.Time.Equal(start) || found.LastKey != etcdbackup.Key(start, 0) {
		t.Errorf("the status is %+v", found)
	}
	step("the next slot may be late", 6*time.Hour+14*time.Minute, "True BackedUp", 2)
	step("the next one should exist", 6*time.Hour+15*time.Minute, "True BackedUp", 3)
	step("late", 12*time.Hour+time.Minute, "False BackupLate The newest backup of etcd in the bucket, "+etcdbackup.Key(start, 0)+", is more than two intervals of 6h old.", 4)
	bucket.err = errors.New("it broke")
	step("not listed", 12*time.Hour+11*time.Minute, "Unknown BackupsNotListed", 5)
	bucket.err, refused = nil, errors.New("not its own")
	step("the outputs are not its own", 12*time.Hour+21*time.Minute, "Unknown BackupsNotListed", 5)
	refused = nil
	cluster.Spec.Backup.Bucket.Interval = &metav1.Duration{Duration: 24 * time.Hour}
	step("another interval", 12*time.Hour+22*time.Minute, "True BackedUp", 6)
	cluster.Status.Conditions = nil
	step("the status was lost", 12*time.Hour+23*time.Minute, "True BackedUp", 7)
	cluster.Spec.Backup.Bucket = nil
	step("off", 13*time.Hour, "", 7)
	if cluster.Status.Backup.Bucket != nil {
		t.Errorf("the status remains: %+v", cluster.Status.Backup.Bucket)
	}
}
