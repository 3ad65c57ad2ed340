// Package bootstraptoken creates the tokens that workers join a workload cluster with, and
// publishes them in an SSM parameter that only workers read.
package bootstraptoken
