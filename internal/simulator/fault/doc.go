// Package fault makes the simulator misbehave the way AWS does.
//
// An [Injector] holds rules: which calls go wrong, how often and how. The wire
// layer asks it about every API call, the CloudFormation engine about every
// resource it touches. Without rules it only counts.
//
// A rule can throttle, answer with a server error, take long, hang up before or
// after the effect took place, or deny access with AWS's own sentence. Skip and
// Times say which of the matching calls it applies to, so that a test can fail
// exactly the third one. [Injector.OnCall] runs a hook before and after each
// call, for tests that stop the operator at any of them.
package fault
