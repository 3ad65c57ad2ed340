package dynamodb

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// globalTableProvider implements AWS::DynamoDB::GlobalTable with a replica in the stack's region.
// The simulator does not replicate: it rejects other regions.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-globaltable.html
type globalTableProvider struct{ tableProvider }

// capacitySettings are the provisioned capacity of a table or an index.
type capacitySettings struct {
	ReadCapacityUnits, WriteCapacityUnits                             *flexibleInt
	ReadCapacityAutoScalingSettings, WriteCapacityAutoScalingSettings *struct{ MinCapacity, SeedCapacity *flexibleInt }
}

// units returns the configured units, or the initial units of autoscaling.
func (c *capacitySettings) units(of func(*capacitySettings) (*flexibleInt, *struct{ MinCapacity, SeedCapacity *flexibleInt })) any {
	if c == nil {
		return nil
	}
	units, scaling := of(c)
	switch {
	case units != nil:
		return int64(*units)
	case scaling != nil && scaling.SeedCapacity != nil:
		return int64(*scaling.SeedCapacity)
	case scaling != nil && scaling.MinCapacity != nil:
		return int64(*scaling.MinCapacity)
	}
	return nil
}

type globalProperties struct {
	WriteProvisionedThroughputSettings *capacitySettings
	GlobalSecondaryIndexes             []struct {
		IndexName                          string
		WriteProvisionedThroughputSettings *capacitySettings
	}
	Replicas []struct {
		Region                            string
		ReadProvisionedThroughputSettings *capacitySettings
		GlobalSecondaryIndexes            []struct {
			IndexName                         string
			ReadProvisionedThroughputSettings *capacitySettings
		}
	}
}

// asTable returns the equivalent properties of an AWS::DynamoDB::Table in the stack's region.
func (p *globalTableProvider) asTable(r resource.Request) (*tableProperties, error) {
	data, err := json.Marshal(r.Properties)
	if err != nil {
		return nil, resource.Errorf(resource.InvalidRequest, "Properties validation failed: %v", err)
	}
	global := globalProperties{}
	if err := json.Unmarshal(data, &global); err != nil {
		return nil, resource.Errorf(resource.InvalidRequest, "Properties validation failed: %v", err)
	}
	if len(global.Replicas) != 1 || global.Replicas[0].Region != r.Region {
		return nil, resource.Errorf(
			resource.InvalidRequest,
			"The simulator does not replicate tables: Replicas must be one replica in the stack's region, %s",
			r.Region,
		)
	}
	flat := maps.Clone(r.Properties)
	replicas, _ := r.Properties["Replicas"].([]any)
	replica, _ := replicas[0].(map[string]any)
	for _, name := range []string{
		"Tags", "TableClass", "DeletionProtectionEnabled", "PointInTimeRecoverySpecification",
		"ContributorInsightsSpecification", "KinesisStreamSpecification", "ResourcePolicy",
	} {
		if v, found := replica[name]; found {
			flat[name] = v
		}
	}
	if c := provisioned(global.Replicas[0].ReadProvisionedThroughputSettings, global.WriteProvisionedThroughputSettings); c != nil {
		flat["ProvisionedThroughput"] = c
	}
	global.provisionIndexes(flat)
	return readProperties(flat)
}

// provisionIndexes sets the throughput of each index in the properties.
func (g *globalProperties) provisionIndexes(flat map[string]any) {
	list, _ := flat["GlobalSecondaryIndexes"].([]any)
	if list == nil {
		return
	}
	read := map[string]*capacitySettings{}
	for _, x := range g.Replicas[0].GlobalSecondaryIndexes {
		read[x.IndexName] = x.ReadProvisionedThroughputSettings
	}
	out := make([]any, len(list))
	for i, x := range list {
		index, _ := x.(map[string]any)
		index = maps.Clone(index)
		if c := provisioned(
			read[g.GlobalSecondaryIndexes[i].IndexName], g.GlobalSecondaryIndexes[i].WriteProvisionedThroughputSettings,
		); c != nil {
			index["ProvisionedThroughput"] = c
		}
		out[i] = index
	}
	flat["GlobalSecondaryIndexes"] = out
}

func provisioned(read, write *capacitySettings) map[string]any {
	readUnits := read.units(func(c *capacitySettings) (*flexibleInt, *struct{ MinCapacity, SeedCapacity *flexibleInt }) {
		return c.ReadCapacityUnits, c.ReadCapacityAutoScalingSettings
	})
	writeUnits := write.units(func(c *capacitySettings) (*flexibleInt, *struct{ MinCapacity, SeedCapacity *flexibleInt }) {
		return c.WriteCapacityUnits, c.WriteCapacityAutoScalingSettings
	})
	if writeUnits == nil {
		return nil
	}
	if readUnits == nil {
		readUnits = writeUnits
	}
	return map[string]any{"ReadCapacityUnits": readUnits, "WriteCapacityUnits": writeUnits}
}

// Create creates a global table with one replica.
func (p *globalTableProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	want, err := p.asTable(r)
	if err != nil {
		return resource.Result{}, err
	}
	result, err := p.create(r, want)
	return p.withTableID(r, result), err
}

// Update changes a global table in place.
func (p *globalTableProvider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	want, err := p.asTable(r)
	if err != nil {
		return resource.Result{}, err
	}
	result, err := p.change(r, want)
	return p.withTableID(r, result), err
}

// withTableID adds the attribute that only global tables have.
func (p *globalTableProvider) withTableID(r resource.Request, in resource.Result) resource.Result {
	p.tables.mu.RLock()
	defer p.tables.mu.RUnlock()
	if found := p.tables.find(tableID{r.Account, r.Region, in.PhysicalID}); found != nil {
		in.Attributes["TableId"] = found.uid
	}
	return in
}

// Read returns a global table's live properties, with those of the replica in Replicas.
func (p *globalTableProvider) Read(ctx context.Context, r resource.Request) (map[string]any, error) {
	out, err := p.tableProvider.Read(ctx, r)
	if err != nil {
		return nil, err
	}
	replica := map[string]any{"Region": r.Region}
	for _, name := range []string{
		"Tags", "TableClass", "DeletionProtectionEnabled", "PointInTimeRecoverySpecification",
		"ContributorInsightsSpecification", "KinesisStreamSpecification", "ResourcePolicy",
	} {
		if v, found := out[name]; found {
			replica[name] = v
			delete(out, name)
		}
	}
	out["Replicas"] = []any{replica}
	return out, nil
}
