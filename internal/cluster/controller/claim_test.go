package controller_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/cluster/record"
)

// If the bucket contains the certificate of another CA, the operator does not overwrite it, and the
// Cluster reports the object in the way.
func TestAnotherCAIsNotOverwritten(t *testing.T) {
	w := newSuite(t, nil, nil)
	w.start()
	cluster := w.aCluster("demo")
	cluster.Spec.ControlPlane.Replicas = 1
	w.create(cluster)
	w.complete(account, region, "demo", "demo-control-plane-0")
	w.condition(cluster, "ControlPlaneReady", metav1.ConditionTrue, "")
	w.stop()
	bucket, key := w.buckets(account, region)[0], "pki/ca.crt"
	if _, err := w.s3(account, region).PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: &bucket, Key: &key, Body: strings.NewReader("another"), Metadata: map[string]string{"sha256": "of another"},
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
		t.Fatal(err)
	}
	for i := range cluster.Status.Stacks {
		if one := &cluster.Status.Stacks[i]; one.Name == "demo" {
			known, err := record.Decode(one)
			if err != nil {
				t.Fatal(err)
			}
			known.Stored = ""
			if err := record.Encode(one, known); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.client.Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.start()
	if stalled := w.condition(cluster, "Stalled", metav1.ConditionTrue, "CertificateAuthorityConflict"); !strings.Contains(
		stalled.Message, key,
	) {
		t.Errorf("the Cluster reports %q", stalled.Message)
	}
	out, err := w.s3(account, region).HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	if got := out.Metadata["sha256"]; got != "of another" || aws.ToInt64(out.ContentLength) != int64(len("another")) {
		t.Errorf("the certificate was overwritten: %q", got)
	}
}
