// Package roles shows what the IAM roles of clusters cannot do. Its tests render the roles and try
// every action that the simulator knows on resources of other clusters, of service objects and of
// users, with the simulator's decisions. A table lists the exceptions with their reasons;
// docs/reference/roles.md has the same table.
package roles
