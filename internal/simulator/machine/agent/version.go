//go:build linux

package agent

import (
	"cmp"
	"context"
	"os/exec"
	"strings"
)

// imageVersion is the version of Kubernetes in the machine image, which kubeadm tells: machine images differ in it. It is Version where
// there is no kubeadm.
func imageVersion(ctx context.Context) string {
	said, err := exec.CommandContext(ctx, "kubeadm", "version", "-o", "short").Output()
	if err != nil {
		return Version
	}
	return cmp.Or(strings.TrimSpace(string(said)), Version)
}
