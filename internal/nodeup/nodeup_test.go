package nodeup_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/nodeup"
)

func TestSlotBoots(t *testing.T) {
	m := newMachine(t, slot())
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	want := `modprobe overlay
sysctl -p /etc/sysctl.d/90-nodeup.conf
systemctl daemon-reload
systemctl enable --now containerd
blkid -o value -s TYPE ` + device + `
mkfs.ext4 -q ` + device + `
mount ` + device + ` /var/lib/etcd
kubeadm init phase certs all --config /var/lib/nodeup/kubeadm.yaml
kubeadm init phase kubeconfig all --config /var/lib/nodeup/kubeadm.yaml
kubeadm init phase etcd local --config /var/lib/nodeup/kubeadm.yaml
kubeadm init phase control-plane all --config /var/lib/nodeup/kubeadm.yaml
kubeadm init phase kubelet-start --config /var/lib/nodeup/kubeadm.yaml
kubeadm init phase upload-config all --config /var/lib/nodeup/kubeadm.yaml
kubeadm init phase mark-control-plane --config /var/lib/nodeup/kubeadm.yaml
kubeadm init phase bootstrap-token --skip-token-print --config /var/lib/nodeup/kubeadm.yaml
kubeadm init phase addon coredns --config /var/lib/nodeup/kubeadm.yaml
kubeadm init phase kubelet-finalize all --config /var/lib/nodeup/kubeadm.yaml
systemctl daemon-reload
systemctl enable --now kubelet
`
	if diff := cmp.Diff(want, m.calls(t)); diff != "" {
		t.Errorf("the machine called (-want +got):\n%s", diff)
	}
	if got := m.account.names["etcd-1.demo.internal"]; got != address {
		t.Errorf("etcd-1 is published as %q", got)
	}
	if got := m.read(t, "/var/lib/nodeup/kubeadm.yaml"); got != "advertiseAddress: 10.0.1.2\n" {
		t.Errorf("kubeadm's configuration is %q", got)
	}
	if unit := m.read(t, "/etc/systemd/system/kubelet.service"); !strings.Contains(unit, "RequiresMountsFor=/var/lib/etcd\n") {
		t.Errorf("the kubelet may start before etcd's data is there:\n%s", unit)
	}
	if unit := m.read(t, "/etc/systemd/system/var-lib-etcd.mount"); !strings.Contains(unit, "What="+device) {
		t.Errorf("after a start the volume is not mounted:\n%s", unit)
	}
	if info, err := os.Stat(filepath.Join(m.root, "/etc/kubernetes/pki/ca.key")); err != nil || info.Mode() != 0o600 {
		t.Errorf("the CA's key is %v, %v", info.Mode(), err)
	}
}

func TestWorkerJoins(t *testing.T) {
	b := worker()
	m := newMachine(t, b)
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	want := `ExecStart=/usr/bin/kubelet \
  --hostname-override=ip-10-0-1-2.eu-central-1.compute.internal \
  --node-ip=10.0.1.2 \
  --node-labels=cluster-operator.aws/bundle=` + b.Hash()[:16] + `,node.kubernetes.io/instance-type=m6i.large,topology.kubernetes.io/zone=eu-central-1a \
  --provider-id=aws:///eu-central-1a/` + instance + ` \
  --register-with-taints=a=b:NoSchedule
`
	if unit := m.read(t, "/etc/systemd/system/kubelet.service"); !strings.Contains(unit, want) {
		t.Errorf("the kubelet's unit is\n%s\nwant in it\n%s", unit, want)
	}
	if calls := m.calls(t); !strings.Contains(calls, "kubeadm join --config /var/lib/nodeup/kubeadm.yaml\n") {
		t.Errorf("the machine called\n%s", calls)
	}
	if strings.Contains(m.tree(t)+m.log.String(), token) {
		t.Error("the token is left on the machine or in the log")
	}
	if info, err := os.Stat(filepath.Join(m.root, "/etc/kubernetes/manifests")); err != nil || !info.IsDir() {
		t.Errorf("the kubelet reports an error every 20 seconds, because the folder of static pods does not exist: %v", err)
	}
}

// kubeadm waits five seconds for what it does not find; it is not called before it finds
// everything.
func TestWorkerWaitsForTheClusterAndItsToken(t *testing.T) {
	for reason, c := range map[string]struct {
		refusals int
		says     string
	}{
		"there is no cluster yet":    {3, "the API answers 503 Service Unavailable for /api/v1/namespaces/kube-public/configmaps/cluster-info"},
		"the token is not known yet": {0, "try the bootstrap token: the API answers 401"},
	} {
		t.Run(reason, func(t *testing.T) {
			b := worker()
			server := newAPI(c.refusals)
			t.Cleanup(server.Close)
			b.API = found(server)
			m := newMachine(t, b)
			if c.refusals == 0 {
				m.account.tokens = []string{"fedcba.0123456789abcdef", "fedcba.0123456789abcdef"}
			}
			if err := nodeup.Run(t.Context(), m.options); err != nil {
				t.Fatal(err)
			}
			if joins := strings.Count(m.calls(t), "kubeadm join"); joins != 1 || !strings.Contains(m.log.String(), c.says) {
				t.Errorf("kubeadm was called %d times; the log is\n%s", joins, m.log)
			}
		})
	}
}

// The token is not sent to a server without a certificate of the cluster's CA.
func TestTokenIsForTheClusterOnly(t *testing.T) {
	asked := atomic.Int64{}
	other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(other.Close)
	cas, err := pki.New(clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	b := worker()
	b.API = &bundle.API{Server: other.URL, CACertificate: string(cas.CACertificate())}
	m := newMachine(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m.options.Log = slogTo(m.log, func(message string) {
		if message == "API" {
			cancel()
		}
	})
	if err := nodeup.Run(ctx, m.options); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if asked.Load() > 0 || !strings.Contains(m.log.String(), "certificate signed by unknown authority") {
		t.Errorf("the impostor was asked %d times; the log is\n%s", asked.Load(), m.log)
	}
}

// A boot ends behind one of its tasks; then the machine boots again.
func TestBootsTheSameAfterBeingKilledAnywhere(t *testing.T) {
	for role, newBundle := range map[string]func() *bundle.Bundle{"slot": slot, "worker": worker, "units of the user": furnished} {
		t.Run(role, func(t *testing.T) {
			whole := withUsers(t, newMachine(t, newBundle()))
			var tasks []string
			whole.options.Done = func(task string) { tasks = append(tasks, task) }
			if err := nodeup.Run(t.Context(), whole.options); err != nil {
				t.Fatal(err)
			}
			want := whole.tree(t)
			for _, last := range tasks[:len(tasks)-1] {
				m := withUsers(t, newMachine(t, newBundle()))
				ctx, kill := context.WithCancel(t.Context())
				options := m.options
				options.Done = func(task string) {
					if task == last {
						kill()
					}
				}
				if err := nodeup.Run(ctx, options); !errors.Is(err, context.Canceled) {
					t.Fatalf("killed behind %s, it ended with %v", last, err)
				}
				if err := nodeup.Run(t.Context(), m.options); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, m.tree(t)); diff != "" {
					t.Errorf("killed behind %s, it ended otherwise (-want +got):\n%s", last, diff)
				}
			}
		})
	}
}

func TestRebootChangesNothing(t *testing.T) {
	m := newMachine(t, slot())
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	before, calls := m.tree(t), m.calls(t)
	m.account.objects = nil // A bucket that cannot be reached is no reason not to start.
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, m.tree(t)); diff != "" {
		t.Errorf("the second boot changed (-before +after):\n%s", diff)
	}
	for _, never := range []string{"mkfs", "kubeadm"} {
		if again := strings.TrimPrefix(m.calls(t), calls); strings.Contains(again, never) {
			t.Errorf("the second boot called\n%s", again)
		}
	}
}

func TestBundleOfAnotherHashIsRefused(t *testing.T) {
	m := newMachine(t, worker())
	for key := range m.account.objects {
		m.account.objects[key] = []byte(`{"version": 1}`)
	}
	err := nodeup.Run(t.Context(), m.options)
	if _, ok := errors.AsType[*nodeup.PermanentError](err); !ok || !strings.Contains(err.Error(), m.options.BundleSHA256) {
		t.Errorf("it ended with %v", err)
	}
	if calls := m.calls(t); calls != "" {
		t.Errorf("the machine called\n%s", calls)
	}
}

// Instance types from before NVMe name a volume by how it was attached.
func TestVolumeOfAnOldInstanceType(t *testing.T) {
	m := newMachine(t, slot())
	m.account.device = "/dev/xvdf"
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	if unit := m.read(t, "/etc/systemd/system/var-lib-etcd.mount"); !strings.Contains(unit, "What=/dev/xvdf\n") {
		t.Errorf("after a start the volume is not mounted:\n%s", unit)
	}
}

// A resolver holds a name for missing for long when it was asked for too early.
func TestNamesAreResolvedAfterTheyArePublished(t *testing.T) {
	m := newMachine(t, slot())
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	if len(m.account.missing) > 0 {
		t.Errorf("%v were asked for too early", m.account.missing)
	}
	if got := m.account.names["etcd-0.demo.internal"]; got != "192.0.2.1" {
		t.Errorf("the name of a member that is not there yet is %q; its peers would hold it for missing", got)
	}
}

func TestNamesOfOthersStay(t *testing.T) {
	m := newMachine(t, slot())
	m.account.names["etcd-0.demo.internal"], m.account.names["etcd-1.demo.internal"] = "10.0.0.9", "10.0.1.9"
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	if other, own := m.account.names["etcd-0.demo.internal"], m.account.names["etcd-1.demo.internal"]; other != "10.0.0.9" ||
		own != address {
		t.Errorf("etcd-0 is %s, etcd-1 is %s", other, own)
	}
}

func TestSlotWaitsForAnAttachedVolume(t *testing.T) {
	m := newMachine(t, slot())
	m.account.volumes[0].Attachments = []ec2types.VolumeAttachment{{
		InstanceId: aws.String("i-before"), State: ec2types.VolumeAttachmentStateDetaching,
	}}
	m.account.attaching = 3
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(m.log.String(), "still attached to i-before") {
		t.Errorf("the log does not say who holds the volume:\n%s", m.log)
	}
}

// late is a clock by which all waits have lasted long enough.
type late struct{ impatient }

func (late) Since(time.Time) time.Duration { return time.Hour }

// A slot that moved waits until its instance in the former zone has terminated, but not for as long as an
// outage of that zone may last.
func TestSlotThatMovedWaitsForItsFormerInstance(t *testing.T) {
	for _, outage := range []bool{false, true} {
		m := newMachine(t, slot())
		former := m.account.volumes[0]
		former.VolumeId, former.AvailabilityZone = aws.String("vol-former"), aws.String("eu-central-1z")
		former.Attachments = []ec2types.VolumeAttachment{{InstanceId: aws.String("i-former"), State: ec2types.VolumeAttachmentStateAttached}}
		m.account.volumes = append(m.account.volumes, former)
		if outage {
			m.options.Clock = late{}
		} else {
			m.options.Log = slogTo(m.log, func(message string) {
				if message == "etcd volume" {
					m.account.volumes[1].Attachments = nil
				}
			})
		}
		if err := nodeup.Run(t.Context(), m.options); err != nil {
			t.Fatal(err)
		}
		if waited := strings.Contains(m.log.String(), "vol-former in eu-central-1z is still attached to i-former"); waited == outage {
			t.Errorf("with an outage %t, the slot waited: %t\n%s", outage, waited, m.log)
		}
		if len(m.account.volumes[0].Attachments) != 1 {
			t.Errorf("the slot's volume is not attached: %+v", m.account.volumes)
		}
	}
}

// A volume that has failed for good is replaced by another one with the same tags, and may be there
// for long.
func TestLostVolumesAreNotUsed(t *testing.T) {
	m := newMachine(t, slot())
	for _, state := range []ec2types.VolumeState{ec2types.VolumeStateError, ec2types.VolumeStateDeleting} {
		lost := m.account.volumes[0]
		lost.VolumeId, lost.State = aws.String("vol-"+string(state)), state
		m.account.volumes = append(m.account.volumes, lost)
	}
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	if len(m.account.volumes[0].Attachments) != 1 {
		t.Errorf("the slot's volume is not attached: %+v", m.account.volumes)
	}
}

func TestDataIsNeverFormattedAway(t *testing.T) {
	for reason, c := range map[string]struct {
		content string
		mounts  bool
	}{
		"a file system of the machine before":      {"EXT4 and etcd's data", true},
		"something that blkid does not understand": {"torn", false},
	} {
		t.Run(reason, func(t *testing.T) {
			m := newMachine(t, slot())
			path := filepath.Join(m.root, device)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tries := 0
			m.options.Log = slogTo(m.log, func(message string) {
				if message == "etcd file system" {
					if tries++; tries > 3 {
						cancel()
					}
				}
			})
			if err := nodeup.Run(ctx, m.options); (err == nil) != c.mounts {
				t.Errorf("it ended with %v", err)
			}
			if got := m.read(t, device); got != c.content {
				t.Errorf("the volume holds %q", got)
			}
			if strings.Contains(m.calls(t), "mkfs") {
				t.Error("a file system was made")
			}
		})
	}
}

func TestHalfWrittenCertificatesAreRecreated(t *testing.T) {
	// A kill in the middle of kubeadm: it stops at half a pair, until that no longer exists.
	script := `case "$*" in *"certs all"*) test ! -f "$ROOT/etc/kubernetes/pki/apiserver.key";;
*"kubeconfig all"*) cp "$ADMIN_CONF" "$ROOT/etc/kubernetes/admin.conf";; esac`
	programs["kubeadm"], script = script, programs["kubeadm"]
	t.Cleanup(func() { programs["kubeadm"] = script })
	m := newMachine(t, slot())
	half := filepath.Join(m.root, "/etc/kubernetes/pki/apiserver.key")
	if err := os.MkdirAll(filepath.Dir(half), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(half, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(m.root, "/etc/kubernetes/pki/ca.key")); err != nil {
		t.Errorf("the CA's key went with it: %v", err)
	}
}
