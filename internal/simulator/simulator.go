package simulator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/autoscaling"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudcontrol"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/simulated"
	"github.com/aws-operator/aws-operator/internal/simulator/dynamodb"
	"github.com/aws-operator/aws-operator/internal/simulator/ec2"
	"github.com/aws-operator/aws-operator/internal/simulator/ecr"
	"github.com/aws-operator/aws-operator/internal/simulator/eks"
	"github.com/aws-operator/aws-operator/internal/simulator/elb"
	"github.com/aws-operator/aws-operator/internal/simulator/elbv2"
	"github.com/aws-operator/aws-operator/internal/simulator/eventbridge"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/frontend"
	"github.com/aws-operator/aws-operator/internal/simulator/iam"
	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
	"github.com/aws-operator/aws-operator/internal/simulator/kms"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/simulator/nameserver"
	"github.com/aws-operator/aws-operator/internal/simulator/pricing"
	"github.com/aws-operator/aws-operator/internal/simulator/reads"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/route53"
	"github.com/aws-operator/aws-operator/internal/simulator/s3"
	"github.com/aws-operator/aws-operator/internal/simulator/servicequotas"
	"github.com/aws-operator/aws-operator/internal/simulator/sns"
	"github.com/aws-operator/aws-operator/internal/simulator/sqs"
	"github.com/aws-operator/aws-operator/internal/simulator/ssm"
	"github.com/aws-operator/aws-operator/internal/simulator/sts"
	"github.com/aws-operator/aws-operator/internal/simulator/throttle"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Options configure the simulator. The zero value is account 123456789012 in us-east-1 on the real
// clock, without latency or faults.
type Options struct {
	// Account is the account of callers whose access key ID is not an account number.
	Account string
	// Region is the region of requests that do not name one.
	Region string
	// Partition is the ARN partition. The default is "aws".
	Partition string
	// Clock is the simulator's clock. The default is the real clock.
	Clock clock.WithTickerAndDelayedExecution
	// Endpoint is the address at which clients reach the simulator, for URLs of resources that
	// CloudFormation creates. The default is the address of the last API call.
	Endpoint string
	// Latency returns how long CloudFormation takes for an operation ("Create", "Update", "Delete")
	// on a resource of a type. The default is no time. To delay API calls, add a fault.
	Latency func(resourceType, operation string) time.Duration
	// Machines runs the simulated instances. By default instances run nothing. Close closes it.
	Machines machine.Host
	// Patience is the longest that load balancers wait between two health checks of a target and
	// for the end of its deregistration. The default is the times of AWS.
	Patience time.Duration
	// Listen opens the listeners of network load balancers. The default opens sockets on the
	// loopback network.
	Listen func(at netip.AddrPort) (net.Listener, error)
	// Quotas limit the VPCs, addresses, load balancers and the like of an account in a region.
	// Those that are not set have the default values of AWS.
	Quotas map[vpc.Quota]int
	// QueueNameRelease is for how long after its deletion the name of a queue cannot be used again:
	// in AWS 60 seconds, by default no time.
	QueueNameRelease time.Duration
	// Faults make calls and resources fail. The default is none.
	Faults *fault.Injector
	// Seed determines the order of results and the sizes of pages where AWS documents none, which
	// reads are out of date, which calls are refused, and which events arrive late or twice. The
	// default is a random one; [Simulator.Seed] returns it.
	Seed uint64
	// Lag is the longest time for which something lags behind a change: reads of EC2, what other
	// services know of roles, and the delivery of events. With it, some calls are also refused by
	// chance, and some events arrive late or twice. The default is [DefaultLag]; with [NoLag] the
	// simulator does none of this.
	Lag time.Duration
	// Speed is the factor by which EC2's request limits are higher than in AWS. The default is
	// [DefaultSpeed], because machines of the simulator boot in milliseconds.
	Speed float64
	// Policies take the place of the policies that principals have in IAM, by access key or by the ARN
	// of a user or a role. Keys in it are valid, with [RootSecret] as their secret.
	Policies *access.Policies
	// IAM is what happens to requests that AWS would refuse because of their credentials or of
	// policies. The default is [access.Enforce].
	IAM access.Mode
	// Audit receives a line for each request that would be refused, if IAM is [access.Audit].
	Audit func(line string)
	// Decided, if set, receives each request that policies decide, with its condition keys, and these
	// policies. The request waits while it runs. It must change neither.
	Decided func(*iampolicy.Request, *iampolicy.Policies)
	// Events, if set, receives every event that a service emits, before the event bus does. The
	// service waits while it runs.
	Events func(source, detailType string, resources []string, detail any)
}

// RootSecret is the secret access key of the root users of all accounts, whose access key ID is the
// number of the account.
const RootSecret = wire.RootSecret

const (
	// DefaultLag is the default of Options.Lag: long enough that a caller notices, short enough to
	// wait for.
	DefaultLag = time.Second
	// NoLag is the value of Options.Lag for tests of the simulator itself, and for measurements.
	NoLag = -time.Nanosecond
	// DefaultSpeed makes the calls of a test fit that AWS would see in half an hour.
	DefaultSpeed = 20
	// refuseOneIn is the number of calls of which one is throttled on average.
	refuseOneIn = 100
)

// Simulator is AWS on loopback.
type Simulator struct {
	router *wire.Router
	faults *fault.Injector
	seed   uint64
	target wire.Target // that clients mean who name none
	cancel context.CancelFunc
	closes []func()
	closed sync.Once

	instances *ec2.Service
	network   *vpc.Service
	names     *route53.Service
	providers map[string]resource.Provider
	described *simulated.Store // the resources of the other types
	services  []*wire.Service
	ctx       context.Context //nolint:containedctx // Close cancels it, which ends the requests that wait
}

// part is the interface of every simulated service.
type part interface {
	Service() *wire.Service
}

// backing is a service that backs CloudFormation types.
type backing interface {
	Providers() map[string]resource.Provider
}

// New returns an empty simulator.
func New(o Options) *Simulator { //nolint:funlen // it connects all services
	o = withDefaults(o)
	s := &Simulator{faults: o.Faults, seed: o.Seed, target: wire.Target{Account: o.Account, Region: o.Region}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	control := &access.Control{Mode: o.IAM, Log: o.Audit, Policies: o.Policies, Decided: o.Decided, Now: o.Clock.Now}
	env := &resource.Env{Clock: o.Clock, Partition: o.Partition, Lag: resource.NewLag(o.Seed, o.Lag), Control: control}
	endpoint := func() string {
		if o.Endpoint != "" {
			return o.Endpoint
		}
		return s.router.Endpoint()
	}

	keys := &wire.Keys{}
	queues := sqs.New(env, sqs.WithEndpoint(endpoint), sqs.WithNameRelease(o.QueueNameRelease))
	topics := sns.New(env, queues, endpoint)
	events := eventbridge.New(env, queues, topics, o.Faults)
	publish := o.observed(events.Publish)
	identities, ciphers, network := iam.New(env, keys), kms.New(env), vpc.New(env, vpc.WithQuotas(o.Quotas), vpc.WithDefaultVPC())
	buckets := s3.New(env, s3.WithCiphers(ciphers), s3.WithDestinations(destinations{s, queues, topics}))
	instances := ec2.New(env, network, ec2.Options{
		Host: o.Machines, Profiles: identities, Ciphers: ciphers, Keys: keys, Publish: publish, Quotas: o.Quotas,
	})
	s.instances, s.network = instances, network
	env.NamesNew = identities.NamesNew
	control.Principals = identities
	frontends := frontend.New(o.Machines, o.Listen)
	balancers := elbv2.New(env, elbv2.Options{
		Compute: instances, Networks: network, Host: o.Machines, Patience: o.Patience, Quotas: o.Quotas, Frontends: frontends,
		Provisioning: o.Lag,
	})
	older := elb.New(env, elb.Options{
		Compute: instances, Networks: network, Host: o.Machines, Frontends: frontends, Quotas: o.Quotas,
	})
	groups := autoscaling.New(env, autoscaling.Options{
		Compute: instances, Balancers: balancers, Publish: publish,
		Zone: func(account, region, subnetID string) (string, bool) {
			subnet, ok := network.Subnet(account, region, subnetID)
			return subnet.Zone, ok
		},
	})
	clusters := eks.New(env, eks.Options{
		Networks: network, Instances: instances, EC2: instances.Service(), Groups: groups.Service(), IAM: identities.Service(),
		Ciphers: ciphers, AWS: s.Handler, Endpoint: endpoint, Host: o.Machines, Provisioning: o.Lag,
	})
	s.closes = append(s.closes, clusters.Close, groups.Close, balancers.Close, instances.Close)
	names := route53.New(env, network, route53.WithBalancers(frontends.Resolve))
	s.names = names
	public := func(region, name string) (string, bool) {
		if version, ok := clusters.PublicParameter(name); ok {
			return version, true
		}
		return instances.PublicParameter(region, name)
	}
	store := ssm.New(env, ssm.WithPublic(public), ssm.WithCiphers(ciphers))
	parts := []part{
		queues, topics, events, buckets, dynamodb.New(env), ecr.New(env),
		identities, ciphers, store, sts.New(env, keys, sts.WithNew(identities.IsNew)), instances, names, balancers, older, groups, clusters,
		servicequotas.New(env, servicequotas.Options{Seed: o.Seed, Enforced: enforced(network, instances, balancers)}),
		pricing.New(ec2.Prices),
	}
	providers := network.Providers() // its API is part of EC2's
	for _, p := range parts {
		if b, ok := p.(backing); ok {
			maps.Copy(providers, b.Providers())
		}
	}
	s.providers = providers
	stacks := cloudformation.New(cloudformation.Options{
		Env: env, Providers: providers, Faults: o.Faults, Latency: o.Latency, Publish: publish,
		Notify: func(ctx context.Context, _, _, topicARN, subject, message string) error {
			return topics.Publish(ctx, topicARN, subject, message)
		},
		FetchS3: fetch(buckets), SSMParameter: store.Value,
	})
	s.described = stacks.Simulated()
	parts = append(parts, stacks, cloudcontrol.New(env, stacks))
	services := make([]*wire.Service, len(parts))
	for i, p := range parts {
		services[i] = p.Service()
	}
	s.services = services
	s.router = wire.NewRouter(
		services,
		o.Faults,
		o.Clock,
		wire.WithAccount(o.Account),
		wire.WithRegion(o.Region),
		wire.WithPartition(o.Partition),
		wire.WithKeys(keys),
		wire.WithControl(control),
		wire.WithReads(reads.New(reads.Options{Seed: o.Seed, Lag: o.Lag, Clock: o.Clock})),
		wire.WithGate(o.gate()),
	)
	o.Machines.Connect(machine.Services{
		PoweredOff: instances.PoweredOff,
		AWS:        s.Handler(), Firewall: network.Firewall, Watch: network.Watch, EndpointAddress: network.EndpointAddress,
		Resolve: func(vpcID, name string) []netip.Addr {
			if found := instances.Resolve(vpcID, name); len(found) > 0 {
				return found
			}
			return names.Resolve(vpcID, name)
		},
	})
	return s
}

// enforced returns the quotas that services enforce.
func enforced(
	network *vpc.Service, instances *ec2.Service, balancers *elbv2.Service,
) map[servicequotas.Quota]func(at wire.Target) float64 {
	of := func(q vpc.Quota) func(wire.Target) float64 {
		return func(at wire.Target) float64 { return float64(network.Quota(at.Account, at.Region, q)) }
	}
	vCPUs := func(spot bool) func(wire.Target) float64 {
		return func(at wire.Target) float64 { return float64(instances.Quota(at.Account, at.Region, spot)) }
	}
	balancing := func(q vpc.Quota) func(wire.Target) float64 {
		return func(wire.Target) float64 { return float64(balancers.Quota(q)) }
	}
	return map[servicequotas.Quota]func(at wire.Target) float64{
		{Service: "ec2", Code: "L-0263D0A3"}: of(vpc.ElasticAddresses),
		{Service: "ec2", Code: "L-1216C47A"}: vCPUs(false),
		{Service: "ec2", Code: "L-34B43A08"}: vCPUs(true),
		{Service: "vpc", Code: "L-407747CB"}: of(vpc.SubnetsOfVPC),
		{Service: "vpc", Code: "L-A4707A72"}: of(vpc.InternetGateways),
		{Service: "vpc", Code: "L-F678F1CE"}: of(vpc.VPCs),
		{Service: "vpc", Code: "L-FE5A380F"}: of(vpc.NATGateways),

		{Service: "elasticloadbalancing", Code: "L-53DA6B97"}: balancing(elbv2.LoadBalancers),
		{Service: "elasticloadbalancing", Code: "L-69A177A2"}: balancing(elbv2.LoadBalancers),
		{Service: "elasticloadbalancing", Code: "L-B22855CB"}: balancing(elbv2.TargetGroups),
	}
}

// emitter emits an event.
type emitter = func(ctx context.Context, account, region, source, detailType string, resources []string, detail any)

// observed returns an emitter that passes each event to Events before it emits it.
func (o *Options) observed(emit emitter) emitter {
	if o.Events == nil {
		return emit
	}
	return func(ctx context.Context, account, region, source, detailType string, resources []string, detail any) {
		o.Events(source, detailType, resources, detail)
		emit(ctx, account, region, source, detailType, resources, detail)
	}
}

// gate returns what refuses calls.
func (o *Options) gate() *throttle.Limits {
	if o.Lag == 0 {
		return throttle.New(throttle.Options{})
	}
	return throttle.New(throttle.Options{Seed: o.Seed, Clock: o.Clock, OneIn: refuseOneIn, Speed: o.Speed})
}

func withDefaults(o Options) Options {
	if o.Account == "" {
		o.Account = wire.DefaultAccount
	}
	if o.Region == "" {
		o.Region = wire.DefaultRegion
	}
	if o.Partition == "" {
		o.Partition = "aws"
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Machines == nil {
		o.Machines = machine.Absent{}
	}
	if o.Faults == nil {
		o.Faults = fault.New()
	}
	if o.IAM == "" {
		o.IAM = access.Enforce
	}
	if o.Speed == 0 {
		o.Speed = DefaultSpeed
	}
	if o.Lag == 0 {
		o.Lag = DefaultLag
	}
	o.Lag = max(o.Lag, 0)
	if o.Seed == 0 {
		o.Seed = rand.Uint64() //nolint:gosec // not for security
	}
	return o
}

// Handler serves all services. Requests that wait end when the simulator closes.
func (s *Simulator) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx, cancel := context.WithCancel(req.Context())
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)() //nolint:contextcheck // the simulator's context ends requests too
		s.router.ServeHTTP(w, req.WithContext(ctx))
	})
}

// Control serves all services, and at [fault.IncidentPath] the control endpoint that makes incidents
// happen.
func (s *Simulator) Control() http.Handler {
	incidents, services := fault.IncidentHandler(s.Incident), s.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == fault.IncidentPath {
			incidents.ServeHTTP(w, req)
			return
		}
		services.ServeHTTP(w, req)
	})
}

// Incident makes an incident happen.
func (s *Simulator) Incident(i fault.Incident) error {
	i.Account, i.Region = cmp.Or(i.Account, s.target.Account), cmp.Or(i.Region, s.target.Region)
	return i.Apply(s.instances)
}

// Observer serves all services to tests that compare what exists: reads return what is true, no call
// is refused by chance, and no fault applies. The program under test uses [Simulator.Handler].
func (s *Simulator) Observer() http.Handler {
	handler := s.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		handler.ServeHTTP(w, req.WithContext(wire.WithObserved(req.Context())))
	})
}

// Faults returns the injector that makes calls and resources fail.
func (s *Simulator) Faults() *fault.Injector { return s.faults }

// Seed returns the seed of what is random: Options.Seed, or the one that was chosen.
func (s *Simulator) Seed() uint64 { return s.seed }

// Instances returns the simulated EC2. Tests set its quotas, capacity, images and spot notices from
// Go.
func (s *Simulator) Instances() *ec2.Service { return s.instances }

// Network returns the simulated network of EC2. Tests set its quotas from Go.
func (s *Simulator) Network() *vpc.Service { return s.network }

// Lookup returns the addresses of a name as a resolver on the internet does: of load balancers, and
// of names in public zones. If there is no such name, the error is a [net.DNSError].
func (s *Simulator) Lookup(_ context.Context, name string) ([]netip.Addr, error) {
	found := s.names.Resolve("", name)
	if len(found) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return found, nil
}

// ServeNames answers DNS queries as [Simulator.Lookup] does, for programs in other processes, at a
// free UDP port of loopback until the simulator closes. It returns the address as host:port.
func (s *Simulator) ServeNames(ctx context.Context) (address string, err error) {
	socket, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp4", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for DNS on loopback: %w", err)
	}
	s.closes = append(s.closes, nameserver.Serve(socket, func(name string) []netip.Addr { return s.names.Resolve("", name) }))
	return socket.LocalAddr().String(), nil
}

// Names returns the simulated Route 53.
func (s *Simulator) Names() *route53.Service { return s.names }

var errNoDestination = errors.New("S3 cannot notify the destination")

// destinations are the queues, topics and functions that buckets notify.
type destinations struct {
	sim    *Simulator
	queues *sqs.Service
	topics *sns.Service
}

// MayNotify returns an error if a bucket may not notify a queue, a topic or a function.
func (d destinations) MayNotify(account, bucketARN, target string) error {
	switch parts := strings.Split(target, ":"); {
	case len(parts) > 3 && parts[2] == "sqs":
		return d.queues.MayNotify(account, bucketARN, target)
	case len(parts) > 3 && parts[2] == "sns":
		return d.topics.MayNotify(account, bucketARN, target)
	case len(parts) > 3 && parts[2] == "lambda":
		return d.sim.mayCall(account, bucketARN, target)
	}
	return errNoDestination
}

// mayCall returns an error if no permission of a function lets S3 call it for a bucket.
// https://docs.aws.amazon.com/lambda/latest/dg/with-s3.html
func (s *Simulator) mayCall(account, bucketARN, function string) error {
	at, name := wire.TargetOf(function)
	name = strings.TrimPrefix(name, "function:")
	r := resource.Request{Account: at.Account, Region: at.Region, PhysicalID: name}
	if _, err := s.Read(context.Background(), "AWS::Lambda::Function", r); err != nil {
		return err
	}
	ids, err := s.described.Provider("AWS::Lambda::Permission").(resource.Lister).List(context.Background(), at)
	if err != nil {
		return err
	}
	for _, r.PhysicalID = range ids {
		p, err := s.Read(context.Background(), "AWS::Lambda::Permission", r)
		of := func(property string) string { text, _ := p[property].(string); return text }
		named := of("FunctionName")
		if err == nil && (named == name || named == function) && of("Principal") == "s3.amazonaws.com" &&
			(of("SourceArn") == "" || of("SourceArn") == bucketARN) && (of("SourceAccount") == "" || of("SourceAccount") == account) {
			return nil
		}
	}
	return errNoDestination
}

// Read returns the live properties of a resource of a CloudFormation type, in that type's form, as
// drift detection reads them. The resource need not belong to a stack. The request carries the
// account, the region, and the physical ID, which Ref returns. Types that the physical ID alone
// does not identify also need their identifying properties. If the resource does not exist, the
// error is a [*resource.Error] with the code NotFound.
func (s *Simulator) Read(ctx context.Context, kind string, r resource.Request) (map[string]any, error) {
	p := s.providers[kind]
	if p == nil {
		p = s.described.Provider(kind)
	}
	return p.Read(ctx, r)
}

// Calls returns the number of API calls so far, by "service/Operation".
func (s *Simulator) Calls() map[string]int { return s.faults.Calls() }

// Operations returns the operations that services answer, in alphabetical order, by the services'
// signing names.
func (s *Simulator) Operations() map[string][]string {
	all := make(map[string][]string, len(s.services))
	for _, service := range s.services {
		names := slices.AppendSeq(slices.Concat(all[service.Name], service.HTTPOperations), maps.Keys(service.Operations))
		slices.Sort(names)
		all[service.Name] = slices.Compact(names)
	}
	return all
}

// ResourceTypes returns the CloudFormation types that stacks can have, in alphabetical order.
func (s *Simulator) ResourceTypes() []string { return slices.Sorted(maps.Keys(s.providers)) }

// Close ends the requests that wait, and the machines. The simulator does not serve requests
// afterwards.
func (s *Simulator) Close() {
	s.closed.Do(func() {
		s.cancel()
		for _, fn := range s.closes {
			fn()
		}
	})
}
