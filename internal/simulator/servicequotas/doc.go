// Package servicequotas simulates the reading calls of AWS Service Quotas.
//
// The quotas of the network, of load balancers and of vCPUs are those that the simulator enforces. The
// others have AWS's default values, which it does not enforce. As in AWS, some quotas that were never raised
// have a default value only, and those of global services are in one region.
package servicequotas
