package nodeup_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"go.uber.org/zap"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/etcdbackup"
	"github.com/aws-operator/aws-operator/internal/etcdrestore"
)

// TestControlPlaneBacksItselfUp boots three slots for real, with the permissions that their role
// has, and no operator. One of them backs up etcd to the cluster's bucket, encrypted with the
// cluster's key. The backup is restored.
func TestControlPlaneBacksItselfUp(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	l := newSuite(t, release.Set120, 3, func(spec *v1alpha1.ClusterSpec) { spec.Backup.Bucket = &v1alpha1.BucketBackup{} })
	cas, err := pki.New(clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	for key, content := range cas.Files() {
		l.put(key, content)
	}
	bundles := l.startSlots()
	api := l.connect(cas)
	for slot, b := range bundles {
		l.await("each slot is a node", func() error {
			return hasNode(t.Context(), api, fmt.Sprintf("%s=%d", model.LabelSlot, slot), b.Hash())
		})
	}
	bucket := l.outputs[model.OutputBucket]
	var key string
	l.await("there is a backup", func() error {
		found, err := l.objects.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: aws.String(etcdbackup.Prefix)})
		if err != nil || len(found.Contents) != 1 {
			return fmt.Errorf("there are %d: %w", len(found.Contents), err)
		}
		key = *found.Contents[0].Key
		return nil
	})
	if one, ok := etcdbackup.Parse(key); !ok || one.Slot != 0 {
		t.Errorf("the backup is %s, not one of slot 0", key)
	}
	head, err := l.objects.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket, Key: &key})
	if err != nil || head.ServerSideEncryption != "aws:kms" || aws.ToString(head.SSEKMSKeyId) != l.outputs[model.OutputKey] {
		t.Errorf("the backup is encrypted by %s with %s, want the cluster's key %s: %v",
			head.ServerSideEncryption, aws.ToString(head.SSEKMSKeyId), l.outputs[model.OutputKey], err)
	}
	file := filepath.Join(t.TempDir(), "snapshot.db")
	if err := os.WriteFile(file, []byte(l.get(key)), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := etcdrestore.Verify(t.Context(), file, filepath.Join(t.TempDir(), "scratch"), zap.NewNop())
	if err != nil || report.Keys < 50 {
		t.Errorf("the report is %+v: %v\n%s", report, err, l.consoles())
	}
}
