package vpc

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"sync"
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator/place"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Quota is something of which an account may have only so many in a region.
type Quota string

// The quotas, with EC2's own standard values.
// https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html
const (
	VPCs             Quota = "VPCs"
	InternetGateways Quota = "InternetGateways"
	ElasticAddresses Quota = "ElasticAddresses"
	NATGateways      Quota = "NATGateways" // of an availability zone
	SubnetsOfVPC     Quota = "SubnetsOfVPC"
	RulesOfGroup     Quota = "RulesOfGroup" // in each direction
)

var standardQuotas = map[Quota]int{
	VPCs: 5, InternetGateways: 5, ElasticAddresses: 5, NATGateways: 5, SubnetsOfVPC: 200, RulesOfGroup: 60,
}

// Service is the network of all accounts and regions.
type Service struct {
	env      *resource.Env
	regions  place.Store[region]
	quotas   map[Quota]int
	natTakes time.Duration
	defaults bool
	publics  *publicPool
}

// Option changes the service.
type Option func(*Service)

// WithQuotas sets quotas of all accounts and regions; those not in the map keep
// AWS's standard value.
func WithQuotas(quotas map[Quota]int) Option {
	return func(s *Service) { maps.Copy(s.quotas, quotas) }
}

// WithNATLatency says how long a NAT gateway is pending, and deleting; no time
// unless set.
func WithNATLatency(d time.Duration) Option {
	return func(s *Service) { s.natTakes = d }
}

// New returns the service without anything in it.
func New(env *resource.Env, options ...Option) *Service {
	s := &Service{env: env, quotas: maps.Clone(standardQuotas), publics: newPublicPool()}
	for _, option := range options {
		option(s)
	}
	s.regions.New = s.newRegion
	return s
}

// region holds what one account has in one region.
type region struct {
	place.Place

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
	standard    *dhcpOptions        // what VPCs have that were not given others
	ruleGroups  map[string]*group   // the group of each rule, by the rule's id
	templated   map[string][]string // keys of tags that come from a template, by id
}

func (s *Service) newRegion(p place.Place) *region {
	r := &region{
		Place: p, service: s, tags: &Tags{ids: map[string]*tagged{}, having: map[tag]map[string]struct{}{}}, quotas: maps.Clone(standardQuotas), templated: map[string][]string{}, answers: map[string]answer{}, ruleGroups: map[string]*group{},
		vpcs: newTable[*vpc](), subnets: newTable[*subnet](), routeTables: newTable[*routeTable](), gateways: newTable[*gateway](),
		egress: newTable[*egressGateway](), nats: newTable[*nat](), addresses: newTable[*address](), groups: newTable[*group](),
		interfaces: newTable[*networkInterface](), endpoints: newTable[*endpoint](), dhcp: newTable[*dhcpOptions](), acls: newTable[*acl](),
	}
	if s.defaults {
		if err := r.addDefaultVPC(); err != nil {
			panic(fmt.Sprintf("the default VPC of %v: %v", p, err)) // It depends on nothing that others choose.
		}
	}
	r.quotas = maps.Clone(s.quotas)
	return r
}

func (s *Service) lock(p place.Place) (*region, func()) {
	r := s.regions.At(p)
	r.mu.Lock()
	return r, r.mu.Unlock
}

func (r *region) partition() string { return cmp.Or(r.service.env.Partition, "aws") }

func (r *region) now() time.Time { return r.service.env.Clock.Now() }

// within errs with the code when there are n of something already and no more
// may be.
func (r *region) within(q Quota, n int, code, message string) error {
	if n >= r.quotas[q] {
		return wire.Errorf(code, "%s", message)
	}
	return nil
}

// op makes an operation of a function on what the caller has. A dry run is
// answered with what AWS answers a caller that may do it.
func op[I, O any](s *Service, fn func(*region, *I) (*O, error)) wire.Operation {
	return wire.Op(func(ctx context.Context, in *I) (*O, error) {
		if f := reflect.ValueOf(in).Elem().FieldByName("DryRun"); f.IsValid() && f.Kind() == reflect.Pointer && !f.IsNil() && f.Elem().Bool() {
			return nil, wire.Errorf("DryRunOperation", "Request would have succeeded, but DryRun flag is set.").WithStatus(412)
		}
		if err := refuse(in); err != nil {
			return nil, err
		}
		r, unlock := s.lock(place.Of(ctx))
		defer unlock()
		return once(r, in, fn)
	})
}

// publicPool gives out public addresses. No two accounts have the same.
type publicPool struct {
	mu   sync.Mutex
	next netip.Addr
	used map[netip.Addr]bool
}

// publicRange is set aside for benchmarks: https://www.rfc-editor.org/rfc/rfc2544
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

func (p *publicPool) give(a netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, a)
}
