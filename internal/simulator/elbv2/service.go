package elbv2

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/ec2"
	"github.com/aws-operator/aws-operator/internal/simulator/frontend"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Options are the dependencies and settings of load balancers.
type Options struct {
	// Compute provides the instances that are targets.
	Compute *ec2.Service
	// Networks provides the subnets and security groups.
	Networks *vpc.Service
	// Host runs the machines. The default, [machine.Absent], forwards no connections.
	Host machine.Host
	// Patience is the longest that the service waits between health checks and for a
	// deregistration. The default is AWS's times, which users set on their target groups.
	Patience time.Duration
	// Quotas limit the load balancers ([LoadBalancers]) of an account in a region. The default is
	// AWS's.
	Quotas map[vpc.Quota]int
	// Provisioning is how long a load balancer is "provisioning". The default is no time.
	Provisioning time.Duration
	// Frontends are the frontends of all load balancers. The default are those of Host.
	Frontends *frontend.Frontends
}

// Service is the simulated Elastic Load Balancing of all accounts and regions.
type Service struct {
	env     *resource.Env
	options Options
	regions wire.Store[region]
	// ctx ends forwarding and checks when the service closes; life guards its end, so that no work
	// starts afterwards.
	ctx    context.Context //nolint:containedctx // the service's lifetime
	cancel context.CancelFunc
	life   sync.Mutex
	work   sync.WaitGroup
	// probing outlives the calls that start it, so it uses the service's context.
	probing func(t *target, epoch int)

	watchMu  sync.Mutex
	watchers []func(instanceID string)
}

// region holds what one account has in one region.
type region struct {
	wire.Target

	mu        sync.Mutex
	balancers map[string]*balancer
	groups    map[string]*targetGroup
	// machines are the targets on each instance.
	machines map[string][]*target
}

// New returns a service without load balancers.
func New(env *resource.Env, options Options) *Service {
	if options.Host == nil {
		options.Host = machine.Absent{}
	}
	if options.Frontends == nil {
		options.Frontends = frontend.New(options.Host, nil)
	}
	s := &Service{env: env, options: options}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.probing = s.probe
	s.regions.New = func(p wire.Target) *region {
		return &region{Target: p, balancers: map[string]*balancer{}, groups: map[string]*targetGroup{}, machines: map[string][]*target{}}
	}
	options.Compute.Watch(s.instanceChanged)
	return s
}

// Close ends all connections and checks.
func (s *Service) Close() {
	s.life.Lock()
	s.cancel()
	s.life.Unlock()
	for _, r := range s.regions.All() {
		r.mu.Lock()
		for _, b := range r.balancers {
			b.stop()
		}
		for _, g := range r.groups {
			for _, t := range g.targets {
				t.stop()
			}
		}
		r.mu.Unlock()
	}
	s.options.Frontends.Close()
	s.work.Wait()
}

// begin runs fn in the background, unless the service is closed.
func (s *Service) begin(fn func()) {
	s.life.Lock()
	defer s.life.Unlock()
	if s.ctx.Err() == nil {
		s.work.Go(fn)
	}
}

// forwards reports whether there are machines to forward to.
func (s *Service) forwards() bool {
	_, absent := s.options.Host.(machine.Absent)
	return !absent
}

func (s *Service) partition() string { return cmp.Or(s.env.Partition, "aws") }

func (s *Service) now() time.Time { return s.env.Clock.Now() }

func (s *Service) at(ctx context.Context) *region { return s.regions.At(wire.TargetFrom(ctx)) }

func (r *region) arn(s *Service, resource string) string {
	return r.ARN(s.partition(), "elasticloadbalancing", resource)
}

// Watch calls fn with the ID of an instance whenever its health in a target group changes. Call
// Watch before the first registration.
func (s *Service) Watch(fn func(instanceID string)) {
	s.watchMu.Lock()
	defer s.watchMu.Unlock()
	s.watchers = append(s.watchers, fn)
}

// notify notifies the watchers. It must be called without locks.
func (s *Service) notify(t *target) {
	s.watchMu.Lock()
	watchers := slices.Clone(s.watchers)
	s.watchMu.Unlock()
	for _, fn := range watchers {
		fn(t.machine)
	}
}

// Exists reports whether a target group exists.
func (s *Service) Exists(account, region, targetGroup string) bool {
	r := s.regions.At(wire.Target{Account: account, Region: region})
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.groups[targetGroup]
	return ok
}

// Register adds an instance to a target group, on the group's port. It returns an error if the
// target group does not exist or the instance cannot be one of its targets.
func (s *Service) Register(account, region, targetGroup, instanceID string) error {
	r := s.regions.At(wire.Target{Account: account, Region: region})
	return s.register(r, targetGroup, []types.TargetDescription{{Id: &instanceID}})
}

// Deregister removes an instance from a target group, on every port.
func (s *Service) Deregister(account, region, targetGroup, instanceID string) error {
	r := s.regions.At(wire.Target{Account: account, Region: region})
	return s.deregister(r, targetGroup, []types.TargetDescription{{Id: &instanceID}})
}

// Health returns the health of an instance in a target group, the worst of its ports; "unused" if
// it is not registered.
func (s *Service) Health(account, region, targetGroup, instanceID string) types.TargetHealthStateEnum {
	r := s.regions.At(wire.Target{Account: account, Region: region})
	r.mu.Lock()
	defer r.mu.Unlock()
	state := types.TargetHealthStateEnumUnused
	g, ok := r.groups[targetGroup]
	if !ok {
		return state
	}
	for _, t := range g.targets {
		if t.id == instanceID && rank(t.state) > rank(state) {
			state = t.state
		}
	}
	return state
}

// rank orders health states by precedence, lowest first.
func rank(state types.TargetHealthStateEnum) int {
	return slices.Index([]types.TargetHealthStateEnum{
		types.TargetHealthStateEnumUnused, types.TargetHealthStateEnumHealthy, types.TargetHealthStateEnumInitial,
		types.TargetHealthStateEnumUnhealthy, types.TargetHealthStateEnumDraining,
	}, state)
}

// Balancer returns the DNS name of a load balancer, for alias records.
func (s *Service) Balancer(account, region, arn string) (dnsName string, ok bool) {
	r := s.regions.At(wire.Target{Account: account, Region: region})
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.balancers[arn]
	if !ok {
		return "", false
	}
	return b.dnsName, true
}

func validation(format string, args ...any) *wire.Error {
	return wire.Errorf("ValidationError", format, args...)
}

func unsupported(what string) *wire.Error {
	return wire.Errorf("UnsupportedFeature", "The simulator does not support %s.", what)
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// sortedKeys returns the sorted keys of a map.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// nameOf validates the name of a load balancer or a target group.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateLoadBalancer.html
func nameOf(name *string, what string) (string, error) {
	n := deref(name)
	switch {
	case n == "":
		return "", validation("1 validation error detected: Value null at 'name' failed to satisfy constraint: Member must not be null")
	case len(n) > 32:
		return "", validation("The %s name '%s' cannot be longer than '32' characters", what, n)
	case strings.Trim(n, "-") != n:
		return "", validation("The %s name '%s' cannot begin or end with a hyphen", what, n)
	case strings.ContainsFunc(n, func(c rune) bool {
		return c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}):
		return "", validation("The %s name '%s' can only contain characters that are alphanumeric characters and hyphens(-)", what, n)
	}
	return n, nil
}

// Service returns the operations for the wire layer.
func (s *Service) Service() *wire.Service {
	return &wire.Service{
		Name: "elasticloadbalancing", Describe: s.access, NameOf: newListeners, Protocols: []wire.Protocol{wire.Query}, APIVersion: "2015-12-01",
		XMLNamespace: "http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/",
		Operations: map[string]wire.Operation{
			"AddTags":                        wire.Op(s.addTags).WithEmptyResult(),
			"CreateListener":                 wire.Op(s.createListener),
			"CreateLoadBalancer":             wire.Op(s.createLoadBalancer),
			"CreateTargetGroup":              wire.Op(s.createTargetGroup),
			"DeleteListener":                 wire.Op(s.deleteListener).WithEmptyResult(),
			"DeleteLoadBalancer":             wire.Op(s.deleteLoadBalancer).WithEmptyResult(),
			"DeleteTargetGroup":              wire.Op(s.deleteTargetGroup).WithEmptyResult(),
			"DeregisterTargets":              wire.Op(s.deregisterTargets).WithEmptyResult(),
			"DescribeAccountLimits":          wire.Op(s.describeAccountLimits),
			"DescribeListenerAttributes":     wire.Op(s.describeListenerAttributes),
			"DescribeListeners":              wire.Op(s.describeListeners),
			"DescribeLoadBalancerAttributes": wire.Op(s.describeLoadBalancerAttributes),
			"DescribeLoadBalancers":          wire.Op(s.describeLoadBalancers),
			"DescribeTags":                   wire.Op(s.describeTags),
			"DescribeTargetGroupAttributes":  wire.Op(s.describeTargetGroupAttributes),
			"DescribeTargetGroups":           wire.Op(s.describeTargetGroups),
			"DescribeTargetHealth":           wire.Op(s.describeTargetHealth),
			"ModifyListener":                 wire.Op(s.modifyListener),
			"ModifyListenerAttributes":       wire.Op(s.modifyListenerAttributes),
			"ModifyLoadBalancerAttributes":   wire.Op(s.modifyLoadBalancerAttributes),
			"ModifyTargetGroup":              wire.Op(s.modifyTargetGroup),
			"ModifyTargetGroupAttributes":    wire.Op(s.modifyTargetGroupAttributes),
			"RegisterTargets":                wire.Op(s.registerTargets).WithEmptyResult(),
			"RemoveTags":                     wire.Op(s.removeTags).WithEmptyResult(),
			"SetSecurityGroups":              wire.Op(s.setSecurityGroups),
			"SetSubnets":                     wire.Op(s.setSubnets),
		},
	}
}
