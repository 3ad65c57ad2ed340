package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// encryptionStages are all stages, in their order.
var encryptionStages = []v1alpha1.EncryptionStage{
	v1alpha1.EncryptionReadable, v1alpha1.EncryptionEncrypting, v1alpha1.EncryptionRewriting, v1alpha1.EncryptionDone,
}

// observedSlots are what the slots of a cluster do with encrypted objects.
type observedSlots struct {
	w       *suite
	bundles map[string]bundle.Added
	seen    []bundle.Added
}

// none is that the API server does not know the KMS plugin.
const none bundle.Added = "None"

// check fails if an API server cannot read what another one writes.
func (o *observedSlots) check(cluster *v1alpha1.Cluster) {
	o.w.t.Helper()
	list := &corev1.NodeList{}
	if o.w.inside(cluster.Name).List(o.w.t.Context(), list) != nil {
		return
	}
	var now []bundle.Added
	for i := range list.Items {
		if slot := list.Items[i].Labels["cluster-operator.aws/slot"]; slot == "" {
			continue
		}
		now = append(now, o.does(cluster, list.Items[i].Labels["cluster-operator.aws/bundle"]))
	}
	if slices.Contains(now, none) && slices.Contains(now, bundle.AddedEncrypting) {
		o.w.t.Errorf("a slot cannot read what others encrypt: %v", now)
	}
	for _, one := range now {
		if !slices.Contains(o.seen, one) {
			o.seen = append(o.seen, one)
		}
	}
}

// does returns what a slot with a bundle does.
func (o *observedSlots) does(cluster *v1alpha1.Cluster, hash string) bundle.Added {
	o.w.t.Helper()
	if known, ok := o.bundles[hash]; ok {
		return known
	}
	store := s3.NewFromConfig(o.w.awsConfig(account, region), func(o *s3.Options) { o.UsePathStyle = true })
	found, err := store.ListObjectsV2(o.w.t.Context(), &s3.ListObjectsV2Input{
		Bucket: aws.String(cluster.Status.Outputs[model.OutputBucket]), Prefix: aws.String("bundles/" + hash), // The label is shorter.
	})
	if err != nil || len(found.Contents) != 1 {
		o.w.t.Fatalf("there are %d bundles %s: %v", len(found.Contents), hash, err)
	}
	made, err := bootstrap.Parse([]byte(o.w.object(cluster, *found.Contents[0].Key)))
	if err != nil {
		o.w.t.Fatal(err)
	}
	does, config := none, ""
	for _, file := range made.Files {
		if strings.HasSuffix(file.Path, "/encryption.yaml") {
			config = file.Content
		}
	}
	if made.Encryption != nil {
		does = made.Encryption.Added
	}
	identity, kms := strings.Index(config, "identity"), strings.Index(config, "kms:")
	if (does == none) != (config == "") || does == bundle.AddedReadable && identity > kms || does == bundle.AddedEncrypting && identity < kms {
		o.w.t.Errorf("a slot that is %s has the configuration\n%s", does, config)
	}
	if does != none != strings.Contains(made.Kubeadm.Config, "encryption-provider-config") {
		o.w.t.Errorf("a slot that is %s has the configuration\n%s", does, made.Kubeadm.Config)
	}
	o.bundles[hash] = does
	return does
}

// encryption waits until a Cluster is in one of some stages.
func (w *suite) encryption(
	cluster *v1alpha1.Cluster, observed *observedSlots, stages ...v1alpha1.EncryptionStage,
) v1alpha1.EncryptionStatus {
	w.t.Helper()
	var found v1alpha1.EncryptionStatus
	w.eventually(fmt.Sprintf("the encryption is in stage %v", stages), func() error {
		if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
			return err
		}
		observed.check(cluster)
		found = v1alpha1.EncryptionStatus{}
		if cluster.Status.Encryption != nil {
			found = *cluster.Status.Encryption
		}
		if !slices.Contains(stages, found.Stage) {
			return fmt.Errorf("it is %+v; %s", found, describeConditions(cluster.Status.Conditions))
		}
		return nil
	})
	return found
}

// Encryption is added to a cluster, although an operator ends in each stage and another one continues, and although
// statuses claim other stages. It replaces each slot twice.
func TestEncryptionIsAdded(t *testing.T) {
	w := newSuite(t, simulatedHost(), nil)
	w.start()
	cluster := w.aCluster("demo")
	w.create(cluster)
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	inside := w.inside("demo")
	for i := range 70 { // More than a reconcile writes again.
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("s-%d", i)}}
		if err := inside.Create(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
	observed := &observedSlots{w: w, bundles: map[string]bundle.Added{}}
	observed.check(cluster)
	w.patch(cluster, `{"spec":{"api":{"encryption":{}}}}`)
	for i, stage := range encryptionStages[:3] {
		w.encryption(cluster, observed, encryptionStages[i:]...)
		w.stop()
		for _, claim := range []string{
			`{"status":{"encryption":{"stage":"Done"}}}`, `{"status":{"encryption":{"stage":"Rewriting"}}}`, `{"status":{"encryption":null}}`,
		} {
			if err := w.client.Status().Patch(t.Context(), cluster, client.RawPatch("application/merge-patch+json", []byte(claim))); err != nil {
				t.Fatal(err)
			}
		}
		w.start()
		if stage != v1alpha1.EncryptionRewriting {
			w.encryption(cluster, observed, encryptionStages[i+1:]...)
		}
	}
	state := w.encryption(cluster, observed, v1alpha1.EncryptionDone)
	if state.Started == nil || state.Finished == nil || state.Finished.Before(state.Started) {
		t.Errorf("the encryption is %+v", state)
	}
	w.condition(cluster, "ResourcesEncrypted", metav1.ConditionTrue, "Encrypted")
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	observed.check(cluster)
	if want := []bundle.Added{none, bundle.AddedReadable, bundle.AddedEncrypting}; !slices.Equal(observed.seen, want) {
		t.Errorf("the slots were %v, want %v", observed.seen, want)
	}
	if len(observed.bundles) != 3*3 {
		t.Errorf("the slots booted with %d bundles", len(observed.bundles))
	}
	if state := string(w.mustSecret("demo-ca").Data["encryption"]); !strings.Contains(state, `"stage":"Done"`) || !strings.Contains(state, `"revision":`) {
		t.Errorf("the Secret has the state %s", state)
	}
	list := &corev1.EventList{}
	if err := w.client.List(t.Context(), list, client.InNamespace(w.namespace)); err != nil {
		t.Fatal(err)
	}
	for _, stage := range encryptionStages {
		if !slices.ContainsFunc(list.Items, func(e corev1.Event) bool {
			return e.Reason == "EncryptionInEtcd" && strings.Contains(e.Message, "in stage "+string(stage)+":")
		}) {
			t.Errorf("there is no Event of stage %s", stage)
		}
	}
	for _, change := range []string{
		`{"spec":{"api":{"encryption":null}}}`, `{"spec":{"api":{"encryption":{"resources":["secrets","configmaps"]}}}}`,
	} {
		if err := w.client.Patch(t.Context(), cluster, client.RawPatch("application/merge-patch+json", []byte(change))); err == nil {
			t.Errorf("the API accepts %s", change)
		}
	}
}

// A cluster that was created with encryption has no stages, whatever a status says.
func TestClusterThatWasCreatedWithEncryptionHasNoStages(t *testing.T) {
	w := newSuite(t, simulatedHost(), nil)
	w.start()
	cluster := w.aCluster("demo")
	cluster.Spec.ControlPlane.Replicas = 1
	cluster.Spec.API.Encryption = &v1alpha1.Encryption{}
	w.create(cluster)
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	w.condition(cluster, "ResourcesEncrypted", metav1.ConditionTrue, "Encrypted")
	observed := &observedSlots{w: w, bundles: map[string]bundle.Added{}}
	observed.check(cluster)
	forged := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"encryption":{"stage":"Readable"}}}`))
	if err := w.client.Status().Patch(t.Context(), cluster, forged); err != nil {
		t.Fatal(err)
	}
	w.stop()
	w.start()
	w.encryption(cluster, observed, "")
	w.condition(cluster, "Ready", metav1.ConditionTrue, "")
	if len(observed.bundles) != 1 || !slices.Equal(observed.seen, []bundle.Added{""}) {
		t.Errorf("the slot has been %v with %d bundles", observed.seen, len(observed.bundles))
	}
	if _, ok := w.mustSecret("demo-ca").Data["encryption"]; ok {
		t.Error("the Secret has a stage")
	}
}
