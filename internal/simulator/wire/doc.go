// Package wire speaks AWS's protocols, so that a simulated service is a set of
// Go functions from the SDK's own input types to its output types.
//
// A [Service] names its protocols and its [Operation]s; [Op] makes one from a
// function:
//
//	service := &wire.Service{
//		Name:         "sqs",
//		Protocols:    []wire.Protocol{wire.JSON10, wire.Query},
//		TargetPrefix: "AmazonSQS",
//		APIVersion:   "2012-11-05",
//		Operations: map[string]wire.Operation{
//			"CreateQueue": wire.Op(func(ctx context.Context, in *sqs.CreateQueueInput) (*sqs.CreateQueueOutput, error) { … }),
//		},
//	}
//
// [NewRouter] serves several services at one address, as a caller sees AWS
// behind AWS_ENDPOINT_URL: the credential scope of the signature names service
// and region, the access key id the account. Signatures are not verified, but for
// presigned requests of STS; a
// request without any credentials is refused as AWS refuses it.
//
// Decoding and encoding work by reflection on the SDK's types, with one codec
// per type that is made once. Member names follow from the Go names by a rule
// per service ([Service.LowerCamel]) with exceptions ([Service.Names]). Unions
// (Go interfaces such as DynamoDB's AttributeValue) are announced with
// [RegisterUnion].
//
// Protocols: https://smithy.io/2.0/aws/protocols/index.html
package wire
