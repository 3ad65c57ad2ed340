package simulated

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

const cacheClusterType = "AWS::ElastiCache::CacheCluster"

// cacheCluster implements what the schema of AWS::ElastiCache::CacheCluster does not describe: the
// endpoint of an engine, its default port, and the updates that ElastiCache rejects.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-elasticache-cachecluster.html
type cacheCluster struct{ *provider }

// Create creates a cluster with the endpoint of its engine.
func (c *cacheCluster) Create(ctx context.Context, r resource.Request) (resource.Result, error) {
	if err := checkCluster(r.Properties); err != nil {
		return resource.Result{}, err
	}
	if name, _ := r.Properties["ClusterName"].(string); name == "" {
		r.Properties = maps.Clone(r.Properties)
		r.Properties["ClusterName"] = clusterName(r)
	}
	made, err := c.provider.Create(ctx, r)
	if err != nil {
		return resource.Result{}, err
	}
	made.Attributes = endpoints(made.Attributes, r, made.PhysicalID)
	c.keep(r, made)
	return made, nil
}

// Update changes the properties that ElastiCache can modify.
func (c *cacheCluster) Update(ctx context.Context, r resource.Request) (resource.Result, error) {
	if err := checkCluster(r.Properties); err != nil {
		return resource.Result{}, err
	}
	if engineOf(r.Properties) == "memcached" && fmt.Sprint(r.Properties["CacheNodeType"]) != fmt.Sprint(r.Previous["CacheNodeType"]) {
		return resource.Result{}, resource.Errorf(
			resource.InvalidRequest,
			"Scaling is not supported for engine memcached (Service: AmazonElastiCache; Status Code: 400; Error Code: InvalidParameterCombination)",
		)
	}
	made, err := c.provider.Update(ctx, r)
	if err != nil {
		return resource.Result{}, err
	}
	return made, nil
}

func (c *cacheCluster) keep(r resource.Request, made resource.Result) {
	sh := c.store.shard(r, cacheClusterType)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if it, ok := sh.items[made.PhysicalID]; ok {
		it.attributes = made.Attributes
	}
}

func engineOf(properties map[string]any) string {
	return strings.ToLower(fmt.Sprint(properties["Engine"]))
}

func checkCluster(properties map[string]any) error {
	switch engine := engineOf(properties); engine {
	case "memcached", "redis", "valkey":
	default:
		return resource.Errorf(resource.InvalidRequest,
			"Invalid Engine %s (Service: AmazonElastiCache; Status Code: 400; Error Code: InvalidParameterValue)", engine)
	}
	nodes, _ := asFloat(properties["NumCacheNodes"])
	if engineOf(properties) != "memcached" && nodes != 1 {
		return resource.Errorf(resource.InvalidRequest,
			"Cannot create a Redis cluster with a NumCacheNodes of %v; it must be 1 "+
				"(Service: AmazonElastiCache; Status Code: 400; Error Code: InvalidParameterCombination)", nodes)
	}
	return nil
}

// clusterName returns a name of at most 50 lower-case letters, digits and hyphens, which is
// ElastiCache's limit; CloudFormation generates shorter names.
func clusterName(r resource.Request) string {
	return strings.ToLower(shorten(r.StackName, 3) + "-" + shorten(r.LogicalID, 3) + "-" + randomBase36(13))
}

// endpoints sets the attributes of the engine's endpoint: RedisEndpoint for Redis and Valkey,
// ConfigurationEndpoint for Memcached.
func endpoints(attributes map[string]any, r resource.Request, id string) map[string]any {
	out := maps.Clone(attributes)
	for _, name := range []string{"RedisEndpoint", "ConfigurationEndpoint"} {
		delete(out, name)
		delete(out, name+".Address")
		delete(out, name+".Port")
	}
	name, address, port := "RedisEndpoint", id+"."+randomBase36(6)+".0001."+shortRegion(r.Region)+".cache.amazonaws.com", "6379"
	if engineOf(r.Properties) == "memcached" {
		name, address, port = "ConfigurationEndpoint", id+"."+randomBase36(6)+".cfg."+shortRegion(r.Region)+".cache.amazonaws.com", "11211"
	}
	if p, ok := r.Properties["Port"]; ok {
		if n, isNumber := p.(json.Number); isNumber {
			port = n.String()
		} else {
			port = fmt.Sprint(p)
		}
	}
	flatten(out, name, map[string]any{"Address": address, "Port": port})
	return out
}

// shortRegion returns the form of a region in ElastiCache's host names: use1 for us-east-1.
func shortRegion(region string) string {
	parts := strings.Split(region, "-")
	if len(parts) != 3 || parts[1] == "" {
		return region
	}
	direction := parts[1][:1]
	for _, second := range []string{"northeast", "southeast", "northwest", "southwest"} {
		if parts[1] == second {
			direction = second[:1] + second[5:6]
		}
	}
	return parts[0] + direction + parts[2]
}
