// Package conditions names the conditions of Clusters and InstanceGroups, in addition to those that
// operatorkit sets, and sets them from outcomes of steps.
package conditions
