package nodeup_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/kms"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/nodeup"
	"github.com/aws-operator/aws-operator/internal/nodeup/kmsprovider"
	"github.com/aws-operator/aws-operator/internal/patience"
)

// plainKeys is a KMS that returns what it is given, or an error.
type plainKeys struct{ failure error }

func (k plainKeys) Encrypt(_ context.Context, in *kms.EncryptInput, _ ...func(*kms.Options)) (*kms.EncryptOutput, error) {
	return &kms.EncryptOutput{KeyId: in.KeyId, CiphertextBlob: in.Plaintext}, k.failure
}

func (k plainKeys) Decrypt(_ context.Context, in *kms.DecryptInput, _ ...func(*kms.Options)) (*kms.DecryptOutput, error) {
	return &kms.DecryptOutput{KeyId: in.KeyId, Plaintext: in.CiphertextBlob}, k.failure
}

const (
	secretsKey   = "arn:aws:kms:eu-central-1:123456789012:key/1"
	pluginSocket = "/run/nodeup-kms/kms.sock"
	recordFile   = "/var/lib/etcd/encryption.json"
	readableFile = "/var/lib/etcd/encryption-readable.json"
)

// encrypting returns the bundle of a slot that encrypts for a cluster.
func encrypting(cluster string) *bundle.Bundle {
	b := slot()
	b.Encryption = &bundle.Encryption{
		KeyARN: secretsKey, Socket: pluginSocket,
		Context: map[string]string{bundle.ContextAccount: "123456789012", bundle.ContextCluster: cluster},
	}
	return b
}

// adding returns the bundle of a slot of a cluster to which encryption is added.
func adding(does bundle.Added) *bundle.Bundle {
	b := encrypting("demo")
	b.Encryption.Added = does
	return b
}

// newEncrypting returns a machine with a KMS.
func newEncrypting(t *testing.T, b *bundle.Bundle, keys kmsprovider.KMS) *machine {
	t.Helper()
	m := newMachine(t, b)
	m.options.AWS.Keys = keys
	if from := b.Etcd.Restore; from != nil {
		m.account.objects[from.Program] = []byte("#!/bin/sh\n")
	}
	return m
}

// serveKMS does what the machine's systemd does with the unit of the plugin, and waits for the plugin.
func (m *machine) serveKMS(t *testing.T) {
	t.Helper()
	options := m.options
	options.Clock, options.Log = clock.RealClock{}, slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- nodeup.ServeKMS(ctx, options) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the plugin ended: %v", err)
		}
	})
	patience.Until(t, "the plugin listens", func() error {
		_, err := os.Stat(filepath.Join(m.root, pluginSocket))
		return err
	})
}

// The slot starts the plugin before the API server, and the API server only once KMS encrypts.
func TestSlotStartsThePluginBeforeTheAPIServer(t *testing.T) {
	m := newEncrypting(t, encrypting("demo"), plainKeys{})
	m.serveKMS(t)
	if err := nodeup.Run(patience.Context(t), m.options); err != nil {
		t.Fatal(err)
	}
	calls := m.calls(t)
	started := strings.Index(calls, "systemctl enable --now nodeup-kms.service")
	if started < 0 || started > strings.Index(calls, "kubeadm init phase control-plane") {
		t.Errorf("the calls are\n%s", calls)
	}
	unit := m.read(t, "/etc/systemd/system/nodeup-kms.service")
	for _, line := range []string{" --serve-kms\n", "Before=kubelet.service\n", "StartLimitIntervalSec=0\n", "Restart=always\nRestartSec=1\n"} {
		if !strings.Contains(unit, line) {
			t.Errorf("the unit has no %q:\n%s", line, unit)
		}
	}
	for _, of := range []string{secretsKey, `"cluster-operator.aws/cluster":"demo"`} {
		if record := m.read(t, recordFile); !strings.Contains(record, of) {
			t.Errorf("the volume's record has no %s: %s", of, record)
		}
	}
}

func TestSlotWithoutAKeyDoesNotStartTheAPIServer(t *testing.T) {
	m := newEncrypting(t, encrypting("demo"), plainKeys{failure: errors.New("AccessDeniedException")})
	m.serveKMS(t)
	ctx, cancel := context.WithCancel(patience.Context(t))
	defer cancel()
	m.options.Log = slogTo(m.log, func(message string) {
		if message == "encryption at rest" {
			cancel()
		}
	})
	err := nodeup.Run(ctx, m.options)
	if err == nil || !strings.Contains(err.Error(), "encryption at rest") {
		t.Errorf("it ends with %v", err)
	}
	if strings.Contains(m.calls(t), "kubeadm init phase control-plane") {
		t.Error("it started the API server")
	}
}

func TestSlotWithoutTheFieldServesNoPlugin(t *testing.T) {
	m := newMachine(t, slot())
	if err := nodeup.Run(patience.Context(t), m.options); err != nil {
		t.Fatal(err)
	}
	if calls := m.calls(t); strings.Contains(calls, "nodeup-kms") {
		t.Errorf("the calls are\n%s", calls)
	}
	if _, err := os.Stat(filepath.Join(m.root, recordFile)); err == nil {
		t.Error("the volume has a record")
	}
	err := nodeup.ServeKMS(t.Context(), m.options)
	if _, permanent := errors.AsType[*nodeup.PermanentError](err); !permanent {
		t.Errorf("the plugin ends with %v", err)
	}
}

// A slot never starts an API server that cannot read what is on the slot's volume, or what others
// have written. Names are short, because they are in the path of the socket, which has a limit.
func TestSlotRefusesOtherData(t *testing.T) {
	const (
		record = `{"keyARN":"` + secretsKey + `","context":{"cluster-operator.aws/account":"123456789012","cluster-operator.aws/cluster":"demo"}}`
		data   = "/var/lib/etcd/member/wal/0.wal"
	)
	other := strings.Replace(record, "key/1", "key/2", 1)
	for name, c := range map[string]struct {
		bundle   *bundle.Bundle
		files    map[string]string
		want     string // in the error; empty if it boots
		record   string // afterwards
		readable string // afterwards
	}{
		"read":      {bundle: adding("Readable"), files: map[string]string{data: "x"}, readable: record},
		"read, new": {bundle: adding("Readable"), readable: record},
		"read, cut": {bundle: adding("Readable"), files: map[string]string{recordFile: other}, readable: record},
		"read, again": {
			bundle: adding("Readable"), files: map[string]string{data: "x", readableFile: record}, readable: record,
		},
		"read, back": {
			bundle: adding("Readable"), files: map[string]string{data: "x", recordFile: record, readableFile: record}, record: record, readable: record,
		},
		"read, lost": {bundle: adding("Readable"), files: map[string]string{recordFile: record}, record: record, readable: record},
		"read other": {
			bundle: adding("Readable"), files: map[string]string{data: "x", recordFile: other}, want: "is encrypted with the key " + secretsKey[:len(secretsKey)-1] + "2",
		},
		"plain, back": {bundle: slot(), files: map[string]string{data: "x", readableFile: record}},
		"write": {
			bundle: adding("Encrypting"), files: map[string]string{data: "x", readableFile: record}, record: record, readable: record,
		},
		"write, new": {bundle: adding("Encrypting"), record: record},
		"write, again": {
			bundle: adding("Encrypting"), files: map[string]string{data: "x", recordFile: record}, record: record,
		},
		"too early": {
			bundle: adding("Encrypting"), files: map[string]string{data: "x"}, want: "must first replace all slots in the stage Readable",
		},
		"early key": {
			bundle: adding("Encrypting"), files: map[string]string{data: "x", readableFile: other}, want: "must first replace all slots in the stage Readable",
		},
		"restored": {bundle: fromSnapshot(adding("Encrypting")), files: map[string]string{data: "x"}, record: record},
		"restored too": {
			bundle: fromSnapshot(adding("Encrypting")),
			files:  map[string]string{data: "x", "/var/lib/etcd/encryption-restored": fromSnapshot(slot()).Etcd.Restore.Snapshot},
			want:   "must first replace all slots in the stage Readable",
		},
		"too late": {
			bundle: slot(), files: map[string]string{data: "x", recordFile: record, readableFile: record}, want: "is encrypted with the key",
		},
		"blank":      {bundle: encrypting("demo"), record: record},
		"its own":    {bundle: encrypting("demo"), files: map[string]string{data: "x", recordFile: record}, record: record},
		"cut short":  {bundle: encrypting("demo"), files: map[string]string{recordFile: "{}"}, record: record},
		"added":      {bundle: encrypting("demo"), files: map[string]string{data: "x"}, want: "remove spec.api.encryption"},
		"plain text": {bundle: fromSnapshot(encrypting("demo")), files: map[string]string{data: "x"}, record: record},
		"removed": {
			bundle: slot(), files: map[string]string{data: "x", recordFile: record},
			want: "is encrypted with the key " + secretsKey + " for the cluster demo",
		},
		"another's": {
			bundle: fromSnapshot(encrypting("other")), files: map[string]string{data: "x", recordFile: record},
			want: "set spec.api.encryption.kmsKeyARN to that key, in a cluster of that name",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newEncrypting(t, c.bundle, plainKeys{})
			for path, content := range c.files {
				path = filepath.Join(m.root, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.want == "" && c.bundle.Encryption != nil {
				m.serveKMS(t)
			}
			err := nodeup.Run(patience.Context(t), m.options)
			if c.want == "" {
				if err != nil {
					t.Fatalf("%v\n%s", err, m.log)
				}
				for file, want := range map[string]string{recordFile: c.record, readableFile: c.readable} {
					if got, err := os.ReadFile(filepath.Join(m.root, file)); string(got) != want || want == "" && err == nil {
						t.Errorf("%s is %q", file, got)
					}
				}
				return
			}
			if _, permanent := errors.AsType[*nodeup.PermanentError](err); !permanent || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it ends with %v", err)
			}
			if strings.Contains(m.calls(t), "kubeadm init phase control-plane") {
				t.Error("it started the API server")
			}
		})
	}
}

// fromSnapshot returns a bundle whose volume was made from a snapshot, and then restored.
func fromSnapshot(b *bundle.Bundle) *bundle.Bundle {
	b.Etcd.Restore = &bundle.EtcdRestore{Snapshot: "snap-1", Program: "nodeup/restore"}
	return b
}
