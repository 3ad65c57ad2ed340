//go:build linux

package agent

import (
	"cmp"
	"context"
	"os/exec"
	"strings"
)

// imageVersion returns the version of Kubernetes in the machine image from kubeadm, because machine
// images differ in it. Without kubeadm it is Version.
func imageVersion(ctx context.Context) string {
	said, err := exec.CommandContext(ctx, "kubeadm", "version", "-o", "short").Output()
	if err != nil {
		return Version
	}
	return cmp.Or(strings.TrimSpace(string(said)), Version)
}
