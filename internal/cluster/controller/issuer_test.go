package controller_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// probe is a bucket that shows whether the account blocks public bucket policies.
const probe = "probe-of-public-access"

// makeProbe makes the bucket of blockPublicAccess. It does not block public policies itself.
func (w *suite) makeProbe() {
	w.t.Helper()
	api := w.s3(account, region)
	_, err := api.CreateBucket(w.t.Context(), &s3.CreateBucketInput{
		Bucket: aws.String(probe), CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: region},
	})
	if err == nil {
		_, err = api.DeletePublicAccessBlock(w.t.Context(), &s3.DeletePublicAccessBlockInput{Bucket: aws.String(probe)})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// blockPublicAccess sets whether the account blocks public bucket policies, through S3 Control, and
// waits until that is in effect.
func (w *suite) blockPublicAccess(on bool) {
	w.t.Helper()
	method, body := http.MethodDelete, ""
	if on {
		method, body = http.MethodPut, "<PublicAccessBlockConfiguration><BlockPublicPolicy>true</BlockPublicPolicy></PublicAccessBlockConfiguration>"
	}
	request, err := http.NewRequestWithContext(
		w.t.Context(), method, w.observer+"/v20180820/configuration/publicAccessBlock", strings.NewReader(body),
	)
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header.Set("X-Amz-Account-Id", account)
	request.Header.Set("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD") // S3 requires it
	config := w.awsConfig(account, region)
	identity, err := config.Credentials.Retrieve(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if err := v4.NewSigner().SignHTTP(w.t.Context(), identity, request, "UNSIGNED-PAYLOAD", "s3", region, time.Now()); err != nil {
		w.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode >= http.StatusMultipleChoices {
		w.t.Fatalf("S3 Control returned %s", response.Status)
	}
	public := `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", ` +
		`"Resource": "arn:aws:s3:::` + probe + `/*"}]}`
	w.eventually("the account's block is in effect", func() error {
		_, err := w.s3(account, region).PutBucketPolicy(w.t.Context(), &s3.PutBucketPolicyInput{
			Bucket: aws.String(probe), Policy: &public,
		})
		if refused := err != nil; refused != on {
			return errors.Join(fmt.Errorf("public policies shall be refused: %t", on), err)
		}
		return nil
	})
}

// policy returns the policy of a bucket.
func (w *suite) policy(bucket string) string {
	w.t.Helper()
	out, err := w.s3(account, region).GetBucketPolicy(w.t.Context(), &s3.GetBucketPolicyInput{Bucket: &bucket})
	if err != nil {
		w.t.Fatal(err)
	}
	return aws.ToString(out.Policy)
}

// loseStatus removes a Cluster's status while no operator runs, like a restore of the management
// cluster without statuses.
func (w *suite) loseStatus(cluster *v1alpha1.Cluster) {
	w.t.Helper()
	w.eventually("the status is lost", func() error {
		if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
			return err
		}
		cluster.Status = v1alpha1.ClusterStatus{}
		return w.client.Status().Update(w.t.Context(), cluster)
	})
}

// In an account that blocks public policies, the Cluster explains what to do. Afterwards, it
// publishes only the issuer's documents, from their own bucket.
func TestIssuerUsesItsOwnBucket(t *testing.T) {
	w := newSuite(t, nil, nil)
	w.makeProbe()
	w.blockPublicAccess(false)
	w.blockPublicAccess(true)
	w.start()
	cluster := w.aCluster("demo")
	cluster.Spec.Release = w.releaseOf("1.2.0")
	cluster.Spec.ControlPlane.Replicas = 1
	cluster.Spec.ServiceAccountIssuer = &v1alpha1.ServiceAccountIssuer{}
	w.create(cluster)
	blocked := w.condition(cluster, "NetworkReady", metav1.ConditionFalse, "PublicAccessBlocked")
	for _, want := range []string{"IssuerBucketPolicy", "S3 Block Public Access", "spec.serviceAccountIssuer.url"} {
		if !strings.Contains(blocked.Message, want) {
			t.Errorf("the condition does not contain %s: %s", want, blocked.Message)
		}
	}
	w.blockPublicAccess(false)
	w.condition(cluster, "ControlPlaneReady", metav1.ConditionTrue, "")

	issuer, bucket := cluster.Status.Outputs["IssuerBucket"], cluster.Status.Outputs["Bucket"]
	documents := []string{"oidc/.well-known/openid-configuration", "oidc/openid/v1/jwks"}
	if keys := w.objects(account, region, issuer); !slices.Equal(keys, documents) {
		t.Errorf("the bucket %s has %v", issuer, keys)
	}
	for _, key := range documents {
		if allowed := w.policy(issuer); !strings.Contains(allowed, `"arn:aws:s3:::`+issuer+"/"+key+`"`) {
			t.Errorf("the policy of the bucket %s does not permit everyone to read %s: %s", issuer, key, allowed)
		}
	}
	if keys := w.objects(account, region, bucket); slices.ContainsFunc(
		keys, func(key string) bool { return strings.HasPrefix(key, "oidc/") },
	) {
		t.Errorf("the cluster's bucket has the issuer's documents: %v", keys)
	}
	if policy := w.policy(bucket); strings.Contains(policy, "IssuerForAll") {
		t.Errorf("the policy of the cluster's bucket is %s", policy)
	}
	if _, err := w.s3(account, region).DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: aws.String(probe)}); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.waitDeleted(cluster)
	w.nothingIsLeft(account, region)
}

// A cluster that publishes its issuer's documents from its own bucket changes to a resource set
// with a separate bucket and loses its status. The URL is in all tokens of the cluster, so it stays
// the same.
func TestIssuerKeepsItsURL(t *testing.T) {
	w := newSuite(t, nil, nil)
	w.start()
	cluster := w.aCluster("demo")
	cluster.Spec.ControlPlane.Replicas = 1
	cluster.Spec.ServiceAccountIssuer = &v1alpha1.ServiceAccountIssuer{}
	w.create(cluster)
	w.condition(cluster, "ControlPlaneReady", metav1.ConditionTrue, "")
	before := cluster.Status.Outputs["Issuer"]
	if !strings.Contains(before, "oidc-provider/"+cluster.Status.Outputs["Bucket"]+".s3.") {
		t.Fatalf("the issuer is %s", before)
	}
	w.stop()
	w.loseStatus(cluster)
	set120 := w.releaseOf("1.2.0")
	w.edit(cluster, func() { cluster.Spec.Release = set120 })
	w.start()
	w.condition(cluster, "NetworkReady", metav1.ConditionTrue, "StackReady")
	if now := cluster.Status.Outputs["Issuer"]; now != before {
		t.Errorf("the issuer was %s and is %s", before, now)
	}
	if buckets := w.buckets(account, region); len(buckets) != 1 {
		t.Errorf("the buckets are %v", buckets)
	}
}

// A lost etcd volume is replaced, a volume that only a status reports as lost is not, and the new
// volume is kept when the status is lost.
func TestReplacedVolumesSurviveALostStatus(t *testing.T) {
	w := newSuite(t, nil, nil)
	w.start()
	cluster := w.aCluster("demo")
	cluster.Spec.Release = w.releaseOf("1.2.0")
	w.create(cluster)
	w.condition(cluster, "ControlPlaneReady", metav1.ConditionTrue, "")
	first := cluster.Status.Outputs["EtcdVolume1"]
	callItLost := func() {
		w.eventually("the status reports a lost volume", func() error {
			if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
				return err
			}
			cluster.Status.Etcd = &v1alpha1.EtcdStatus{Volumes: []v1alpha1.EtcdVolumeStatus{{Slot: 1, Generation: 1, Lost: first}}}
			return w.client.Status().Update(t.Context(), cluster)
		})
		w.touch(cluster)
	}
	callItLost()
	w.condition(cluster, "Stalled", metav1.ConditionTrue, "RefusedByPolicy")
	if _, ok := w.etcdVolumes()[first]; !ok {
		t.Fatal("an existing volume was removed because the status reports it as lost")
	}

	w.deleteVolume(first)
	w.touch(cluster)
	w.eventually("the slot has another volume", func() error {
		if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
			return err
		}
		if now := cluster.Status.Outputs["EtcdVolume1"]; now == first || now == "" {
			return errors.New("it is " + now)
		}
		return nil
	})
	second := cluster.Status.Outputs["EtcdVolume1"]
	if generation := cluster.Status.Outputs["EtcdVolume1Generation"]; generation != "1" || len(w.etcdVolumes()) != 3 {
		t.Errorf("the generation is %q, and the volumes are %v", generation, w.etcdVolumes())
	}
	w.condition(cluster, "ControlPlaneReady", metav1.ConditionTrue, "")

	w.stop()
	w.loseStatus(cluster)
	w.start()
	w.condition(cluster, "NetworkReady", metav1.ConditionTrue, "StackReady")
	if now := cluster.Status.Outputs["EtcdVolume1"]; now != second {
		t.Errorf("the slot's volume was %s and is %s", second, now)
	}
	if etcd := cluster.Status.Etcd; etcd == nil || len(etcd.Volumes) != 1 || etcd.Volumes[0].Generation != 1 {
		t.Errorf("the status of etcd is %+v", etcd)
	}
}
