package dynamodb

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Service returns DynamoDB's API for the wire layer.
func (t *Tables) Service() *wire.Service {
	wire.RegisterUnion[types.AttributeValue](
		&types.AttributeValueMemberB{}, &types.AttributeValueMemberBOOL{}, &types.AttributeValueMemberBS{},
		&types.AttributeValueMemberL{}, &types.AttributeValueMemberM{}, &types.AttributeValueMemberN{},
		&types.AttributeValueMemberNS{}, &types.AttributeValueMemberNULL{}, &types.AttributeValueMemberS{},
		&types.AttributeValueMemberSS{},
	)
	return &wire.Service{
		Name:           "dynamodb",
		Describe:       t.access,
		Protocols:      []wire.Protocol{wire.JSON10},
		TargetPrefix:   "DynamoDB_20120810",
		APIVersion:     "2012-08-10",
		ErrorNamespace: "com.amazonaws.dynamodb.v20120810",
		Operations: map[string]wire.Operation{
			"CreateTable":   wire.Op(t.createTable),
			"DescribeTable": wire.Op(t.describeTable),
			"UpdateTable":   wire.Op(t.updateTable),
			"DeleteTable":   wire.Op(t.deleteTable),
			"ListTables":    wire.Op(t.listTables),

			"TagResource":        wire.Op(t.tagResource),
			"UntagResource":      wire.Op(t.untagResource),
			"ListTagsOfResource": wire.Op(t.listTagsOfResource),

			"UpdateTimeToLive":                    wire.Op(t.updateTimeToLive),
			"DescribeTimeToLive":                  wire.Op(t.describeTimeToLive),
			"UpdateContinuousBackups":             wire.Op(t.updateContinuousBackups),
			"DescribeContinuousBackups":           wire.Op(t.describeContinuousBackups),
			"PutResourcePolicy":                   wire.Op(t.putResourcePolicy),
			"GetResourcePolicy":                   wire.Op(t.getResourcePolicy),
			"DeleteResourcePolicy":                wire.Op(t.deleteResourcePolicy),
			"DescribeKinesisStreamingDestination": wire.Op(t.describeKinesisDestination),
			"DescribeContributorInsights":         wire.Op(t.describeContributorInsights),
			"UpdateContributorInsights":           wire.Op(t.updateContributorInsights),
			"DescribeEndpoints":                   wire.Op(t.describeEndpoints),
			"DescribeLimits":                      wire.Op(t.describeLimits),

			"PutItem":            wire.Op(t.putItem),
			"GetItem":            wire.Op(t.getItem),
			"UpdateItem":         wire.Op(t.updateItem),
			"DeleteItem":         wire.Op(t.deleteItem),
			"Query":              wire.Op(t.query),
			"Scan":               wire.Op(t.scan),
			"BatchGetItem":       wire.Op(t.batchGetItem),
			"BatchWriteItem":     wire.Op(t.batchWriteItem),
			"TransactWriteItems": wire.Op(t.transactWriteItems),
			"TransactGetItems":   wire.Op(t.transactGetItems),
		},
	}
}
