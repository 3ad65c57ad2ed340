package nodeup_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/nodeup"
)

const (
	agentUnit   = bundle.UnitFolder + "/agent.service"
	kubeletConf = bundle.UnitFolder + "/kubelet.service.d/10-nice.conf"
)

// furnished returns a worker with files and units of the user.
func furnished() *bundle.Bundle {
	b := worker()
	b.Files = append(b.Files,
		bundle.File{Path: "/etc/agent/key", Mode: "0400", Content: "AAECAw==", Base64: true, Owner: "agent"},
		bundle.File{Path: "/etc/sysctl.d/50-agent.conf", Mode: "0644", Content: "net.core.somaxconn = 1024\n"},
		bundle.File{Path: agentUnit, Mode: "0644", Content: "[Service]\nExecStart=/usr/local/bin/agent\n"},
		bundle.File{Path: bundle.UnitFolder + "/containerd.service.d/10-proxy.conf", Mode: "0644", Content: "[Service]\nEnvironment=A=b\n"},
		bundle.File{Path: kubeletConf, Mode: "0644", Content: "[Service]\nNice=-5\n"},
	)
	b.ExtraUnits = []bundle.Unit{
		{Name: "agent.service", State: bundle.UnitStarted},
		{Name: "containerd.service", State: bundle.UnitStarted},
		{Name: "kubelet.service", State: bundle.UnitStarted},
		{Name: "report.service", State: bundle.UnitInstalled},
		{Name: "report.timer", State: bundle.UnitStarted},
		{Name: "unattended-upgrades.service", State: bundle.UnitMasked},
	}
	return b
}

// withUsers gives the machine's image a user that owns files.
func withUsers(t *testing.T, m *machine) *machine {
	t.Helper()
	m.put(t, "/etc/passwd", fmt.Sprintf("root:x:0:0::/root:/bin/sh\nagent:x:%d:%d::/nonexistent:/bin/false\n", os.Getuid(), os.Getgid()))
	return m
}

func (m *machine) put(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(m.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// setProgram replaces a fake of the machine.
func setProgram(t *testing.T, name, script string) {
	t.Helper()
	path := filepath.Join(filepath.Dir(os.Getenv("CALLS")), name)
	text := "#!/bin/sh\necho \"" + name + " $*\" | sed \"s#$ROOT##g\" >> \"$CALLS\"\n" + script + "\n"
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestFilesAndUnitsOfTheUserPrecedeTheKubelet(t *testing.T) {
	m := withUsers(t, newMachine(t, furnished()))
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	want := `modprobe overlay
sysctl -p /etc/sysctl.d/90-nodeup.conf
sysctl -p /etc/sysctl.d/50-agent.conf
systemctl daemon-reload
systemctl enable agent.service
systemctl enable report.timer
systemctl is-active unattended-upgrades.service
systemctl mask unattended-upgrades.service
systemctl enable containerd
systemctl restart containerd
systemctl restart agent.service report.timer
kubeadm join --config /var/lib/nodeup/kubeadm.yaml
systemctl daemon-reload
systemctl enable --now kubelet
`
	if diff := cmp.Diff(want, m.calls(t)); diff != "" {
		t.Errorf("the machine called (-want +got):\n%s", diff)
	}
	if got := m.read(t, "/etc/agent/key"); got != "\x00\x01\x02\x03" {
		t.Errorf("the encoded file has %q", got)
	}
	if info, err := os.Stat(filepath.Join(m.root, "/etc/agent/key")); err != nil || info.Mode() != 0o400 {
		t.Errorf("the mode of the encoded file is %v, %v", info.Mode(), err)
	}
	if got := m.read(t, kubeletConf); got != "[Service]\nNice=-5\n" {
		t.Errorf("the drop-in of the kubelet has %q", got)
	}
}

// After a reboot, systemd has started the units with their drop-ins: none of them is interrupted.
func TestRebootRestartsNoUnit(t *testing.T) {
	m := withUsers(t, newMachine(t, furnished()))
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	before, calls := m.tree(t), m.calls(t)
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, m.tree(t)); diff != "" {
		t.Errorf("the second boot changed (-before +after):\n%s", diff)
	}
	again := strings.TrimPrefix(m.calls(t), calls)
	if strings.Contains(again, "restart") || !strings.Contains(again, "systemctl start agent.service report.timer\n") {
		t.Errorf("the second boot called\n%s", again)
	}
}

// A change outside of the bundle does not outlive a boot.
func TestChangedFilesAreWrittenAgain(t *testing.T) {
	m := withUsers(t, newMachine(t, furnished()))
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	before := m.tree(t)
	m.put(t, agentUnit, "changed")
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, m.tree(t)); diff != "" {
		t.Errorf("the second boot changed (-before +after):\n%s", diff)
	}
}

// A unit that does not start keeps the machine from joining, and the log names it. A unit that runs is not restarted meanwhile.
func TestUnitThatFailsIsNamed(t *testing.T) {
	m := withUsers(t, newMachine(t, furnished()))
	setProgram(t, "systemctl", `case "$1 $2" in
"restart agent.service" | "start agent.service") echo "Job for agent.service failed." >&2; exit 1 ;;
"is-active agent.service") echo failed; exit 3 ;;
"is-active report.timer") echo active ;;
esac`)
	setProgram(t, "journalctl", `echo "agent: no license"`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tries := 0
	m.options.Log = slogTo(m.log, func(string) {
		if tries++; tries == 3 {
			cancel()
		}
	})
	if err := nodeup.Run(ctx, m.options); err == nil {
		t.Fatal("it joined")
	}
	const want = "Job for agent.service failed.: the unit agent.service is failed: agent: no license"
	if !strings.Contains(m.log.String(), want) {
		t.Errorf("the log does not say %q:\n%s", want, m.log)
	}
	calls := m.calls(t)
	if strings.Count(calls, "systemctl restart agent.service report.timer\n") != 1 || strings.Count(calls, "systemctl start agent.service report.timer\n") != 2 {
		t.Errorf("the machine called\n%s", calls)
	}
	if strings.Contains(calls, "kubeadm") {
		t.Errorf("the machine joined without its unit:\n%s", calls)
	}
}

func TestOwnerThatTheImageDoesNotHaveIsNamed(t *testing.T) {
	m := newMachine(t, furnished())
	m.put(t, "/etc/passwd", "root:x:0:0::/root:/bin/sh\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m.options.Log = slogTo(m.log, func(string) { cancel() })
	if err := nodeup.Run(ctx, m.options); err == nil || !strings.Contains(err.Error(), "the owner of /etc/agent/key: the image has no user agent") {
		t.Errorf("it ended with %v", err)
	}
}

// A unit of the image that runs is stopped before it is masked.
func TestMaskedUnitStopsFirst(t *testing.T) {
	m := withUsers(t, newMachine(t, furnished()))
	setProgram(t, "systemctl", `case "$1" in is-active) echo active ;; esac`)
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	const want = "systemctl stop unattended-upgrades.service\nsystemctl mask unattended-upgrades.service\n"
	if calls := m.calls(t); !strings.Contains(calls, want) {
		t.Errorf("the machine called\n%s", calls)
	}
}
