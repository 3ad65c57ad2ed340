package hostile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/test/inventory"
)

// steps is the number of writes of an author.
const steps = 400

// An author writes random objects, annotations, statuses, Secrets and ConfigMaps in the author's own
// namespace, beside a tenant and resources that were made by hand. Editors may write everything of
// that but statuses. The operator changes nothing that is not the author's, does not panic, and
// still serves others. When the author's statuses are removed, it deletes the author's objects with
// all their stacks.
func TestAuthorsReachOnlyWhatIsTheirs(t *testing.T) {
	s := newSuite(t)
	v := newVictim(s)
	schemas := s.schemas()
	campaign(t, 1, func(t *testing.T, seed uint64, random *rand.Rand) { //nolint:thelper // it is the test of a seed
		protected, words := v.possessions()
		before, existed := v.state(protected), inventory.Of(t, v.root)
		s.changes.protect(protected)
		a := &author{
			suite: s, t: t, namespace: fmt.Sprintf("author%d", seed), schemas: schemas, random: random, retained: map[string]bool{},
			values: values{random, append(words, "shop", "demo", fmt.Sprintf("author%d", seed))},
		}
		a.create(&corev1.Namespace{}, a.namespace)
		a.keepsakes()
		for range steps {
			a.step()
		}
		a.leave()

		touched, seen := s.changes.found()
		t.Logf("of %d writes the API server accepted %d; the operator made %d stacks and %d changes", steps, a.accepted, a.stacks, seen)
		if a.accepted < steps/4 || a.stacks == 0 || seen == 0 {
			t.Error("that is too few to say anything about the operator")
		}
		for _, one := range touched {
			t.Errorf("the operator requested %s", one)
		}
		s.panics.check(t)
		a.checkKeepsakes()
		v.unchanged(t, protected, before, existed)
		v.isServed(t, fmt.Sprintf("control-%d", seed))
	})
	v.isSeen(t)
}

// isServed checks that the operator creates, changes and deletes another tenant's object.
func (v *victim) isServed(t *testing.T, name string) {
	t.Helper()
	control := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"delaySeconds": int64(1)}}}
	control.SetAPIVersion("service-operator.aws/v1alpha1")
	control.SetKind("SQSQueue")
	control.SetNamespace(victims)
	v.create(control, name)
	v.ready(control)
	if err := v.client.Patch(t.Context(), control, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"delaySeconds":2}}`))); err != nil {
		t.Fatal(err)
	}
	v.ready(control)
	if err := v.client.Delete(t.Context(), control); err != nil {
		t.Fatal(err)
	}
	patience.UntilTrue(t, "the control object is deleted", func() bool { return !v.get(control) })
}

// isSeen checks that a change with the operator's credentials would have been noticed.
func (v *victim) isSeen(t *testing.T) {
	t.Helper()
	protected, _ := v.possessions()
	v.changes.protect(protected)
	queues := sqs.NewFromConfig(v.operatorsOwn)
	url, err := queues.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &v.queue})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := queues.TagQueue(t.Context(), &sqs.TagQueueInput{QueueUrl: url.QueueUrl, Tags: map[string]string{"a": "b"}}); err != nil {
		t.Fatal(err)
	}
	// The simulator throttles at random, and the SDK repeats such a request.
	if touched, _ := v.changes.found(); len(slices.Compact(touched)) != 1 {
		t.Errorf("one change of a queue that was made by hand was noticed as %q", touched)
	}
}

// schemas returns the schemas of the kinds that users write.
func (s *suite) schemas() map[string]*apiextensionsv1.JSONSchemaProps {
	s.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("apiextensions.k8s.io/v1")
	list.SetKind("CustomResourceDefinitionList")
	if err := s.client.List(s.t.Context(), list); err != nil {
		s.t.Fatal(err)
	}
	schemas := map[string]*apiextensionsv1.JSONSchemaProps{}
	for i := range list.Items {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, crd); err != nil {
			s.t.Fatal(err)
		}
		if strings.HasSuffix(crd.Spec.Group, "-operator.aws") && crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
			schemas[crd.Spec.Names.Kind] = crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		}
	}
	return schemas
}

// drafts are objects that an author starts from: these are valid, their edits perhaps not.
const drafts = `
- {apiVersion: service-operator.aws/v1alpha1, kind: SQSQueue, spec: {}}
- {apiVersion: service-operator.aws/v1alpha1, kind: SNSTopic, spec: {}}
- {apiVersion: service-operator.aws/v1alpha1, kind: SNSSubscription, spec: {topicName: shop, protocol: sqs, endpoint: shop}}
- apiVersion: service-operator.aws/v1alpha1
  kind: SNSSubscription
  spec:
    topicName: shop
    protocol: sqs
    endpoint: arn:aws:sqs:` + region + `:` + account + `:orders
    queueURL: https://sqs.` + region + `.amazonaws.com/` + account + `/orders
- apiVersion: service-operator.aws/v1alpha1
  kind: EventBridgeRule
  spec: {schedule: rate(1 hour), targets: [{name: a, queueName: orders}, {name: b, topicName: shop}]}
- apiVersion: service-operator.aws/v1alpha1
  kind: EventBridgeRule
  spec:
    eventBusARN: arn:aws:events:` + region + `:` + account + `:event-bus/default
    eventPattern: {source: [aws.ec2]}
    targets: [{name: a, queueName: 'arn:aws:sqs:` + region + `:` + account + `:orders'}, {name: b, queueName: shop}]
- {apiVersion: service-operator.aws/v1alpha1, kind: S3Bucket, spec: {}}
- {apiVersion: service-operator.aws/v1alpha1, kind: S3Bucket, spec: {distributionName: shop}}
- {apiVersion: service-operator.aws/v1alpha1, kind: CloudFrontDistribution, spec: {bucketName: made-by-hand}}
- {apiVersion: service-operator.aws/v1alpha1, kind: DynamoDB, spec: {hashAttribute: {name: id, type: S}}}
- {apiVersion: service-operator.aws/v1alpha1, kind: ECRRepository, spec: {}}
- {apiVersion: service-operator.aws/v1alpha1, kind: EncryptionKey, spec: {}}
- {apiVersion: service-operator.aws/v1alpha1, kind: AWSSecret, spec: {}}
- {apiVersion: service-operator.aws/v1alpha1, kind: DataStream, spec: {}}
- {apiVersion: service-operator.aws/v1alpha1, kind: ` + box + `, spec: {}}
- apiVersion: service-operator.aws/v1alpha1
  kind: ` + box + `
  metadata: {annotations: {service-operator.aws/adopt: by-hand, service-operator.aws/adoption-policy: AdoptOrCreate}}
  spec: {}
- apiVersion: service-operator.aws/v1alpha1
  kind: SQSQueue
  metadata: {annotations: {service-operator.aws/adopt: 'https://sqs.` + region + `.amazonaws.com/` + account + `/by-hand'}}
  spec: {}
- apiVersion: service-operator.aws/v1alpha1
  kind: S3Bucket
  metadata: {annotations: {service-operator.aws/adopt: made-by-hand, service-operator.aws/management-policy: Observe}}
  spec: {}
- apiVersion: service-operator.aws/v1alpha1
  kind: SQSQueue
  spec:
    writeTo: [{kind: ConfigMap, name: keepsake}, {kind: Secret, name: keepsake}]
    valuesFrom:
    - {field: messageRetentionPeriod, configMapKeyRef: {name: keepsake, key: keep}}
    - {field: kmsKeyID, valueFrom: {kind: EncryptionKey, namespace: ` + victims + `, name: vault, output: keyARN}}
- {apiVersion: service-operator.aws/v1alpha1, kind: SQSQueue, spec: {cloudFormationTemplateName: shop}}
- apiVersion: service-operator.aws/v1alpha1
  kind: CloudFormationTemplate
  data:
    key: a.yaml
    template: |
      Resources:
        Policy: {Type: AWS::SQS::QueuePolicy, Properties: {Queues: [https://sqs.` + region + `.amazonaws.com/` + account + `/orders], PolicyDocument: {Statement: []}}}
- apiVersion: cluster-operator.aws/v1alpha1
  kind: Cluster
  spec:
    release: ` + release + `
    region: ` + region + `
    network: {cidr: 10.7.0.0/16, zones: [` + region + `a], topology: Public}
    controlPlane: {replicas: 1, instanceType: t3.medium}
- apiVersion: cluster-operator.aws/v1alpha1
  kind: Cluster
  spec:
    release: ` + release + `
    region: ` + region + `
    role: {arn: arn:aws:iam::` + account + `:role/` + ungranted + `}
    network: {cidr: 10.7.0.0/16, zones: [` + region + `a], topology: Public}
    controlPlane: {replicas: 1, instanceType: t3.medium}
- apiVersion: cluster-operator.aws/v1alpha1
  kind: Cluster
  spec:
    release: ` + release + `
    region: ` + region + `
    identity: ` + identity + `
    network: {cidr: 10.7.0.0/16, zones: [` + region + `a], topology: Public}
    controlPlane: {replicas: 1, instanceType: t3.medium}
- {apiVersion: service-operator.aws/v1alpha1, kind: SQSQueue, metadata: {annotations: {aws-operator/identity: ` + identity + `}}, spec: {}}
- apiVersion: cluster-operator.aws/v1alpha1
  kind: InstanceGroup
  spec: {cluster: demo, minSize: 1, maxSize: 1, instanceTypes: [t3.medium]}
- apiVersion: cluster-operator.aws/v1alpha1
  kind: InstanceGroup
  spec: {cluster: prod, minSize: 1, maxSize: 1, instanceTypes: [t3.medium]}
`

// annotations are those that the operator reads.
var annotations = []string{
	"service-operator.aws/deletion-policy", "service-operator.aws/allow", "cluster-operator.aws/allow", "aws-operator/paused",
	"aws-operator/adopt-from", "aws-operator/approve", "aws-operator/retry", "cluster-operator.aws/abandon",
	"cluster-operator.aws/leave-leftovers", "cluster-operator.aws/keep-etcd-snapshots", "cluster-operator.aws/draining",
	"aws-operator/identity", "aws-operator/identity", "aws-operator/created-in", "aws-operator/tags",
	"service-operator.aws/adopt", "service-operator.aws/adopt", "service-operator.aws/adoption-policy", observing,
	"service-operator.aws/drift-policy", "service-operator.aws/check-drift", "service-operator.aws/ignore-drift",
	"service-operator.aws/model-revision", "service-operator.aws/share-with",
}

// observing is the annotation by which an object makes no stack, and leaves one that it has.
const observing = "service-operator.aws/management-policy"

// author writes what it can in a namespace.
type author struct {
	*suite
	values

	t         *testing.T
	namespace string
	schemas   map[string]*apiextensionsv1.JSONSchemaProps
	random    *rand.Rand
	drafts    []*unstructured.Unstructured
	objects   []*unstructured.Unstructured

	accepted, stacks int
	// retained are the names of objects whose stacks the author may have left in AWS, by an annotation or
	// a forged status. No editor may write a status.
	retained map[string]bool
}

// retaining are annotations by which an author leaves the stacks of a deleted object in AWS.
var retaining = []string{"service-operator.aws/deletion-policy", "cluster-operator.aws/abandon", observing}

// note records whether an annotation leaves an object's stacks in AWS.
func (a *author) note(object *unstructured.Unstructured, annotation string) {
	if slices.Contains(retaining, annotation) {
		a.retained[object.GetName()] = true
	}
}

// keepsakes makes a ConfigMap and a Secret in the namespace that belong to no object. They must
// survive that an author claims them in a status.
func (a *author) keepsakes() {
	a.t.Helper()
	if err := yaml.Unmarshal([]byte(drafts), &a.drafts); err != nil {
		a.t.Fatal(err)
	}
	for _, object := range []client.Object{
		&corev1.ConfigMap{Data: map[string]string{"keep": "this"}}, &corev1.Secret{StringData: map[string]string{"keep": "this"}},
	} {
		object.SetNamespace(a.namespace)
		a.create(object, "keepsake")
	}
	a.words = append(a.words, "keepsake", "keepsake")
}

func (a *author) checkKeepsakes() {
	a.t.Helper()
	kept := &corev1.ConfigMap{}
	key := types.NamespacedName{Namespace: a.namespace, Name: "keepsake"}
	if err := a.client.Get(a.t.Context(), key, kept); err != nil || kept.Data["keep"] != "this" {
		a.t.Errorf("the ConfigMap that belongs to no object has %v, %v", kept.Data, err)
	}
	secret := &corev1.Secret{}
	if err := a.client.Get(a.t.Context(), key, secret); err != nil || string(secret.Data["keep"]) != "this" {
		a.t.Errorf("the Secret that belongs to no object has changed, %v", err)
	}
}

// step writes once.
func (a *author) step() {
	a.t.Helper()
	var err error
	switch draw := a.random.IntN(20); {
	case draw < 7 || len(a.objects) == 0:
		err = a.write()
	case draw < 10:
		err = a.change()
	case draw < 13:
		err = a.annotate()
	case draw < 17:
		err = a.forge()
	case draw < 18:
		err = a.namesOfTheOperator()
	case draw < 19:
		err = a.client.Delete(a.t.Context(), a.object())
	default:
		err = a.claim()
	}
	switch {
	case err == nil:
		a.accepted++
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsNotFound(err), apierrors.IsConflict(err),
		apierrors.IsAlreadyExists(err), apierrors.IsRequestEntityTooLargeError(err), apierrors.IsForbidden(err),
		apierrors.IsInternalError(err): // the CEL rules' limits of cost
	default:
		a.t.Fatalf("write an object: %v", err)
	}
}

func (a *author) object() *unstructured.Unstructured { return pick(a.random, a.objects...).DeepCopy() }

// names are names of objects: the victim's, those of stacks, and names at limits.
func (a *author) name() string {
	if a.random.IntN(3) > 0 {
		return pick(a.random, "shop", "demo", "orders", "news", "prod", "prod-workers", "prod-control-plane-0",
			"invoices-of-the-victim", "by-hand")
	}
	return pick(a.random, "ledger", "images", "aws-operator-events-aws-operator", "aws-operator-sqsqueue-orders-victim",
		"a", strings.Repeat("q", 80), strings.Repeat("c", 40), strings.Repeat("n", 63), strings.Repeat("z", 253), "orders-dead-letter",
		"a.b", "1", "invoices-of-the-victim-logs", "prod-base", "keepsake")
}

func (a *author) schema(object *unstructured.Unstructured, field string) *apiextensionsv1.JSONSchemaProps {
	if schema := a.schemas[object.GetKind()]; schema != nil {
		if s, ok := schema.Properties[field]; ok {
			return &s
		}
	}
	return &apiextensionsv1.JSONSchemaProps{Type: "object"}
}

// write creates an object from a draft, edited or not.
func (a *author) write() error {
	object := pick(a.random, a.drafts...).DeepCopy()
	object.SetNamespace(a.namespace)
	object.SetName(a.name())
	if a.random.IntN(2) == 0 {
		a.editSpec(object)
	}
	if a.random.IntN(4) == 0 {
		annotation := pick(a.random, annotations...)
		object.SetAnnotations(map[string]string{annotation: a.word()}) // instead of the draft's
		a.note(object, annotation)
	}
	err := a.client.Create(a.t.Context(), object)
	if err == nil {
		a.objects = append(a.objects, object)
	}
	return err
}

// editSpec edits a spec. It leaves out the protection of a table against deletion: AWS refuses to delete the
// table until a user turns that off, and the object stays and says so.
func (a *author) editSpec(object *unstructured.Unstructured) {
	spec := inner(object, "spec")
	a.edit(a.schema(object, "spec"), spec)
	delete(spec, "deletionProtection")
}

// inner returns a field that is an object.
func inner(object *unstructured.Unstructured, field string) map[string]any {
	made, ok := object.Object[field].(map[string]any)
	if !ok {
		made = map[string]any{}
		object.Object[field] = made
	}
	return made
}

// change edits the spec of a service. A change of a cluster's instances waits a quarter of an hour for
// signals, since no machine here becomes a node.
func (a *author) change() error {
	object := a.object()
	if strings.HasPrefix(object.GetAPIVersion(), "cluster-operator.aws/") {
		return a.write()
	}
	if err := a.client.Get(a.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		return err
	}
	a.editSpec(object)
	return a.client.Update(a.t.Context(), object)
}

func (a *author) annotate() error {
	value := any(pick(a.random, "", "true", "retain", "delete", "replace,remove,skip", "by-hand", "AdoptOrCreate", "Observe", "Manage",
		"Revert", "Ignore", a.word(), a.word(), a.word()))
	if a.random.IntN(4) == 0 {
		value = nil
	}
	object, annotation := a.object(), pick(a.random, annotations...)
	a.note(object, annotation)
	return a.patch(object, map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotation: value}}})
}

func (a *author) patch(object *unstructured.Unstructured, patch map[string]any) error {
	data, err := json.Marshal(patch)
	if err != nil {
		a.t.Fatal(err)
	}
	return a.client.Patch(a.t.Context(), object, client.RawPatch(types.MergePatchType, data))
}

// forge writes a part of a status.
func (a *author) forge() error {
	object := a.object()
	if err := a.client.Get(a.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		return err
	}
	a.retained[object.GetName()] = true // a status that names no stack, or says that it is deleted, may do so
	status := inner(object, "status")
	if a.random.IntN(3) == 0 {
		a.aim(status)
	} else {
		a.edit(a.schema(object, "status"), status)
	}
	return a.client.Status().Update(a.t.Context(), object)
}

// aim replaces all IDs of stacks, names and outputs in a status by those of others.
func (a *author) aim(at map[string]any) {
	for name, value := range at {
		switch inside := value.(type) {
		case map[string]any:
			a.aim(inside)
		case []any:
			for _, one := range inside {
				if deeper, ok := one.(map[string]any); ok && name != "conditions" {
					a.aim(deeper)
				}
			}
		case string:
			if strings.Contains(strings.ToLower(name), "id") || strings.Contains(inside, "arn:") || a.random.IntN(8) == 0 {
				at[name] = a.word()
			}
		}
	}
}

// claim writes outputs and the names of additional resources.
func (a *author) claim() error {
	status, err := json.Marshal(map[string]any{"status": map[string]any{
		"output": map[string]any{pick(a.random, recordFields...): a.word()},
		"additionalResources": map[string]any{
			"configMaps": []string{"keepsake", a.word()}, "secrets": []string{"keepsake"}, "services": []string{"kubernetes"},
		},
	}})
	if err != nil {
		a.t.Fatal(err)
	}
	return a.client.Status().Patch(a.t.Context(), a.object(), client.RawPatch(types.MergePatchType, status))
}

// namesOfTheOperator writes a Secret with a name that the operator uses for a Cluster, or deletes it.
func (a *author) namesOfTheOperator() error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: a.namespace,
		Name:      a.name() + pick(a.random, "", "-kubeconfig", "-ca", "-pki", "-etcd-ca", "-sa", "-front-proxy-ca", "-oidc"),
	}}
	if a.random.IntN(4) == 0 {
		if secret.Name == "keepsake" {
			return nil
		}
		return a.client.Delete(a.t.Context(), secret)
	}
	secret.StringData = map[string]string{"value": a.word(), "tls.crt": a.word(), "tls.key": a.word(), "kubeconfig": a.word()}
	if a.random.IntN(2) == 0 {
		return a.client.Create(a.t.Context(), secret)
	}
	if secret.Name == "keepsake" {
		return nil
	}
	data, err := json.Marshal(map[string]any{"stringData": secret.StringData})
	if err != nil {
		a.t.Fatal(err)
	}
	return a.client.Patch(a.t.Context(), secret, client.RawPatch(types.MergePatchType, data))
}

// leave counts the author's stacks, removes annotations and statuses, deletes everything and waits
// until objects and stacks no longer exist.
func (a *author) leave() {
	a.t.Helper()
	a.stacks = len(a.ownStacks(nil))
	pending := map[string]*unstructured.Unstructured{}
	for _, object := range a.objects {
		pending[object.GetKind()+" "+object.GetName()] = object
	}
	for _, object := range pending {
		a.discard(object)
	}
	patience.Until(a.t, "all objects of the author are deleted", func() error {
		for name, object := range pending {
			if !a.get(object) {
				delete(pending, name)
				continue
			}
			object.SetManagedFields(nil)
			text, _ := json.Marshal(object.Object)
			return fmt.Errorf("%d are left: %s: %s", len(pending), name, text)
		}
		return nil
	})
	if left := a.ownStacks(a.retained); len(left) > 0 {
		a.t.Errorf("all objects are deleted, and there are stacks of the author: %v", left)
	}
}

// discard removes what an author wrote to keep an object, and deletes it.
func (a *author) discard(object *unstructured.Unstructured) {
	a.t.Helper()
	patience.Until(a.t, "the status of an object is removed", func() error {
		if !a.get(object) {
			return nil
		}
		// A Cluster with a role or identity that its namespace may not use can only be abandoned.
		role, _, _ := unstructured.NestedString(object.Object, "spec", "role", "arn")
		named, _, _ := unstructured.NestedString(object.Object, "spec", "identity")
		left := map[string]any{}
		for name := range object.GetAnnotations() {
			left[name] = nil
		}
		if object.GetKind() == "Cluster" {
			left["cluster-operator.aws/abandon"] = cmp.Or(role, named)
		}
		patch := map[string]any{"metadata": map[string]any{"annotations": left}}
		if object.GetKind() == "Cluster" {
			patch["spec"] = map[string]any{"paused": nil}
		}
		err := a.patch(object, patch)
		if err == nil {
			err = a.client.Status().Patch(a.t.Context(), object, client.RawPatch(types.MergePatchType, []byte(`{"status":null}`)))
		}
		if err == nil {
			err = a.client.Delete(a.t.Context(), object)
		}
		return client.IgnoreNotFound(err)
	})
}

// ownStacks returns the names of the stacks with tags of the author's namespace, but for some objects.
func (a *author) ownStacks(but map[string]bool) (names []string) {
	a.t.Helper()
	all := a.suite.stacks()
	for i := range all {
		owned, skipped := false, false
		for _, tag := range all[i].Tags {
			owned = owned || aws.ToString(tag.Value) == a.namespace
			skipped = skipped || but[aws.ToString(tag.Value)]
		}
		if owned && !skipped && all[i].StackStatus != cfntypes.StackStatusDeleteComplete {
			names = append(names, aws.ToString(all[i].StackName))
		}
	}
	return names
}
