// Package kubebuild makes bin/kube: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler and kubeadm in one binary, built from
// the Go modules that kube/go.mod names; and bin/kube-previous, of the minor
// version before, from those of kube/previous.mod.
//
// The build takes minutes, so it happens once: a stamp beside the binary says
// which sources, which Go and which flags it came from, and only another answer
// to that builds it again. Processes that ask at the same time wait for one of
// them to build it. The build says what it does while it does it.
package kubebuild
