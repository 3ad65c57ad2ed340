package route53

import (
	"cmp"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const namespace = "https://route53.amazonaws.com/doc/2013-04-01/"

// VPCs provides the VPCs of private zones.
type VPCs interface {
	VPC(account, region, id string) (vpc.VPC, bool)
}

// Service is the simulated Route 53 of all accounts. It has no regions.
type Service struct {
	env         *resource.Env
	vpcs        VPCs
	propagation time.Duration
	balancers   func(vpcID, name string) []netip.Addr
	wire        *wire.Service

	mu      sync.RWMutex
	zones   map[string]*zone // by id
	changes map[string]*change
}

// Option configures the service.
type Option func(*Service)

// WithPropagation sets how long a change is PENDING. The default is no time.
func WithPropagation(d time.Duration) Option {
	return func(s *Service) { s.propagation = d }
}

// WithBalancers sets the resolver of load balancers' names, which are in AWS's own zones. By
// default they do not resolve.
func WithBalancers(resolve func(vpcID, name string) []netip.Addr) Option {
	return func(s *Service) { s.balancers = resolve }
}

// New returns a service without zones.
func New(env *resource.Env, vpcs VPCs, options ...Option) *Service {
	s := &Service{env: env, vpcs: vpcs, zones: map[string]*zone{}, changes: map[string]*change{}}
	for _, option := range options {
		option(s)
	}
	mux, operations := s.routes()
	item := func(wireName, item string) wire.Name { return wire.Name{Wire: wireName, Item: item} }
	s.wire = &wire.Service{
		Name: "route53", Protocols: []wire.Protocol{wire.RESTXML}, APIVersion: "2013-04-01", XMLNamespace: namespace, WrapsErrors: true,
		Names: map[string]wire.Name{
			"HostedZones": item("HostedZones", "HostedZone"), "HostedZoneSummaries": item("HostedZoneSummaries", "HostedZoneSummary"),
			"NameServers": item("NameServers", "NameServer"), "VPCs": item("VPCs", "VPC"),
			"ResourceRecordSets": item("ResourceRecordSets", "ResourceRecordSet"),
			"ResourceRecords":    item("ResourceRecords", "ResourceRecord"), "Changes": item("Changes", "Change"),
			"Tags":    item("Tags", "Tag"),
			"AddTags": item("AddTags", "Tag"), "RemoveTagKeys": item("RemoveTagKeys", "Key"),
			"ResourceIds":     item("ResourceIds", "ResourceId"),
			"ResourceTagSets": item("ResourceTagSets", "ResourceTagSet"),
		},
		Keys:           s.recordKeys,
		HTTPOperations: slices.Collect(maps.Values(operations)),
		HTTP: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			mux.ServeHTTP(w, trimmed(req))
		}),
		OperationOf: func(req *http.Request) (operation, name string) {
			_, pattern := mux.Handler(trimmed(req))
			parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
			if len(parts) > 2 {
				name = parts[2]
			}
			return cmp.Or(operations[pattern], req.Method), name
		},
	}
	return s
}

// trimmed returns the request without a trailing slash in the path, which older clients send.
func trimmed(req *http.Request) *http.Request {
	if !strings.HasSuffix(req.URL.Path, "/") {
		return req
	}
	c := req.Clone(req.Context())
	c.URL.Path = strings.TrimRight(c.URL.Path, "/")
	c.URL.RawPath = strings.TrimRight(c.URL.RawPath, "/")
	return c
}

// Service returns the service for the wire layer.
func (s *Service) Service() *wire.Service { return s.wire }

// zone is a hosted zone.
type zone struct {
	id, account, name, reference, comment string
	private                               bool
	vpcs                                  []types.VPC
	records                               map[key]*record
	past                                  map[key]pastRecord
	tags                                  map[string]string
	servers                               []string
}

// key identifies a record set in a zone.
type key struct{ name, kind string }

// record is a record set: values, or the alias of another name.
type record struct {
	key

	ttl    int64
	values []string
	alias  *types.AliasTarget
}

type change struct {
	id, account, comment string
	submitted, inSync    time.Time
}

// fqdn returns a name in Route 53's form: in lower case, with a final dot, and with special
// characters as octal codes.
// https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/DomainNameFormat.html
func fqdn(name string) string {
	name = strings.ToLower(strings.TrimSuffix(name, ".")) + "."
	return strings.ReplaceAll(name, "*", `\052`)
}

// trimID removes the kind from an ID: /hostedzone/Z1 becomes Z1.
func trimID(id *string) string {
	s := aws.ToString(id)
	return s[strings.LastIndexByte(s, '/')+1:]
}

// find returns an account's zone.
func (s *Service) find(account string, id *string) (*zone, error) {
	z, ok := s.zones[trimID(id)]
	if !ok || z.account != account {
		return nil, wire.Errorf("NoSuchHostedZone", "No hosted zone found with ID: %s", trimID(id)).WithStatus(http.StatusNotFound)
	}
	return z, nil
}

// sorted returns an account's zones ordered by ID.
func (s *Service) sorted(account string) []*zone {
	var list []*zone
	for _, z := range s.zones {
		if z.account == account {
			list = append(list, z)
		}
	}
	slices.SortFunc(list, func(a, b *zone) int { return cmp.Compare(a.id, b.id) })
	return list
}

// submit records a change and returns it as pending.
func (s *Service) submit(account, comment string) *types.ChangeInfo {
	c := &change{id: "C" + wire.RandomName(20), account: account, comment: comment, submitted: s.env.Clock.Now()}
	c.inSync = c.submitted.Add(s.propagation + s.env.Lag.Draw())
	for id, old := range s.changes {
		if c.submitted.Sub(old.submitted) > time.Hour {
			delete(s.changes, id)
		}
	}
	s.changes[c.id] = c
	info := s.describeChange(c)
	info.Status = types.ChangeStatusPending
	return info
}

func (s *Service) describeChange(c *change) *types.ChangeInfo {
	info := &types.ChangeInfo{
		Id: aws.String("/change/" + c.id), Status: types.ChangeStatusInsync, SubmittedAt: aws.Time(c.submitted),
		Comment: wire.Optional(c.comment),
	}
	if s.env.Clock.Now().Before(c.inSync) {
		info.Status = types.ChangeStatusPending
	}
	return info
}

func invalidInput(format string, args ...any) *wire.Error {
	return wire.Errorf("InvalidInput", format, args...)
}

func unsupported(member string) *wire.Error {
	return invalidInput("The simulator does not support %s.", member)
}

// Zones returns the numbers of zones and record sets that users of an account created, so that
// tests can detect leftovers.
func (s *Service) Zones(account string) (zones, records int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, z := range s.zones {
		if z.account == account {
			zones++
			records += len(z.records) - 2
		}
	}
	return zones, records
}
