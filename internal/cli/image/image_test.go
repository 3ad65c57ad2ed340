package image

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/internal/state"
)

const (
	accountID = "123456789012"
	region    = "eu-central-1"
)

// host runs machines that write a text to their consoles and power themselves off.
type host struct {
	machine.Absent

	mu       sync.Mutex
	services machine.Services
	specs    []machine.Spec
	console  func(machine.Spec) string
	stays    bool // machines do not power themselves off
	onBoot   func(machine.Spec)
}

func (h *host) Connect(services machine.Services) { h.services = services }

func (h *host) Boot(spec machine.Spec) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.specs = append(h.specs, spec)
	if h.onBoot != nil {
		go h.onBoot(spec)
	}
	if !h.stays {
		go h.services.PoweredOff(spec.Account, spec.Region, spec.InstanceID)
	}
	return nil
}

func (h *host) Console(id string) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, spec := range h.specs {
		if spec.InstanceID == id {
			return []byte(h.console(spec)), nil
		}
	}
	return nil, fmt.Errorf("there is no %s", id)
}

func (h *host) booted() []machine.Spec {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.specs
}

// suite is a simulated region with a subnet.
type suite struct {
	t      *testing.T
	sim    *simulator.Simulator
	host   *host
	api    *ec2.Client
	subnet string
	state  string
	// endpoint is the simulator's.
	endpoint string
	image    bootstrap.Image // that of the Release v1.36.4, amd64
	base     string
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	return newSuiteWith(t, 0)
}

// newSuiteWith is newSuite with the lag of EC2's reads.
func newSuiteWith(t *testing.T, lag time.Duration, change ...func(*simulator.Options)) *suite {
	t.Helper()
	s := &suite{t: t, host: &host{}, state: t.TempDir()}
	s.host.console = func(machine.Spec) string { return "[   1.5] cloud-init[7]: " + s.image.Prepared + "\r\n" }
	options := simulator.Options{Region: region, Machines: s.host, Lag: lag}
	for _, one := range change {
		one(&options)
	}
	sim, endpoint := simulatortest.Start(t, options)
	s.sim, s.endpoint = sim, endpoint
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": region, "AWS_ACCESS_KEY_ID": accountID, "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_PROFILE": "", "AWS_SESSION_TOKEN": "",
	} {
		t.Setenv(name, value)
	}
	s.api = ec2.NewFromConfig(simulatortest.Root(endpoint, accountID, region))
	s.subnet = s.newSubnet(nil)
	of, err := release.Find("v1.36.4")
	if err != nil {
		t.Fatal(err)
	}
	s.base = "resolve:ssm:" + of.Spec.Images[v1alpha1.AMD64].Parameter
	if s.image, err = bootstrap.NewImage(bootstrap.ImageInput{Release: of, Architecture: v1alpha1.AMD64, Base: s.base}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *suite) newSubnet(tags map[string]string) string {
	s.t.Helper()
	vpc, err := s.api.CreateVpc(s.t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
	if err != nil {
		s.t.Fatal(err)
	}
	in := &ec2.CreateSubnetInput{VpcId: vpc.Vpc.VpcId, CidrBlock: aws.String("10.0.1.0/24"), AvailabilityZone: aws.String(region + "a")}
	if len(tags) > 0 {
		in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeSubnet, Tags: tagList(tags)}}
	}
	made, err := s.api.CreateSubnet(s.t.Context(), in)
	if err != nil {
		s.t.Fatal(err)
	}
	return *made.Subnet.SubnetId
}

func tagList(tags map[string]string) (list []types.Tag) {
	for key, value := range tags {
		list = append(list, types.Tag{Key: &key, Value: &value})
	}
	return list
}

// run runs a command, and returns what it prints and its exit code.
func (s *suite) run(args ...string) (out, errOut string, code int) {
	s.t.Helper()
	return s.runIn(s.t.Context(), args...)
}

func (s *suite) runIn(ctx context.Context, args ...string) (out, errOut string, code int) {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := command(clock.RealClock{}, time.Millisecond)
	if args[0] == "create" {
		args = append([]string{"create", "--release", "v1.36.4", "--state", s.state}, args[1:]...)
	}
	cmd.SetArgs(args)
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(ctx)
	if err != nil {
		_, _ = fmt.Fprintln(&stderr, err)
	}
	return stdout.String(), stderr.String(), exit.Code(err)
}

// create creates the image, and returns its ID.
func (s *suite) create() string {
	s.t.Helper()
	out, errOut, code := s.run("create", "--subnet-id", s.subnet)
	id, _, _ := strings.Cut(out, "\n")
	if code != exit.Done || !strings.HasPrefix(id, "ami-") {
		s.t.Fatalf("exit code %d, standard error %q:\n%s", code, errOut, out)
	}
	return id
}

// instances returns the instances in a state.
func (s *suite) instances(states ...string) (ids []string) {
	s.t.Helper()
	found, err := s.api.DescribeInstances(s.t.Context(), &ec2.DescribeInstancesInput{
		Filters: []types.Filter{{Name: aws.String("instance-state-name"), Values: states}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range found.Reservations {
		ids = append(ids, *found.Reservations[i].Instances[0].InstanceId)
	}
	return ids
}

// awaitTerminated waits until no instance is left.
func (s *suite) awaitTerminated() {
	s.t.Helper()
	patience.UntilTrue(s.t, "all instances to be terminated", func() bool {
		return len(s.instances("pending", "running", "stopping", "stopped", "shutting-down")) == 0
	})
}

// images waits until there are so many images, and returns them.
func (s *suite) images(want int) (found []types.Image) {
	s.t.Helper()
	patience.UntilTrue(s.t, fmt.Sprintf("%d images", want), func() bool {
		out, err := s.api.DescribeImages(s.t.Context(), &ec2.DescribeImagesInput{Owners: []string{"self"}})
		if err != nil {
			s.t.Fatal(err)
		}
		found = out.Images
		return len(found) == want
	})
	return found
}

func TestCreateMakesOneImageOfOneInstance(t *testing.T) {
	s := newSuiteWith(t, simulator.NoLag)
	id := s.create()
	s.awaitTerminated()
	image := s.images(1)[0]
	if *image.ImageId != id || *image.Name != "aws-operator-v1.36.4-amd64-"+s.image.Hash[:12] || *image.Description != "aws-operator image "+s.image.Hash ||
		tagOf(image.Tags, tagImage) != s.image.Hash || tagOf(image.Tags, tagRelease) != "v1.36.4" ||
		tagOf(image.Tags, tagArchitecture) != "amd64" || tagOf(image.Tags, tagContains) != "artifacts" {
		t.Errorf("the image is %+v", image)
	}
	booted := s.host.booted()
	if len(booted) != 1 || string(booted[0].UserData) != s.image.UserData {
		t.Errorf("%d instances were launched", len(booted))
	}
	var described *ec2.DescribeInstancesOutput
	patience.Until(t, "the instance", func() (err error) {
		described, err = s.api.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{booted[0].InstanceID}})
		return err
	})
	i := described.Reservations[0].Instances[0]
	if i.IamInstanceProfile != nil || i.KeyName != nil || i.MetadataOptions.HttpTokens != types.HttpTokensStateRequired ||
		!strings.HasPrefix(*i.ClientToken, tokenPrefix) {
		t.Errorf("the instance is %+v", i)
	}

	out, errOut, code := s.run("create", "--subnet-id", s.subnet)
	if code != exit.Done || !strings.Contains(errOut, "Image "+id+" holds this already.") || len(s.host.booted()) != 1 {
		t.Errorf("the second run: exit code %d, standard error %q, %d instances", code, errOut, len(s.host.booted()))
	}
	for _, want := range []string{"image: " + id + "\n", "amd64: {byRegion: {eu-central-1: " + id + "}, user: ubuntu}\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("standard output lacks %q:\n%s", want, out)
		}
	}
}

func TestInstanceThatHasNotPreparedItselfBecomesNoImage(t *testing.T) {
	for name, test := range map[string]struct {
		console func(bootstrap.Image) string
		want    string
	}{
		"it says so": {
			func(i bootstrap.Image) string { return "curl: (22) 404\x1b[2J\n" + i.Failed + "\n" },
			"has not prepared itself. Its console ends with:\n  curl: (22) 404 [2J\n  aws-operator image ",
		},
		"it says both": {func(i bootstrap.Image) string { return i.Failed + "\n" + i.Prepared + "\n" }, "has not prepared itself."},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t)
			s.host.console = func(machine.Spec) string { return test.console(s.image) }
			_, errOut, code := s.run("create", "--subnet-id", s.subnet)
			if code != exit.Failed || !strings.Contains(errOut, test.want) {
				t.Errorf("exit code %d, standard error %q", code, errOut)
			}
			s.awaitTerminated()
			s.images(0)
		})
	}
}

func TestInstanceThatIsTerminatedIsReported(t *testing.T) {
	s := newSuite(t)
	s.host.stays = true
	s.host.onBoot = func(spec machine.Spec) { _ = s.sim.Instances().Terminate(accountID, region, spec.InstanceID) }
	_, errOut, code := s.run("create", "--subnet-id", s.subnet)
	if code != exit.Failed || !strings.Contains(errOut, "was terminated: ") {
		t.Errorf("exit code %d, standard error %q", code, errOut)
	}
}

func TestInstanceThatDoesNotPowerItselfOffIsTerminated(t *testing.T) {
	s := newSuite(t)
	s.host.stays = true
	_, errOut, code := s.run("create", "--subnet-id", s.subnet, "--timeout", "50ms")
	if code != exit.Failed || !strings.Contains(errOut, "has not powered itself off") {
		t.Errorf("exit code %d, standard error %q", code, errOut)
	}
	s.awaitTerminated()
}

func TestInterruptionTerminatesTheInstance(t *testing.T) {
	s := newSuite(t)
	s.host.stays = true
	ctx, interrupt := context.WithCancel(t.Context())
	s.host.onBoot = func(machine.Spec) { interrupt() }
	_, errOut, code := s.runIn(ctx, "create", "--subnet-id", s.subnet)
	if code != exit.Interrupted || !strings.Contains(errOut, "is terminated. Run the command again to continue.") {
		t.Errorf("exit code %d, standard error %q", code, errOut)
	}
	s.awaitTerminated()
	s.host.stays = false
	s.create()
}

// A tag alone does not make an instance or an image ours: others may set it.
func TestOnlyWhatTheCommandCreatedIsTouched(t *testing.T) {
	s := newSuiteWith(t, simulator.NoLag)
	s.host.stays = true
	launch := func(token string) string {
		out, err := s.api.RunInstances(t.Context(), &ec2.RunInstancesInput{
			ImageId: &s.base, InstanceType: types.InstanceTypeT3Medium, SubnetId: &s.subnet, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
			ClientToken: &token, TagSpecifications: []types.TagSpecification{
				{ResourceType: types.ResourceTypeInstance, Tags: tagList(map[string]string{tagImage: s.image.Hash})},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return *out.Instances[0].InstanceId
	}
	foreign, left := launch("another"), launch(tokenPrefix+"interrupted")
	patience.UntilTrue(t, "both instances to run", func() bool { return len(s.instances("running")) == 2 })
	forged, err := s.api.CreateImage(t.Context(), &ec2.CreateImageInput{
		InstanceId: &foreign, Name: aws.String("forged"), NoReboot: aws.Bool(true), TagSpecifications: []types.TagSpecification{
			{ResourceType: types.ResourceTypeImage, Tags: tagList(map[string]string{tagImage: s.image.Hash})},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.host.stays = false
	id := s.create()
	if id == *forged.ImageId {
		t.Error("an image that only has the tag counts")
	}
	patience.UntilTrue(t, "the left instance to be terminated", func() bool {
		running := s.instances("running")
		return len(running) == 1 && running[0] == foreign
	})
	if left == foreign {
		t.Error("there is only one instance")
	}
	out, _, _ := s.run("list", "-o", "name")
	if out != id+"\n" {
		t.Errorf("listed are %q", out)
	}
	s.images(2)
	_, errOut, code := s.run("delete", *forged.ImageId, "--yes")
	if code != exit.Failed || !strings.Contains(errOut, "has no image "+*forged.ImageId) {
		t.Errorf("delete: exit code %d, standard error %q", code, errOut)
	}
	s.images(2)
}

func TestImageThatFailedIsReplaced(t *testing.T) {
	s := newSuiteWith(t, simulator.NoLag)
	failed := make(chan struct{})
	console := s.host.console
	s.host.console = func(spec machine.Spec) string { // the instance stops
		select {
		case <-failed:
		default:
			s.sim.Instances().FailSnapshot(spec.RootVolumeID, "out of luck")
			close(failed)
		}
		return console(spec)
	}
	_, errOut, code := s.run("create", "--subnet-id", s.subnet)
	if code != exit.Failed || !strings.Contains(errOut, "is failed: out of luck") {
		t.Errorf("exit code %d, standard error %q", code, errOut)
	}
	s.create()
	if found := s.images(1); found[0].State != types.ImageStateAvailable {
		t.Errorf("the images are %+v", found)
	}
}

func TestNameOfAnotherImageIsRefusedBeforeALaunch(t *testing.T) {
	s := newSuiteWith(t, simulator.NoLag)
	id := s.create()
	image := s.images(1)[0]
	_, errOut, code := s.run("create", "--subnet-id", s.subnet, "--base-image", *image.SourceImageId, "--name", *image.Name)
	if code != exit.Failed || !strings.Contains(errOut, "image "+id+" has the name "+*image.Name) {
		t.Errorf("exit code %d, standard error %q", code, errOut)
	}
	if launched := len(s.host.booted()); launched != 1 {
		t.Errorf("%d instances were launched", launched)
	}
}

func TestDryRunChangesNothing(t *testing.T) {
	s := newSuite(t)
	out, errOut, code := s.run("create", "--subnet-id", s.subnet, "--arch", "arm64", "--node-images", "--dry-run")
	if code != exit.Done || len(s.host.booted()) != 0 {
		t.Errorf("exit code %d, standard error %q", code, errOut)
	}
	for _, want := range []string{"one t4g.medium in subnet " + s.subnet, "/arm64/", "registry.k8s.io/kube-proxy:v1.36.4", "without an instance profile"} {
		if !strings.Contains(out, want) {
			t.Errorf("standard output lacks %q:\n%s", want, out)
		}
	}
}

func TestDeleteRemovesAnImageWithItsSnapshots(t *testing.T) {
	s := newSuiteWith(t, simulator.NoLag)
	id := s.create()
	s.host.stays = true
	launched, err := s.api.RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: &id, InstanceType: types.InstanceTypeT3Medium, SubnetId: &s.subnet, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
	})
	if err != nil {
		t.Fatal(err)
	}
	user := *launched.Instances[0].InstanceId
	for name, image := range map[string]string{"of-the-image": id, "of-its-base": s.base} {
		_, err := s.api.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
			LaunchTemplateName: &name, LaunchTemplateData: &types.RequestLaunchTemplateData{ImageId: &image},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, errOut, code := s.run("delete", id, "--yes")
	if code != exit.Failed || !strings.Contains(errOut, "image "+id+" is that of "+user+", launch template of-the-image: ") {
		t.Errorf("in use: exit code %d, standard error %q", code, errOut)
	}
	_, errOut, code = s.run("delete", id, "--force")
	if code != exit.Done || !strings.Contains(errOut, "Nothing has been deleted.") {
		t.Errorf("without --yes: exit code %d, standard error %q", code, errOut)
	}
	s.images(1)
	_, errOut, code = s.run("delete", id, "--force", "--yes")
	if code != exit.Done {
		t.Errorf("exit code %d, standard error %q", code, errOut)
	}
	s.images(0)
	patience.UntilTrue(t, "no snapshot to be left", func() bool {
		left, err := s.api.DescribeSnapshots(t.Context(), &ec2.DescribeSnapshotsInput{OwnerIds: []string{"self"}})
		return err == nil && len(left.Snapshots) == 0
	})
}

func TestListShowsWhatImagesHold(t *testing.T) {
	s := newSuiteWith(t, simulator.NoLag)
	id := s.create()
	out, errOut, code := s.run("list", "-o", "json")
	var all []listed
	if err := json.Unmarshal([]byte(out), &all); err != nil || code != exit.Done {
		t.Fatalf("exit code %d, standard error %q: %v", code, errOut, err)
	}
	if len(all) != 1 || all[0].ID != id || all[0].Release != "v1.36.4" || all[0].Architecture != "amd64" ||
		all[0].State != "available" || all[0].GiB != 8 {
		t.Errorf("listed are %+v", all)
	}
}

func TestSubnetOfAClusterIsAPrivateOne(t *testing.T) {
	s := newSuite(t)
	s.writeCluster()
	s.newSubnet(map[string]string{"kubernetes.io/cluster/demo": "owned", "kubernetes.io/role/elb": "1"})
	private := s.newSubnet(map[string]string{"kubernetes.io/cluster/demo": "owned", "kubernetes.io/role/internal-elb": "1"})
	out, errOut, code := s.run("create", "--cluster", "demo", "--dry-run")
	if code != exit.Done || !strings.Contains(out, "in subnet "+private+" of eu-central-1") {
		t.Errorf("exit code %d, standard error %q:\n%s", code, errOut, out)
	}
}

// writeCluster writes a cluster to the state.
func (s *suite) writeCluster() {
	s.t.Helper()
	cluster := &v1alpha1.Cluster{}
	cluster.Name = "demo"
	cluster.Spec = v1alpha1.ClusterSpec{
		Release: "v1.36.4", Region: region, Network: v1alpha1.Network{CIDR: "10.0.0.0/16", Zones: []string{region + "a"}},
	}
	into, err := state.Open(s.t.Context(), s.state, state.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := into.Replace(s.t.Context(), []client.Object{cluster}); err != nil {
		s.t.Fatal(err)
	}
}
