//go:build linux

package process_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/machines/process"
	"github.com/aws-operator/aws-operator/internal/patience"
)

// knock shows on the console whether an address is reachable: nothing listens there, so a neighbor
// refuses the connection at once.
const knock = `curl -sv -m 5 http://10.0.0.6:9 2>&1; echo knocked`

func TestMachinesReachOnlyTheirVPC(t *testing.T) {
	host, other := newHost(t), newHost(t)
	boot(t, host, spec("i-neighbour", "vpc-1", "10.0.0.6", "sleep 1000\n"))
	boot(t, host, spec("i-same-vpc", "vpc-1", "10.0.0.5", knock))
	boot(t, host, spec("i-other-vpc", "vpc-2", "10.0.0.5", knock))
	boot(t, other, spec("i-other-host", "vpc-1", "10.0.0.5", knock))
	if console := awaitConsole(t, host, "i-same-vpc", "knocked"); !strings.Contains(console, "refused") {
		t.Errorf("a neighbour in the VPC cannot be reached:\n%s", console)
	}
	if console := awaitConsole(t, host, "i-other-vpc", "knocked"); strings.Contains(console, "refused") {
		t.Errorf("a machine of another VPC of the same range is reached:\n%s", console)
	}
	if console := awaitConsole(t, other, "i-other-host", "knocked"); strings.Contains(console, "refused") {
		t.Errorf("a machine of another simulator is reached:\n%s", console)
	}
}

func TestUnbootableSpecsAreRefused(t *testing.T) {
	host := newHost(t)
	boot(t, host, spec("i-1", "vpc-1", "10.0.0.5", "sleep 1000\n"))
	foreign := spec("i-2", "vpc-1", "10.0.0.6", "")
	foreign.Architecture = "s390x"
	for why, s := range map[string]struct {
		give func() error
		want string
	}{
		"an architecture that is not the host's": {func() error { return host.Boot(foreign) }, "only"},
		"an instance that runs":                  {func() error { return host.Boot(spec("i-1", "vpc-1", "10.0.0.7", "")) }, "already running"},
		"an address outside of the VPC":          {func() error { return host.Boot(spec("i-3", "vpc-1", "10.9.0.7", "")) }, "not in its VPC"},
		"a volume of a machine that is not":      {func() error { return host.Attach("i-9", "vol-1", "/dev/sdf") }, "no such machine"},
	} {
		if err := s.give(); err == nil || !strings.Contains(err.Error(), s.want) {
			t.Errorf("%s: got %v, want an error with %q", why, err, s.want)
		}
	}
	if _, err := host.Dial(t.Context(), "i-1", 1); err == nil {
		t.Error("a port on which nothing listens was dialled")
	}
}

func TestVolumesAreCopiedAndDeleted(t *testing.T) {
	host := newHost(t)
	const use = `
disk=/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_$1
until test -e $disk; do sleep 0.01; done
test -s $disk || echo "reads as zeros"
blkid -o value -s TYPE $disk || mkfs.ext4 -q $disk
mkdir /data && mount $disk /data && ls /data && echo kept >> /data/file && cat /data/file
echo used
`
	attach := func(instance, volume, address string) string {
		boot(t, host, spec(instance, "vpc-1", address, strings.ReplaceAll(use, "$1", strings.ReplaceAll(volume, "-", ""))))
		if err := host.Attach(instance, volume, "/dev/sdf"); err != nil {
			t.Fatal(err)
		}
		return awaitConsole(t, host, instance, "used")
	}
	if console := attach("i-1", "vol-1", "10.0.0.5"); !strings.Contains(console, "reads as zeros") ||
		!strings.Contains(console, "lost+found") {
		t.Errorf("a new volume is not empty:\n%s", console)
	}
	if err := host.Attach("i-1", "vol-1", "/dev/sdf"); err != nil {
		t.Errorf("attaching what is attached: %v", err)
	}
	host.Terminate("i-1")
	if err := host.CopyVolume("vol-1", "snap-1"); err != nil {
		t.Fatal(err)
	}
	host.DeleteVolume("vol-1")
	if err := host.CopyVolume("snap-1", "vol-2"); err != nil {
		t.Fatal(err)
	}
	if console := attach("i-2", "vol-2", "10.0.0.5"); strings.Count(console, "kept") != 2 || strings.Contains(console, "reads as zeros") {
		t.Errorf("a copy has not what the volume had:\n%s", console)
	}
	if console := attach("i-3", "vol-1", "10.0.0.6"); !strings.Contains(console, "reads as zeros") {
		t.Errorf("a deleted volume has data:\n%s", console)
	}
}

// hostVariable turns the test binary into a simulator that waits to be killed. Its value is the
// directory, a comma and the binary.
const hostVariable = "PROCESS_TEST_HOST"

// runHost boots a machine, reports that and waits.
func runHost() error {
	dir, binary, _ := strings.Cut(os.Getenv(hostVariable), ",")
	host, err := process.New(process.Options{Dir: dir, Machine: binary, Kube: "/bin/true"})
	if err != nil {
		return err
	}
	if err := host.Boot(spec("i-1", "vpc-1", "10.0.0.5", "sleep 4321 & setsid sleep 4321\n")); err != nil {
		return err
	}
	_, err = io.WriteString(os.Stdout, "booted\n")
	if err == nil {
		_, err = io.Copy(io.Discard, os.Stdin)
	}
	return err
}

func TestKilledSimulatorLeavesNothing(t *testing.T) {
	if err := process.Supported(); err != nil {
		t.Skip(err)
	}
	binary, err := built()
	if err != nil {
		t.Fatal(err)
	}
	before := interfaces(t)
	dir := filepath.Join(t.TempDir(), "machines")
	simulator := exec.CommandContext(t.Context(), os.Args[0])
	simulator.Env = append(os.Environ(), hostVariable+"="+dir+","+binary)
	simulator.Stderr = os.Stderr
	if _, err := simulator.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := simulator.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := simulator.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "booted\n" {
		t.Fatalf("the simulator said %q, %v", line, err)
	}
	within(t, "the machine's programs to run", func() bool { return sleepers(t) == 2 })
	if err := simulator.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = simulator.Wait()
	within(t, "the machine's programs to die with the simulator", func() bool { return sleepers(t) == 0 })
	if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || strings.Contains(string(mounts), dir) {
		t.Errorf("mounts are left, %v:\n%s", err, mounts)
	}
	if after := interfaces(t); after != before {
		t.Errorf("interfaces were %s and are %s", before, after)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	before := interfaces(t)
	host := newHost(t)
	stop := host.Serve(frontend("vpc-1", "10.0.0.100:80"), func(c net.Conn) { _ = c.Close() })
	defer stop()
	for _, id := range []string{"i-1", "i-2"} {
		boot(t, host, spec(id, "vpc-1", "10.0.0."+strings.TrimPrefix(id, "i-"), "echo up; sleep 1000\n"))
		awaitConsole(t, host, id, "up")
	}
	host.Close()
	host.Close()
	if _, err := os.Stat(host.Dir()); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
	if after := interfaces(t); after != before {
		t.Errorf("interfaces were %s and are %s", before, after)
	}
	if err := host.Boot(spec("i-3", "vpc-1", "10.0.0.3", "")); err == nil {
		t.Error("a closed host boots")
	}
	if _, err := host.Dial(context.Background(), "i-1", 80); err == nil {
		t.Error("a closed host dials")
	}
}

// interfaces returns the interfaces of the host's own network.
func interfaces(t *testing.T) string {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = one.Name
	}
	return strings.Join(names, " ")
}

// sleepers counts the programs of the machine that runHost boots.
func sleepers(t *testing.T) int {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, path := range lines {
		if words, err := os.ReadFile(path); err == nil && string(words) == "sleep\x004321\x00" {
			count++
		}
	}
	return count
}

func within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	patience.UntilTrue(t, what, holds)
}
