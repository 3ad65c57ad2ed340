package ec2

import (
	"cmp"
	"context"
	"maps"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/ec2names"
	"github.com/aws-operator/aws-operator/internal/simulator/iam"
	"github.com/aws-operator/aws-operator/internal/simulator/kms"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Options are the dependencies and delays of instances.
type Options struct {
	// Host runs the machines. The default is [machine.Absent].
	Host machine.Host
	// Profiles provides the instance profiles, Ciphers the keys of encrypted volumes.
	Profiles *iam.Service
	Ciphers  *kms.Service
	// Keys issues the credentials of instances.
	Keys *wire.Keys
	// Publish emits an event on the default bus. By default events are dropped.
	Publish func(ctx context.Context, account, region, source, detailType string, resources []string, detail any)
	// Quotas limit the launch templates ([Templates]) of an account in a region and the versions of
	// each ([VersionsOfTemplate]). The default is AWS's.
	Quotas map[vpc.Quota]int
	// Latency returns how long a change of state takes in addition to the host's time: "pending",
	// "stopping", "shutting-down". The default is no time.
	Latency func(state string) time.Duration
}

// Service is the simulated EC2 of all accounts and regions.
type Service struct {
	env       *resource.Env
	network   *vpc.Service
	options   Options
	regions   wire.Store[region]
	images    images
	ctx       context.Context //nolint:containedctx // for emitting events until the service closes
	cancel    context.CancelFunc
	scarce    scarcity
	snapshots snapshotting

	runner  runner
	notices line

	mu       sync.Mutex
	watchers []func(Instance)
}

// region holds the resources of an account in a region.
type region struct {
	wire.Target

	mu        sync.Mutex
	instances map[string]*instance
	volumes   map[string]*volume
	created   map[string]creation // volumes that were created, also those that are deleted, by client token
	snapshots map[string]*snapshot
	images    map[string]*types.Image // the account's own
	templates map[string]*launchTemplate
	keyPairs  map[string]*keyPair             // by name
	placement map[string]*placementGroup      // by name
	capacity  map[string]*capacityReservation // by ID
	launches  map[string]*reservation         // by client token
	fleets    map[string]*madeFleet           // by client token
	plugged   map[string]map[*volume]struct{} // by instance
	ended     []*instance                     // terminated, the earliest first
	quota     map[bool]int                    // vCPUs, by whether they are spot

	deregistered map[string]time.Time // when images were deregistered, by ID

	capacityGroups map[string][]string // IDs of capacity reservations, by the ARN of their resource group
}

// New returns a service without instances.
func New(env *resource.Env, network *vpc.Service, o Options) *Service {
	if o.Host == nil {
		o.Host = machine.Absent{}
	}
	if o.Keys == nil {
		o.Keys = &wire.Keys{}
	}
	s := &Service{env: env, network: network, options: o, runner: runner{clock: env.Clock}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.regions.New = func(p wire.Target) *region {
		return &region{
			Target: p, instances: map[string]*instance{}, volumes: map[string]*volume{}, created: map[string]creation{},
			snapshots: map[string]*snapshot{},
			templates: map[string]*launchTemplate{}, keyPairs: map[string]*keyPair{}, launches: map[string]*reservation{},
			placement: map[string]*placementGroup{}, capacity: map[string]*capacityReservation{}, capacityGroups: map[string][]string{},
			fleets: map[string]*madeFleet{}, images: map[string]*types.Image{}, deregistered: map[string]time.Time{},
			quota: map[bool]int{}, plugged: map[string]map[*volume]struct{}{},
		}
	}
	return s
}

func (s *Service) partition() string { return cmp.Or(s.env.Partition, "aws") }

// Service returns the operations for the wire layer, on instances and on networks.
func (s *Service) Service() *wire.Service {
	operations := map[string]wire.Operation{}
	for _, some := range []map[string]wire.Operation{
		s.network.Operations(), s.instanceOperations(), s.attributeOperations(), s.catalogOperations(), s.volumeOperations(),
		s.imageOperations(),
		s.templateOperations(), s.keyPairOperations(), s.placementOperations(), s.capacityOperations(),
	} {
		maps.Copy(operations, some)
	}
	return &wire.Service{
		Name: "ec2", DescribeAt: s.access, NameOf: s.nameOf, Protocols: []wire.Protocol{wire.EC2Query}, APIVersion: "2016-11-15",
		XMLNamespace: "http://ec2.amazonaws.com/doc/2016-11-15/", Names: ec2names.Names(), Operations: operations,
	}
}

// locked returns the state of an account and region, locked and without expired instances.
func (s *Service) locked(p wire.Target) *region {
	r := s.regions.At(p)
	r.mu.Lock()
	s.sweep(r)
	return r
}

// here returns the state of the account and region of a call, locked.
func (s *Service) here(ctx context.Context) *region { return s.locked(wire.TargetFrom(ctx)) }

func (s *Service) latency(state string) time.Duration {
	if s.options.Latency == nil {
		return 0
	}
	return s.options.Latency(state)
}

// Watch calls fn, in order, after every change of an instance's state, health or risk. fn may call
// the service. Call Watch before the first launch.
func (s *Service) Watch(fn func(Instance)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers = append(s.watchers, fn)
}

// announce notifies the watchers and the event bus of a new state. The caller holds the region's
// lock.
func (s *Service) announce(i *instance) {
	view := s.view(i)
	s.runner.add(&s.notices, func() { s.publishState(view) })
	s.notify(i)
}

// notify notifies the watchers of an instance's state. The caller holds the region's lock.
func (s *Service) notify(i *instance) {
	view := s.view(i)
	s.runner.add(&s.notices, func() {
		s.mu.Lock()
		watchers := s.watchers
		s.mu.Unlock()
		for _, fn := range watchers {
			fn(view.clone())
		}
	})
}

// Close cancels delayed tasks, and then ends all machines.
func (s *Service) Close() {
	s.runner.stop()
	s.options.Host.Close()
	s.runner.wait()
	s.cancel()
}
