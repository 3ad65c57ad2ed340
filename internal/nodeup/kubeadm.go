package nodeup

import (
	"context"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

// Files that kubeadm and the kubelet make.
const (
	pkiFolder           = "/etc/kubernetes/pki"
	kubeconfigFolder    = "/etc/kubernetes"
	kubeletKubeconfig   = kubeconfigFolder + "/kubelet.conf"
	bootstrapKubeconfig = kubeconfigFolder + "/bootstrap-kubelet.conf"
)

// leafs are the certificates that kubeadm makes on a slot, without their endings.
var leafs = []string{
	"apiserver", "apiserver-kubelet-client", "apiserver-etcd-client", "front-proxy-client",
	"etcd/server", "etcd/peer", "etcd/healthcheck-client",
}

// kubeconfigs are the kubeconfigs that kubeadm makes on a slot.
var kubeconfigs = []string{"admin.conf", "super-admin.conf", "kubelet.conf", "controller-manager.conf", "scheduler.conf"}

// controlPlanePhases are kubeadm's phases on a slot. Every slot runs all of them: none is the
// first.
//
// Those from upload-config on need the API, which may take as long as it takes the other slots to
// come up, for one member alone is no quorum. They begin with the binding that gives admin.conf its
// rights: kubeadm makes it with super-admin.conf when a phase first asks for a client.
func controlPlanePhases() []task {
	return []task{
		{"kubeadm configuration", (*boot).writeKubeadmConfig, lastRetry},
		phase("kubeadm certs", (*boot).removeLeafs, "certs", "all"),
		phase("kubeadm kubeconfigs", (*boot).removeKubeconfigs, "kubeconfig", "all"),
		{"etcd member", (*boot).decideMember, lastRetry},
		phase("kubeadm etcd", nil, "etcd", "local"),
		phase("kubeadm control plane", nil, "control-plane", "all"),
		phase("kubeadm kubelet", nil, "kubelet-start"),
		phase("kubeadm upload-config", nil, "upload-config", "all"),
		{"etcd formed", (*boot).noteFormed, lastRetry},
		{"own node", (*boot).ownNode, nameRetry},
		phase("kubeadm mark-control-plane", nil, "mark-control-plane"),
		phase("kubeadm bootstrap-token", nil, "bootstrap-token", "--skip-token-print"),
		{"bootstrap token", (*boot).startTokenUnit, lastRetry},
		{"kubeadm addons", (*boot).installAddons, lastRetry},
		phase("kubeadm finalize", nil, "kubelet-finalize", "all"),
	}
}

// phase returns the task that runs a phase of kubeadm init, unless the bundle has been carried out
// before. A run that was cut short leaves half a file, at which kubeadm would stop for good: undo
// removes what the phase makes before it is tried again.
func phase(name string, undo func(*boot) error, args ...string) task {
	return task{name: name, longest: lastRetry, run: func(b *boot, ctx context.Context) (string, error) {
		if b.done() {
			return "nothing, it was done before", nil
		}
		err := b.initPhase(ctx, args...)
		if err != nil && undo != nil {
			if undoErr := undo(b); undoErr != nil {
				return "", undoErr
			}
			err = b.initPhase(ctx, args...)
		}
		return "kubeadm init phase " + strings.Join(args, " "), err
	}}
}

func (b *boot) initPhase(ctx context.Context, args ...string) error {
	command := slices.Concat([]string{"init", "phase"}, args, []string{"--config", b.files.path(kubeadmFile)})
	_, err := b.command(ctx, "kubeadm", command...)
	return err
}

func (b *boot) removeLeafs() error {
	for _, leaf := range leafs {
		if err := b.files.remove(pkiFolder+"/"+leaf+".crt", pkiFolder+"/"+leaf+".key"); err != nil {
			return err
		}
	}
	return nil
}

func (b *boot) removeKubeconfigs() error {
	for _, name := range kubeconfigs {
		if err := b.files.remove(kubeconfigFolder + "/" + name); err != nil {
			return err
		}
	}
	return nil
}

// writeKubeadmConfig fills in what only the machine knows.
func (b *boot) writeKubeadmConfig(context.Context) (string, error) {
	b.values[bundle.EtcdClusterState] = b.clusterState()
	text, err := bundle.Expand(b.bundle.Kubeadm.Config, b.values)
	if err != nil {
		return "", permanent("kubeadm's configuration: %w", err)
	}
	_, err = b.files.write(kubeadmFile, []byte(text), 0o600)
	return kubeadmFile, err
}
