// Package environment is a place to work in: a management cluster, AWS and the
// operator, all on this machine's loopback, with the files that point kubectl,
// aws, terraform and the SDKs at them.
//
// A folder holds at most one environment, which lives exactly as long as the process that made it.
// That process holds a lock in the folder. If the lock is free, the other files in the folder were
// left by a crash.
//
//	kubeconfig       the management cluster, every right
//	aws.env          shell assignments: endpoint, region, credentials
//	state.json       which process, which addresses, how far
//	control-plane/   data, keys and logs of the cluster
//	machines/        consoles, logs and volumes of instances; see package process
//	operator.log     what the operator says
//
// All of it goes when the environment stops. AWS lives in memory, so a cluster
// that outlived it would speak of things that do not exist.
package environment
