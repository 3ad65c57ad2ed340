//go:build linux

package process_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws-operator/aws-operator/internal/machines/process"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "machine-binary-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "machine")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "github.com/aws-operator/aws-operator/cmd/machine")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	if os.Getenv(hostVariable) != "" {
		if err := runHost(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if path, err := built(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// kube returns the repository's own binary, or a stub if a test needs none.
func kube() (path string, found bool) {
	for dir, _ := os.Getwd(); dir != "/"; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, "bin", "kube")
		if _, err := os.Stat(path); err == nil {
			return path, true
		}
	}
	return "/bin/true", false
}

func newHost(t *testing.T) *process.Host {
	t.Helper()
	if err := process.Supported(); err != nil {
		t.Skip(err)
	}
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	kubePath, _ := kube()
	host, err := process.New(process.Options{Dir: filepath.Join(t.TempDir(), "machines"), Machine: path, Kube: kubePath})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	return host
}

func spec(id, vpc, address, script string) machine.Spec {
	ip := netip.MustParseAddr(address)
	return machine.Spec{
		InstanceID: id, Account: "123456789012", Region: "eu-central-1", Zone: "eu-central-1a",
		VPCID: vpc, SubnetID: "subnet-1", VPCRange: netip.MustParsePrefix("10.0.0.0/16"), PrivateIP: ip,
		PrivateDNSName: "ip-" + strings.ReplaceAll(address, ".", "-") + ".eu-central-1.compute.internal",
		Architecture:   "amd64", UserData: []byte("#!/bin/sh\n" + script),
		Metadata: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			_, _ = io.WriteString(w, id+" asks "+req.URL.Path)
		}),
	}
}

// awaitConsole returns when a machine's console contains a text.
func awaitConsole(t *testing.T, host *process.Host, id, text string) string {
	t.Helper()
	var console []byte
	patience.Until(t, fmt.Sprintf("the console of %s to show %q", id, text), func() (err error) {
		console, err = host.Console(id)
		switch {
		case err != nil:
			return err
		case bytes.Contains(console, []byte(text)):
			return nil
		case bytes.Contains(console, []byte("cannot start")):
			t.Fatalf("the console of %s does not show %q:\n%s", id, text, console)
		}
		return fmt.Errorf("it shows:\n%s", console)
	})
	return string(console)
}

func boot(t *testing.T, host *process.Host, s machine.Spec) {
	t.Helper()
	if err := host.Boot(s); err != nil {
		t.Fatal(err)
	}
}

func TestBootsToAShellQuickly(t *testing.T) {
	host := newHost(t)
	boot(t, host, spec("i-warm", "vpc-1", "10.0.0.4", "echo up\n"))
	awaitConsole(t, host, "i-warm", "up")
	began := time.Now()
	boot(t, host, spec("i-1", "vpc-1", "10.0.0.5", "echo \"$(hostname) is process $$\"\n"))
	awaitConsole(t, host, "i-1", "ip-10-0-0-5.eu-central-1.compute.internal is process")
	t.Logf("%v", time.Since(began)) // about 50 ms; on a busy computer much longer
}

func TestMachineHasItsOwnFiles(t *testing.T) {
	host := newHost(t)
	secret := filepath.Join(t.TempDir(), "host-file")
	if err := os.WriteFile(secret, []byte("the host's"), 0o600); err != nil {
		t.Fatal(err)
	}
	boot(t, host, spec("i-1", "vpc-1", "10.0.0.5", `
test -e `+secret+` && echo "sees the host's files"
touch /usr/bin/of-the-machine && echo "writes to the host's programs"
echo 1 > /proc/sys/kernel/panic && echo "changes the host's kernel"
test $(ls /proc | grep -c '^[0-9]') -lt 10 || echo "sees the host's processes"
echo 1 > /proc/sys/net/ipv4/ip_forward && echo "has a network of its own"
touch /usr/local/bin/x /etc/x /opt/x /var/lib/x && echo "writes its own files"
test -z "$(ls -A /etc/kubernetes)" && echo "has no cluster yet"
systemctl is-active kubelet || echo "the kubelet ends with $?"
systemctl enable --now containerd && systemctl is-active containerd && echo "containerd is simulated"
modprobe overlay && sysctl -p /dev/null && echo "the kernel is simulated"
kubelet --version
test -x /usr/local/bin/kubeadm && echo "kubeadm is in the image"
echo finished
`))
	console := awaitConsole(t, host, "i-1", "finished")
	for _, never := range []string{"sees the host's", "writes to the host's", "changes the host's"} {
		if strings.Contains(console, never) {
			t.Errorf("it %s", never)
		}
	}
	for _, want := range []string{
		"has a network of its own", "writes its own files", "has no cluster yet", "the kubelet ends with 3", "containerd is simulated",
		"the kernel is simulated", "Kubernetes v1.36.3", "kubeadm is in the image",
	} {
		if !strings.Contains(console, want) {
			t.Errorf("the console does not show %q", want)
		}
	}
	if t.Failed() {
		t.Log(console)
	}
}

// frontend is a load balancer of a VPC, at addresses with the same port.
func frontend(vpc string, addresses ...string) machine.Frontend {
	at := machine.Frontend{VPCID: vpc, VPCRange: netip.MustParsePrefix("10.0.0.0/16")}
	for _, text := range addresses {
		address := netip.MustParseAddrPort(text)
		at.Addresses, at.Port = append(at.Addresses, address.Addr()), address.Port()
	}
	return at
}

func TestMachineReachesItsServices(t *testing.T) {
	host := newHost(t)
	host.Connect(machine.Services{
		AWS: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			_, _ = fmt.Fprintf(w, "AWS at %s%s tls=%t", req.Host, req.URL.Path, req.TLS != nil)
		}),
		Resolve: func(vpc, name string) []netip.Addr {
			if vpc == "vpc-1" && name == "etcd-0.demo.internal" {
				return []netip.Addr{netip.MustParseAddr("10.0.0.9")}
			}
			return nil
		},
	})
	early, late := frontend("vpc-1", "10.0.0.100:6443", "198.51.100.7:6443"), frontend("vpc-1", "10.0.0.101:6443")
	other := frontend("vpc-2", "10.0.0.100:6443")
	greet := func(name string) func(net.Conn) {
		return func(c net.Conn) { _, _ = io.WriteString(c, name+"\n"); _ = c.Close() }
	}
	host.Serve(early, greet("early balancer"))
	host.Serve(other, greet("balancer of another VPC"))
	boot(t, host, spec("i-1", "vpc-1", "10.0.0.5", `
curl -s http://169.254.169.254/latest/meta-data/; echo
curl -s https://bucket.s3.eu-central-1.amazonaws.com/key; echo
getent hosts etcd-0.demo.internal || echo no name
getent hosts nothing.demo.internal || echo no such name
getent hosts ip-10-0-0-5.eu-central-1.compute.internal
curl -sm 5 http://10.0.0.100:6443 --http0.9
curl -sm 5 http://198.51.100.7:6443 --http0.9 | sed 's/^/public /'
until curl -sm 5 http://10.0.0.101:6443 --http0.9; do :; done
echo finished
`))
	stop := host.Serve(late, greet("late balancer"))
	console := awaitConsole(t, host, "i-1", "finished")
	for _, want := range []string{
		"i-1 asks /latest/meta-data/", "AWS at bucket.s3.eu-central-1.amazonaws.com/key tls=true",
		"10.0.0.9", "no such name", "early balancer", "public early balancer", "late balancer",
	} {
		if !strings.Contains(console, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(console, "another VPC") {
		t.Error("a load balancer of another VPC answers")
	}
	stop()
	if t.Failed() {
		t.Log(console)
	}
}

// pipe forwards until either side ends.
func pipe(a, b net.Conn) {
	done := make(chan struct{}, 2)
	forward := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		done <- struct{}{}
	}
	go forward(a, b)
	go forward(b, a)
	<-done
	_ = a.Close()
	_ = b.Close()
	<-done
}
