// Package roles shows what the IAM roles of clusters cannot do. Its tests render the roles and try
// every action that the simulator knows on resources of other clusters, of service objects and of
// users, with the simulator's decisions. What is allowed nevertheless is listed with a reason, also in
// docs/reference/roles.md.
package roles
