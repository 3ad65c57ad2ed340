//go:build linux

package process_test

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

// A machine that powers itself off reports it, and its root volume has its files, which a machine
// with a copy of that volume starts with. Its name and its certificates are new.
func TestRootVolumeHasTheFilesOfAMachineThatPowersItselfOff(t *testing.T) {
	host := newHost(t)
	off := make(chan string, 1)
	host.Connect(machine.Services{PoweredOff: func(_, _, id string) { off <- id }})
	first := spec("i-1", "vpc-1", "10.0.0.5", `
mkdir -p /var/cache/nodeup /opt/tool
echo archive >/var/cache/nodeup/abc
printf '#!/bin/sh\necho the tool ran\n' >/usr/local/bin/tool
chmod 750 /usr/local/bin/tool
ln -s /usr/local/bin/tool /opt/tool/link
mkfifo /opt/tool/pipe
echo secret >/var/tmp/secret
rm /usr/local/bin/kubelet
echo '#!kubelet' >/usr/local/bin/kubelet
cp /etc/hostname /etc/previous
poweroff
sleep 1000
`)
	first.RootVolumeID = "vol-1"
	boot(t, host, first)
	if id := patience.Receive(t, "the report that the machine is off", off); id != "i-1" {
		t.Errorf("the report is of %s", id)
	}
	host.Terminate("i-1")
	for _, to := range [][2]string{{"vol-1", "snap-1"}, {"snap-1", "vol-2"}} {
		if err := host.CopyVolume(to[0], to[1]); err != nil {
			t.Fatal(err)
		}
	}
	second := spec("i-2", "vpc-1", "10.0.0.6", `
/opt/tool/link
cat /var/cache/nodeup/abc
stat -c 'mode %a' /usr/local/bin/tool
cat /usr/local/bin/kubelet
readlink /usr/local/bin/kubeadm
ls /var/tmp/secret /opt/tool/pipe
echo "$(hostname) was $(cat /etc/previous)"
`)
	second.RootVolumeID = "vol-2"
	boot(t, host, second)
	console := awaitConsole(t, host, "i-2", "ip-10-0-0-6.eu-central-1.compute.internal was ip-10-0-0-5.eu-central-1.compute.internal")
	for _, want := range []string{"the tool ran", "archive", "mode 750", "#!kubelet", "/usr/local/libexec/machine/kube", "/var/tmp/secret': No such file"} {
		if !strings.Contains(console, want) {
			t.Errorf("the console lacks %q:\n%s", want, console)
		}
	}

	boot(t, host, spec("i-3", "vpc-1", "10.0.0.7", "test -e /var/cache/nodeup || echo as new\n"))
	awaitConsole(t, host, "i-3", "as new")
}
