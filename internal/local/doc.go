// Package local runs all of aws-operator on one machine: a management cluster, AWS and the
// operator, without containers and without an AWS account.
//
// Its parts are independent, and tests use them separately:
//
//   - process runs a child that never outlives its parent.
//   - kubebuild builds bin/kube, one binary with etcd and the Kubernetes control plane, and rebuilds
//     it when its sources change.
//   - controlplane starts etcd and kube-apiserver from that binary on loopback ports, with its own
//     certificates.
//   - environment adds the simulator and the operator, and writes a kubeconfig and an aws.env for
//     kubectl, aws, terraform and the SDKs.
package local
