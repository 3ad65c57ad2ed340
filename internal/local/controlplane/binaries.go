package controlplane

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
)

// AssetsVariable names the folder whose etcd and kube-apiserver are used
// instead of the project's own build, as controller-runtime's envtest does.
const AssetsVariable = "KUBEBUILDER_ASSETS"

// Binaries are the executables of a control plane. All may be the same one: it
// is called by the component's name.
type Binaries struct {
	Etcd, APIServer, ControllerManager string
}

// FindBinaries returns the binaries of KUBEBUILDER_ASSETS, or else the
// project's own, which it builds when they are not up to date and then tells
// progress about it. It returns an error when KUBEBUILDER_ASSETS lacks one of the two that
// are always needed, and as kubebuild.Ensure does.
func FindBinaries(ctx context.Context, progress io.Writer) (Binaries, error) {
	if dir := os.Getenv(AssetsVariable); dir != "" {
		return fromAssets(dir)
	}
	kube, err := kubebuild.Ensure(ctx, kubebuild.Options{Progress: progress})
	if err != nil {
		return Binaries{}, fmt.Errorf("find etcd and kube-apiserver: %w", err)
	}
	return Binaries{Etcd: kube, APIServer: kube, ControllerManager: kube}, nil
}

func fromAssets(dir string) (Binaries, error) {
	b := Binaries{Etcd: filepath.Join(dir, "etcd"), APIServer: filepath.Join(dir, "kube-apiserver")}
	for _, path := range []string{b.Etcd, b.APIServer} {
		if _, err := os.Stat(path); err != nil {
			return Binaries{}, fmt.Errorf("%s is set to %s: %w", AssetsVariable, dir, err)
		}
	}
	manager := filepath.Join(dir, "kube-controller-manager")
	if _, err := os.Stat(manager); err == nil { //nolint:gosec // the user chooses the folder
		b.ControllerManager = manager
	}
	return b, nil
}
