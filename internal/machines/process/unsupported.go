//go:build !linux

package process

import (
	"fmt"
	"runtime"

	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

// Host boots no machines on this system.
type Host struct{ machine.Absent }

// Supported returns why machines cannot run on this system.
func Supported() error {
	return fmt.Errorf("%w: they need Linux, this is %s", ErrUnsupported, runtime.GOOS)
}

// New returns the error of Supported.
func New(Options) (*Host, error) { return nil, Supported() }

// Console returns an error.
func (*Host) Console(string) ([]byte, error) { return nil, Supported() }

// Kubeadm returns "", because there is no machine image.
func (*Host) Kubeadm() string { return "" }

// Kubelet returns "", because there is no machine image.
func (*Host) Kubelet() string { return "" }

// Runc returns "", because there is no machine image.
func (*Host) Runc() string { return "" }

// Dir returns "".
func (*Host) Dir() string { return "" }

// Running returns false.
func (*Host) Running(string) bool { return false }

// CACertificate returns nil.
func (*Host) CACertificate() []byte { return nil }

// CanFilterPackets returns the error of Supported.
func CanFilterPackets() error { return Supported() }

// FiltersPackets returns false.
func (*Host) FiltersPackets() bool { return false }
