package graph_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/graph"
	"github.com/aws-operator/aws-operator/internal/golden"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/internal/state"
	"github.com/aws-operator/aws-operator/test/livetest"
)

const minimal = "../../../examples/clusters/minimal-public.yaml"

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := graph.Command()
	var out bytes.Buffer
	cmd.SetArgs(append([]string{"cluster"}, args...))
	cmd.SetOut(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestDependenciesAreDrawn(t *testing.T) {
	for format, want := range map[string]string{
		"": "%%{init", "mermaid": "%%{init", "dot": "digraph {",
	} {
		args := []string{"minimal", "-f", minimal, "--state", t.TempDir(), "--aws-account-id", "123456789012", "--dependencies"}
		if format != "" {
			args = append(args, "-o", format)
		}
		if out, err := run(t, args...); err != nil || !strings.HasPrefix(out, want) || !strings.Contains(out, "APILoadBalancer") {
			t.Errorf("-o %s prints %.200s (%v)", format, out, err)
		}
	}
}

func TestAClusterInFilesIsDrawnAsPlanned(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1") // AWS is not called.
	for format, want := range map[string]string{"": "Cluster minimal, ", "text": "Cluster minimal, ", "svg": "<svg "} {
		out, err := run(t, "minimal", "-f", minimal, "--state", t.TempDir(), "-o", format)
		if err != nil || !strings.HasPrefix(out, want) || !strings.Contains(out, "minimal-workers") || !strings.Contains(out, "planned") ||
			!strings.Contains(out, "AWS was not read, since the state does not have the cluster.") {
			t.Errorf("-o %s prints %s (%v)", format, out, err)
		}
	}
}

func TestThePictureInTheReferenceIsUpToDate(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1") // AWS is not called.
	out, err := run(t, "private", "-f", "../../../examples/clusters/private-three-slots.yaml", "--state", t.TempDir(), "-o", "svg")
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "../../../../docs/reference/cluster.svg", []byte(out))
}

func TestTheStateOfNodesIsDrawn(t *testing.T) {
	w := livetest.New(t, livetest.Options{Slots: 1, Groups: []*v1alpha1.InstanceGroup{{
		ObjectMeta: metav1.ObjectMeta{Name: "workers"},
		Spec:       v1alpha1.InstanceGroupSpec{MinSize: 2, MaxSize: 3, InstanceTypes: []string{"m6i.large"}},
	}}})
	dir := w.State()
	machines := w.Group("workers").Instances
	must(t, w.Host.SetKubelet(machines[0].ID, false))
	err := wait.PollUntilContextCancel(patience.Context(t), 100*time.Millisecond, true, func(context.Context) (bool, error) {
		out, err := run(t, "demo", "--state", dir)
		lines := map[string]string{}
		for line := range strings.Lines(out) {
			for _, one := range append(machines, w.Group("control-plane-0").Instances...) {
				if strings.Contains(line, one.ID) {
					lines[one.ID] = line
				}
			}
		}
		return strings.HasSuffix(lines[machines[0].ID], " NotReady\n") && strings.HasSuffix(lines[machines[1].ID], " Ready\n") &&
			len(lines) == 3 && strings.Contains(out, "1 of 1 targets healthy"), err
	})
	if err != nil {
		out, _ := run(t, "demo", "--state", dir)
		t.Errorf("%v: it draws\n%s", err, out)
	}

	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	out, err := run(t, "demo", "--state", dir)
	if err != nil || !strings.Contains(out, "workers          · planned\n") || !strings.Contains(out, "AWS was not read: ") {
		t.Errorf("without AWS, it draws (%v)\n%s", err, out)
	}
}

func TestMistakesAreReported(t *testing.T) {
	dir := t.TempDir()
	file := slices.Clip([]string{"minimal", "-f", minimal, "--state", dir}) // Each test appends to a copy.
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"a cluster that is not there": {[]string{"other", "--state", dir}, "there is no cluster other"},
		"a format that there is not":  {append(file, "-o", "png"), "--output png is unknown"},
		"a picture of dependencies": {
			append(file, "--dependencies", "-o", "svg"), "aws-operator graph cluster minimal --dependencies -o dot | dot -Tsvg > minimal.svg",
		},
		"a format of dependencies":       {append(file, "-o", "mermaid"), "--output mermaid is for --dependencies"},
		"one that is not for events":     {append(file, "--events", "-o", "dot"), "--output dot is for --dependencies"},
		"two pictures":                   {append(file, "--events", "--dependencies"), "[dependencies events]"},
		"events of what is not made yet": {append(file, "--events"), "cluster minimal has no stacks yet"},
	} {
		t.Run(name, func(t *testing.T) {
			if out, err := run(t, test.args...); err == nil || out != "" || !strings.Contains(err.Error(), test.want) {
				t.Errorf("it prints %s and returns the error %v", out, err)
			}
		})
	}
}

// The last operation of a stack is drawn from CloudFormation's events, not those before.
func TestTheLastOperationIsDrawn(t *testing.T) {
	_, endpoint := simulatortest.Start(t, simulator.Options{Account: "123456789012", Region: "eu-central-1"})
	t.Setenv("AWS_ENDPOINT_URL", endpoint)
	t.Setenv("AWS_ACCESS_KEY_ID", "123456789012")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	api := cloudformation.NewFromConfig(aws.Config{
		Region: "eu-central-1", BaseEndpoint: &endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("123456789012", "secret", ""),
	})
	body := func(more string) *string {
		return aws.String("Resources:\n  First: {Type: AWS::SNS::Topic}\n" + more)
	}
	made, err := api.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("demo"), TemplateBody: body("")})
	must(t, err)
	in := &cloudformation.DescribeStacksInput{StackName: made.StackId}
	must(t, cloudformation.NewStackCreateCompleteWaiter(api, func(o *cloudformation.StackCreateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 10*time.Millisecond, 50*time.Millisecond
	}).Wait(t.Context(), in, patience.Left(t)))
	_, err = api.UpdateStack(
		t.Context(), &cloudformation.UpdateStackInput{StackName: made.StackId, TemplateBody: body("  Second: {Type: AWS::SNS::Topic}\n")},
	)
	must(t, err)
	must(t, cloudformation.NewStackUpdateCompleteWaiter(api, func(o *cloudformation.StackUpdateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 10*time.Millisecond, 50*time.Millisecond
	}).Wait(t.Context(), in, patience.Left(t)))

	dir := t.TempDir()
	keeps, err := state.Open(t.Context(), dir, state.Options{})
	must(t, err)
	cluster := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default"},
		Spec: v1alpha1.ClusterSpec{
			Release: "v1.36.3", Region: "eu-central-1",
			Network: v1alpha1.Network{CIDR: "10.0.0.0/16", Zones: []string{"eu-central-1a"}},
		},
	}
	_, err = keeps.Replace(t.Context(), []client.Object{cluster})
	must(t, err)
	objects, err := keeps.Load(t.Context(), "demo")
	must(t, err)
	objects.Cluster.Status.Stacks = []v1alpha1.StackStatus{
		{Name: "demo", Record: &runtime.RawExtension{Raw: []byte(`{"stackID":"` + aws.ToString(made.StackId) + `"}`)}},
	}
	must(t, keeps.Save(t.Context(), "demo", objects.Cluster))

	out, err := run(t, "demo", "--state", dir, "--events")
	if err != nil || !strings.HasPrefix(out, "Cluster demo: update") || !strings.Contains(out, "  Second ") ||
		strings.Contains(out, "First") {
		t.Errorf("it draws (%v)\n%s", err, out)
	}
	if out, err = run(t, "demo", "--state", dir, "--events", "-o", "svg"); err != nil || !strings.HasPrefix(out, "<svg ") {
		t.Errorf("it draws (%v)\n%s", err, out)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
