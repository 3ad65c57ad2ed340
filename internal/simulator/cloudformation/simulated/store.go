package simulated

import (
	"context"
	"fmt"
	"maps"
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
}

type shardKey struct{ account, region, resourceType string }

type shard struct {
	mu    sync.Mutex
	items map[string]*item
}

// item is one simulated resource.
type item struct {
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
	v, _ := s.shards.LoadOrStore(key, &shard{items: map[string]*item{}})
	return v.(*shard)
}

// Provider returns the provider of a type.
func (s *Store) Provider(resourceType string) resource.Provider {
	p := &provider{store: s, resourceType: resourceType}
	if resourceType == cacheClusterType {
		return &cacheCluster{provider: p}
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
	made := identify(t, r)
	sh := p.store.shard(r, p.resourceType)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if _, exists := sh.items[made.PhysicalID]; exists {
		return resource.Result{}, resource.Errorf(resource.AlreadyExists,
			"Resource of type '%s' with identifier '%s' already exists.", p.resourceType, made.identifier)
	}
	sh.items[made.PhysicalID] = &item{properties: r.Properties, attributes: made.Attributes}
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
	it, ok := sh.items[r.PhysicalID]
	if !ok {
		return resource.Result{}, p.missing(r)
	}
	if err := refuse(p.resourceType, r.Properties, it.properties); err != nil {
		return resource.Result{}, err
	}
	it.properties = r.Properties
	it.attributes = refreshed(t, r, it.attributes)
	return resource.Result{PhysicalID: r.PhysicalID, Attributes: it.attributes}, nil
}

// Delete deletes the resource.
func (p *provider) Delete(_ context.Context, r resource.Request) error {
	sh := p.store.shard(r, p.resourceType)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	it, ok := sh.items[r.PhysicalID]
	if !ok {
		return p.missing(r)
	}
	if err := refuseDeletion(p.resourceType, it.properties); err != nil {
		return err
	}
	delete(sh.items, r.PhysicalID)
	return nil
}

// Read returns the resource's current properties and attributes.
func (p *provider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	sh := p.store.shard(r, p.resourceType)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	it, ok := sh.items[r.PhysicalID]
	if !ok {
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
	t, err := p.schema()
	if err != nil {
		return nil, err
	}
	sh := p.store.shard(resource.Request{Account: at.Account, Region: at.Region}, p.resourceType)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	found := make([]string, 0, len(sh.items))
	for physicalID, it := range sh.items {
		if _, differs := refs[p.resourceType]; !differs {
			found = append(found, physicalID)
			continue
		}
		parts := make([]string, len(t.PrimaryIdentifier))
		for i, path := range t.PrimaryIdentifier {
			parts[i] = fmt.Sprint(it.attributes[dotted(path)])
		}
		found = append(found, strings.Join(parts, "|"))
	}
	return found, nil
}

func (p *provider) missing(r resource.Request) error {
	return resource.Errorf(resource.NotFound,
		"Resource of type '%s' with identifier '%s' was not found.", p.resourceType, r.PhysicalID)
}
