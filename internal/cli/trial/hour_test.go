package trial

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/internal/state"
)

// newMachines is newSuite with simulated instances, and with the folders of a user who has a Release
// for them.
func newMachines(t *testing.T, change func(body string) string, edits ...func(*simulator.Options)) (w *suite, flags []string) {
	t.Helper()
	options := simulator.Options{
		Account:          account,
		Region:           region,
		QueueNameRelease: time.Minute,
		Lag:              lag,
		Machines:         fake.New(fake.Options{BootTime: 2 * time.Second}), // so that polls see what happens meanwhile
		Patience:         100 * time.Millisecond,
	}
	for _, edit := range edits {
		edit(&options)
	}
	sim, endpoint := simulatortest.Start(t, options)
	w = &suite{t: t, simulator: sim, endpoint: endpoint, observer: simulatortest.Serve(t, sim.Observer()), limit: time.Hour}
	if change != nil {
		w.endpoint = changing(t, endpoint, change)
	}
	w.credentials()
	names, err := sim.ServeNames(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	release, err := environment.LocalRelease(nil)
	if err != nil {
		t.Fatal(err)
	}
	release.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Release"}
	text, err := yaml.Marshal(release)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{
		"releases/" + release.Name + ".yaml": string(text), "nodeup/nodeup-linux-amd64": "nodeup", "nodeup/nodeup-linux-arm64": "nodeup",
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(state.ReleasesVariable, filepath.Join(dir, "releases"))
	t.Setenv(awsapi.ResolverVariable, names)
	return w, []string{"--tier", "hour", "--yes", "--state", filepath.Join(dir, "state"), "--nodeup-dir", filepath.Join(dir, "nodeup")}
}

func TestHourHoldsAgainstTheSimulator(t *testing.T) {
	w, flags := newMachines(t, nil)
	w.holdDrained()
	out, errOut, code := w.run(patience.Context(t), flags...)
	found := results(out)
	for _, id := range hour.rows {
		if found[id] != string(held) {
			t.Errorf("%s: %q", id, found[id])
		}
	}
	if code != exit.Done || !strings.Contains(out, "\nNothing is left: ") || !w.empty() {
		t.Errorf("exit code %d, stacks %v\n%s\n%s", code, w.stacks(), errOut, out)
	}
	for _, one := range hourCharges {
		if !strings.Contains(errOut, one.what) || !strings.Contains(errOut, one.page) {
			t.Errorf("the command does not state the price of %s\n%s", one.what, errOut)
		}
	}
}

// holdDrained keeps drained instances in Terminating:Wait until they were observed several times,
// until the cluster is deleted. Real nodes take longer to drain than a poll.
func (w *suite) holdDrained() {
	var polls atomic.Int64
	var deleted atomic.Bool
	observed := make(chan struct{}, 1)
	w.t.Cleanup(w.simulator.Faults().OnCall(func(call fault.CallInfo) {
		switch {
		case call.Operation == "DeleteStack":
			deleted.Store(true)
		case call.Operation == "DescribeAutoScalingGroups" && call.Phase == fault.After:
			polls.Add(1)
			select {
			case observed <- struct{}{}:
			default:
			}
		case call.Operation == "CompleteLifecycleAction" && call.Phase == fault.Before && !deleted.Load():
			for until := polls.Load() + 10; polls.Load() < until; {
				select {
				case <-observed:
				case <-w.t.Context().Done():
					return
				}
			}
		}
	}))
}

// empty reports whether nothing of a trial is left in the account.
func (w *suite) empty() bool {
	w.t.Helper()
	client := ec2.NewFromConfig(aws.Config{
		Region: region, BaseEndpoint: &w.observer, Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""),
	})
	snapshots, err := client.DescribeSnapshots(w.t.Context(), &ec2.DescribeSnapshotsInput{OwnerIds: []string{"self"}})
	if err != nil {
		w.t.Fatal(err)
	}
	volumes, err := client.DescribeVolumes(w.t.Context(), &ec2.DescribeVolumesInput{})
	if err != nil {
		w.t.Fatal(err)
	}
	return len(w.stacks())+len(snapshots.Snapshots)+len(volumes.Volumes) == 0
}

// A load balancer's name in lower case, and a time in another form, are what the project does not
// assume.
func TestDifferencesOfAClusterAreReported(t *testing.T) {
	w, flags := newMachines(t, func(body string) string {
		body = strings.ReplaceAll(body, "with a timeout of PT900S", "with a timeout of PT15M")
		return addressForm.ReplaceAllStringFunc(body, strings.ToLower)
	})
	w.holdDrained()
	out, errOut, code := w.run(patience.Context(t), flags...)
	found := results(out)
	for id, want := range map[string]result{
		"cfn-pause-seconds": differed, "elb-mixed-case-name": differed, "cfn-rolling-signals": held, "ev-instance-state": held,
	} {
		if found[id] != string(want) {
			t.Errorf("%s is %q, want %q", id, found[id], want)
		}
	}
	if code != exit.NotValid || !w.empty() {
		t.Errorf("exit code %d, stacks %v\n%s\n%s", code, w.stacks(), errOut, out)
	}
}

// A cluster costs money every hour, so an interrupted trial deletes it before it ends.
func TestInterruptedHourIsDeleted(t *testing.T) {
	for _, operation := range []string{"CreateStack", "SignalResource", "DeleteStack"} {
		t.Run(operation, func(t *testing.T) {
			w, flags := newMachines(t, nil)
			ctx := w.interruptedAfter(operation)
			out, errOut, code := w.run(ctx, flags...)
			if code != exit.Interrupted || out != "" || !w.empty() ||
				!strings.Contains(errOut, "Interrupted. Everything that the trial created is deleted.") {
				t.Errorf("exit code %d, stacks %v: %s\n%s", code, w.stacks(), errOut, out)
			}
		})
	}
}

// interruptedAfter returns a context that ends after a call for the cluster.
func (w *suite) interruptedAfter(operation string) context.Context {
	ctx, cancel := context.WithCancel(patience.Context(w.t))
	calls := 0
	w.t.Cleanup(w.simulator.Faults().OnCall(func(call fault.CallInfo) {
		if call.Operation != operation || call.Phase != fault.After {
			return
		}
		if calls++; calls == 2 || operation != "CreateStack" { // the first stack is that of the events
			cancel()
		}
	}))
	return ctx
}

func TestHourThatIsInterruptedTwiceIsCleanedUpByTheNextTrial(t *testing.T) {
	w, flags := newMachines(t, nil)
	w.twice = true
	_, errOut, code := w.run(w.interruptedAfter("SignalResource"), flags...)
	if code != exit.Interrupted || !strings.Contains(errOut, "Cluster "+clusterName+" and stack "+stackName+" may be left") ||
		!slices.Contains(w.stacks(), baseStack) {
		t.Fatalf("exit code %d, stacks %v: %s", code, w.stacks(), errOut)
	}
	w.twice = false

	elsewhere := slices.Clone(flags)
	elsewhere[slices.Index(elsewhere, "--state")+1] = t.TempDir()
	if _, errOut, code := w.run(patience.Context(t), elsewhere...); code != exit.Failed ||
		!strings.Contains(errOut, "name the folder of its state with --state") || !slices.Contains(w.stacks(), baseStack) {
		t.Errorf("without the state, exit code %d, stacks %v: %s", code, w.stacks(), errOut)
	}
	// EC2 still lists the instances of the first trial, which are none of the second one.
	out, errOut, code := w.run(patience.Context(t), flags...)
	if code != exit.Done || !w.empty() || !strings.Contains(errOut, "Deleting cluster "+clusterName+", which an earlier trial left") {
		t.Errorf("exit code %d, stacks %v: %s\n%s", code, w.stacks(), errOut, out)
	}
}

// A cluster that cannot be deleted in time is left, and the report says so.
func TestClusterThatIsLeftIsReported(t *testing.T) {
	w, flags := newMachines(t, nil)
	w.limit = 8 * time.Second
	w.simulator.Faults().Add(fault.Rule{
		Service: "cloudformation", ResourceType: "AWS::EC2::VPC", Operation: "Delete", Code: "DependencyViolation",
	})
	out, errOut, code := w.run(patience.Context(t), flags...)
	if code != exit.Failed || !strings.Contains(out, "it takes longer than 8s") || !strings.Contains(out, "- stack "+baseStack+"\n") ||
		!strings.Contains(errOut, "some resources are left; the report lists them") {
		t.Errorf("exit code %d: %s\n%s", code, errOut, out)
	}
}
