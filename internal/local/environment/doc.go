// Package environment runs a local environment: a management cluster, AWS and the operator, all on
// this machine's loopback, with files that configure kubectl, aws, terraform and the SDKs to use
// them.
//
// A folder holds at most one environment, which lives exactly as long as the process that made it.
// That process holds a lock in the folder. If the lock is free, the other files in the folder were
// left by a crash.
//
//	kubeconfig       the management cluster, with all permissions
//	aws.env          shell assignments: endpoint, region, credentials
//	state.json       the process, the addresses and the phase
//	control-plane/   data, keys and logs of the cluster
//	machines/        consoles, logs and volumes of instances; see package process
//	operator.log     the log of the operator
//
// Everything is deleted when the environment stops. AWS is in memory, so a remaining cluster would
// reference resources that do not exist.
package environment
