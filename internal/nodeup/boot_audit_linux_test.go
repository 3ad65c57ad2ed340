package nodeup_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

// TestAuditLogOfARealAPIServerIsShipped boots a slot for real, with the permissions that its role has.
// Its API server rotates the audit log after each MiB, while requests of clients fill it and the
// process that ships it is killed at random moments. The objects in the bucket have every line, in
// order and once.
func TestAuditLogOfARealAPIServerIsShipped(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	l := newSuite(t, release.Set120, 1, func(spec *v1alpha1.ClusterSpec) {
		spec.API.Audit = &v1alpha1.Audit{
			MaxSize: 1, MaxBackups: 1000, Ship: &v1alpha1.AuditShipping{Every: &metav1.Duration{Duration: 10 * time.Second}},
			Policy: &runtime.RawExtension{Raw: []byte(`{"rules":[{"level":"RequestResponse"}]}`)},
		}
	})
	_, api := l.newCAs()
	bundles := l.startSlots()
	l.await("the slot is a node", func() error {
		return hasNode(t.Context(), api, model.LabelSlot+"=0", bundles[0].Hash())
	})
	node := l.nodesOf(api, 0)[0]
	instance := node[strings.LastIndexByte(node, '/')+1:]

	ctx, stop := context.WithCancel(t.Context())
	var others sync.WaitGroup
	others.Go(func() { l.fillAuditLog(api) })
	kills := 0
	others.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(time.Duration(rand.IntN(2000)) * time.Millisecond)
			if l.inside(instance, killShipper) == "killed\n" {
				kills++
			}
			l.inside(instance, "systemctl restart nodeup-audit.service")
		}
	})
	l.await("the log was rotated some times", func() error {
		if files := l.inside(instance, "ls /var/log/kubernetes/audit"); strings.Count(files, "audit-") < 6 {
			return fmt.Errorf("there are %s", files)
		}
		return nil
	})
	stop()
	others.Wait()
	if kills < 3 {
		t.Errorf("the process was killed %d times", kills)
	}

	written := l.inside(instance, "cd /var/log/kubernetes/audit; cat audit-*.log audit.log")
	written = written[:strings.LastIndexByte(written, '\n')+1]
	l.await("all that was written is in the bucket", func() error {
		shipped := l.auditLog()
		if common := len(commonPrefix(shipped, written)); common < len(written) {
			if len(shipped) > common {
				t.Fatalf("at byte %d, there is\n%.300q, want\n%.300q", common, shipped[common:], written[common:])
			}
			return fmt.Errorf("the bucket has %d of %d bytes", len(shipped), len(written))
		}
		return nil
	})
	t.Logf("%d bytes in %d lines; the process was killed %d times", len(written), strings.Count(written, "\n"), kills)
	l.await("the slot's Node says so", func() error {
		nodes, err := api.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, c := range nodes.Items[0].Status.Conditions {
			if c.Type == bundle.AuditCondition && c.Status == corev1.ConditionTrue && c.Reason == "Shipped" {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %+v", nodes.Items[0].Status.Conditions)
	})
	l.tryAuditLog(instance)
}

// tryAuditLog does with the credentials of a slot's role what an intruder on the slot could do.
func (l *suite) tryAuditLog(instance string) {
	l.t.Helper()
	const role = `at=http://169.254.169.254/latest
token=$(curl -s -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' $at/api/token)
read() { curl -s -H "X-aws-ec2-metadata-token: $token" $at/meta-data/iam/security-credentials/$1; }
read $(read)`
	var keys struct{ AccessKeyID, SecretAccessKey, Token string }
	if err := json.Unmarshal([]byte(l.inside(instance, role)), &keys); err != nil || keys.Token == "" {
		l.t.Fatalf("the machine has no credentials: %v", err)
	}
	options := l.objects.Options()
	options.Credentials = credentials.NewStaticCredentialsProvider(keys.AccessKeyID, keys.SecretAccessKey, keys.Token)
	client, ctx, bucket := s3.New(options), l.t.Context(), l.outputs[model.OutputBucket]
	found, err := l.objects.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: aws.String("audit/demo/slot0/")})
	if err != nil || len(found.Contents) == 0 {
		l.t.Fatal("the bucket has no objects", err)
	}
	key := found.Contents[0].Key
	put := func(key string, condition *string) error {
		_, err := client.PutObject(ctx, &s3.PutObjectInput{
			Bucket: &bucket, Key: &key, Body: strings.NewReader("forged"), IfNoneMatch: condition,
		})
		return err
	}
	_, read := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: key})
	_, listed := client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: aws.String("audit/")})
	_, deleted := client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &bucket, Key: key})
	_, copied := client.CopyObject(ctx, &s3.CopyObjectInput{Bucket: &bucket, Key: key, CopySource: aws.String(bucket + "/bundles/x")})
	_, begun := client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &bucket, Key: key})
	star := aws.String("*")
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"read":                 {read, "AccessDenied"},
		"list":                 {listed, "AccessDenied"},
		"delete":               {deleted, "AccessDenied"},
		"copy over":            {copied, "AccessDenied"},
		"upload in parts":      {begun, "AccessDenied"},
		"replace":              {put(*key, nil), "AccessDenied"},
		"replace, if none":     {put(*key, star), "PreconditionFailed"},
		"of another cluster":   {put("audit/demo2/slot0/forged.log.gz", star), "AccessDenied"},
		"an object of its own": {put("audit/demo/slot0/zzz", star), ""},
	} {
		if test.want == "" && test.err != nil || test.want != "" && (test.err == nil || !strings.Contains(test.err.Error(), test.want)) {
			l.t.Errorf("%s: got %v, want %q", name, test.err, test.want)
		}
	}
}

// killShipper kills the process that ships the log, inside the machine.
const killShipper = `for p in /proc/[0-9]*; do
	if tr '\0' ' ' <$p/cmdline 2>/dev/null | grep -q '^[^ ]*nodeup .*--ship-audit-log'; then kill -9 ${p#/proc/} && echo killed; fi
done`

// inside runs a script on a machine and returns its output.
func (l *suite) inside(instance, script string) string {
	l.t.Helper()
	cmd, err := l.host.Command(l.t.Context(), instance, "sh", "-c", script)
	if err != nil {
		l.t.Error(err)
		return ""
	}
	out, _ := cmd.Output()
	return string(out)
}

// fillAuditLog makes requests whose bodies fill the audit log.
func (l *suite) fillAuditLog(api kubernetes.Interface) {
	for i := range 150 {
		one := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("filler-%d", i)},
			Data:       map[string]string{"text": strings.Repeat("x", 20<<10)},
		}
		_, err := api.CoreV1().ConfigMaps("default").Create(l.t.Context(), one, metav1.CreateOptions{})
		if ignoreExists(err) != nil {
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// auditLog returns the log as an auditor reads it: the objects in the order of their keys.
func (l *suite) auditLog() string {
	l.t.Helper()
	bucket := l.outputs[model.OutputBucket]
	var all strings.Builder
	pages := s3.NewListObjectsV2Paginator(l.objects, &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: aws.String("audit/demo/slot0/")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(l.t.Context())
		if err != nil {
			l.t.Fatal(err)
		}
		for _, object := range page.Contents {
			if !strings.HasSuffix(*object.Key, ".log.gz") {
				l.t.Fatalf("there is an object %s:\n%s", *object.Key, l.get(*object.Key))
			}
			reader, err := gzip.NewReader(bytes.NewReader([]byte(l.get(*object.Key))))
			if err == nil {
				_, err = io.Copy(&all, reader)
			}
			if err != nil {
				l.t.Fatal(err)
			}
		}
	}
	return all.String()
}

func commonPrefix(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return a[:i]
}
