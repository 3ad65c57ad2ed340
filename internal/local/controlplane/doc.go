// Package controlplane starts a real Kubernetes API on loopback: etcd and
// kube-apiserver, ready in about three seconds, and kube-controller-manager
// where owned objects are to be collected and namespaces to be emptied.
//
// Every one gets ports, certificates and a folder of its own, so any number may
// run side by side. Connections to the API server and to etcd need a client
// certificate that the control plane itself issued.
//
// The binaries are those of KUBEBUILDER_ASSETS when that is set, and the
// project's own kube build otherwise (see package kubebuild).
package controlplane
