package dynamodb

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// tableProperties are the properties of AWS::DynamoDB::Table:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-table.html
type tableProperties struct {
	TableName                        string
	AttributeDefinitions             []types.AttributeDefinition
	KeySchema                        []types.KeySchemaElement
	BillingMode                      types.BillingMode
	ProvisionedThroughput            *throughputProperty
	OnDemandThroughput               *onDemandProperty
	WarmThroughput                   *warmProperty
	GlobalSecondaryIndexes           []indexProperty
	LocalSecondaryIndexes            []indexProperty
	DeletionProtectionEnabled        flexibleBool
	StreamSpecification              *streamProperty
	SSESpecification                 *encryptionProperty
	TableClass                       types.TableClass
	Tags                             []types.Tag
	TimeToLiveSpecification          *timeToLiveProperty
	PointInTimeRecoverySpecification *recoveryProperty
	ContributorInsightsSpecification *struct{ Enabled flexibleBool }
	KinesisStreamSpecification       *struct{ StreamArn string }
	ResourcePolicy                   *struct{ PolicyDocument json.RawMessage }
	ImportSourceSpecification        json.RawMessage
}

type (
	throughputProperty struct{ ReadCapacityUnits, WriteCapacityUnits flexibleInt }
	onDemandProperty   struct{ MaxReadRequestUnits, MaxWriteRequestUnits *flexibleInt }
	warmProperty       struct{ ReadUnitsPerSecond, WriteUnitsPerSecond *flexibleInt }
	streamProperty     struct{ StreamViewType types.StreamViewType }
	encryptionProperty struct {
		SSEEnabled     flexibleBool
		SSEType        types.SSEType
		KMSMasterKeyID string
	}
	timeToLiveProperty struct {
		AttributeName string
		Enabled       flexibleBool
	}
	recoveryProperty struct {
		PointInTimeRecoveryEnabled flexibleBool
		RecoveryPeriodInDays       *flexibleInt
	}
	indexProperty struct {
		IndexName             string
		KeySchema             []types.KeySchemaElement
		Projection            *types.Projection
		ProvisionedThroughput *throughputProperty
		OnDemandThroughput    *onDemandProperty
		WarmThroughput        *warmProperty
	}
)

// flexibleInt and flexibleBool also accept strings, which CloudFormation accepts as numbers and
// booleans.
type (
	flexibleInt  int64
	flexibleBool bool
)

// UnmarshalJSON accepts 5 and "5".
func (n *flexibleInt) UnmarshalJSON(data []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64)
	if err != nil || v != float64(int64(v)) {
		return fmt.Errorf("%s is not an integer", data)
	}
	*n = flexibleInt(v)
	return nil
}

// UnmarshalJSON accepts true and "true".
func (b *flexibleBool) UnmarshalJSON(data []byte) error {
	v, err := strconv.ParseBool(strings.ToLower(strings.Trim(string(data), `"`)))
	if err != nil {
		return fmt.Errorf("%s is not a boolean", data)
	}
	*b = flexibleBool(v)
	return nil
}

func (n *flexibleInt) pointer() *int64 {
	if n == nil {
		return nil
	}
	return new(int64(*n))
}

// readProperties decodes the properties of a stack's resource.
func readProperties(in map[string]any) (*tableProperties, error) {
	data, err := json.Marshal(in)
	if err != nil {
		return nil, resource.Errorf(resource.InvalidRequest, "Properties validation failed: %v", err)
	}
	out := &tableProperties{}
	if err := json.Unmarshal(data, out); err != nil {
		return nil, resource.Errorf(resource.InvalidRequest, "Properties validation failed: %v", err)
	}
	if out.ImportSourceSpecification != nil {
		return nil, resource.Errorf(resource.InvalidRequest, "The simulator does not import tables from S3 (ImportSourceSpecification)")
	}
	return out, nil
}

func (p *tableProperties) createInput() *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName: &p.TableName, AttributeDefinitions: p.AttributeDefinitions, KeySchema: p.KeySchema,
		BillingMode: p.BillingMode, ProvisionedThroughput: p.ProvisionedThroughput.input(),
		OnDemandThroughput: p.OnDemandThroughput.input(), WarmThroughput: p.WarmThroughput.input(),
		DeletionProtectionEnabled: new(bool(p.DeletionProtectionEnabled)),
		StreamSpecification:       p.StreamSpecification.input(), SSESpecification: p.SSESpecification.input(),
		TableClass: p.TableClass,
	}
	for _, x := range p.LocalSecondaryIndexes {
		in.LocalSecondaryIndexes = append(in.LocalSecondaryIndexes, types.LocalSecondaryIndex{
			IndexName: &x.IndexName, KeySchema: x.KeySchema, Projection: x.Projection,
		})
	}
	for _, x := range p.GlobalSecondaryIndexes {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: &x.IndexName, KeySchema: x.KeySchema, Projection: x.Projection,
			ProvisionedThroughput: x.ProvisionedThroughput.input(),
			OnDemandThroughput:    x.OnDemandThroughput.input(), WarmThroughput: x.WarmThroughput.input(),
		})
	}
	return in
}

func (p *throughputProperty) input() *types.ProvisionedThroughput {
	if p == nil {
		return nil
	}
	return &types.ProvisionedThroughput{
		ReadCapacityUnits:  p.ReadCapacityUnits.pointer(),
		WriteCapacityUnits: p.WriteCapacityUnits.pointer(),
	}
}

func (p *onDemandProperty) input() *types.OnDemandThroughput {
	if p == nil {
		return nil
	}
	return &types.OnDemandThroughput{
		MaxReadRequestUnits:  p.MaxReadRequestUnits.pointer(),
		MaxWriteRequestUnits: p.MaxWriteRequestUnits.pointer(),
	}
}

func (p *warmProperty) input() *types.WarmThroughput {
	if p == nil {
		return nil
	}
	return &types.WarmThroughput{ReadUnitsPerSecond: p.ReadUnitsPerSecond.pointer(), WriteUnitsPerSecond: p.WriteUnitsPerSecond.pointer()}
}

func (p *streamProperty) input() *types.StreamSpecification {
	if p == nil {
		return nil
	}
	return &types.StreamSpecification{StreamEnabled: new(true), StreamViewType: p.StreamViewType}
}

func (p *encryptionProperty) input() *types.SSESpecification {
	if p == nil {
		return nil
	}
	out := &types.SSESpecification{Enabled: new(bool(p.SSEEnabled)), SSEType: p.SSEType}
	if p.KMSMasterKeyID != "" {
		out.KMSMasterKeyId = &p.KMSMasterKeyID
	}
	return out
}

// policy returns the resource policy as a JSON document.
func (p *tableProperties) policy() string {
	if p.ResourcePolicy == nil {
		return ""
	}
	var text string
	if json.Unmarshal(p.ResourcePolicy.PolicyDocument, &text) == nil {
		return text
	}
	return string(p.ResourcePolicy.PolicyDocument)
}
