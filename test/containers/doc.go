// Package containers tests clusters on simulated machines that run containers: the real kubelet,
// kube-proxy, containerd, runc, CNI plugins and CoreDNS judge what the operator gives to instances.
// Run it with make test-containers.
package containers
