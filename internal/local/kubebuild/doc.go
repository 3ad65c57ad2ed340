// Package kubebuild builds bin/kube: etcd, kube-apiserver, kube-controller-manager, kube-scheduler
// and kubeadm in one binary, from the Go modules of kube/go.mod; and bin/kube-previous, of the
// previous minor version, from those of kube/previous.mod.
//
// The build takes minutes, so it is cached: a stamp next to the binary records its sources, its Go
// version and its flags, and the binary is rebuilt only if they change. Concurrent processes wait
// for one of them to build it. The build reports its progress.
package kubebuild
