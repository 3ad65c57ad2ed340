package simulated

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Store holds the simulated resources of all accounts and regions.
type Store struct {
	registry *schema.Registry
	shards   sync.Map // shardKey → *shard
	// cloudFront serializes the changes of resources of CloudFront that depend on each other.
	cloudFront sync.Mutex
}

type shardKey struct{ account, region, resourceType string }

type shard struct {
	mu    sync.Mutex
	items map[string]*item // by primary identifier
	// revisions are the numbers of resources that each family has had.
	revisions map[string]int
}

// revision returns the next revision of a family. Revisions are not used again: "The revision is a version number
// of a task in a family", which each registration increments.
// https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_TaskDefinition.html
func (sh *shard) revision(family string) int {
	sh.revisions[family]++
	return sh.revisions[family]
}

// find returns the resource with a primary identifier, or the one whose Ref is the physical ID and whose
// primary identifier has the request's properties.
func (sh *shard) find(t *schema.Type, r resource.Request) (identifier string, it *item) {
	if it, ok := sh.items[r.PhysicalID]; ok {
		return r.PhysicalID, it
	}
	for identifier, it := range sh.items {
		if it.ref == r.PhysicalID && it.isIdentified(t, r.Properties) {
			return identifier, it
		}
	}
	return "", nil
}

// isIdentified reports whether a resource has the values of the properties that identify it.
func (it *item) isIdentified(t *schema.Type, properties map[string]any) bool {
	for _, path := range t.PrimaryIdentifier {
		own := it.attributes[dotted(path)]
		if value := at(properties, path); value != nil && fmt.Sprint(value) != fmt.Sprint(own) {
			return false
		}
	}
	return true
}

// item is one simulated resource.
type item struct {
	ref        string
	properties map[string]any
	attributes map[string]any
}

// NewStore returns an empty store.
func NewStore(registry *schema.Registry) *Store { return &Store{registry: registry} }

func (s *Store) shard(r resource.Request, resourceType string) *shard {
	key := shardKey{account: r.Account, region: r.Region, resourceType: resourceType}
	if isGlobal(resourceType) {
		key.region = ""
	}
	if v, ok := s.shards.Load(key); ok {
		return v.(*shard)
	}
	v, _ := s.shards.LoadOrStore(key, &shard{items: map[string]*item{}, revisions: map[string]int{}})
	return v.(*shard)
}

// Provider returns the provider of a type.
func (s *Store) Provider(resourceType string) resource.Provider {
	p := &provider{store: s, resourceType: resourceType}
	switch resourceType {
	case cacheClusterType:
		return &cacheCluster{provider: p}
	case distributionType:
		return &distribution{provider: p}
	case accessControlType:
		return &accessControl{provider: p}
	}
	return p
}

// Change edits a simulated resource without CloudFormation, so that it drifts. It reports whether
// the resource exists.
func (s *Store) Change(account, region, resourceType, physicalID string, edit func(properties map[string]any)) bool {
	sh := s.shard(resource.Request{Account: account, Region: region}, resourceType)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	it, ok := sh.items[physicalID]
	if !ok {
		return false
	}
	properties := maps.Clone(it.properties)
	edit(properties)
	it.properties = properties
	return true
}

// Remove deletes a simulated resource without CloudFormation. It reports whether the resource
// existed.
func (s *Store) Remove(account, region, resourceType, physicalID string) bool {
	sh := s.shard(resource.Request{Account: account, Region: region}, resourceType)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	_, ok := sh.items[physicalID]
	delete(sh.items, physicalID)
	return ok
}

// Len counts the simulated resources of a type.
func (s *Store) Len(account, region, resourceType string) int {
	sh := s.shard(resource.Request{Account: account, Region: region}, resourceType)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return len(sh.items)
}

// provider implements [resource.Provider] for one type.
type provider struct {
	store        *Store
	resourceType string
}

func (p *provider) schema() (*schema.Type, error) {
	t, ok := p.store.registry.Type(p.resourceType)
	if !ok {
		return nil, resource.Errorf(resource.InvalidRequest, "Resource type %s is not supported", p.resourceType)
	}
	return t, nil
}

// Create generates the resource's identifier and attributes and stores the resource.
func (p *provider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	t, err := p.schema()
	if err != nil {
		return resource.Result{}, err
	}
	if err := refuse(p.resourceType, r.Properties, nil); err != nil {
		return resource.Result{}, err
	}
	sh := p.store.shard(r, p.resourceType)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	made := identify(t, r, sh.revision)
	if _, exists := sh.items[made.identifier]; exists {
		return resource.Result{}, resource.Errorf(resource.AlreadyExists,
			"Resource of type '%s' with identifier '%s' already exists.", p.resourceType, made.identifier)
	}
	sh.items[made.identifier] = &item{ref: made.PhysicalID, properties: r.Properties, attributes: made.Attributes}
	return made.Result, nil
}

// Update replaces the properties and keeps the identifier and generated attributes.
func (p *provider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	t, err := p.schema()
	if err != nil {
		return resource.Result{}, err
	}
	sh := p.store.shard(r, p.resourceType)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	_, it := sh.find(t, r)
	if it == nil {
		return resource.Result{}, p.missing(r)
	}
	if err := refuse(p.resourceType, r.Properties, it.properties); err != nil {
		return resource.Result{}, err
	}
	it.properties = r.Properties
	it.attributes = refreshed(t, r, it.attributes)
	return resource.Result{PhysicalID: it.ref, Attributes: it.attributes}, nil
}

// Delete deletes the resource.
func (p *provider) Delete(_ context.Context, r resource.Request) error {
	t, err := p.schema()
	if err != nil {
		return err
	}
	sh := p.store.shard(r, p.resourceType)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	identifier, it := sh.find(t, r)
	if it == nil {
		return p.missing(r)
	}
	if err := refuseDeletion(p.resourceType, it.properties); err != nil {
		return err
	}
	delete(sh.items, identifier)
	return nil
}

// Read returns the resource's current properties and attributes.
func (p *provider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	t, err := p.schema()
	if err != nil {
		return nil, err
	}
	sh := p.store.shard(r, p.resourceType)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	_, it := sh.find(t, r)
	if it == nil {
		return nil, p.missing(r)
	}
	live := map[string]any{}
	for name, value := range it.attributes {
		if !strings.Contains(name, ".") {
			live[name] = value
		}
	}
	maps.Copy(live, it.properties)
	return live, nil
}

// List returns the primary identifiers of the resources.
func (p *provider) List(_ context.Context, at wire.Target) ([]string, error) {
	sh := p.store.shard(resource.Request{Account: at.Account, Region: at.Region}, p.resourceType)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return slices.Collect(maps.Keys(sh.items)), nil
}

func (p *provider) missing(r resource.Request) error {
	return resource.Errorf(resource.NotFound,
		"Resource of type '%s' with identifier '%s' was not found.", p.resourceType, r.PhysicalID)
}
