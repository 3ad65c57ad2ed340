package cli

import (
	"maps"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cli/exit"
)

// asNobody lets this thread reach files as a user without any rights until the test ends, also
// where it is root's.
func asUnprivileged(t *testing.T) (back func()) {
	t.Helper()
	runtime.LockOSThread()
	me := os.Getuid()
	const unprivileged = 65534
	if me == 0 {
		if err := syscall.Setfsuid(unprivileged); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if me == 0 {
			if err := syscall.Setfsuid(me); err != nil {
				t.Error(err)
			}
		}
		runtime.UnlockOSThread()
	}
}

func TestMissingWritePermissionIsReported(t *testing.T) {
	dir := workspace(t)
	manifest("maxSize: 3", "maxSize: 5")(t)
	for _, path := range []string{dir, "demo.yml"} { // what is to be replaced may be read
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"state", "state/demo", "state/demo/instancegroups"} {
		if err := os.Chmod(path, 0o555); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(path, 0o755) })
	}
	before := everything(t, dir)
	back := asUnprivileged(t)
	code, out, errOut := run("replace", "-f", "demo.yml")
	back()
	if code != exit.Failed || out != "" || strings.Count(errOut, "\n") != 1 ||
		!strings.Contains(errOut, "no permission to lock state/demo/lock: ask its owner") {
		t.Errorf("%d, %s%s", code, out, errOut)
	}
	if !maps.Equal(before, everything(t, dir)) {
		t.Error("something has changed")
	}
}
