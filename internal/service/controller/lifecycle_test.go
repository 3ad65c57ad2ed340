package controller_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

const queueJobs = "{kind: SQSQueue, metadata: {name: jobs}, spec: {delaySeconds: 1}}"

// delay waits until the queue has a delay.
func (w *suite) delay(name, seconds string) {
	w.t.Helper()
	queues := sqs.NewFromConfig(w.awsConfig())
	w.eventually("the queue's delay is "+seconds, func() error {
		url, err := queues.GetQueueUrl(w.t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String(name)})
		if err != nil {
			return err
		}
		out, err := queues.GetQueueAttributes(
			w.t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: url.QueueUrl, AttributeNames: []types.QueueAttributeName{"All"}},
		)
		if err == nil && out.Attributes["DelaySeconds"] != seconds {
			err = fmt.Errorf("it is %s", out.Attributes["DelaySeconds"])
		}
		return err
	})
}

// TestEditWhileAnOperationRuns tests that an edit during the creation is not lost.
func TestEditWhileAnOperationRuns(t *testing.T) {
	w := newSuite(t, slow)
	w.apply(queueJobs)
	w.eventually("the creation has started", func() error {
		obj, err := w.get("SQSQueue", "jobs")
		if err == nil && nested(obj, "status", "resourceStatus") != "CREATE_IN_PROGRESS" {
			err = fmt.Errorf("the status is %v", nested(obj, "status"))
		}
		return err
	})
	w.change("SQSQueue", "jobs", `{"spec":{"delaySeconds":9}}`)
	w.delay("jobs", "9")
	w.ready("SQSQueue", "jobs")
}

// TestEditWhileTheOperatorIsDown tests that an edit without a running operator is not lost, and
// that a restart with nothing to do makes no AWS call.
func TestEditWhileTheOperatorIsDown(t *testing.T) {
	w := newCountedSuite(t)
	w.apply(queueJobs + "\n---\n" + dynamoTable)
	w.ready("SQSQueue", "jobs")
	w.ready("DynamoDB", "dynamo-table")
	w.stop()
	w.change("SQSQueue", "jobs", `{"spec":{"delaySeconds":3}}`)
	calls := w.count()
	w.startOperator()
	w.delay("jobs", "3")
	w.ready("SQSQueue", "jobs")
	if got, want := calls(), (map[string]int{"UpdateStack": 1, "DescribeStacks": 2, "GetTemplate": 1}); !within(got, want) {
		t.Errorf("the restart cost %v, want at most %v", got, want)
	}
}

// count counts the CloudFormation calls for objects' stacks from now on, without sweeps and the
// operator's own stack.
func (w *suite) count() func() map[string]int {
	var mu sync.Mutex
	calls := map[string]int{}
	w.sim.Faults().OnCall(func(c fault.CallInfo) {
		ofStack := strings.Contains(c.Name, clusterName+"-") && !strings.HasPrefix(c.Name, "aws-operator-events")
		if c.Service == "cloudformation" && c.ResourceType == "" && c.Phase == fault.Before &&
			(ofStack || c.Operation == "DescribeStackDriftDetectionStatus") {
			mu.Lock()
			defer mu.Unlock()
			calls[c.Operation]++
		}
	})
	return func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(calls)
	}
}

// within reports whether no operation has more calls than allowed.
func within(calls, allowed map[string]int) bool {
	for operation, n := range calls {
		if n > allowed[operation] {
			return false
		}
	}
	return true
}

// TestIdleObjectsMakeNoCalls tests that a reconcile without a change makes no AWS call.
func TestIdleObjectsMakeNoCalls(t *testing.T) {
	w := newCountedSuite(t)
	w.apply(queueJobs)
	w.ready("SQSQueue", "jobs")
	calls := w.count()
	w.change("SQSQueue", "jobs", `{"metadata":{"annotations":{"note":"nothing that matters"}}}`)
	w.apply("{kind: SQSQueue, metadata: {name: later}, spec: {}}")
	w.ready("SQSQueue", "later")
	if got, want := calls(), (map[string]int{"CreateStack": 1, "DescribeStacks": 1}); !within(got, want) {
		t.Errorf("one new object and an idle one cost %v, want at most %v", got, want)
	}
}

// TestConfigMapsAreOwned tests that what is made from outputs is restored when another client edits
// or deletes it, and that its object owns it.
func TestConfigMapsAreOwned(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(queueJobs)
	obj := w.ready("SQSQueue", "jobs")
	c := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: w.namespace, Name: "jobs"}
	if err := w.client.Get(t.Context(), key, c); err != nil {
		t.Fatal(err)
	}
	if owner := metav1.GetControllerOf(c); owner == nil || owner.UID != obj.GetUID() {
		t.Errorf("the owner is %+v", owner)
	}
	w.loses(c, v1alpha1.KindLabel)
	want := maps.Clone(c.Data)
	c.Data["queueName"], c.Data["more"] = "wrong", "than it should be"
	if err := w.client.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	refreshed := func() error {
		data, err := w.configMap("jobs")
		if err == nil && !maps.Equal(data, want) {
			err = fmt.Errorf("it holds %v", data)
		}
		return err
	}
	w.eventually("the edited ConfigMap is restored", refreshed)
	if err := w.client.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.eventually("the deleted ConfigMap is re-created", refreshed)
}

// loses removes a label from an object and waits until it is restored; without the label the object
// is not watched.
func (w *suite) loses(obj client.Object, label string) {
	w.t.Helper()
	if err := w.client.Patch(w.t.Context(), obj, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{%q:null}}}`, label))); err != nil {
		w.t.Fatal(err)
	}
	w.eventually("label "+label+" is back", func() error {
		if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil || obj.GetLabels()[label] == "" {
			return fmt.Errorf("the labels are %v: %w", obj.GetLabels(), errors.Join(err, errStill))
		}
		return nil
	})
}

// TestNamesThatCollide tests that a ConfigMap of another owner is never touched.
func TestNamesThatCollide(t *testing.T) {
	w := newSuite(t, nil)
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "jobs"}, Data: map[string]string{"a": "b"}}
	if err := w.client.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	w.apply(queueJobs)
	obj := w.ready("SQSQueue", "jobs")
	names, ok := nested(obj, "status", "additionalResources", "configMaps").([]any)
	if !ok || len(names) != 1 || !strings.HasPrefix(fmt.Sprint(names[0]), "jobs-") {
		t.Fatalf("the ConfigMaps are %v", names)
	}
	data, err := w.configMap("jobs")
	if err != nil || len(data) != 1 {
		t.Errorf("their ConfigMap holds %v, %v", data, err)
	}
	w.delete("SQSQueue", "jobs")
	if _, err := w.configMap("jobs"); err != nil {
		t.Errorf("the other owner's ConfigMap was deleted: %v", err)
	}
	if _, err := w.configMap(fmt.Sprint(names[0])); !apierrors.IsNotFound(err) {
		t.Errorf("our ConfigMap is left: %v", err)
	}
}

// TestFailingStackIsRetriedUpToItsLimit tests that rollbackCount limits the attempts, that the
// attempts are visible, and that the message contains the first failed resource's reason.
func TestFailingStackIsRetriedUpToItsLimit(t *testing.T) {
	w := newCountedSuite(t)
	remove := w.sim.Faults().Add(fault.Rule{
		Service: "cloudformation", Operation: "Create", ResourceType: "AWS::DynamoDB::Table", Code: "Conflict",
		Message: "A table named dynamo-table was deleted just now", Status: 400,
	})
	calls := w.count()
	w.apply(dynamoTable + "  rollbackCount: 2\n")
	c := w.condition("DynamoDB", "dynamo-table", "Stalled", "True", "")
	if !strings.Contains(c.Message, "A table named dynamo-table was deleted just now") {
		t.Errorf("the message is %q", c.Message)
	}
	if n := calls()["CreateStack"]; n != 2 {
		t.Errorf("the stack was created %d times, want 2", n)
	}
	remove()
	w.change("DynamoDB", "dynamo-table", `{"spec":{"readCapacityUnits":6}}`)
	w.ready("DynamoDB", "dynamo-table")
}

// TestDeniedActionIsNamed tests that a missing permission is reported as such.
func TestDeniedActionIsNamed(t *testing.T) {
	w := newSuite(t, nil)
	remove := w.sim.Faults().Add(fault.Rule{Service: "cloudformation", Operation: "CreateStack", Name: "test-*", Deny: true})
	w.apply(queueJobs)
	c := w.condition("SQSQueue", "jobs", "Ready", "False", "AccessDenied")
	if !strings.Contains(c.Message, "cloudformation:CreateStack") {
		t.Errorf("the message is %q", c.Message)
	}
	remove()
	w.change("SQSQueue", "jobs", `{"spec":{"delaySeconds":2}}`)
	w.ready("SQSQueue", "jobs")
}

// TestRetainKeepsTheStack tests the deletion policy retain.
func TestRetainKeepsTheStack(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`{kind: SQSQueue, metadata: {name: jobs, annotations: {service-operator.aws/deletion-policy: retain}}, spec: {}}`)
	w.ready("SQSQueue", "jobs")
	w.delete("SQSQueue", "jobs")
	if stacks := w.stacks(); len(stacks) != 1 {
		t.Errorf("the stacks are %v, want the queue's", stacks)
	}
	// The re-created object adopts its stack.
	w.apply("{kind: SQSQueue, metadata: {name: jobs}, spec: {}}")
	w.ready("SQSQueue", "jobs")
	w.delete("SQSQueue", "jobs")
	if stacks := w.stacks(); len(stacks) != 0 {
		t.Errorf("the stacks are %v", stacks)
	}
}

// TestObjectThatLostARaceIsDeleted removes objects in spite of their finalizers, as a deletion does that
// began before these were added. Their stacks are deleted, unless the object says otherwise.
func TestObjectThatLostARaceIsDeleted(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`
{kind: SQSQueue, metadata: {name: jobs}, spec: {}}
---
{kind: SQSQueue, metadata: {name: kept, annotations: {service-operator.aws/deletion-policy: Retain}}, spec: {}}
`)
	for _, name := range []string{"jobs", "kept"} {
		w.ready("SQSQueue", name)
		controlplanetest.RemoveFromStore(t, w.cluster, "service-operator.aws/sqsqueues/"+w.namespace+"/"+name)
	}
	w.eventually("only the stack to retain is left", func() error {
		if stacks := w.stacks(); len(stacks) != 1 || !strings.Contains(fmt.Sprint(stacks), "kept") {
			return fmt.Errorf("the stacks are %v", stacks)
		}
		return nil
	})
	w.apply("{kind: SQSQueue, metadata: {name: jobs}, spec: {}}")
	w.ready("SQSQueue", "jobs")
}

// TestUnknownDeletionPolicyKeepsTheStack tests that an ambiguous policy deletes nothing: retain may
// be written as in CloudFormation, and an unknown value stalls the object.
func TestUnknownDeletionPolicyKeepsTheStack(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`
{kind: SQSQueue, metadata: {name: jobs, annotations: {service-operator.aws/deletion-policy: Retain}}, spec: {}}
---
{kind: SQSQueue, metadata: {name: typo, annotations: {service-operator.aws/deletion-policy: retian}}, spec: {}}
`)
	w.ready("SQSQueue", "jobs")
	typo := w.ready("SQSQueue", "typo")
	w.delete("SQSQueue", "jobs")
	if err := w.client.Delete(t.Context(), typo); err != nil {
		t.Fatal(err)
	}
	w.condition("SQSQueue", "typo", "Stalled", "True", "UnknownDeletionPolicy")
	if stacks := w.stacks(); len(stacks) != 2 {
		t.Errorf("the stacks are %v, want both", stacks)
	}
	w.change("SQSQueue", "typo", `{"metadata":{"annotations":{"service-operator.aws/deletion-policy":"delete"}}}`)
	w.gone("SQSQueue", "typo")
	if stacks := w.stacks(); len(stacks) != 1 {
		t.Errorf("the stacks are %v, want the one to retain", stacks)
	}
}

// TestSnapshotPolicyLosesNoData tests that CloudFormation is asked for a snapshot, and that a stack without one is not
// deleted in silence.
func TestSnapshotPolicyLosesNoData(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`
{kind: ElastiCache, metadata: {name: sessions}, spec: {engine: redis, cacheNodeType: cache.t4g.micro}}
---
{kind: ElastiCache, metadata: {name: carts}, spec: {engine: redis, cacheNodeType: cache.t4g.micro}}
`)
	w.ready("ElastiCache", "sessions")
	w.ready("ElastiCache", "carts")
	const policy = `{"metadata":{"annotations":{"service-operator.aws/deletion-policy":%q}}}`
	w.change("ElastiCache", "sessions", fmt.Sprintf(policy, v1alpha1.DeletionPolicySnapshot))
	w.eventually("the stack has the policy", func() error {
		if template := w.template("ElastiCache", "sessions"); !strings.Contains(template, `"DeletionPolicy":"Snapshot"`) {
			return errors.New(template)
		}
		return nil
	})
	w.ready("ElastiCache", "sessions")
	w.delete("ElastiCache", "sessions")

	// The operator has no time to change the stack before the object is deleted.
	w.change("ElastiCache", "carts", `{"metadata":{"annotations":{"aws-operator/paused":"true"}}}`)
	w.condition("ElastiCache", "carts", "Synced", "Unknown", "Paused")
	carts, err := w.get("ElastiCache", "carts")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.client.Delete(t.Context(), carts); err != nil {
		t.Fatal(err)
	}
	w.change("ElastiCache", "carts", `{"metadata":{"annotations":{"aws-operator/paused":null,"service-operator.aws/deletion-policy":"snapshot"}}}`)
	message := w.condition("ElastiCache", "carts", "Stalled", "True", "NoSnapshot").Message
	if !strings.Contains(message, "would be deleted without a snapshot of Cluster") {
		t.Errorf("the message is %q", message)
	}
	if stacks := w.stacks(); len(stacks) != 1 {
		t.Errorf("the stacks are %v, want that of the object without a snapshot", stacks)
	}
	w.change("ElastiCache", "carts", fmt.Sprintf(policy, v1alpha1.DeletionPolicyDelete))
	w.gone("ElastiCache", "carts")
}

// TestPausedObjectIsLeftAlone tests that the annotation stops all work, and that removing it
// resumes it.
func TestPausedObjectIsLeftAlone(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`{kind: SQSQueue, metadata: {name: jobs, annotations: {aws-operator/paused: "true"}}, spec: {}}`)
	w.condition("SQSQueue", "jobs", "Synced", "Unknown", "Paused")
	if stacks := w.stacks(); len(stacks) != 0 {
		t.Errorf("the stacks are %v", stacks)
	}
	w.change("SQSQueue", "jobs", `{"metadata":{"annotations":{"aws-operator/paused":null}}}`)
	w.ready("SQSQueue", "jobs")
}

// TestSpecIsTheUsers tests that the operator never writes a spec.
func TestSpecIsTheUsers(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(dynamoTable)
	obj := w.ready("DynamoDB", "dynamo-table")
	got, err := json.Marshal(obj.Object["spec"])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"hashAttribute":{"name":"name","type":"S"},"rangeAttribute":{"name":"created_at","type":"S"},"readCapacityUnits":5,"writeCapacityUnits":5}`
	if string(got) != want {
		t.Errorf("the spec is %s", got)
	}
}

// TestFailureWhoseCauseMayPassIsRetriedWithoutAnEdit tests that the operator keeps retrying, slowly,
// what failed for a cause outside the object.
func TestFailureWhoseCauseMayPassIsRetriedWithoutAnEdit(t *testing.T) {
	w := newSuite(t, nil)
	remove := w.sim.Faults().Add(fault.Rule{
		ResourceType: "AWS::DynamoDB::Table", Operation: "Create", Code: "ServiceLimitExceeded",
		Message: "Subscriber limit exceeded: There is a limit of 2500 tables per subscriber",
	})
	w.apply(dynamoTable)
	w.eventually("a retry after the engine gave up", func() error {
		synced := w.condition("DynamoDB", "dynamo-table", "Synced", "False", "QuotaExceeded")
		if !strings.Contains(synced.Message, "limit of 2500 tables") || !strings.Contains(synced.Message, "or as soon as the object changes") {
			return fmt.Errorf("the message is %s", synced.Message)
		}
		return nil
	})
	remove()
	w.ready("DynamoDB", "dynamo-table")
}

// TestStalledObjectIsRetriedOnRequest tests that the annotation aws-operator/retry makes the
// operator retry what failed, once for each of its values.
func TestStalledObjectIsRetriedOnRequest(t *testing.T) {
	w := newCountedSuite(t)
	remove := w.sim.Faults().Add(fault.Rule{
		ResourceType: "AWS::DynamoDB::Table", Operation: "Create", Code: "AlreadyExists", Message: "dynamo-table already exists",
	})
	w.apply(dynamoTable)
	stalled := w.condition("DynamoDB", "dynamo-table", "Stalled", "True", "CreateFailed")
	if !strings.Contains(stalled.Message, "change the object or its annotation aws-operator/retry") {
		t.Errorf("the message is %s", stalled.Message)
	}
	calls := w.count()
	w.change("DynamoDB", "dynamo-table", `{"metadata":{"annotations":{"aws-operator/retry":"1"}}}`)
	w.eventually("the second series of attempts", func() error {
		if made := calls()["CreateStack"]; made != 3 {
			return fmt.Errorf("%d stacks were requested", made)
		}
		return nil
	})
	w.condition("DynamoDB", "dynamo-table", "Stalled", "True", "CreateFailed")
	remove()
	w.change("DynamoDB", "dynamo-table", `{"metadata":{"annotations":{"aws-operator/retry":"2"}}}`)
	w.ready("DynamoDB", "dynamo-table")
	if made := calls()["CreateStack"]; made != 4 {
		t.Errorf("%d stacks were requested, want 4", made)
	}
}
