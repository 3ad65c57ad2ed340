// Package fault makes the simulator fail in the ways that AWS fails.
//
// An [Injector] holds rules that say which calls fail, how often and how. The wire layer asks it
// about every API call, and the CloudFormation engine about every operation on a resource. Without
// rules it only counts calls.
//
// A rule can throttle a call, return a server error, add latency, close the connection before or
// after the call takes effect, or deny access with AWS's own message. Skip and Times select among
// the matching calls, so that a test can fail exactly the third one. [Injector.OnCall] runs a hook
// before and after each call, for tests that stop the operator at any of them.
//
// An [Incident] is what happens without a call: missing capacity, notices to spot instances, and failed
// status checks. [IncidentHandler] is the control endpoint for programs in other processes.
package fault
