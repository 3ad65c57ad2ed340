package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/permissions"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/test/policies"
)

const (
	account = "123456789012"
	region  = "eu-central-1"
	// asProgram makes this test binary run as aws-operator, so that it can be killed and
	// interrupted.
	asProgram = "TERMINAL_RUN_AS_PROGRAM"
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	controlplanetest.Main(m)
}

// user is a user at a terminal: a folder, an environment, an AWS account with fake machines, and
// the program.
type user struct {
	t        *testing.T
	dir      string
	env      []string
	endpoint string
	// requests are those of the user with limited permissions.
	requests *policies.Recorder
	// documents are its policies.
	documents []permissions.Document
}

func newUser(t *testing.T, machines fake.Options) *user {
	t.Helper()
	p := &user{t: t, dir: t.TempDir(), requests: policies.NewRecorder(limitedUser)}
	sim, endpoint := simulatortest.Start(t, simulator.Options{
		Account: account, Region: region, Machines: fake.New(machines), Patience: 300 * time.Millisecond, Latency: slowNetwork,
		IAM: access.Enforce, Decided: p.requests.Add,
	})
	p.endpoint = endpoint
	names, err := sim.ServeNames(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.env = []string{
		awsapi.ResolverVariable + "=" + names,
		asProgram + "=yes", "AWS_ENDPOINT_URL=" + endpoint, "AWS_REGION=" + region, "AWS_ACCESS_KEY_ID=" + account,
		"AWS_SECRET_ACCESS_KEY=secret",
		"AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null", "KUBECONFIG=/dev/null",
		"USER=ada",
	}
	for _, architecture := range []string{"amd64", "arm64"} {
		p.write("nodeup/nodeup-linux-"+architecture, []byte("nodeup for "+architecture))
	}
	return p
}

// slowNetwork makes the creation and the deletion of the base stack observable, however busy the machine is.
func slowNetwork(resourceType, _ string) time.Duration {
	if resourceType == "AWS::EC2::VPC" {
		return 2 * time.Second
	}
	return 0
}

func (p *user) path(name string) string { return filepath.Join(p.dir, name) }

func (p *user) write(name string, data []byte) {
	p.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(p.path(name)), 0o700), os.WriteFile(p.path(name), data, 0o600)); err != nil {
		p.t.Fatal(err)
	}
}

// aws returns a configuration for the account.
func (p *user) aws() aws.Config {
	return aws.Config{
		Region:       region,
		BaseEndpoint: &p.endpoint,
		Credentials:  credentials.NewStaticCredentialsProvider(account, "secret", ""),
	}
}

// from and to are the releases of fake machines, without charts, one minor version of Kubernetes
// apart.
const from, to = "v1.35.7-simulated", "v1.36.3-simulated"

// manifests writes the releases, a cluster of one slot and a group of two workers to a file.
func (p *user) manifests(file string, change func(*v1alpha1.Cluster, *v1alpha1.InstanceGroup)) {
	p.t.Helper()
	typed := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind}
	}
	var text bytes.Buffer
	document := func(object any) {
		data, err := yaml.Marshal(object)
		if err != nil {
			p.t.Fatal(err)
		}
		_, _ = fmt.Fprintf(&text, "---\n%s", data)
	}
	for name, kubernetes := range map[string]string{from: "v1.35.7", to: "v1.36.3"} {
		release, err := environment.LocalRelease(nil)
		if err != nil {
			p.t.Fatal(err)
		}
		release.TypeMeta, release.Name, release.Spec.Kubernetes = typed("Release"), name, kubernetes
		document(release)
	}
	cluster := &v1alpha1.Cluster{
		TypeMeta: typed("Cluster"), ObjectMeta: metav1.ObjectMeta{Name: "demo"},
		Spec: v1alpha1.ClusterSpec{
			Release: from, Region: region,
			Network:      v1alpha1.Network{CIDR: "10.0.0.0/16", Zones: []string{"eu-central-1a"}, Topology: v1alpha1.TopologyPublic},
			ControlPlane: v1alpha1.ControlPlane{Replicas: 1, InstanceType: "m6i.large"},
		},
	}
	group := &v1alpha1.InstanceGroup{
		TypeMeta: typed("InstanceGroup"), ObjectMeta: metav1.ObjectMeta{Name: "workers"},
		Spec: v1alpha1.InstanceGroupSpec{
			Cluster: "demo", MinSize: 2, MaxSize: 3, InstanceTypes: []string{"m6i.large"},
			RollingUpdate: v1alpha1.RollingUpdate{Pause: &metav1.Duration{Duration: time.Second}},
		},
	}
	change(cluster, group)
	document(cluster)
	document(group)
	p.write(file, text.Bytes())
}

// asItIs does not change the manifests.
func asItIs(*v1alpha1.Cluster, *v1alpha1.InstanceGroup) {}

// process is a running program.
type process struct {
	t        *testing.T
	command  *exec.Cmd
	exited   chan struct{}
	out, err text
	line     string
}

// text is the output of a process so far.
type text struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *text) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(data)
}

func (s *text) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// start starts the program, which is killed when the test ends.
func (p *user) start(args ...string) *process {
	p.t.Helper()
	//nolint:noctx // it lives until it is killed
	c := &process{
		t:       p.t,
		command: exec.Command(os.Args[0], args...),
		exited:  make(chan struct{}),
		line:    "aws-operator " + strings.Join(args, " "),
	}
	c.command.Env, c.command.Dir = append(os.Environ(), p.env...), p.dir
	c.command.Stdout, c.command.Stderr, c.command.SysProcAttr = &c.out, &c.err, withParent()
	started := make(chan error)
	go func() {
		// The kernel considers the thread that starts a process its parent.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.command.Start()
		started <- err
		if err == nil {
			_ = c.command.Wait() // its exit code is checked later
		}
		close(c.exited)
	}()
	if err := <-started; err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { c.signal(syscall.SIGKILL); <-c.exited })
	return c
}

func (c *process) signal(with os.Signal) { _ = c.command.Process.Signal(with) }

// kill kills the process, as a power failure would.
func (c *process) kill() {
	c.signal(syscall.SIGKILL)
	<-c.exited
}

// wait returns the exit code.
func (c *process) wait() (code int) {
	c.t.Helper()
	select {
	case <-c.exited:
	case <-time.After(patience.Left(c.t)):
		c.t.Fatalf("it does not end:\n%s", c.output())
	}
	c.t.Log(c.output())
	return c.command.ProcessState.ExitCode()
}

// output returns everything that the process printed.
func (c *process) output() string {
	return fmt.Sprintf("$ %s\n%s--- standard error:\n%s", c.line, c.out.String(), c.err.String())
}

// await waits until the process has printed a text.
func (c *process) await(words string) {
	c.t.Helper()
	if !c.says(words) {
		c.t.Fatalf("it ended without printing %q:\n%s", words, c.output())
	}
}

// says reports whether the process prints a text before it ends.
func (c *process) says(words string) (said bool) {
	c.t.Helper()
	eventually(c.t, "it says "+words+" or ends:\n", func() error {
		ended := false
		select {
		case <-c.exited:
			ended = true
		default:
		}
		if said = strings.Contains(c.out.String()+c.err.String(), words); said || ended {
			return nil
		}
		return errors.New(c.output())
	})
	return said
}

// run runs a command that must exit with a code, and returns its output.
func (p *user) run(code int, args ...string) (out, errOut string) {
	p.t.Helper()
	c := p.start(args...)
	if got := c.wait(); got != code {
		p.t.Fatalf("%s ends with %d, not %d", c.line, got, code)
	}
	return c.out.String(), c.err.String()
}

// says reports an error for missing texts.
func (p *user) says(text string, want ...string) {
	p.t.Helper()
	for _, words := range want {
		if !strings.Contains(text, words) {
			p.t.Errorf("it does not print %q:\n%s", words, text)
		}
	}
}

// saysNot reports an error for texts that users must not see.
func (p *user) saysNot(text string, unwanted ...string) {
	p.t.Helper()
	for _, words := range unwanted {
		if strings.Contains(text, words) {
			p.t.Errorf("it says %q:\n%s", words, text)
		}
	}
}

// launchedAs returns the machines of a stack's Auto Scaling group. It fails unless there are count,
// all of an instance type.
func (p *user) launchedAs(instanceType, stack string, count int) (ids []string) {
	p.t.Helper()
	out, err := autoscaling.NewFromConfig(p.aws()).DescribeAutoScalingGroups(p.t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{
		Filters: []types.Filter{{Name: aws.String("tag:aws:cloudformation:stack-name"), Values: []string{stack}}},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	for i := range out.AutoScalingGroups {
		for _, one := range out.AutoScalingGroups[i].Instances {
			if one.LifecycleState != types.LifecycleStateInService || aws.ToString(one.InstanceType) != instanceType {
				p.t.Errorf(
					"machine %s of %s is a %s, and %s",
					aws.ToString(one.InstanceId),
					stack,
					aws.ToString(one.InstanceType),
					one.LifecycleState,
				)
			}
			ids = append(ids, aws.ToString(one.InstanceId))
		}
	}
	if len(ids) != count {
		p.t.Errorf("stack %s has the machines %v, not %d", stack, ids, count)
	}
	return ids
}

// replaced is launchedAs, and reports an error for old machines that still exist.
func (p *user) replaced(old []string, instanceType, stack string, count int) {
	p.t.Helper()
	for _, id := range p.launchedAs(instanceType, stack, count) {
		if slices.Contains(old, id) {
			p.t.Errorf("machine %s was not replaced", id)
		}
	}
}

// eventually waits until check returns no error.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	patience.Until(t, what, check)
}
