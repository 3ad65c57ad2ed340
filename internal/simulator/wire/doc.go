// Package wire implements AWS's protocols, so that a simulated service is a set of Go functions
// from the SDK's input types to its output types.
//
// A [Service] names its protocols and its [Operation]s; [Op] makes one from a function:
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
// [NewRouter] serves several services at one address, as AWS_ENDPOINT_URL expects: the credential
// scope of the signature names the service and region, and the access key ID the account.
// Signatures are not verified, except those of presigned STS requests. A request without
// credentials gets the error that AWS returns.
//
// Decoding and encoding reflect on the SDK's types; the codec of each type is created once. Member
// names follow from the Go names by a rule per service ([Service.LowerCamel]) with exceptions
// ([Service.Names]). [RegisterUnion] registers unions (Go interfaces such as DynamoDB's
// AttributeValue).
//
// A service stores its state by [Target], the account and region of the call, in a [Store], and
// splits its lists into pages by [PageSize].
//
// Protocols: https://smithy.io/2.0/aws/protocols/index.html
package wire
