package process

import (
	"errors"

	"github.com/go-logr/logr"
)

// ErrUnsupported says that this host cannot boot machines as processes.
var ErrUnsupported = errors.New("machines cannot run as processes here")

// ErrClosed says that the host of the machines has ended.
var ErrClosed = errors.New("the machines' host is closed")

// Options say what machines are made of.
type Options struct {
	// Dir is the folder for consoles, logs and volumes; Close removes it. Empty
	// means a temporary one.
	Dir string
	// Machine is the binary of cmd/machine: process 1, node agent and stand-ins.
	Machine string
	// Kube is the binary of the kube module: kubeadm and the static pods.
	Kube string
	// Images are other binaries of it, by the ID of the machine image that has them.
	Images map[string]string
	// Log receives what goes wrong with a machine after Boot has returned.
	Log logr.Logger
}
