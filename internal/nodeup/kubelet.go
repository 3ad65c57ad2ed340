package nodeup

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

// kubeletConfig is the kubelet's configuration, which kubeadm writes.
const kubeletConfig = "/var/lib/kubelet/config.yaml"

// manifestFolder holds the static pods, of which workers have none.
const manifestFolder = "/etc/kubernetes/manifests"

// writeKubeletUnit writes the kubelet's unit with the entire command line, so that one file
// describes how the kubelet runs.
func (b *boot) writeKubeletUnit(context.Context) (string, error) {
	line, err := b.kubeletCommand()
	if err != nil {
		return "", err
	}
	needs := ""
	if b.bundle.Etcd != nil {
		needs = "RequiresMountsFor=" + b.bundle.Etcd.MountPoint + "\n"
	}
	unit := `[Unit]
Description=Kubelet of the cluster ` + b.bundle.Cluster + `
Wants=network-online.target
After=network-online.target containerd.service
` + needs + `StartLimitIntervalSec=0

[Service]
ExecStart=` + strings.Join(line, " \\\n  ") + `
Restart=always
RestartSec=2

[Install]
WantedBy=multi-user.target
`
	if _, err := b.files.write(unitFolder+"/kubelet.service", []byte(unit), 0o600); err != nil {
		return "", err
	}
	// kubeadm makes it on slots only, and packages of the kubelet contain it. A kubelet whose
	// configuration names it reports an error every 20 seconds without it.
	if err := os.MkdirAll(b.files.path(manifestFolder), 0o755); err != nil { //nolint:gosec // A folder of the system's.
		return "", fmt.Errorf("make the folder of static pods: %w", err)
	}
	return "kubelet.service", nil
}

// kubeletCommand returns the kubelet's command line in the format of a unit.
func (b *boot) kubeletCommand() ([]string, error) {
	kubelet := b.bundle.Kubelet
	args := maps.Clone(kubelet.Args)
	labels := maps.Clone(kubelet.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[bundle.Label] = bundle.LabelValue(b.BundleSHA256)
	args["node-labels"] = joined(labels)
	if len(kubelet.Taints) > 0 {
		args["register-with-taints"] = strings.Join(kubelet.Taints, ",")
	}
	line := []string{kubelet.Path}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		value, err := bundle.Expand(args[name], b.values)
		if err != nil {
			return nil, permanent("the kubelet's argument %s: %w", name, err)
		}
		line = append(line, quoted("--"+name+"="+value))
	}
	return line, nil
}

func joined(labels map[string]string) string {
	pairs := make([]string, 0, len(labels))
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, key+"="+labels[key])
	}
	return strings.Join(pairs, ",")
}

// quoted writes a word of a command line as systemd reads it
// (https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html#Command%20lines).
func quoted(word string) string {
	word = strings.NewReplacer("%", "%%", "$", "$$").Replace(word)
	if !strings.ContainsAny(word, " \t\n\"'\\;") {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(word) + `"`
}

// enableKubelet makes systemd start the kubelet at each boot. kubeadm has started it already.
func (b *boot) enableKubelet(ctx context.Context) (string, error) {
	// kubeadm lets everyone read it; the CIS benchmark wants it for root only.
	if config := b.files.path(kubeletConfig); b.files.exists(kubeletConfig) {
		if err := os.Chmod(config, 0o600); err != nil {
			return "", fmt.Errorf("close the kubelet's configuration: %w", err)
		}
	}
	if _, err := b.command(ctx, "systemctl", "daemon-reload"); err != nil {
		return "", err
	}
	if _, err := b.command(ctx, "systemctl", "enable", "--now", "kubelet"); err != nil {
		return "", fmt.Errorf("enable the kubelet: %w", err)
	}
	return "enabled", nil
}
