package apply_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/apply"
	"github.com/aws-operator/aws-operator/internal/cli/deletion"
	"github.com/aws-operator/aws-operator/internal/cli/upgrade"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

const (
	region  = "eu-central-1"
	account = "123456789012"
)

// terminal is a user's terminal: a folder, AWS on loopback with simulated machines, and commands.
type terminal struct {
	t        *testing.T
	dir      string
	observer string // the endpoint of the test's own clients
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	sim, endpoint := simulatortest.Start(t, simulator.Options{
		Account: account, Region: region, Machines: fake.New(fake.Options{}), Patience: 100 * time.Millisecond,
	})
	names, err := sim.ServeNames(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		awsapi.ResolverVariable: names,
		"AWS_ENDPOINT_URL":      endpoint, "AWS_ACCESS_KEY_ID": account, "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_PROFILE": "", "AWS_SESSION_TOKEN": "",
	} {
		t.Setenv(name, value)
	}
	observer := simulatortest.Serve(t, sim.Observer()) // the tests compare what exists with what should
	term := &terminal{t: t, dir: t.TempDir(), observer: observer}
	for _, architecture := range []string{"amd64", "arm64"} {
		term.write("nodeup/nodeup-linux-"+architecture, []byte("nodeup for "+architecture))
	}
	return term
}

func (s *terminal) path(name string) string { return filepath.Join(s.dir, name) }

func (s *terminal) write(name string, data []byte) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.path(name), data, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// manifests writes a release for simulated machines, a cluster and a group of it into a file.
func (s *terminal) manifests(file string, change func(*v1alpha1.Cluster, *v1alpha1.InstanceGroup)) {
	s.t.Helper()
	var text bytes.Buffer
	for name, kubernetes := range map[string]string{"v1.35.7-simulated": "v1.35.7", "v1.36.3-simulated": "v1.36.3"} {
		release, err := environment.LocalRelease(nil)
		if err != nil {
			s.t.Fatal(err)
		}
		release.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Release"}
		release.Name, release.Spec.Kubernetes = name, kubernetes
		s.document(&text, release)
	}
	cluster := &v1alpha1.Cluster{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Cluster"}, ObjectMeta: metav1.ObjectMeta{Name: "demo"},
		Spec: v1alpha1.ClusterSpec{
			Release: "v1.35.7-simulated", Region: region,
			Network:      v1alpha1.Network{CIDR: "10.0.0.0/16", Zones: []string{"eu-central-1a"}, Topology: v1alpha1.TopologyPublic},
			ControlPlane: v1alpha1.ControlPlane{Replicas: 1, InstanceType: "m6i.large"},
		},
	}
	group := &v1alpha1.InstanceGroup{
		TypeMeta: metav1.TypeMeta{
			APIVersion: v1alpha1.GroupVersion.String(),
			Kind:       "InstanceGroup",
		}, ObjectMeta: metav1.ObjectMeta{Name: "workers"},
		Spec: v1alpha1.InstanceGroupSpec{Cluster: "demo", MinSize: 1, MaxSize: 3, InstanceTypes: []string{"m6i.large"}},
	}
	change(cluster, group)
	s.document(&text, cluster)
	s.document(&text, group)
	s.write(file, text.Bytes())
}

func (s *terminal) document(into *bytes.Buffer, object any) {
	s.t.Helper()
	data, err := yaml.Marshal(object)
	if err != nil {
		s.t.Fatal(err)
	}
	into.WriteString("---\n")
	into.Write(data)
}

// run runs a command and returns what it prints, to standard output and to the error output.
func (s *terminal) run(cmd *cobra.Command, args ...string) (out, errOut string, err error) {
	s.t.Helper()
	return s.runIn(patience.Context(s.t), cmd, args...)
}

func (s *terminal) runIn(ctx context.Context, cmd *cobra.Command, args ...string) (out, errOut string, err error) {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(append(args, "--state", s.path("state"), "--nodeup-dir", s.path("nodeup"), "--poll", "100ms"))
	err = cmd.ExecuteContext(ctx)
	return stdout.String(), stderr.String(), err
}

// must is run for what has to succeed.
func (s *terminal) must(cmd *cobra.Command, args ...string) (out, errOut string) {
	s.t.Helper()
	out, errOut, err := s.run(cmd, args...)
	if err != nil {
		s.t.Fatalf("%s %v: %v\n%s\n%s", cmd.Name(), args, err, out, errOut)
	}
	return out, errOut
}

func (s *terminal) aws() aws.Config {
	return aws.Config{
		Region:       region,
		BaseEndpoint: &s.observer,
		Credentials:  credentials.NewStaticCredentialsProvider(account, "secret", ""),
	}
}

// there is what there is in the account, by kind and ID.
func (s *terminal) there() []string {
	s.t.Helper()
	var found []string
	add := func(kind string, id *string) { found = append(found, kind+" "+aws.ToString(id)) }
	check := func(err error) {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
	}
	ctx, ec2Client := s.t.Context(), ec2.NewFromConfig(s.aws())
	stacks, err := cloudformation.NewFromConfig(s.aws()).DescribeStacks(ctx, &cloudformation.DescribeStacksInput{})
	check(err)
	for i := range stacks.Stacks {
		add("stack", stacks.Stacks[i].StackName)
	}
	vpcs, err := ec2Client.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{})
	check(err)
	for i := range vpcs.Vpcs {
		if !aws.ToBool(vpcs.Vpcs[i].IsDefault) {
			add("vpc", vpcs.Vpcs[i].VpcId)
		}
	}
	volumes, err := ec2Client.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{})
	check(err)
	for i := range volumes.Volumes {
		add("volume", volumes.Volumes[i].VolumeId)
	}
	snapshots, err := ec2Client.DescribeSnapshots(ctx, &ec2.DescribeSnapshotsInput{OwnerIds: []string{"self"}})
	check(err)
	for i := range snapshots.Snapshots {
		add("snapshot", snapshots.Snapshots[i].SnapshotId)
	}
	buckets, err := s3.NewFromConfig(s.aws(), func(o *s3.Options) { o.UsePathStyle = true }).ListBuckets(ctx, &s3.ListBucketsInput{})
	check(err)
	for i := range buckets.Buckets {
		add("bucket", buckets.Buckets[i].Name)
	}
	queues, err := sqs.NewFromConfig(s.aws()).ListQueues(ctx, &sqs.ListQueuesInput{})
	check(err)
	for i := range queues.QueueUrls {
		add("queue", &queues.QueueUrls[i])
	}
	parameters, err := ssm.NewFromConfig(s.aws()).DescribeParameters(ctx, &ssm.DescribeParametersInput{})
	check(err)
	for i := range parameters.Parameters {
		add("parameter", parameters.Parameters[i].Name)
	}
	slices.Sort(found)
	return found
}

// One command creates a cluster, others change, upgrade and delete it with everything that it
// created in AWS. Commands without --yes change nothing.
func TestClusterLifecycleFromTheTerminal(t *testing.T) {
	s := newTerminal(t)
	before := s.there()
	s.manifests("demo.yaml", func(*v1alpha1.Cluster, *v1alpha1.InstanceGroup) {})

	out, errOut := s.must(apply.Command(), "-f", s.path("demo.yaml"))
	if !strings.Contains(out, "demo-workers") || !strings.Contains(errOut, "add --yes") {
		t.Errorf("apply without --yes shows\n%s\n%s", out, errOut)
	}
	if _, err := os.Stat(s.path("state")); !os.IsNotExist(err) || !slices.Equal(s.there(), before) {
		t.Fatalf("apply without --yes changed something: %v, in AWS %v", err, s.there())
	}

	_, _, err := s.run(apply.Command(), "-f", s.path("demo.yaml"), "--approve", "0123456789abcdef")
	if err == nil || !strings.Contains(err.Error(), "not 0123456789abcdef") || !slices.Equal(s.there(), before) {
		t.Fatalf("another plan than the one that was approved ends with %v, in AWS %v", err, s.there())
	}
	_, digest, _ := strings.Cut(err.Error(), "the digest is now ")
	digest, _, _ = strings.Cut(digest, ",")
	out, errOut = s.must(apply.Command(), "-f", s.path("demo.yaml"), "--approve", digest)
	if !strings.Contains(out, "Cluster demo is ready at https://") {
		t.Errorf("apply ends with\n%s", out)
	}
	if !strings.Contains(errOut, " stack demo: CREATE_IN_PROGRESS\n") || !strings.Contains(errOut, " stack demo: CREATE_COMPLETE\n") {
		t.Errorf("the progress does not report the base stack:\n%s", errOut)
	}
	made := s.there()

	out, _ = s.must(apply.Command(), "--yes")
	if !slices.Equal(s.there(), made) || !strings.Contains(out, "o changes") {
		t.Errorf("a second apply changed something, or says so: %v, before %v\n%s", s.there(), made, out)
	}

	out, _ = s.must(upgrade.Command(), "cluster", "demo")
	if !strings.Contains(out, "* v1.36.4 (Kubernetes v1.36.4)") || !strings.Contains(out, "  v1.36.3-simulated (Kubernetes v1.36.3)") {
		t.Errorf("upgrade shows\n%s", out)
	}
	out, _ = s.must(upgrade.Command(), "cluster", "demo", "--release", "v1.36.3-simulated", "--yes")
	if !strings.Contains(out, "Cluster demo runs release v1.36.3-simulated.") {
		t.Errorf("upgrade ends with\n%s", out)
	}

	s.deleteAll(before)
}

// A file with services changes nothing, also not the clusters in it.
func TestApplyRejectsServices(t *testing.T) {
	s := newTerminal(t)
	s.manifests("demo.yaml", func(*v1alpha1.Cluster, *v1alpha1.InstanceGroup) {})
	text, err := os.ReadFile(s.path("demo.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s.write(
		"both.yaml", append(text, []byte("---\napiVersion: service-operator.aws/v1alpha1\nkind: SQSQueue\nmetadata: {name: orders}\n")...),
	)
	before := s.there()
	_, _, err = s.run(apply.Command(), "-f", s.path("both.yaml"), "--yes")
	if err == nil || !strings.Contains(err.Error(), "SQSQueue orders is not part of a cluster") || !slices.Equal(s.there(), before) {
		t.Errorf("it ends with %v, in AWS %v", err, s.there())
	}
	if _, err := os.Stat(s.path("state")); !os.IsNotExist(err) {
		t.Errorf("the state was written: %v", err)
	}
}

// deleteAll deletes the cluster, of which nothing is left but what was there before.
func (s *terminal) deleteAll(before []string) {
	s.t.Helper()
	// The cluster has made a volume for a claim, which is in no stack and stays.
	volume, err := ec2.NewFromConfig(s.aws()).CreateVolume(s.t.Context(), &ec2.CreateVolumeInput{
		AvailabilityZone: aws.String("eu-central-1a"), Size: aws.Int32(1),
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeVolume, Tags: []ec2types.Tag{
			{Key: aws.String("kubernetes.io/cluster/demo"), Value: aws.String("owned")},
		}}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	made := s.there()
	out, errOut := s.must(deletion.Command(), "cluster", "demo")
	for _, want := range []string{"AWS::EC2::VPC", "AWS::S3::Bucket", "AWS::AutoScaling::AutoScalingGroup", "AWS::CloudFormation::Stack"} {
		if !strings.Contains(out, want) {
			s.t.Errorf("delete does not list the %s:\n%s", want, out)
		}
	}
	for line := range strings.Lines(out) {
		if strings.Contains(line, *volume.VolumeId) && !strings.HasPrefix(line, "keep ") {
			s.t.Errorf("the volume of a claim is not kept: %s", line)
		}
	}
	if strings.Count(out, "keep ") != 1 {
		s.t.Errorf("more is kept than the volume of the claim:\n%s", out)
	}
	if !strings.Contains(out, *volume.VolumeId) || !strings.Contains(errOut, "add --yes") || !slices.Equal(s.there(), made) {
		s.t.Errorf("delete without --yes shows\n%s\n%s", out, errOut)
	}
	s.must(deletion.Command(), "cluster", "demo", "--yes")
	left := slices.DeleteFunc(s.there(), func(one string) bool { return one == "volume "+*volume.VolumeId })
	if !slices.Equal(left, before) {
		s.t.Errorf("left in AWS: %v, before %v", left, before)
	}
	if _, err := os.Stat(s.path("state/demo")); !os.IsNotExist(err) {
		s.t.Errorf("the cluster is still in the state: %v", err)
	}
	if _, _, err := s.run(deletion.Command(), "cluster", "demo", "--yes"); err == nil || !strings.Contains(err.Error(), "there is no") {
		s.t.Errorf("deleting what is not there ends with %v", err)
	}
}
