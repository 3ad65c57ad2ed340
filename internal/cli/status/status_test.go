package status_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	identityv1alpha1 "github.com/aws-operator/aws-operator/api/identity/v1alpha1"
	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/status"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// suite is a namespace of a real API server with the operator's kinds, but no operator: the tests
// write the statuses.
type suite struct {
	t         *testing.T
	client    client.Client
	namespace string
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	server := controlplanetest.Shared(t)
	clusters, err := clusterv1alpha1.CustomResourceDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	services, err := servicev1alpha1.CustomResourceDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	identities, err := identityv1alpha1.CustomResourceDefinition()
	if err != nil {
		t.Fatal(err)
	}
	all := append(slices.Concat(clusters, services), identities)
	if err := operatorkit.EnsureCRDs(patience.Context(t), server.RESTConfig(), "status-test", all...); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(
		clusterv1alpha1.AddToScheme(scheme), servicev1alpha1.AddToScheme(scheme), identityv1alpha1.AddToScheme(scheme),
	); err != nil {
		t.Fatal(err)
	}
	w := &suite{t: t, namespace: controlplanetest.Namespace(t, server)}
	if w.client, err = client.New(server.RESTConfig(), client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	controlplanetest.UseKubeconfig(t, server.RESTConfig(), w.namespace)
	return w
}

// group creates an InstanceGroup, with a condition Ready if a reason is given.
func (w *suite) group(name string, status metav1.ConditionStatus, reason, message string) *clusterv1alpha1.InstanceGroup {
	w.t.Helper()
	group := &clusterv1alpha1.InstanceGroup{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace},
		Spec:       clusterv1alpha1.InstanceGroupSpec{Cluster: "demo", MinSize: 1, MaxSize: 1, InstanceTypes: []string{"m6i.large"}},
	}
	if err := w.client.Create(w.t.Context(), group); err != nil {
		w.t.Fatal(err)
	}
	if reason != "" {
		w.set(group, status, reason, message)
	}
	return group
}

// set sets the conditions Ready and Synced as the operator does.
func (w *suite) set(group *clusterv1alpha1.InstanceGroup, status metav1.ConditionStatus, reason, message string) {
	w.t.Helper()
	operatorkit.SetCondition(group, metav1.Condition{
		Type: operatorkit.ConditionReady, Status: status, Reason: reason, Message: message, ObservedGeneration: group.Generation,
	})
	if err := w.client.Status().Update(w.t.Context(), group); err != nil {
		w.t.Fatal(err)
	}
}

// printed collects output that another goroutine writes.
type printed struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *printed) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(data)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func command(out *printed, args ...string) *cobra.Command {
	cmd := status.Command()
	cmd.SetArgs(args)
	cmd.SetOut(out)
	cmd.SetErr(out)
	return cmd
}

func TestTableHasAllKinds(t *testing.T) {
	w := newSuite(t)
	w.group("workers", metav1.ConditionTrue, "Ready", "All resources of this object are up to date.")
	w.group("spot", metav1.ConditionFalse, "UpdateInProgress", "CloudFormation is updating the stack.")
	w.group("new", "", "", "")
	model := &servicev1alpha1.ModelDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "topics-" + w.namespace},
		Spec:       servicev1alpha1.ModelDefinitionSpec{Kind: "Topic", ResourceType: "AWS::SNS::Topic"},
	}
	if err := w.client.Create(t.Context(), model); err != nil {
		t.Fatal(err)
	}
	identity := &identityv1alpha1.AWSIdentity{
		ObjectMeta: metav1.ObjectMeta{Name: "team-" + w.namespace},
		Spec: identityv1alpha1.AWSIdentitySpec{
			RoleARN:           "arn:aws:iam::123456789012:role/team",
			AllowedNamespaces: identityv1alpha1.AllowedNamespaces{Names: []string{w.namespace}},
		},
	}
	if err := w.client.Create(t.Context(), identity); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // The namespace does not contain them.
		_ = w.client.Delete(context.Background(), model)
		_ = w.client.Delete(context.Background(), identity)
	})
	out := &printed{}
	if err := command(out).ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"OBJECT READY REASON AGE MESSAGE",
		"InstanceGroup new Unknown - * pending",
		"InstanceGroup spot False UpdateInProgress * CloudFormation is updating the stack.",
		"InstanceGroup workers True Ready * All resources of this object are up to date.",
		"ModelDefinition " + model.Name,
		"AWSIdentity " + identity.Name + " Unknown - * pending",
	} {
		if !hasLine(out.String(), want) {
			t.Errorf("there is no line %q in\n%s", want, out)
		}
	}
	out = &printed{}
	if err := command(out, "-o", "json").ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	list := &unstructured.UnstructuredList{}
	if err := json.Unmarshal([]byte(out.String()), list); err != nil || len(list.Items) < 4 {
		t.Errorf("%d objects, %v", len(list.Items), err)
	}
}

// hasLine reports whether a text has a line that begins with words; * is any one word.
func hasLine(text, line string) bool {
	want := strings.Fields(line)
	for l := range strings.Lines(text) {
		got := strings.Fields(l)
		matches := len(got) >= len(want)
		for i := 0; matches && i < len(want); i++ {
			matches = want[i] == "*" || got[i] == want[i]
		}
		if matches {
			return true
		}
	}
	return false
}

// Without a terminal, --watch prints a line for each change, until it is interrupted.
func TestWatchPrintsChanges(t *testing.T) {
	w := newSuite(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, done := &printed{}, make(chan error, 1)
	go func() { done <- command(out, "--watch").ExecuteContext(ctx) }()
	has := func(line string) {
		t.Helper()
		patience.UntilTrue(t, line, func() bool { return hasLine(out.String(), line) })
	}
	has("There are no objects of the operator")
	group := w.group("workers", metav1.ConditionFalse, "UpdateInProgress", "CloudFormation is creating the stack.")
	has("* InstanceGroup workers: CloudFormation is creating the stack.")
	w.set(group, metav1.ConditionTrue, "Ready", "All resources of this object are up to date.")
	has("* InstanceGroup workers: All resources of this object are up to date.")
	if err := w.client.Delete(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	has("* InstanceGroup workers: was deleted")
	cancel()
	if err := <-done; err != nil {
		t.Errorf("an interrupt returned %v", err)
	}
}

func TestClusterWithoutTheOperatorIsNamed(t *testing.T) {
	server := controlplanetest.Shared(t)
	config := rest.CopyConfig(server.RESTConfig())
	config.Host += "/absent" // Every path answers 404, as without the kinds.
	controlplanetest.UseKubeconfig(t, config, "default")
	err := command(&printed{}).ExecuteContext(t.Context())
	if err == nil || !strings.Contains(err.Error(), "install the operator there, or select another context") {
		t.Errorf("got %v", err)
	}
}
