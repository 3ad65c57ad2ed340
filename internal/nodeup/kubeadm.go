package nodeup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

// Files that kubeadm and the kubelet create.
const (
	pkiFolder           = "/etc/kubernetes/pki"
	kubeconfigFolder    = "/etc/kubernetes"
	kubeletKubeconfig   = kubeconfigFolder + "/kubelet.conf"
	bootstrapKubeconfig = kubeconfigFolder + "/bootstrap-kubelet.conf"
)

// certificateMode is the mode of files with certificates.
const certificateMode = 0o644

// leafs are the certificates that kubeadm creates on a slot, without file extensions.
var leafs = []string{
	"apiserver", "apiserver-kubelet-client", "apiserver-etcd-client", "front-proxy-client",
	"etcd/server", "etcd/peer", "etcd/healthcheck-client",
}

// kubeconfigs are the kubeconfigs that kubeadm creates on a slot.
var kubeconfigs = []string{"admin.conf", "super-admin.conf", "kubelet.conf", "controller-manager.conf", "scheduler.conf"}

// controlPlanePhases are kubeadm's phases on a slot. Every slot runs all of them: no slot is
// special.
//
// The phases from upload-config on need the API, which is available only when other slots are up,
// since one member alone has no quorum. The first of them creates the binding with the permissions
// of admin.conf: kubeadm does so with super-admin.conf when a phase first needs a client.
func controlPlanePhases() []task {
	return []task{
		{"kubeadm configuration", (*boot).writeKubeadmConfig, lastRetry},
		phase("kubeadm certs", (*boot).removeLeafs, "certs", "all"),
		{"certificate chains", (*boot).writeChains, lastRetry},
		phase("kubeadm kubeconfigs", (*boot).removeKubeconfigs, "kubeconfig", "all"),
		{"audit log", (*boot).startAuditUnit, lastRetry},
		{"encryption at rest", (*boot).startKMSUnit, lastRetry},
		{"etcd member", (*boot).decideMember, lastRetry},
		phase("kubeadm etcd", nil, "etcd", "local"),
		phase("kubeadm control plane", nil, "control-plane", "all"),
		phase("kubeadm kubelet", nil, "kubelet-start"),
		{"etcd learner", (*boot).promoteMember, lastRetry},
		phase("kubeadm upload-config", nil, "upload-config", "all"),
		{"etcd formed", (*boot).noteFormed, lastRetry},
		{"own node", (*boot).ownNode, nameRetry},
		phase("kubeadm mark-control-plane", nil, "mark-control-plane"),
		phase("kubeadm bootstrap-token", nil, "bootstrap-token", "--skip-token-print"),
		{"bootstrap token", (*boot).startTokenUnit, lastRetry},
		{"etcd backups", (*boot).startBackupUnit, lastRetry},
		{"kubeadm addons", (*boot).installAddons, lastRetry},
		phase("kubeadm finalize", nil, "kubelet-finalize", "all"),
	}
}

// phase returns the task that runs a phase of kubeadm init, unless the bundle has been applied
// before. An interrupted run may leave an incomplete file, with which kubeadm would always fail:
// undo removes the phase's files before a retry.
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
		return "kubeadm init phase " + strings.Join(args, " "), b.kubeletDown(ctx, err)
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

// writeChains writes the certificates that are followed by others. Their keys stay where kubeadm has written them.
func (b *boot) writeChains(context.Context) (string, error) {
	for _, chain := range b.bundle.Chains {
		certificate, err := b.files.read(chain.Certificate)
		if err != nil {
			return "", err
		}
		issuers, err := b.files.read(chain.Issuers)
		if err != nil {
			return "", err
		}
		if _, err := b.files.write(chain.Path, slices.Concat(certificate, issuers), certificateMode); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("wrote %d", len(b.bundle.Chains)), nil
}

// writeKubeadmConfig writes kubeadm's configuration with the instance's values.
func (b *boot) writeKubeadmConfig(context.Context) (string, error) {
	b.values[bundle.EtcdClusterState] = b.clusterState()
	text, err := bundle.Expand(b.bundle.Kubeadm.Config, b.values)
	if err != nil {
		return "", permanent("kubeadm's configuration: %w", err)
	}
	if text, err = b.withMembers(text); err != nil {
		return "", err
	}
	_, err = b.files.write(kubeadmFile, []byte(text), 0o600)
	return kubeadmFile, err
}
