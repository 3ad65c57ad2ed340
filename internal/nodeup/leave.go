package nodeup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

const (
	// leaveAgain is how often a slot checks whether it is to leave etcd.
	leaveAgain = 10 * time.Second
	// leavePath is where the operator says which slot leaves. A client that may write ConfigMaps of
	// kube-system administers the cluster.
	leavePath = "/api/v1/namespaces/kube-system/configmaps"
	// apiManifest is the manifest of the slot's API server, and heldManifest where it is while the slot
	// leaves.
	apiManifest  = manifestFolder + "/kube-apiserver.yaml"
	heldManifest = stateFolder + "/leave/kube-apiserver.yaml"
	// apiPort is where each slot's API server listens.
	apiPort = "6443"
)

// keepLeaving has the slot leave etcd when the operator says so, until the context ends.
func (b *boot) keepLeaving(ctx context.Context) {
	if err := b.runOne(ctx, task{"metadata", (*boot).readMetadata, lastRetry}); err != nil {
		return
	}
	for last := ""; ; {
		did, err := b.leave(ctx)
		if err != nil {
			did = err.Error()
		}
		if did != last && ctx.Err() == nil {
			b.Log.Info("etcd leave", "did", did)
		}
		last = did
		select {
		case <-ctx.Done():
			return
		case <-b.Clock.After(leaveAgain):
		}
	}
}

// leave removes the slot's member from etcd if the control plane shrinks by this slot, and says so. It
// removes none while another member is unhealthy, or has no vote yet: etcd keeps its quorum with each
// one that leaves. The slot's API server ends first, so that clients connect to another one, rather than wait
// for one without an etcd until the load balancer notices. The operator then deletes the slot.
func (b *boot) leave(ctx context.Context) (string, error) {
	wanted, err := b.leaving(ctx)
	if err != nil {
		return "", err
	}
	if wanted[bundle.LeaveInstance] != b.machine.InstanceID {
		return "nothing", b.move(heldManifest, apiManifest)
	}
	if wanted[bundle.LeftInstance] == b.machine.InstanceID {
		return "left etcd", nil
	}
	client, err := b.etcdClient()
	if err != nil {
		return "", err
	}
	defer client.CloseIdleConnections()
	through, members, err := b.listMembers(ctx, client, b.otherMembers())
	if err != nil {
		return "", err
	}
	if own := slices.IndexFunc(members, b.isOwn); own >= 0 {
		if err := b.removeOwn(ctx, client, through, members, members[own].ID); err != nil {
			return "", fmt.Errorf("slot %d does not leave etcd yet: %w", b.bundle.Etcd.Slot, err)
		}
	}
	patch, err := json.Marshal(map[string]any{"data": map[string]string{bundle.LeftInstance: b.machine.InstanceID}})
	if err != nil {
		return "", fmt.Errorf("write that slot %d left etcd: %w", b.bundle.Etcd.Slot, err)
	}
	if _, err := b.askAsAdmin(ctx, http.MethodPatch, leavePath+"/"+bundle.LeaveConfigMap, patch); err != nil {
		return "", fmt.Errorf("record that slot %d left etcd: %w", b.bundle.Etcd.Slot, err)
	}
	return "left etcd", nil
}

// removeOwn removes the slot's member while all others are healthy voters.
func (b *boot) removeOwn(ctx context.Context, client *http.Client, through string, members []etcdMember, id string) error {
	if slices.ContainsFunc(members, func(m etcdMember) bool { return m.IsLearner && !b.isOwn(m) }) {
		return errors.New("another member is joining")
	}
	if err := b.askHealthOfOthers(ctx, client, members); err != nil {
		return err
	}
	if err := b.endAPIServer(ctx); err != nil {
		return err
	}
	return b.askEtcd(ctx, client, through, "/v3/cluster/member/remove", map[string]any{"ID": id}, nil)
}

// endAPIServer has the kubelet end the slot's API server. It returns an error until that has ended.
func (b *boot) endAPIServer(ctx context.Context) error {
	if err := b.move(apiManifest, heldManifest); err != nil {
		return err
	}
	dial := b.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	connection, err := dial(ctx, "tcp", net.JoinHostPort(b.machine.PrivateIP, apiPort))
	if err != nil {
		return nil // Nothing listens any more.
	}
	_ = connection.Close()
	return errors.New("waiting for the slot's API server to end")
}

// move moves a file, if it is there.
func (b *boot) move(from, to string) error {
	if !b.files.exists(from) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(b.files.path(to)), 0o700); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	if err := os.Rename(b.files.path(from), b.files.path(to)); err != nil {
		return fmt.Errorf("move a manifest: %w", err)
	}
	return nil
}

// leaving returns what the operator says about the slot that leaves, nothing if none does.
func (b *boot) leaving(ctx context.Context) (map[string]string, error) {
	body, err := b.askAsAdmin(ctx, http.MethodGet, leavePath+"?fieldSelector=metadata.name%3D"+bundle.LeaveConfigMap, nil)
	if err != nil {
		return nil, fmt.Errorf("read which slot leaves etcd: %w", err)
	}
	var list struct {
		Items []struct {
			Data map[string]string `json:"data"`
		} `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("read which slot leaves etcd: %w", err)
	}
	if len(list.Items) == 0 {
		return nil, nil
	}
	return list.Items[0].Data, nil
}
