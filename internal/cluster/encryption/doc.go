// Package encryption decides when the encryption of resources in etcd, which was added to an existing cluster, moves from
// one stage to the next.
//
// [Next] gets the stage and what was observed of the cluster's slots, and returns the stage that follows, or what the
// encryption waits for. It is pure: the controllers observe and rewrite objects, and package pki stores the stage. The
// order is that of Kubernetes' documentation for several API servers: all can read what is going to be written before the
// first one writes it (https://kubernetes.io/docs/tasks/administer-cluster/encrypt-data/#rotating-a-decryption-key). The
// package must never skip a stage: API servers of two adjacent stages read what the other writes, others do not.
package encryption
