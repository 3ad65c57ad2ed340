//go:build linux

package systemd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
	"github.com/aws-operator/aws-operator/internal/machines/process"
)

// systemd accepts the units of bundles, and starts containerd's with a program that notifies it.
func TestBundlesHaveValidUnits(t *testing.T) {
	host, _ := newHost(t, "/bin/true")
	_, instance := launch(t, host, "#!/bin/sh\necho up\n")
	showConsole(t, host, instance)
	awaitCloudInit(t, host, instance)
	root, err := kubebuild.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"control-plane.json", "control-plane-1.2.0.json", "worker.json", "worker-1.2.0.json"} {
		text, err := os.ReadFile(filepath.Join(root, "internal/cluster/bootstrap/testdata", name)) //nolint:gosec // one of the above
		if err != nil {
			t.Fatal(err)
		}
		var b bundle.Bundle
		if err := json.Unmarshal(text, &b); err != nil {
			t.Fatal(err)
		}
		for _, file := range b.Files {
			put(t, host, instance, file.Path, file.Content, file.Mode)
			if filepath.Dir(file.Path) != "/etc/systemd/system" {
				continue
			}
			// Only NOTIFY_SOCKET of the main process counts, so the program is one process.
			put(t, host, instance, "/usr/local/bin/containerd", notifier, "0755")
			if said := must(t, host, instance, "systemd-analyze", "verify", file.Path); said != "" {
				t.Errorf("%s: systemd-analyze verify %s: %s", name, file.Path, said)
			}
		}
		must(t, host, instance, "systemctl", "daemon-reload")
		for _, unit := range b.Units {
			must(t, host, instance, "systemctl", "enable", "--now", unit)
			if state := must(t, host, instance, "systemctl", "is-active", unit); state != "active" {
				t.Errorf("%s: %s is %q", name, unit, state)
			}
			must(t, host, instance, "systemctl", "disable", "--now", unit)
		}
	}
	if state := settled(t, host, instance); state != "running" {
		t.Errorf("the system is %s", state)
	}
}

// notifier is a program of a unit with Type=notify:
// https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html
const notifier = `#!/usr/bin/python3
import os, signal, socket
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
signal.sigwait([signal.SIGTERM])
`

// put writes a file in a machine.
func put(t *testing.T, host *process.Host, instance, path, content, mode string) {
	t.Helper()
	cmd, err := host.Command(t.Context(), instance, "install", "-D", "--mode="+mode, "/dev/stdin", path)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = strings.NewReader(content)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("write %s: %v: %s", path, err, out)
	}
}
