package identities_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/operator/operatortest"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/permissions"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

const (
	// platform is the operator's own account, in which it has no right but to receive events and to
	// assume the tenants' roles.
	platform = "123456789012"
	accountA = "111111111111"
	accountB = "222222222222"
	home     = "eu-central-1"
)

// tenants are namespaces with identities, and an operator that serves them.
type tenants struct {
	t        *testing.T
	client   client.Client
	observer string // the endpoint of the test's own clients
	roleA    string
	roleB    string
}

// newTenants starts an operator whose roles in both accounts have the least policies for queues,
// tables and clusters.
func newTenants(t *testing.T) *tenants {
	t.Helper()
	admin := controlplanetest.SharedWithControllers(t).RESTConfig()
	operatortest.Releases(t, admin, "v1.36.3")
	w := &tenants{t: t}
	var err error
	if w.client, err = client.New(admin, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		t.Fatal(err)
	}
	sim, endpoint := simulatortest.Start(t, simulator.Options{
		Machines: fake.New(fake.Options{}), Region: home, Patience: time.Second, IAM: access.Enforce,
	})
	w.observer = simulatortest.Serve(t, sim.Observer())
	w.roleA = w.role(accountA, "tenant-a", "secret-of-a")
	w.roleB = w.role(accountB, "tenant-b", "")
	root := w.root(platform, home)
	key := simulatortest.User(t, root, "operator")
	choice := permissions.Choice{
		Kinds: []string{"SQSQueue"}, Partition: "aws", Suffix: "amazonaws.com", Account: platform, Operator: operator.DefaultClusterName,
		Events: awsevents.StackName(operator.DefaultClusterName), Roles: []string{w.roleA, w.roleB},
	}
	w.attach(root, &choice, func(client *iam.Client, arn *string) error {
		_, err := client.AttachUserPolicy(t.Context(), &iam.AttachUserPolicyInput{UserName: aws.String("operator"), PolicyArn: arn})
		return err
	})
	operatortest.Run(t, sim, key, operator.Options{
		RESTConfig: admin, Region: home, EndpointURL: endpoint, ServiceAccountIssuer: "https://oidc.eks.eu-west-1.amazonaws.com/id/EXAMPLE",
	})
	return w
}

func (w *tenants) root(account, region string) aws.Config {
	return simulatortest.Root(w.observer, account, region)
}

// role creates a tenant's role, with the least policies for what the test creates.
func (w *tenants) role(account, name, externalID string) string {
	w.t.Helper()
	root := w.root(account, home)
	arn := simulatortest.Role(w.t, root, name, platform, externalID)
	choice := permissions.Choice{
		Kinds: permissions.Kinds(), Clusters: true, Grants: true, Partition: "aws", Suffix: "amazonaws.com", Account: account,
		Operator: operator.DefaultClusterName, Events: awsevents.StackName(operator.DefaultClusterName),
	}
	w.attach(root, &choice, func(client *iam.Client, policy *string) error {
		_, err := client.AttachRolePolicy(w.t.Context(), &iam.AttachRolePolicyInput{RoleName: &name, PolicyArn: policy})
		return err
	})
	return arn
}

func (w *tenants) attach(root aws.Config, choice *permissions.Choice, attach func(*iam.Client, *string) error) {
	w.t.Helper()
	documents, err := choice.Documents()
	if err != nil {
		w.t.Fatal(err)
	}
	client := iam.NewFromConfig(root)
	for _, d := range documents {
		made, err := client.CreatePolicy(w.t.Context(), &iam.CreatePolicyInput{
			PolicyName: &d.Name, PolicyDocument: aws.String(string(d.JSON())),
		})
		if err != nil {
			w.t.Fatal(err)
		}
		if err := attach(client, made.Policy.Arn); err != nil {
			w.t.Fatal(err)
		}
	}
}

// namespace creates a namespace with annotations.
func (w *tenants) namespace(name string, annotations map[string]string) {
	w.t.Helper()
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}
	if err := w.client.Create(w.t.Context(), made); err != nil {
		w.t.Fatal(err)
	}
}

// apply applies the objects of a manifest as soon as their kinds are served.
func (w *tenants) apply(manifest string, args ...any) {
	w.t.Helper()
	for decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(fmt.Sprintf(manifest, args...)), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			w.t.Fatal(err)
		}
		patience.Until(w.t, "apply "+object.GetKind()+" "+object.GetName(), func() error {
			return w.client.Apply(w.t.Context(), client.ApplyConfigurationFromUnstructured(object.DeepCopy()), client.FieldOwner("test"))
		})
	}
}

// get reads an object, whose kind is written as in kubectl.
func (w *tenants) get(kind, namespace, name string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	version := "service-operator.aws/v1alpha1"
	switch kind {
	case "Cluster", "InstanceGroup":
		version = "cluster-operator.aws/v1alpha1"
	case "Namespace":
		version = "v1"
	case "AWSIdentity":
		version = "aws-operator.aws/v1alpha1"
	}
	object.SetAPIVersion(version)
	object.SetKind(kind)
	return object, w.client.Get(w.t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, object)
}

// condition waits until a condition of an object has a status and a reason, and returns its message.
func (w *tenants) condition(kind, namespace, name, condition, status, reason string) string {
	w.t.Helper()
	message := ""
	patience.Until(w.t, fmt.Sprintf("%s %s/%s has %s=%s %s", kind, namespace, name, condition, status, reason), func() error {
		object, err := w.get(kind, namespace, name)
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		for _, entry := range conditions {
			one, _ := entry.(map[string]any)
			if one["type"] == condition && one["status"] == status && (reason == "" || one["reason"] == reason) &&
				one["observedGeneration"] == object.GetGeneration() {
				message, _ = one["message"].(string)
				return nil
			}
		}
		text, _ := json.Marshal(object.Object["status"])
		return fmt.Errorf("status %s", text)
	})
	return message
}

func (w *tenants) ready(kind, namespace, name string) {
	w.t.Helper()
	w.condition(kind, namespace, name, "Ready", "True", "")
}

func (w *tenants) annotate(kind, namespace, name, key, value string) {
	w.t.Helper()
	w.patch(kind, namespace, name, map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
}

func (w *tenants) patch(kind, namespace, name string, content map[string]any) {
	w.t.Helper()
	object, err := w.get(kind, namespace, name)
	if err != nil {
		w.t.Fatal(err)
	}
	var patch bytes.Buffer
	_ = json.NewEncoder(&patch).Encode(content)
	if err := w.client.Patch(w.t.Context(), object, client.RawPatch(types.MergePatchType, patch.Bytes())); err != nil {
		w.t.Fatal(err)
	}
}

// delete requests the deletion of an object.
func (w *tenants) delete(kind, namespace, name string) {
	w.t.Helper()
	object, err := w.get(kind, namespace, name)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.client.Delete(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

// deleted waits until an object no longer exists.
func (w *tenants) deleted(kind, namespace, name string) {
	w.t.Helper()
	patience.Until(w.t, fmt.Sprintf("%s %s/%s is deleted", kind, namespace, name), func() error {
		object, err := w.get(kind, namespace, name)
		if apierrors.IsNotFound(err) {
			return nil
		}
		text, _ := json.Marshal(object.Object["status"])
		return errors.Join(err, fmt.Errorf("status %s", text))
	})
}

// stacks lists the stacks of an account and region that are not the operator's own.
func (w *tenants) stacks(account, region string) []string {
	w.t.Helper()
	out, err := cloudformation.NewFromConfig(w.root(account, region)).DescribeStacks(w.t.Context(), &cloudformation.DescribeStacksInput{})
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for i := range out.Stacks {
		if name := aws.ToString(out.Stacks[i].StackName); !strings.HasPrefix(name, "aws-operator-events") {
			names = append(names, name)
		}
	}
	return names
}

// has waits until the stacks of an account and region begin with these names, in any order.
func (w *tenants) has(account, region string, want ...string) {
	w.t.Helper()
	patience.Until(w.t, fmt.Sprintf("account %s has %v in %s", account, want, region), func() error {
		found := w.stacks(account, region)
		if len(found) != len(want) {
			return fmt.Errorf("it has %v", found)
		}
		for _, beginning := range want {
			if !strings.Contains(" "+strings.Join(found, " "), " "+beginning) {
				return fmt.Errorf("it has %v", found)
			}
		}
		return nil
	})
}
