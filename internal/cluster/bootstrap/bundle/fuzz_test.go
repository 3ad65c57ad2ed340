package bundle_test

import (
	"bytes"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

// FuzzParse reads any document without a panic. An accepted input is written as a document of the same
// meaning, whose bytes, and thus whose hash, do not change when it is written again.
func FuzzParse(f *testing.F) {
	full := &bundle.Bundle{
		Version: bundle.Version, Cluster: "demo", Role: bundle.ControlPlane, Kubernetes: "v1.36.3", Architecture: "amd64",
		Artifacts: []bundle.Artifact{{Name: "kubelet", SHA256: "00", Format: bundle.Binary, Path: "/usr/bin/kubelet"}},
		Sysctls:   map[string]string{"net.ipv4.ip_forward": "1"},
		Files:     []bundle.File{{Path: "/etc/motd", Mode: "0644", Content: "<hello> & ©\n"}},
		SSH:       &bundle.SSH{User: "ec2-user", AuthorizedKeys: []string{"ssh-ed25519 AAAA"}},
		Etcd:      &bundle.Etcd{Slot: 1, Members: map[string]string{"etcd-1": "example.com"}, Restore: &bundle.EtcdRestore{Snapshot: "snap-1"}},
	}
	f.Add(full.JSON())
	f.Add([]byte(`{"version":1}`))
	f.Add([]byte(`{"version":1,"VERSION":2}`))
	f.Add([]byte(`{"version":1} {}`))
	f.Add([]byte(`{"version":1,"files":[null],"etcd":{},"sysctls":{"a":"\ud800"}}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		b, err := bundle.Parse(document)
		if err != nil {
			if b != nil {
				t.Errorf("it is refused (%v) and gives a bundle", err)
			}
			return
		}
		written := b.JSON()
		again, err := bundle.Parse(written)
		if err != nil || b.Version != bundle.Version {
			t.Fatalf("version %d; %s is refused: %v", b.Version, written, err)
		}
		if !bytes.Equal(again.JSON(), written) || again.Hash() != bundle.HashOf(written) {
			t.Errorf("%s becomes %s", written, again.JSON())
		}
	})
}
