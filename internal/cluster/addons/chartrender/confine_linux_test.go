package chartrender

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A child process of the test confines itself and says what it may still do.
func TestAConfinedProcessOpensNothing(t *testing.T) {
	const inside = "CHARTRENDER_TEST_CONFINED"
	if address := os.Getenv(inside); address != "" {
		tryConfined(t, address)
		return
	}
	if _, _, err := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION); err != 0 {
		t.Skipf("this kernel has no Landlock: %v", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	child := exec.CommandContext(t.Context(), self(), "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = []string{inside + "=" + listener.Addr().String()}
	out, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("the confined process: %v\n%s", err, out)
	}
}

// tryConfined is what the child process does: address is a port that listens.
func tryConfined(t *testing.T, address string) {
	t.Helper()
	if err := confine(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile("/etc/passwd"); err == nil {
		t.Error("it reads files")
	}
	if _, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address); err == nil {
		t.Error("it makes connections")
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_DATA, &limit); err != nil || limit.Cur != memory {
		t.Errorf("it may allocate %d bytes (%v)", limit.Cur, err)
	}
}
