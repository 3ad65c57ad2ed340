package nodeup_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/etcdbackup"
	"github.com/aws-operator/aws-operator/internal/etcdrestore"
)

// TestControlPlaneBacksItselfUp boots three slots for real, with the permissions that their role
// has, and no operator. One of them backs up etcd to the cluster's bucket, encrypted with the
// cluster's key. The backup is verified. Another one is restored on all slots, as a user would do it.
func TestControlPlaneBacksItselfUp(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	l := newSuite(t, release.Set120, 3, func(spec *v1alpha1.ClusterSpec) { spec.Backup.Bucket = &v1alpha1.BucketBackup{} })
	_, api := l.newCAs()
	bundles := l.startSlots()
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
	// As aws-operator backups verify runs it.
	program := build(t, "etcd-restore")
	out, err := exec.CommandContext(t.Context(), program, "--verify="+file, "--scratch="+filepath.Join(t.TempDir(), "scratch")).Output()
	var report etcdrestore.Report
	if err := errors.Join(err, json.Unmarshal(out, &report)); err != nil || report.Keys < 50 || report.Revision < report.Keys {
		t.Errorf("the report is %s: %v\n%s", out, err, l.consoles())
	}
	l.remove(key)
	l.restoreInPlace(api, bundles, program)
}

func (l *suite) remove(key string) {
	l.t.Helper()
	bucket := l.outputs[model.OutputBucket]
	if _, err := l.objects.DeleteObject(l.t.Context(), &s3.DeleteObjectInput{Bucket: &bucket, Key: &key}); err != nil {
		l.t.Fatal(err)
	}
}

// restoreInPlace backs up slot 0 and restores all slots from that, while a ConfigMap is written
// before and another after the backup.
func (l *suite) restoreInPlace(api kubernetes.Interface, bundles []*bootstrap.Bundle, restores string) {
	l.t.Helper()
	l.write(api, "before")
	ctx, stop := context.WithCancel(l.t.Context())
	saver := l.nodeupOn(ctx, api, 0, bundles[0], "--back-up")
	if err := saver.Start(); err != nil {
		l.t.Fatal(err)
	}
	var key string
	l.await("slot 0 makes another backup", func() error {
		bucket := l.outputs[model.OutputBucket]
		found, err := l.objects.ListObjectsV2(l.t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: aws.String(etcdbackup.Prefix)})
		if err != nil || len(found.Contents) == 0 {
			return fmt.Errorf("there is none: %w", err)
		}
		key = *found.Contents[0].Key
		return nil
	})
	stop()
	_ = saver.Wait() // It was killed.
	l.write(api, "after")

	const token = "20261128T120000Z"
	program, err := os.ReadFile(restores)
	if err != nil {
		l.t.Fatal(err)
	}
	l.put(bundle.RestoreKey(token, bundles[0].Architecture), program)
	var all sync.WaitGroup
	for slot, b := range bundles {
		cmd := l.nodeupOn(l.t.Context(), api, slot, b,
			"--restore", key, "--restore-program", bundle.HashOf(program), "--restore-token", token)
		all.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				l.t.Errorf("restore slot %d: %v\n%s", slot, err, out)
			}
		})
	}
	all.Wait()
	l.await("the API serves what was written before the backup, and not what was written after it", func() error {
		maps, err := api.CoreV1().ConfigMaps("default").List(l.t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		var names []string
		for _, one := range maps.Items {
			names = append(names, one.Name)
		}
		if !slices.Contains(names, "before") || slices.Contains(names, "after") {
			return fmt.Errorf("it has %v", names)
		}
		return nil
	})
	l.write(api, "since")
}

func (l *suite) write(api kubernetes.Interface, name string) {
	l.t.Helper()
	l.await("the ConfigMap "+name+" is written", func() error {
		_, err := api.CoreV1().ConfigMaps("default").Create(
			l.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{},
		)
		return ignoreExists(err)
	})
}

// nodeupOn returns a call of nodeup on a slot's machine, as a user there makes it.
func (l *suite) nodeupOn(ctx context.Context, api kubernetes.Interface, slot int, b *bootstrap.Bundle, args ...string) *exec.Cmd {
	l.t.Helper()
	var nodes []string
	l.await("the slot's node", func() error {
		if nodes = l.nodesOf(api, slot); len(nodes) != 1 {
			return fmt.Errorf("there are %v", nodes)
		}
		return nil
	})
	cmd, err := l.host.Command(ctx, nodes[0][strings.LastIndexByte(nodes[0], '/')+1:], append([]string{
		"/var/lib/nodeup/nodeup", "--bucket", l.outputs[model.OutputBucket], "--region", l.cluster.Region, "--bundle", b.Hash(),
	}, args...)...)
	if err != nil {
		l.t.Fatal(err)
	}
	return cmd
}
