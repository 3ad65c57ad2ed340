package controller_test

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
)

// rotate requests a rotation.
func (w *suite) rotate(cluster *v1alpha1.Cluster, request string) {
	w.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"certificates":{"rotate":%q}}}`, request)
	if err := w.client.Patch(w.t.Context(), cluster, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		w.t.Fatal(err)
	}
}

// rotation waits until the rotation for a request is in one of some stages.
func (w *suite) rotation(cluster *v1alpha1.Cluster, request string, stages ...v1alpha1.RotationStage) v1alpha1.CertificateRotation {
	w.t.Helper()
	var found v1alpha1.CertificateRotation
	w.eventually(fmt.Sprintf("the rotation %s is in stage %v", request, stages), func() error {
		if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
			return err
		}
		if status := cluster.Status.Certificates; status != nil && status.Rotation != nil {
			found = *status.Rotation
		}
		if found.Requested != request || !slices.Contains(stages, found.Stage) {
			return fmt.Errorf("it is %+v; %s", found, describeConditions(cluster.Status.Conditions))
		}
		return nil
	})
	return found
}

func (w *suite) mustSecret(name string) *corev1.Secret {
	w.t.Helper()
	secret, err := w.secret(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return secret
}

// object returns the content of an object in the cluster's bucket.
func (w *suite) object(cluster *v1alpha1.Cluster, key string) string {
	w.t.Helper()
	out, err := s3.NewFromConfig(w.awsConfig(account, region), func(o *s3.Options) { o.UsePathStyle = true }).
		GetObject(w.t.Context(), &s3.GetObjectInput{Bucket: aws.String(cluster.Status.Outputs[model.OutputBucket]), Key: aws.String(key)})
	if err != nil {
		w.t.Fatalf("read %s: %v", key, err)
	}
	defer out.Body.Close()
	var content bytes.Buffer
	if _, err := content.ReadFrom(out.Body); err != nil {
		w.t.Fatal(err)
	}
	return content.String()
}

// observedBoots records in which order nodes booted: it has, for each bundle of a slot or group, when it was seen first.
type observedBoots struct {
	mu    sync.Mutex
	slots []string
	group []string
}

func (o *observedBoots) see(nodes []corev1.Node) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range nodes {
		into := &o.group
		if nodes[i].Labels["cluster-operator.aws/slot"] == "0" {
			into = &o.slots
		} else if nodes[i].Labels["cluster-operator.aws/slot"] != "" {
			continue
		}
		if bundle := nodes[i].Labels["cluster-operator.aws/bundle"]; !slices.Contains(*into, bundle) {
			*into = append(*into, bundle)
		}
	}
}

// A rotation passes all stages with one slot at a time, although an operator ends in each of them and another one
// continues. It replaces slots three times and the nodes of groups twice.
func TestCAsAreRotated(t *testing.T) {
	w := newSuite(t, simulatedHost(), nil)
	w.start()
	cluster, group := w.aCluster("demo"), w.aGroup("workers", "demo")
	w.create(cluster, group)
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	w.condition(group, "Ready", metav1.ConditionTrue, "")
	before := w.mustSecret("demo-ca")
	origin := w.object(cluster, "pki/ca.crt")
	boots := &observedBoots{}
	see := func() {
		list := &corev1.NodeList{}
		if err := w.inside("demo").List(t.Context(), list); err == nil {
			boots.see(list.Items)
		}
	}
	see()

	w.rotate(cluster, "first")
	stages := []v1alpha1.RotationStage{
		v1alpha1.RotationTrust, v1alpha1.RotationIssue, v1alpha1.RotationRenew, v1alpha1.RotationForget, v1alpha1.RotationDone,
	}
	for i, stage := range stages[:4] {
		w.rotation(cluster, "first", stages[i:]...)
		w.checkNoKeys(cluster, group, stage)
		w.stop()
		w.start()
		w.rotation(cluster, "first", stages[i+1:]...)
		see()
	}
	state := w.rotation(cluster, "first", v1alpha1.RotationDone)
	if state.Started == nil || state.Finished == nil || state.Finished.Before(state.Started) {
		t.Errorf("the rotation is %+v", state)
	}
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	w.condition(group, "Ready", metav1.ConditionTrue, "")
	see()
	if len(boots.slots) != 4 || len(boots.group) != 3 {
		t.Errorf("slot 0 booted with %v, the group with %v; want 4 and 3 bundles", boots.slots, boots.group)
	}

	after := w.mustSecret("demo-ca")
	if bytes.Equal(after.Data["tls.crt"], before.Data["tls.crt"]) || string(after.Data["rotated"]) != "first" {
		t.Error("the CA is the same as before")
	}
	err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "demo-ca-rotation"}, &corev1.Secret{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the Secret of the rotation is left: %v", err)
	}
	if w.object(cluster, "pki/ca.crt") != origin {
		t.Error("the certificate that identifies the owner of the bucket has changed")
	}
	kubeconfig := string(w.mustSecret("demo-kubeconfig").Data["value"])
	if strings.Contains(kubeconfig, "current-context") && w.inside("demo").List(t.Context(), &corev1.NodeList{}) != nil {
		t.Error("the kubeconfig in the Secret does not work")
	}

	// The same text, or none, requests nothing; the certificate in the bucket is still the cluster's.
	for _, request := range []string{"", "first"} {
		w.rotate(cluster, request)
		w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	}
	if got := w.rotation(cluster, "first", v1alpha1.RotationDone); got.Finished == nil || !got.Finished.Equal(state.Finished) {
		t.Errorf("the rotation is now %+v", got)
	}
}

// checkNoKeys searches the objects and all bundles for private keys.
func (w *suite) checkNoKeys(cluster *v1alpha1.Cluster, group *v1alpha1.InstanceGroup, stage v1alpha1.RotationStage) {
	w.t.Helper()
	if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(group), group); err != nil {
		w.t.Fatal(err)
	}
	searched := fmt.Sprintf("%v %v", cluster, group)
	list := &corev1.EventList{}
	if err := w.client.List(w.t.Context(), list, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	for i := range list.Items {
		searched += list.Items[i].Message
	}
	store := s3.NewFromConfig(w.awsConfig(account, region), func(o *s3.Options) { o.UsePathStyle = true })
	found, err := store.ListObjectsV2(w.t.Context(), &s3.ListObjectsV2Input{
		Bucket: aws.String(cluster.Status.Outputs[model.OutputBucket]), Prefix: aws.String("bundles/"),
	})
	if err != nil || len(found.Contents) == 0 {
		w.t.Fatalf("there are %d bundles: %v", len(found.Contents), err)
	}
	for i := range found.Contents {
		searched += w.object(cluster, *found.Contents[i].Key)
	}
	for _, name := range []string{"demo-ca", "demo-etcd-ca", "demo-front-proxy-ca", "demo-sa", "demo-ca-rotation"} {
		secret := &corev1.Secret{}
		err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, secret)
		if apierrors.IsNotFound(err) && name == "demo-ca-rotation" {
			continue
		}
		if err != nil {
			w.t.Fatal(err)
		}
		for key, value := range secret.Data {
			block, _ := pem.Decode(value)
			if block == nil || !strings.Contains(block.Type, "PRIVATE KEY") {
				continue
			}
			if line := strings.Split(string(value), "\n")[1]; strings.Contains(searched, line) {
				w.t.Errorf("in stage %s, a status, an Event or a bundle has %s of Secret %s", stage, key, name)
			}
		}
	}
	if strings.Contains(searched, "PRIVATE KEY") {
		w.t.Errorf("in stage %s, a status, an Event or a bundle has a private key", stage)
	}
}

// A stage waits for a group that is paused. Neither a status that claims another stage nor a lost status changes that.
func TestRotationWaitsAndDoesNotBelieveStatuses(t *testing.T) {
	w := newSuite(t, simulatedHost(), nil)
	w.start()
	cluster, group := w.aCluster("demo"), w.aGroup("workers", "demo")
	cluster.Spec.ControlPlane.Replicas = 1
	w.create(cluster, group)
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	w.condition(group, "Ready", metav1.ConditionTrue, "")
	if err := w.client.Patch(t.Context(), group, client.RawPatch("application/merge-patch+json",
		fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"true"}}}`, v1alpha1.PausedAnnotation))); err != nil {
		t.Fatal(err)
	}
	w.rotate(cluster, "first")
	w.rotation(cluster, "first", v1alpha1.RotationRenew)
	w.eventually("the rotation says what it waits for", func() error {
		if got := w.rotation(cluster, "first", v1alpha1.RotationRenew); got.Message != "Waiting for instance group workers: it is paused." {
			return fmt.Errorf("it says %q", got.Message)
		}
		return nil
	})
	for _, claim := range []string{
		`{"status":{"certificates":{"rotation":{"requested":"first","stage":"Done"}}}}`,
		`{"status":{"certificates":{"rotation":{"requested":"first","stage":"Forget"}}}}`,
		`{"status":{"certificates":null}}`,
	} {
		forged := client.RawPatch("application/merge-patch+json", []byte(claim))
		if err := w.client.Status().Patch(t.Context(), cluster, forged); err != nil {
			t.Fatal(err)
		}
		w.eventually("the status is repaired", func() error {
			found := &v1alpha1.Cluster{}
			if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(cluster), found); err != nil {
				return err
			}
			if s := found.Status.Certificates; s == nil || s.Rotation == nil || s.Rotation.Stage != v1alpha1.RotationRenew {
				return errStill
			}
			return nil
		})
	}
	if stage := string(w.mustSecret("demo-ca-rotation").Data["stage"]); stage != "Renew" {
		t.Errorf("the stage is %s", stage)
	}
	if err := w.client.Patch(t.Context(), group, client.RawPatch("application/merge-patch+json",
		fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, v1alpha1.PausedAnnotation))); err != nil {
		t.Fatal(err)
	}
	w.rotation(cluster, "first", v1alpha1.RotationDone)

	// A Cluster is deleted in the middle of the next one.
	w.rotate(cluster, "second")
	w.rotation(cluster, "second", v1alpha1.RotationTrust, v1alpha1.RotationIssue)
	if err := w.client.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.waitDeleted(cluster)
	for _, name := range []string{"demo-ca", "demo-ca-rotation", "demo-kubeconfig"} {
		err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &corev1.Secret{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("Secret %s is left: %v", name, err)
		}
	}
}

// A lost Secret of a rotation is reported, and no instance is replaced: the ones that run trust what it had. So are
// Secrets from a backup that is older than a rotation.
func TestLostSecretOfARotationStopsIt(t *testing.T) {
	w := newSuite(t, simulatedHost(), nil)
	w.start()
	cluster, group := w.aCluster("demo"), w.aGroup("workers", "demo")
	w.create(cluster, group)
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	var backup []*corev1.Secret
	for _, name := range []string{"demo-ca", "demo-etcd-ca", "demo-front-proxy-ca", "demo-sa"} {
		backup = append(backup, w.mustSecret(name))
	}
	w.rotate(cluster, "first")
	w.rotation(cluster, "first", v1alpha1.RotationIssue, v1alpha1.RotationForget)
	lost := w.mustSecret("demo-ca-rotation")
	if err := w.client.Delete(t.Context(), lost.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	found := w.condition(cluster, "Stalled", metav1.ConditionTrue, "CertificateAuthorityBroken")
	if !strings.Contains(found.Message, "demo-ca-rotation is missing although a rotation is in progress") {
		t.Errorf("the message is %s", found.Message)
	}
	lost.ResourceVersion, lost.UID = "", ""
	lost.CreationTimestamp = metav1.NewTime(time.Time{})
	w.create(lost)
	if err := w.client.Patch(t.Context(), cluster, client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"annotations":{"aws-operator/retry":"1"}}}`))); err != nil {
		t.Fatal(err)
	}
	w.rotation(cluster, "first", v1alpha1.RotationDone)

	for _, secret := range backup {
		former := w.mustSecret(secret.Name)
		former.Data = secret.Data
		if err := w.client.Update(t.Context(), former); err != nil {
			t.Fatal(err)
		}
	}
	found = w.condition(cluster, "Stalled", metav1.ConditionTrue, "CertificateAuthorityConflict")
	const replaced = "A rotation has replaced the certificate authorities (CAs) in the Secrets"
	if !strings.Contains(found.Message, replaced) {
		t.Errorf("the message is %s", found.Message)
	}
	edit := []byte(`{"spec":{"labels":{"tier":"web"}}}`)
	if err := w.client.Patch(t.Context(), group, client.RawPatch("application/merge-patch+json", edit)); err != nil {
		t.Fatal(err)
	}
	found = w.condition(group, "Stalled", metav1.ConditionTrue, "CertificateAuthorityConflict")
	if !strings.Contains(found.Message, replaced) {
		t.Errorf("the message of the group is %s", found.Message)
	}
}

// CAs that expire soon are rotated without a request, once. A request that was fulfilled before does not start another
// rotation after that.
func TestOldCAsAreRotated(t *testing.T) {
	w := newSuite(t, simulatedHost(), nil)
	w.start()
	cluster := w.aCluster("demo")
	cluster.Spec.ControlPlane.Replicas = 1
	cluster.Spec.Certificates = &v1alpha1.Certificates{Rotate: "first"}
	old, err := pki.New(clocktesting.NewFakePassiveClock(time.Now().AddDate(-9, 0, 0)))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range old.Secrets(cluster) { // As one that a user restores.
		secret.OwnerReferences = nil
		w.create(secret)
	}
	w.create(cluster)
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	if cluster.Status.Certificates.Rotation != nil {
		t.Fatalf("the new cluster is rotated: %+v", cluster.Status.Certificates.Rotation)
	}
	patch := []byte(`{"spec":{"certificates":{"rotateBefore":"43800h"}}}`)
	if err := w.client.Patch(t.Context(), cluster, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		t.Fatal(err)
	}
	w.rotation(cluster, "", v1alpha1.RotationDone)
	if left := time.Until(cluster.Status.Certificates.CAsExpire.Time); left < 9*365*24*time.Hour {
		t.Errorf("the CAs expire in %s", left)
	}
	if rotated := string(w.mustSecret("demo-ca").Data["rotated"]); rotated != "first" {
		t.Errorf("the last request is %q", rotated)
	}
	w.condition(cluster, "CertificatesValid", metav1.ConditionTrue, "")
}

// An upgrade in the middle of a rotation does not change its stage, and both end, with one slot at a time.
func TestUpgradeDuringARotation(t *testing.T) {
	w := newWatched(t, 3, simulatedHost(), nil, "workers")
	w.rotate(w.cluster, "first")
	w.rotation(w.cluster, "first", v1alpha1.RotationIssue)
	patch := []byte(`{"spec":{"release":"v1.36.3"}}`)
	if err := w.client.Patch(t.Context(), w.cluster, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		t.Fatal(err)
	}
	w.rotation(w.cluster, "first", v1alpha1.RotationDone)
	w.runs("v1.36.3")
	group := w.aGroup("workers", "demo")
	w.condition(group, "Ready", metav1.ConditionTrue, "")
	if group.Status.Version != "v1.36.3" {
		t.Errorf("the group runs %s", group.Status.Version)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fewest < 2 || len(w.broken) > 0 {
		t.Errorf("at one moment only %d slots were healthy: %v", w.fewest, w.broken)
	}
}
