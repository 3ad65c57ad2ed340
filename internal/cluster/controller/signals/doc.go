// Package signals tells CloudFormation which new instances of a rolling update are healthy.
//
// CloudFormation replaces the next batch of instances, or completes the update, when it has
// received a signal for each new instance. The operator signals for an instance when its node is
// Ready.
package signals
