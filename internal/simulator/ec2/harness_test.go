package ec2_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator/ec2"
	"github.com/aws-operator/aws-operator/internal/simulator/iam"
	"github.com/aws-operator/aws-operator/internal/simulator/kms"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/sts"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

const (
	account = "123456789012"
	region  = "eu-central-1"
)

// host is a host that only records the calls.
type host struct {
	machine.Absent

	mu     sync.Mutex
	specs  map[string]machine.Spec
	calls  []string
	refuse bool
	// console is what every machine has written to its console.
	console []byte
}

func (h *host) note(call string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, call)
}

func (h *host) called(call string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.calls, call)
}

func (h *host) Boot(spec machine.Spec) error {
	h.note("boot " + spec.InstanceID)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refuse {
		return errors.New("no room")
	}
	h.specs[spec.InstanceID] = spec
	return nil
}

func (h *host) Console(string) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.console, nil
}

func (h *host) show(console []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.console = console
}

func (h *host) Terminate(id string) { h.note("terminate " + id) }

func (h *host) Attach(id, volume, device string) error {
	h.note("attach " + id + " " + volume + " " + device)
	return nil
}

func (h *host) Detach(id, volume string) { h.note("detach " + id + " " + volume) }

func (h *host) DeleteVolume(id string) { h.note("delete " + id) }

func (h *host) CopyVolume(from, to string) error {
	h.note("copy " + from + " " + to)
	return nil
}

// event is a published event.
type event struct {
	detailType string
	resources  []string
	detail     any
}

// suite is a simulated EC2 with a network and an SDK client.
type suite struct {
	*awsec2.Client

	t       *testing.T
	config  aws.Config
	service *ec2.Service
	network *vpc.Service
	host    *host
	clock   *testclock.FakeClock // nil with the real clock
	subnets map[string]string    // by zone

	mu     sync.Mutex
	events []event
	states []string
}

func start(t *testing.T) *suite {
	t.Helper()
	return startWith(t, clock.RealClock{}, nil)
}

func startWith(t *testing.T, clk clock.WithTickerAndDelayedExecution, latency func(string) time.Duration, network ...vpc.Option) *suite {
	t.Helper()
	w := &suite{t: t, host: &host{specs: map[string]machine.Spec{}}, subnets: map[string]string{}}
	w.clock, _ = clk.(*testclock.FakeClock)
	env := &resource.Env{Clock: clk}
	keys := &wire.Keys{}
	profiles, ciphers := iam.New(env, keys), kms.New(env)
	w.network = vpc.New(env, network...)
	w.service = ec2.New(env, w.network, ec2.Options{
		Host: w.host, Profiles: profiles, Ciphers: ciphers, Keys: keys, Latency: latency,
		Publish: func(_ context.Context, _, _, _, detailType string, resources []string, detail any) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, event{detailType, resources, detail})
		},
	})
	w.service.Watch(func(i ec2.Instance) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.states = append(w.states, i.ID+" "+string(i.State))
	})
	t.Cleanup(w.service.Close)
	w.config = wiretest.Serve(t, wire.NewRouter([]*wire.Service{
		w.service.Service(), profiles.Service(), ciphers.Service(), sts.New(env, keys).Service(),
	}, nil, clk, wire.WithKeys(keys)))
	w.Client = awsec2.NewFromConfig(w.config)
	w.makeNetwork()
	return w
}

func (w *suite) makeNetwork() {
	w.t.Helper()
	made, err := w.CreateVpc(w.t.Context(), &awsec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
	if err != nil {
		w.t.Fatal(err)
	}
	for zone, cidr := range map[string]string{region + "a": "10.0.1.0/24", region + "b": "10.0.2.0/24"} {
		subnet, err := w.CreateSubnet(w.t.Context(), &awsec2.CreateSubnetInput{
			VpcId: made.Vpc.VpcId, CidrBlock: aws.String(cidr), AvailabilityZone: aws.String(zone),
		})
		if err != nil {
			w.t.Fatal(err)
		}
		w.subnets[zone] = *subnet.Subnet.SubnetId
	}
}

// image returns the current Ubuntu image of an architecture.
func (w *suite) image(architecture string) string {
	w.t.Helper()
	id, ok := w.service.PublicParameter(
		region, "/aws/service/canonical/ubuntu/server/24.04/stable/20260610/"+architecture+"/hvm/ebs-gp3/ami-id",
	)
	if !ok {
		w.t.Fatal("no image of " + architecture)
	}
	return id
}

// request returns a request for one m6i.large in zone a.
func (w *suite) request() *awsec2.RunInstancesInput {
	return &awsec2.RunInstancesInput{
		ImageId: aws.String(w.image("amd64")), InstanceType: types.InstanceTypeM6iLarge, SubnetId: aws.String(w.subnets[region+"a"]),
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
	}
}

// launch launches an instance and waits until it runs.
func (w *suite) launch(in *awsec2.RunInstancesInput) types.Instance {
	w.t.Helper()
	out, err := w.RunInstances(w.t.Context(), in)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.until(*out.Instances[0].InstanceId, types.InstanceStateNameRunning)
}

// until waits until an instance is in a state.
func (w *suite) until(id string, state types.InstanceStateName) (found types.Instance) {
	w.t.Helper()
	w.eventually("instance "+id+" to be "+string(state), func() bool {
		out, err := w.DescribeInstances(w.t.Context(), &awsec2.DescribeInstancesInput{InstanceIds: []string{id}})
		if err != nil {
			w.t.Fatal(err)
		}
		found = out.Reservations[0].Instances[0]
		return found.State.Name == state
	})
	return found
}

// eventually waits until a condition holds.
func (w *suite) eventually(what string, holds func() bool) {
	w.t.Helper()
	deadline := time.NewTimer(patience.Left(w.t))
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			w.t.Fatalf("waited in vain for %s; the calls of the host were %v", what, w.host.calls)
		case <-tick.C:
		}
	}
}

// published returns the details of the events of a type, in order.
func (w *suite) published(detailType string) (found []event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.detailType == detailType {
			found = append(found, e)
		}
	}
	return found
}

// profile creates an instance profile with a role.
func (w *suite) profile(name string) {
	w.t.Helper()
	client, ctx := awsiam.NewFromConfig(w.config), w.t.Context()
	_, err1 := client.CreateRole(
		ctx,
		&awsiam.CreateRoleInput{RoleName: aws.String(name + "-role"), AssumeRolePolicyDocument: aws.String(
			`{"Statement": {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}}`,
		)},
	)
	_, err2 := client.CreateInstanceProfile(ctx, &awsiam.CreateInstanceProfileInput{InstanceProfileName: &name})
	_, err3 := client.AddRoleToInstanceProfile(
		ctx, &awsiam.AddRoleToInstanceProfileInput{InstanceProfileName: &name, RoleName: aws.String(name + "-role")},
	)
	if err := errors.Join(err1, err2, err3); err != nil {
		w.t.Fatal(err)
	}
}

// serve serves a handler on loopback and returns its address.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Second}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String()
}

// wantWire fails the test unless err is an API error with the code.
func wantWire(t *testing.T, err error, code string) {
	t.Helper()
	if e, ok := errors.AsType[*wire.Error](err); !ok || e.Code != code {
		t.Errorf("got %v, want %s", err, code)
	}
}
