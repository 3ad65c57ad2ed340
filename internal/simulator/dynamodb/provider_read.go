package dynamodb

import (
	"context"
	"encoding/json"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// List returns the names of the tables.
func (p *tableProvider) List(_ context.Context, at wire.Target) ([]string, error) {
	p.tables.mu.RLock()
	defer p.tables.mu.RUnlock()
	var names []string
	for id := range p.tables.tables {
		if id.account == at.Account && id.region == at.Region && p.tables.find(id) != nil {
			names = append(names, id.name)
		}
	}
	return names, nil
}

// Read returns a table's live properties.
func (p *tableProvider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	t := p.tables
	t.mu.RLock()
	defer t.mu.RUnlock()
	found := t.find(tableID{r.Account, r.Region, r.PhysicalID})
	if found == nil {
		return nil, notFound(r.PhysicalID)
	}
	return found.properties(r), nil
}

func (t *table) properties(r resource.Request) map[string]any {
	out := map[string]any{
		"TableName": t.id.name, "Arn": t.arn, "KeySchema": schemaProperty(t.schema),
		"BillingMode": string(t.billing), "DeletionProtectionEnabled": t.protected,
		"PointInTimeRecoverySpecification": map[string]any{"PointInTimeRecoveryEnabled": t.recovery != nil},
		"ContributorInsightsSpecification": map[string]any{"Enabled": t.insights == types.ContributorInsightsStatusEnabled},
		"TimeToLiveSpecification":          map[string]any{"Enabled": false},
		"SSESpecification":                 map[string]any{"SSEEnabled": false},
	}
	definitions := make([]any, len(t.definitions))
	for i, d := range t.definitions {
		definitions[i] = map[string]any{"AttributeName": *d.AttributeName, "AttributeType": string(d.AttributeType)}
	}
	out["AttributeDefinitions"] = definitions
	if t.billing == types.BillingModeProvisioned {
		out["ProvisionedThroughput"] = unitsProperty(t.throughput)
	}
	t.optionalProperties(out)
	t.indexProperties(out)
	if tags := property.OwnTags(t.tags, r.Tags); tags != nil {
		out["Tags"] = tags
	}
	return out
}

func (t *table) optionalProperties(out map[string]any) {
	if t.ttl != nil {
		out["TimeToLiveSpecification"] = map[string]any{"Enabled": true, "AttributeName": *t.ttl.AttributeName}
	}
	if t.recovery != nil && t.recovery.RecoveryPeriodInDays != nil {
		out["PointInTimeRecoverySpecification"] = map[string]any{
			"PointInTimeRecoveryEnabled": true, "RecoveryPeriodInDays": float64(*t.recovery.RecoveryPeriodInDays),
		}
	}
	if t.encryption != nil {
		out["SSESpecification"] = map[string]any{
			"SSEEnabled":     true,
			"SSEType":        string(t.encryption.SSEType),
			"KMSMasterKeyId": *t.encryption.KMSMasterKeyArn,
		}
	}
	if t.stream != nil {
		out["StreamSpecification"] = map[string]any{"StreamViewType": string(t.stream.StreamViewType)}
		out["StreamArn"] = t.streamARN()
	}
	if t.class != "" {
		out["TableClass"] = string(t.class)
	}
	if t.onDemand != nil {
		out["OnDemandThroughput"] = pairProperty(
			"MaxReadRequestUnits", t.onDemand.MaxReadRequestUnits, "MaxWriteRequestUnits", t.onDemand.MaxWriteRequestUnits,
		)
	}
	if t.warm != nil {
		out["WarmThroughput"] = pairProperty(
			"ReadUnitsPerSecond", t.warm.ReadUnitsPerSecond, "WriteUnitsPerSecond", t.warm.WriteUnitsPerSecond,
		)
	}
	if len(t.kinesis) > 0 {
		out["KinesisStreamSpecification"] = map[string]any{"StreamArn": deref(t.kinesis[0].StreamArn)}
	}
	if t.policy != "" {
		var document any
		if json.Unmarshal([]byte(t.policy), &document) == nil {
			out["ResourcePolicy"] = map[string]any{"PolicyDocument": document}
		}
	}
}

func (t *table) indexProperties(out map[string]any) {
	for _, x := range t.secondary {
		projection := map[string]any{"ProjectionType": string(x.projection.ProjectionType)}
		if len(x.projection.NonKeyAttributes) > 0 {
			names := make([]any, len(x.projection.NonKeyAttributes))
			for i, name := range x.projection.NonKeyAttributes {
				names[i] = name
			}
			projection["NonKeyAttributes"] = names
		}
		property := map[string]any{"IndexName": x.name, "KeySchema": schemaProperty(x.schema), "Projection": projection}
		kind := "LocalSecondaryIndexes"
		if !x.local {
			kind = "GlobalSecondaryIndexes"
			if t.billing == types.BillingModeProvisioned {
				property["ProvisionedThroughput"] = unitsProperty(x.throughput)
			}
		}
		list, _ := out[kind].([]any)
		out[kind] = append(list, property)
	}
}

func schemaProperty(schema []types.KeySchemaElement) []any {
	out := make([]any, len(schema))
	for i, e := range schema {
		out[i] = map[string]any{"AttributeName": *e.AttributeName, "KeyType": string(e.KeyType)}
	}
	return out
}

func unitsProperty(d types.ProvisionedThroughputDescription) map[string]any {
	return pairProperty("ReadCapacityUnits", d.ReadCapacityUnits, "WriteCapacityUnits", d.WriteCapacityUnits)
}

func pairProperty(readName string, read *int64, writeName string, write *int64) map[string]any {
	out := map[string]any{}
	if read != nil {
		out[readName] = float64(*read)
	}
	if write != nil {
		out[writeName] = float64(*write)
	}
	return out
}
