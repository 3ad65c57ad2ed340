// Package awsapi hands out clients of AWS by account, region and role.
//
// Whoever talks to AWS asks [Clients] for a client of a [Target] and gets a narrow interface: only the calls the project makes, at
// most five to an interface. Behind it every client of one account, region and service shares one [Budget]: a token bucket from
// which each HTTP attempt, retries included, takes one token. AWS throttles by account and region, so a fleet of objects that did
// not share a bucket would starve itself. Retries are the SDK's standard ones in adaptive mode.
//
// Every attempt is counted in aws_operator_api_requests_total{service,operation,code} and timed in
// aws_operator_api_request_duration_seconds{service,operation}.
//
// [Explain] turns what the SDK returns into a [Failure]: a CamelCase reason and a sentence that tells a person what to do, with no
// text of the SDK in it.
package awsapi
