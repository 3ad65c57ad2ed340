package elb

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"

	"github.com/aws-operator/aws-operator/internal/simulator/ec2"
	"github.com/aws-operator/aws-operator/internal/simulator/frontend"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Options are the dependencies of classic load balancers.
type Options struct {
	// Compute provides the instances, Networks the subnets and security groups.
	Compute  *ec2.Service
	Networks *vpc.Service
	// Host runs the machines. The default, [machine.Absent], forwards no connections.
	Host machine.Host
	// Frontends are the frontends of all load balancers. The default are those of Host.
	Frontends *frontend.Frontends
	// Quotas are the quotas of load balancers. The default is AWS's.
	Quotas map[vpc.Quota]int
}

// The quotas of classic load balancers. TooManyLoadBalancers is documented; the codes of the others are
// not, nor are any words on record.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/elb-limits.html
const (
	Balancers           vpc.Quota = "ClassicLoadBalancers"
	ListenersOfBalancer vpc.Quota = "ListenersOfClassicLoadBalancer"
	InstancesOfBalancer vpc.Quota = "InstancesOfClassicLoadBalancer"
)

var standardQuotas = map[vpc.Quota]int{Balancers: 20, ListenersOfBalancer: 100, InstancesOfBalancer: 1000}

// within returns an error if there are more than the quota allows.
func (s *Service) within(q vpc.Quota, n int, code, what string) error {
	most, ok := s.options.Quotas[q]
	if !ok {
		most = standardQuotas[q]
	}
	if n > most {
		return wire.Errorf(code, "The maximum number of %s is %d", what, most)
	}
	return nil
}

// Service is the simulated classic load balancing of all accounts and regions.
type Service struct {
	env     *resource.Env
	options Options
	regions wire.Store[region]
}

// region holds the load balancers of one account and region, by name.
type region struct {
	wire.Target

	mu        sync.Mutex
	balancers map[string]*balancer
}

// balancer is a classic load balancer. Its region's lock guards it.
type balancer struct {
	name, dnsName, scheme, vpcID string
	created                      time.Time
	subnets                      map[string]subnet
	securityGroups               []string
	listeners                    []types.Listener
	instances                    []string
	health                       *types.HealthCheck
	attributes                   *types.LoadBalancerAttributes
	tags                         map[string]string
	// frontend is what clients connect to, nil without machines; ports stops its open ports.
	frontend *frontend.Frontend
	ports    map[int32]func()
	// next is the index of the next instance.
	next int
}

// subnet is a subnet with the load balancer's interface in it, and the interface's addresses.
type subnet struct {
	zone, interfaceID string
	private, public   netip.Addr
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
	s.regions.New = func(p wire.Target) *region { return &region{Target: p, balancers: map[string]*balancer{}} }
	return s
}

func (s *Service) at(ctx context.Context) *region { return s.regions.At(wire.TargetFrom(ctx)) }

// pages is the page size.
var pages = wire.PageSize{Standard: 400, Most: 400}

// find returns a load balancer by its name. The caller holds the lock.
func (r *region) find(name *string) (*balancer, error) {
	b, ok := r.balancers[deref(name)]
	if !ok {
		return nil, wire.Errorf("LoadBalancerNotFound", "There is no ACTIVE Load Balancer named '%s'", deref(name))
	}
	return b, nil
}

// on runs fn on a load balancer under its region's lock.
func (s *Service) on(ctx context.Context, name *string, fn func(*region, *balancer) error) error {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	b, err := r.find(name)
	if err != nil {
		return err
	}
	return fn(r, b)
}

func validation(format string, args ...any) *wire.Error {
	return wire.Errorf("ValidationError", format, args...)
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Service returns the operations for the wire layer.
func (s *Service) Service() *wire.Service {
	return &wire.Service{
		Name: "elasticloadbalancing", Describe: s.access, Protocols: []wire.Protocol{wire.Query}, APIVersion: "2012-06-01",
		XMLNamespace: "http://elasticloadbalancing.amazonaws.com/doc/2012-06-01/",
		Operations: map[string]wire.Operation{
			"AddTags":                             wire.Op(s.addTags).WithEmptyResult(),
			"ApplySecurityGroupsToLoadBalancer":   wire.Op(s.applySecurityGroups),
			"AttachLoadBalancerToSubnets":         wire.Op(s.attachSubnets),
			"ConfigureHealthCheck":                wire.Op(s.configureHealthCheck),
			"CreateLoadBalancer":                  wire.Op(s.createLoadBalancer),
			"CreateLoadBalancerListeners":         wire.Op(s.createListeners).WithEmptyResult(),
			"DeleteLoadBalancer":                  wire.Op(s.deleteLoadBalancer).WithEmptyResult(),
			"DeleteLoadBalancerListeners":         wire.Op(s.deleteListeners).WithEmptyResult(),
			"DeregisterInstancesFromLoadBalancer": wire.Op(s.deregisterInstances),
			"DescribeInstanceHealth":              wire.Op(s.describeInstanceHealth),
			"DescribeLoadBalancerAttributes":      wire.Op(s.describeAttributes),
			"DescribeLoadBalancers":               wire.Op(s.describeLoadBalancers),
			"DescribeTags":                        wire.Op(s.describeTags),
			"DetachLoadBalancerFromSubnets":       wire.Op(s.detachSubnets),
			"ModifyLoadBalancerAttributes":        wire.Op(s.modifyAttributes),
			"RegisterInstancesWithLoadBalancer":   wire.Op(s.registerInstances),
			"RemoveTags":                          wire.Op(s.removeTags).WithEmptyResult(),
		},
	}
}
