// Package throttle refuses calls as AWS refuses them when there are too many, and when a service has a
// passing failure. What decides:
//
//   - Chance. A seed determines which calls get the service's error for throttling, and which a server
//     error. The next call of the same operation passes, so a client that retries once succeeds.
//   - Buckets. Each account, region and operation of EC2 has a bucket of tokens, as EC2 documents it.
//     https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html
//
// It refuses a call before it takes effect. Only callers of the API are refused, not the services of
// the simulator that call each other.
package throttle
