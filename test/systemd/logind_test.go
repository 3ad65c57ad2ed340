//go:build linux

package systemd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/machines/process"
	"github.com/aws-operator/aws-operator/internal/patience"
)

const (
	// kubeletFile is where a kubelet asks for more time than logind allows:
	// https://github.com/kubernetes/kubernetes/blob/master/pkg/kubelet/nodeshutdown/systemd/inhibit_linux.go
	kubeletFile = "/etc/systemd/logind.conf.d/99-kubelet.conf"
	// upgradesFile is that of Ubuntu's package unattended-upgrades, which is read after it.
	upgradesFile = "/etc/systemd/logind.conf.d/unattended-upgrades-logind-maxdelay.conf"
)

// Kubelets give pods time to end by delaying the shutdown with an inhibitor of logind, and no pod gets
// any if logind does not grant what the kubelet asks for. logind grants the 30 seconds of resource set
// 1.2.0 on an image with unattended-upgrades, and not the 60 seconds of earlier sets:
// https://github.com/kubernetes/kubernetes/issues/102818
func TestLogindGrantsTheShutdownGracePeriod(t *testing.T) {
	host, _ := newHost(t, "/bin/true")
	client, instance := launch(t, host, "#!/bin/sh\necho up\n")
	showConsole(t, host, instance)
	awaitCloudInit(t, host, instance)
	if got := inhibitDelay(t, host, instance); got != "t 5000000" {
		t.Errorf("by default, logind delays a shutdown by %s µs, want 5 s", got)
	}
	for _, one := range []struct{ upgrades, kubelet, want string }{
		{upgrades: "", kubelet: "60", want: "t 60000000"},
		{upgrades: "30", kubelet: "60", want: "t 30000000"},
		{upgrades: "30", kubelet: "30", want: "t 30000000"},
	} {
		configure(t, host, instance, kubeletFile, one.kubelet)
		configure(t, host, instance, upgradesFile, one.upgrades)
		patience.Until(t, "logind to read its configuration", func() error {
			if got := inhibitDelay(t, host, instance); got != one.want {
				return errors.New("logind delays a shutdown by " + got + " µs, want " + one.want)
			}
			return nil
		})
	}

	// Longer than the default of 5 seconds.
	must(t, host, instance, "systemd-run", "--unit=inhibitor", "systemd-inhibit", "--what=shutdown", "--mode=delay", "--who=kubelet",
		"--why=pods end", "sh", "-c", "sleep 8; touch /root/pods-ended; sync")
	patience.Until(t, "the inhibitor to be taken", func() error {
		list, err := run(t.Context(), host, instance, "systemd-inhibit", "--list", "--no-pager")
		if err == nil && !strings.Contains(list, "pods end") {
			err = errors.New(list)
		}
		return err
	})
	if _, err := client.StopInstances(t.Context(), &ec2.StopInstancesInput{InstanceIds: []string{instance}}); err != nil {
		t.Fatal(err)
	}
	patience.Until(t, "the instance to stop", func() error {
		out, err := client.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{instance}})
		if err == nil && out.Reservations[0].Instances[0].State.Name != types.InstanceStateNameStopped {
			err = errors.New(string(out.Reservations[0].Instances[0].State.Name))
		}
		return err
	})
	marker := filepath.Join(host.Dir(), "machines", instance, "root-volume", "upper", "root", "pods-ended")
	if _, err := os.Stat(marker); err != nil {
		t.Errorf("the shutdown did not wait for the inhibitor: %v", err)
	}
}

// inhibitDelay returns for how long logind delays a shutdown.
func inhibitDelay(t *testing.T, host *process.Host, instance string) string {
	t.Helper()
	return must(t, host, instance, "busctl", "get-property", "org.freedesktop.login1", "/org/freedesktop/login1",
		"org.freedesktop.login1.Manager", "InhibitDelayMaxUSec")
}

// configure sets logind's limit in a file, as a kubelet does, and makes logind read it.
func configure(t *testing.T, host *process.Host, instance, file, seconds string) {
	t.Helper()
	script := "rm -f " + file
	if seconds != "" {
		script = "mkdir -p " + filepath.Dir(file) + "; printf '[Login]\\nInhibitDelayMaxSec=" + seconds + "\\n' >" + file
	}
	must(t, host, instance, "sh", "-c", script+"; systemctl kill --signal=HUP systemd-logind")
}
