// Package owner computes the tags that prove which object an AWS resource belongs to.
//
// An object's status caches facts about AWS: records, outputs, an Auto Scaling group's name. Any
// client with permission to write the status can change them. Before acting on them, the operator
// compares them with what CloudFormation or Auto Scaling reports, in calls that it makes anyway or
// in an extra one.
package owner
