package eks

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/simulator/ec2"
	"github.com/aws-operator/aws-operator/internal/simulator/kms"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Options are the dependencies and settings of the service.
type Options struct {
	// Networks provides the subnets and security groups, Instances the images and instances.
	Networks  *vpc.Service
	Instances *ec2.Service
	// EC2, Groups and IAM are the APIs in which node groups exist: EC2's, Auto Scaling's and IAM's.
	EC2, Groups, IAM *wire.Service
	// Ciphers provides the keys that encrypt secrets.
	Ciphers *kms.Service
	// AWS serves STS, which verifies tokens.
	AWS func() http.Handler
	// Endpoint returns the address of the simulator, which tokens may name in place of STS.
	Endpoint func() string
	// Host runs the control planes if it implements [machine.ControlPlanes].
	Host machine.Host
	// Provisioning is how long a change of a cluster, node group or add-on takes at least. The default
	// is no time.
	Provisioning time.Duration
}

// Nodes is a [machine.ControlPlanes] that reports whether instances are nodes. With one, a node group
// is active when its instances are ready, not when they run.
type Nodes interface {
	machine.ControlPlanes
	// NodeReady reports whether an instance is a node of a cluster and ready.
	NodeReady(key machine.ControlPlaneKey, instanceID string) bool
}

// Service is the simulated EKS of all accounts and regions.
type Service struct {
	env     *resource.Env
	options Options
	regions wire.Store[region]

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
}

// region holds the clusters of one account in one region.
type region struct {
	wire.Target

	mu       sync.Mutex
	clusters map[string]*cluster
	timer    clock.Timer // nil if nothing is due
}

// tick is the time between two looks at what changes without a call.
const tick = 200 * time.Millisecond

// New returns a service without clusters.
func New(env *resource.Env, options Options) *Service {
	if options.Host == nil {
		options.Host = machine.Absent{}
	}
	s := &Service{env: env, options: options}
	s.regions.New = func(at wire.Target) *region { return &region{Target: at, clusters: map[string]*cluster{}} }
	return s
}

// Close ends all work in the background. It does not end control planes, which the host does.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	for _, r := range s.regions.All() {
		r.mu.Lock()
		if r.timer != nil {
			r.timer.Stop()
		}
		r.mu.Unlock()
	}
	s.work.Wait()
}

// begin runs fn in the background, unless the service is closed.
func (s *Service) begin(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.work.Go(fn)
	}
}

func (s *Service) now() time.Time { return s.env.Clock.Now() }

func (s *Service) partition() string { return cmp.Or(s.env.Partition, "aws") }

// due returns when a change that begins now takes effect.
func (s *Service) due() time.Time { return s.now().Add(s.options.Provisioning) }

// here returns the region of a call, locked and up to date. The caller unlocks it with leave.
func (s *Service) here(ctx context.Context) *region { return s.enter(wire.TargetFrom(ctx)) }

func (s *Service) enter(at wire.Target) *region {
	r := s.regions.At(at)
	r.mu.Lock()
	s.settle(r)
	return r
}

// leave unlocks a region, and lets the timer finish what has begun.
func (s *Service) leave(r *region) {
	s.arm(r)
	r.mu.Unlock()
}

// arm starts the timer of a region if something changes. The caller holds the lock.
func (s *Service) arm(r *region) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed || r.timer != nil || !r.changing() {
		return
	}
	r.timer = s.env.Clock.AfterFunc(tick, func() {
		s.begin(func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.timer = nil
			s.settle(r)
			s.arm(r)
		})
	})
}

// changing reports whether something will change without a call.
func (r *region) changing() bool {
	for _, c := range r.clusters {
		if c.changing() {
			return true
		}
	}
	return false
}

// acting returns the context in which EKS calls other services for an account: by its service-linked
// role.
// https://docs.aws.amazon.com/eks/latest/userguide/using-service-linked-roles.html
func (s *Service) acting(at wire.Target) context.Context {
	arn := "arn:" + s.partition() + ":sts::" + at.Account + ":assumed-role/AWSServiceRoleForAmazonEKSNodegroup/EKS"
	return wire.WithCall(context.Background(), &wire.Call{Account: at.Account, Region: at.Region, Principal: arn, Service: "eks"})
}

// name of the members of errors that name what a call was for.
const (
	memberCluster   = "clusterName"
	memberNodegroup = "nodegroupName"
	memberAddon     = "addonName"
)

// The errors. All have the name of what they are about, as AWS's have.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html#API_CreateCluster_Errors
func refuse(code string, status int, names map[string]string, format string, args []any) *wire.Error {
	return &wire.Error{Code: code, Message: fmt.Sprintf(format, args...), Status: status, Detail: names}
}

func about(cluster string) map[string]string {
	if cluster == "" {
		return nil
	}
	return map[string]string{memberCluster: cluster}
}

func invalidParameter(cluster, format string, args ...any) *wire.Error {
	return refuse("InvalidParameterException", http.StatusBadRequest, about(cluster), format, args)
}

func invalidRequest(cluster, format string, args ...any) *wire.Error {
	return refuse("InvalidRequestException", http.StatusBadRequest, about(cluster), format, args)
}

func inUse(cluster, format string, args ...any) *wire.Error {
	return refuse("ResourceInUseException", http.StatusConflict, about(cluster), format, args)
}

func notFound(cluster, format string, args ...any) *wire.Error {
	return refuse("ResourceNotFoundException", http.StatusNotFound, about(cluster), format, args)
}

// unsupported is the error of what AWS has and the simulator does not.
func unsupported(cluster, member string) *wire.Error {
	return invalidParameter(cluster, "The simulator does not support %s.", member)
}

// find returns a cluster by its name. The caller holds the lock.
func (r *region) find(name *string) (*cluster, error) {
	c, ok := r.clusters[value(name)]
	if !ok {
		return nil, notFound("", "No cluster found for name: %s.", value(name))
	}
	return c, nil
}

// active returns a cluster that can change.
func (r *region) active(name *string) (*cluster, error) {
	c, err := r.find(name)
	if err != nil {
		return nil, err
	}
	if c.Status != types.ClusterStatusActive && c.Status != types.ClusterStatusUpdating {
		return nil, invalidRequest(*name, "Cluster '%s' is not in ACTIVE status", *name)
	}
	return c, nil
}

// value returns what a pointer points at, or the zero value.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// or returns a pointer, or a pointer to a default value.
func or[T any](p *T, standard T) *T {
	if p != nil {
		return p
	}
	return &standard
}

// pages is the size of the pages of all lists.
// https://docs.aws.amazon.com/eks/latest/APIReference/API_ListClusters.html
var pages = wire.PageSize{Standard: 100, Most: 100}

// page returns a page of names.
func page(names []string, token *string, asked *int32) (found []string, next *string, err error) {
	if asked != nil && (*asked < 1 || *asked > 100) {
		return nil, nil, invalidParameter("", "maxResults must be between 1 and 100, not %d", *asked)
	}
	found, next = pages.Page(names, token, asked)
	if found == nil {
		found = []string{}
	}
	return found, next, nil
}
