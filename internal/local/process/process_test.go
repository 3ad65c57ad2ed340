package process_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/local/process"
	"github.com/aws-operator/aws-operator/internal/patience"
)

// parentVariable makes the test binary a parent that starts a child and waits
// to be killed.
const parentVariable = "PROCESS_TEST_PARENT_LOG"

func TestMain(m *testing.M) {
	log := os.Getenv(parentVariable)
	if log == "" {
		os.Exit(m.Run())
	}
	child, err := process.Start(process.Spec{Name: "child", Path: "/bin/sleep", Args: []string{"sleep", "60"}, LogFile: log})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, child.PID())
	<-child.Done()
}

func TestChildDiesWithAKilledParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux's kernel ends a child with its parent")
	}
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), parentVariable+"="+filepath.Join(t.TempDir(), "log"))
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	await(t, "the child to die with its parent", func() bool { return !process.Running(pid) })
}

func TestStopEndsAChildThatHandlesTheSignal(t *testing.T) {
	child := start(t, "sleep 60")
	if err := child.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if process.Running(child.PID()) {
		t.Error("the child still runs")
	}
	if err := child.Stop(t.Context()); err != nil {
		t.Errorf("stopping a stopped child: %v, want no error", err)
	}
}

func TestErrHasTheEndOfTheLog(t *testing.T) {
	child := start(t, "echo the disk is full >&2; exit 3")
	<-child.Done()
	err := child.Err()
	if err == nil || !strings.Contains(err.Error(), "the disk is full") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %v, want the exit status and what the child said", err)
	}
}

func start(t *testing.T, script string) *process.Process {
	t.Helper()
	child, err := process.Start(process.Spec{
		Name: "child", Path: "/bin/sh", Args: []string{"sh", "-c", script}, LogFile: filepath.Join(t.TempDir(), "log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := child.Kill(); err != nil {
			t.Error(err)
		}
	})
	return child
}

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	patience.UntilTrue(t, what, holds)
}
