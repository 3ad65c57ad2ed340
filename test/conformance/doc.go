// Command conformance runs Kubernetes' own conformance suite, k8s.io/kubernetes/test/e2e, against a
// cluster that the operator makes on simulated machines with the real kubelet, containerd and runc,
// and writes docs/reference/conformance.md from what the suite reports.
//
// It needs Linux and root, the programs that make containers builds, those of the module in suite/,
// and Debian's busybox, nginx and DNS tools, from which it makes the images that the suite's pods
// run: see images.go. make conformance builds all of it.
//
// It never decides whether a spec passes: Ginkgo does. reasons.yaml only says which specs are left
// out, and explains those that fail.
package main
