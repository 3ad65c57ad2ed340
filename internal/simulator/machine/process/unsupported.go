//go:build !linux

package process

import (
	"fmt"
	"runtime"

	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

// Host boots nothing on this system.
type Host struct{ machine.Absent }

// Supported says why machines cannot run here.
func Supported() error {
	return fmt.Errorf("%w: they need Linux, this is %s", ErrUnsupported, runtime.GOOS)
}

// New errs as Supported does.
func New(Options) (*Host, error) { return nil, Supported() }

// Console is empty.
func (*Host) Console(string) ([]byte, error) { return nil, Supported() }

// Kubeadm is empty: there is no machine image.
func (*Host) Kubeadm() string { return "" }

// Kubelet is empty: there is no machine image.
func (*Host) Kubelet() string { return "" }

// Dir is empty.
func (*Host) Dir() string { return "" }

// Running says no.
func (*Host) Running(string) bool { return false }

// CACertificate is empty.
func (*Host) CACertificate() []byte { return nil }
