package retry_test

import (
	"bytes"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cli/retry"
	"github.com/aws-operator/aws-operator/internal/kops"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// Only an object that is stalled is annotated; anything else is explained.
func TestOnlyStalledObjectsAreRetried(t *testing.T) {
	server := controlplanetest.Shared(t)
	crds, err := v1alpha1.CustomResourceDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	if err := operatorkit.EnsureCRDs(patience.Context(t), server.RESTConfig(), "retry-test", crds...); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(server.RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	namespace := controlplanetest.Namespace(t, server)
	controlplanetest.UseKubeconfig(t, server.RESTConfig(), namespace)
	for name, condition := range map[string]metav1.Condition{
		"stalled": {Type: operatorkit.ConditionStalled, Status: metav1.ConditionTrue, Reason: "CreateFailed", Message: "The quota is used up."},
		"ready":   {Type: operatorkit.ConditionReady, Status: metav1.ConditionTrue, Reason: "Ready", Message: "All is up to date."},
	} {
		group := &v1alpha1.InstanceGroup{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
			Spec:       v1alpha1.InstanceGroupSpec{Cluster: "demo", MinSize: 1, MaxSize: 1, InstanceTypes: []string{"m6i.large"}},
		}
		if err := c.Create(t.Context(), group); err != nil {
			t.Fatal(err)
		}
		operatorkit.SetCondition(group, condition)
		if err := c.Status().Update(t.Context(), group); err != nil {
			t.Fatal(err)
		}
	}
	cluster := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "k8s", Namespace: namespace, Annotations: map[string]string{kops.AnnotationName: "k8s.example.com"}},
		Spec: v1alpha1.ClusterSpec{
			Release: "v1.36.3", Region: "eu-central-1", Network: v1alpha1.Network{CIDR: "10.0.0.0/16", Zones: []string{"eu-central-1a"}},
		},
	}
	if err := c.Create(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	operatorkit.SetCondition(cluster, metav1.Condition{
		Type: operatorkit.ConditionStalled, Status: metav1.ConditionTrue, Reason: "CreateFailed", Message: "No more VPCs.",
	})
	if err := c.Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	for reference, c := range map[string]struct{ says, fails string }{
		"cluster/k8s.example.com": {says: "The operator retries cluster/k8s.example.com. It had stalled because: No more VPCs."},
		"cluster/example.com":     {fails: "there is no cluster example.com"},
		"ig/stalled":              {says: "The operator retries ig/stalled. It had stalled because: The quota is used up."},
		"InstanceGroup/stalled":   {says: "The operator retries"},
		"instancegroups/ready":    {fails: "is not stalled, so there is nothing to retry: All is up to date."},
		"instancegroup/absent":    {fails: `"absent" not found`},
		"queue/jobs":              {fails: "no such kind of the operator: queue"},
		"stalled":                 {fails: "name the object as KIND/NAME, for example dynamodb/stalled"},
	} {
		t.Run(reference, func(t *testing.T) {
			out := &bytes.Buffer{}
			cmd := retry.Command()
			cmd.SetArgs([]string{reference})
			cmd.SetOut(out)
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			err := cmd.ExecuteContext(t.Context())
			switch {
			case c.fails == "" && err != nil:
				t.Fatal(err)
			case c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)):
				t.Errorf("got %v, want %q", err, c.fails)
			case !strings.Contains(out.String(), c.says):
				t.Errorf("it says %q", out)
			}
		})
	}
	for name, want := range map[string]bool{"stalled": true, "ready": false} {
		group := &v1alpha1.InstanceGroup{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, group); err != nil {
			t.Fatal(err)
		}
		if got := group.Annotations[stack.RetryAnnotation] != ""; got != want {
			t.Errorf("%s is annotated: %t", name, got)
		}
	}
}
