// Package containerbuild builds what simulated machines need to run containers, in the folder
// bin/containers: containerd, runc and CNI plugins from the modules of containers/go.mod, the kubelet
// and kube-proxy from those of kube/go.mod, and container images of Go programs, as an OCI layout,
// which package process serves as the registries that releases name.
//
// The build needs gcc, pkg-config and libseccomp for runc, and copies the host's nft and iptables
// into the image of kube-proxy. Missing reports what is not there.
package containerbuild
