package vpc

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Quota is a quota of an account in a region.
type Quota string

// The quotas, with EC2's default values.
// https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html
const (
	VPCs             Quota = "VPCs"
	InternetGateways Quota = "InternetGateways"
	ElasticAddresses Quota = "ElasticAddresses"
	NATGateways      Quota = "NATGateways" // per availability zone
	SubnetsOfVPC     Quota = "SubnetsOfVPC"
	RulesOfGroup     Quota = "RulesOfGroup" // per direction
	RoutesOfTable    Quota = "RoutesOfTable"
	EntriesOfACL     Quota = "EntriesOfACL" // per direction
)

var standardQuotas = map[Quota]int{
	VPCs: 5, InternetGateways: 5, ElasticAddresses: 5, NATGateways: 5, SubnetsOfVPC: 200, RulesOfGroup: 60, RoutesOfTable: 500,
	EntriesOfACL: 20,
}

// Service is the network of all accounts and regions.
type Service struct {
	env      *resource.Env
	regions  wire.Store[region]
	quotas   map[Quota]int
	natTakes time.Duration
	defaults bool
	publics  *publicPool

	watchMu  sync.Mutex
	watchers []func()
}

// Option configures the service.
type Option func(*Service)

// WithQuotas sets quotas of all accounts and regions; others keep AWS's default values.
func WithQuotas(quotas map[Quota]int) Option {
	return func(s *Service) { maps.Copy(s.quotas, quotas) }
}

// WithNATLatency sets how long a NAT gateway is pending or deleting. The default is no time.
func WithNATLatency(d time.Duration) Option {
	return func(s *Service) { s.natTakes = d }
}

// New returns an empty service.
func New(env *resource.Env, options ...Option) *Service {
	s := &Service{env: env, quotas: maps.Clone(standardQuotas), publics: newPublicPool()}
	for _, option := range options {
		option(s)
	}
	s.regions.New = s.newRegion
	return s
}

// region holds the resources of one account in one region.
type region struct {
	wire.Target

	service *Service
	tags    *Tags

	mu          sync.Mutex
	quotas      map[Quota]int
	vpcs        table[*vpc]
	subnets     table[*subnet]
	routeTables table[*routeTable]
	gateways    table[*gateway]
	egress      table[*egressGateway]
	nats        table[*nat]
	addresses   table[*address]
	groups      table[*group]
	interfaces  table[*networkInterface]
	endpoints   table[*endpoint]
	dhcp        table[*dhcpOptions]
	acls        table[*acl]
	answers     map[string]answer   // of calls with a client token
	standard    *dhcpOptions        // the default for VPCs
	ruleGroups  map[string]*group   // the group of each rule, by the rule's id
	templated   map[string][]string // keys of tags that come from a template, by id
}

func (s *Service) newRegion(p wire.Target) *region {
	r := &region{
		Target: p, service: s, tags: &Tags{ids: map[string]*tagged{}, having: map[tag]map[string]struct{}{}},
		quotas: maps.Clone(standardQuotas), templated: map[string][]string{}, answers: map[string]answer{}, ruleGroups: map[string]*group{},
		vpcs: newTable[*vpc](), subnets: newTable[*subnet](), routeTables: newTable[*routeTable](), gateways: newTable[*gateway](),
		egress: newTable[*egressGateway](), nats: newTable[*nat](), addresses: newTable[*address](), groups: newTable[*group](),
		interfaces: newTable[*networkInterface](), endpoints: newTable[*endpoint](), dhcp: newTable[*dhcpOptions](), acls: newTable[*acl](),
	}
	if s.defaults {
		if err := r.addDefaultVPC(); err != nil {
			panic(fmt.Sprintf("the default VPC of %v: %v", p, err)) // It does not depend on user input.
		}
	}
	r.quotas = maps.Clone(s.quotas)
	return r
}

func (s *Service) lock(p wire.Target) (*region, func()) {
	r := s.regions.At(p)
	r.mu.Lock()
	return r, func() {
		r.mu.Unlock()
		s.notify()
	}
}

// reading locks a region for an operation that changes nothing.
func (s *Service) reading(p wire.Target) (*region, func()) {
	r := s.regions.At(p)
	r.mu.Lock()
	return r, r.mu.Unlock
}

func (r *region) partition() string { return cmp.Or(r.service.env.Partition, "aws") }

func (r *region) now() time.Time { return r.service.env.Clock.Now() }

// within returns an error with the code if n resources exhaust the quota.
func (r *region) within(q Quota, n int, code, message string) error {
	if n >= r.quotas[q] {
		return wire.Errorf(code, "%s", message)
	}
	return nil
}

// op makes an operation from a function on the caller's region. A dry run returns AWS's error for a
// caller with permission.
func op[I, O any](s *Service, fn func(*region, *I) (*O, error)) wire.Operation {
	return wire.Op(func(ctx context.Context, in *I) (*O, error) {
		if f := reflect.ValueOf(in).Elem().FieldByName("DryRun"); f.IsValid() && f.Kind() == reflect.Pointer && !f.IsNil() &&
			f.Elem().Bool() {
			return nil, wire.Errorf("DryRunOperation", "Request would have succeeded, but DryRun flag is set.").WithStatus(412)
		}
		if err := refuse(in); err != nil {
			return nil, err
		}
		r := s.regions.At(wire.TargetFrom(ctx))
		if strings.HasPrefix(reflect.TypeOf(*in).Name(), "Describe") {
			r.mu.Lock()
			defer r.mu.Unlock()
			return once(r, in, fn)
		}
		defer s.notify()
		r.mu.Lock()
		defer r.mu.Unlock()
		return once(r, in, fn)
	})
}

// publicPool allocates public addresses, which are unique across accounts.
type publicPool struct {
	mu   sync.Mutex
	next netip.Addr
	used map[netip.Addr]bool
}

// publicRange is reserved for benchmarks: https://www.rfc-editor.org/rfc/rfc2544
var publicRange = netip.MustParsePrefix("198.18.0.0/15")

func newPublicPool() *publicPool {
	return &publicPool{next: publicRange.Addr().Next(), used: map[netip.Addr]bool{}}
}

func (p *publicPool) take() (netip.Addr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range 1 << (32 - publicRange.Bits()) {
		a := p.next
		if p.next = a.Next(); !publicRange.Contains(p.next) {
			p.next = publicRange.Addr().Next()
		}
		if !p.used[a] {
			p.used[a] = true
			return a, nil
		}
	}
	return netip.Addr{}, wire.Errorf("InsufficientAddressCapacity", "Not enough addresses available.").WithStatus(500)
}

func (p *publicPool) release(a netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, a)
}
