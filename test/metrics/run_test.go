package metrics

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/operator/operatortest"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

const (
	account = "123456789012"
	region  = "eu-central-2"
	release = "v1.36.3"
	// address is the environment variable with the address at which the operator serves its metrics.
	address = "METRICS_ADDRESS"
)

// objects are those of the run. The pause of the group keeps its roll in progress.
const objects = `
apiVersion: service-operator.aws/v1alpha1
kind: SQSQueue
metadata: {name: drifts}
spec: {visibilityTimeout: 30}
---
apiVersion: service-operator.aws/v1alpha1
kind: SQSQueue
metadata: {name: waits}
spec: {visibilityTimeout: 30, updatePolicy: Manual}
---
apiVersion: service-operator.aws/v1alpha1
kind: SNSTopic
metadata: {name: fails}
spec: {}
---
apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: demo}
spec:
  release: ` + release + `
  region: ` + region + `
  network: {cidr: 10.0.0.0/16, zones: [eu-central-2a, eu-central-2b], topology: Public}
  controlPlane: {replicas: 1, instanceType: t3.medium}
---
apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata: {name: demo-workers}
spec:
  cluster: demo
  minSize: 2
  maxSize: 4
  instanceTypes: [t3.medium]
  rollingUpdate: {pause: 45m}
`

// The run ends when its standard input does, once it has logged that everything holds.
func TestRun(t *testing.T) {
	serve := os.Getenv(address)
	if serve == "" {
		t.Skip("it is a part of make test-alerts, which sets " + address)
	}
	admin := controlplanetest.Shared(t).RESTConfig()
	operatortest.Releases(t, admin, release)
	faults := fault.New()
	sim, endpoint := simulatortest.Start(t, simulator.Options{
		Machines: fake.New(fake.Options{}), Account: account, Region: region, Patience: time.Second, Faults: faults,
	})
	root := simulatortest.Root(endpoint, account, region)
	key := simulatortest.User(t, root, "operator", simulatortest.Administrator)
	// Many more attempts than the SDK makes, so that steps fail, more than once.
	faults.Add(fault.Throttle("cloudformation", "CreateStack", 30))
	faults.Add(fault.Rule{ResourceType: "AWS::SNS::Topic", Operation: "Create", Code: "InvalidParameter", Message: "No topics today."})
	operatortest.Run(t, sim, key, operator.Options{
		RESTConfig: admin, Region: region, EndpointURL: endpoint, MetricsAddress: serve, SweepInterval: 10 * time.Second,
		LeaderElect: true, LeaderElectionNamespace: metav1.NamespaceDefault,
	})
	r := run{t: t}
	var err error
	if r.client, err = client.New(admin, client.Options{}); err != nil {
		t.Fatal(err)
	}
	all := r.apply(objects)
	drifts, waits, fails, cluster, group := all[0], all[1], all[2], all[3], all[4]
	for _, object := range []*unstructured.Unstructured{drifts, waits, cluster, group} {
		r.await(object, "Ready", "True")
	}
	r.await(fails, "Stalled", "True")
	url, _, err := unstructured.NestedString(r.read(drifts).Object, "status", "output", "queueURL")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sqs.NewFromConfig(root).SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{
		QueueUrl: &url, Attributes: map[string]string{"VisibilityTimeout": "77"},
	}); err != nil {
		t.Fatal(err)
	}
	r.patch(drifts, `{"metadata": {"annotations": {"service-operator.aws/check-drift": "now"}}}`)
	r.await(drifts, "Drifted", "True")
	r.patch(cluster, `{"metadata": {"annotations": {"cluster-operator.aws/check-drift": "now"}}}`)
	r.await(cluster, "Drifted", "False")
	r.patch(waits, `{"spec": {"visibilityTimeout": 40}}`)
	r.until(waits, "waiting for approval", func(status map[string]any) bool { return status["pendingChanges"] != nil })
	r.patch(group, `{"spec": {"instanceTypes": ["t3a.medium"]}}`)
	r.until(group, "rolling", func(status map[string]any) bool {
		state, _, _ := unstructured.NestedString(status, "rollout", "state")
		return state == "Rolling"
	})
	r.until(cluster, "backed up", func(status map[string]any) bool {
		last, _, _ := unstructured.NestedString(status, "backup", "lastTime")
		return last != ""
	})
	t.Log("the run is complete")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		t.Error(err)
	}
}

type run struct {
	t      *testing.T
	client client.Client
}

// apply creates the objects of a manifest as soon as their kinds are served.
func (r run) apply(manifest string) (all []*unstructured.Unstructured) {
	r.t.Helper()
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(manifest)), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			r.t.Fatal(err)
		}
		object.SetNamespace(metav1.NamespaceDefault)
		patience.Until(r.t, object.GetName()+" to be applied", func() error {
			return r.client.Apply(r.t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"))
		})
		all = append(all, object)
	}
}

func (r run) patch(object *unstructured.Unstructured, patch string) {
	r.t.Helper()
	if err := r.client.Patch(r.t.Context(), object.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		r.t.Fatal(err)
	}
}

func (r run) read(object *unstructured.Unstructured) *unstructured.Unstructured {
	r.t.Helper()
	now := object.DeepCopy()
	if err := r.client.Get(context.WithoutCancel(r.t.Context()), client.ObjectKeyFromObject(object), now); err != nil {
		r.t.Fatal(err)
	}
	return now
}

// await waits until a condition has a status.
func (r run) await(object *unstructured.Unstructured, condition, want string) {
	r.t.Helper()
	r.until(object, condition+" "+want, func(status map[string]any) bool {
		conditions, _, _ := unstructured.NestedSlice(status, "conditions")
		for _, entry := range conditions {
			if one, ok := entry.(map[string]any); ok && one["type"] == condition {
				return one["status"] == want
			}
		}
		return false
	})
}

// until waits until a status holds.
func (r run) until(object *unstructured.Unstructured, what string, holds func(status map[string]any) bool) {
	r.t.Helper()
	patience.Until(r.t, object.GetKind()+" "+object.GetName()+" to be "+what, func() error {
		status, _, err := unstructured.NestedMap(r.read(object).Object, "status")
		if err != nil || holds(status) {
			return err
		}
		text, err := json.Marshal(status)
		return errors.Join(errors.New(string(text)), err)
	})
}
