package process

import (
	"errors"

	"github.com/go-logr/logr"
)

// ErrUnsupported means that this host cannot run machines as processes.
var ErrUnsupported = errors.New("machines cannot run as processes here")

// ErrClosed means that the host of the machines is closed.
var ErrClosed = errors.New("the machines' host is closed")

// Options configure the machines.
type Options struct {
	// Dir is the directory for consoles, logs and volumes, which Close removes. The default is a
	// temporary directory.
	Dir string
	// Machine is the binary of cmd/machine: process 1, node agent and stubs.
	Machine string
	// Kube is the binary of the kube module: kubeadm and the static pods.
	Kube string
	// Containers is the folder of the programs with which machines run containers, as package
	// containerbuild makes it: the machine image then has the real kubelet. Without it, the node agent
	// runs static pods as processes and simulates all others.
	Containers string
	// Tree is the root directory of a distribution, such as debootstrap makes: process 1 of machines is
	// its systemd then, and its cloud-init runs the user data. A machine's root outlives its end.
	Tree string
	// Layouts are folders of other container images, each an OCI layout, that machines can pull under
	// the names in its index. Only machines with Containers pull images.
	Layouts []string
	// Unpacked are the hashes of the archives, of containerd and the CNI plugins, that the image
	// counts as having unpacked.
	Unpacked []string
	// Images are other binaries of the kube module, by the ID of the machine image that contains
	// them.
	Images map[string]string
	// Kubelets are other kubelets, by the ID of the machine image that contains them. Only machines with
	// Containers run them.
	Kubelets map[string]string
	// Log receives errors of a machine after Boot has returned.
	Log logr.Logger
}
