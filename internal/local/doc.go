// Package local is the whole of aws-operator on one machine: a management
// cluster, AWS and the operator, with neither containers nor an AWS account.
//
// Its parts stand alone and are used alone by tests:
//
//   - process runs a child that never outlives its parent;
//   - kubebuild makes bin/kube, the one binary that holds etcd and the
//     Kubernetes control plane, and keeps it until its sources change;
//   - controlplane starts etcd and kube-apiserver from that binary on loopback
//     ports, with certificates of its own;
//   - environment puts the simulator and the operator beside them, and leaves
//     a kubeconfig and an aws.env for kubectl, aws, terraform and the SDKs.
package local
