// Package awsapi provides clients of AWS by account, region and role.
//
// A caller requests a client for a [Target] from [Clients] and gets a narrow interface: only the
// calls that the project makes, at most five to an interface. All clients of one account, region
// and service share one [Budget]: a token bucket from which each HTTP attempt, including retries,
// takes one token. AWS throttles by account and region, so objects that did not share a bucket
// would starve each other. Retries are the SDK's, in adaptive mode.
//
// Every attempt is counted in aws_operator_api_requests_total{service,operation,code} and timed in
// aws_operator_api_request_duration_seconds{service,operation}.
//
// [Explain] converts an SDK error to a [Failure]: a CamelCase reason and a sentence that says what
// to do, without the SDK's text.
package awsapi
