package local_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws-operator/aws-operator/internal/cli"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/local/process"
)

// TestMain makes the test binary the aws-operator binary when it is called like
// one, as the verbs call themselves again.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "local" || os.Args[1] == "operator") {
		os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func TestDetachedLivesUntilDown(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "local")
	out := succeed(t, "local", "up", "--detach", "--dir", dir)
	state := read(t, dir)
	for _, want := range []string{state.APIServer, state.AWS, "export KUBECONFIG=" + dir, "local down --dir " + dir} {
		if !strings.Contains(out, want) {
			t.Errorf("up did not say %q:\n%s", want, out)
		}
	}
	if state.OperatorPID == 0 {
		t.Error("no operator runs")
	}
	if quickStart := filepath.Join(dir, "quickstart"); !strings.Contains(out, "kubectl apply -f "+quickStart) {
		t.Errorf("up outside the repository did not name its own examples:\n%s", out)
	} else if files, _ := filepath.Glob(quickStart + "/*.yaml"); len(files) == 0 {
		t.Errorf("%s has no manifests", quickStart)
	}
	for _, again := range [][]string{{"local", "up", "--dir", dir}, {"local", "up", "--detach", "--dir", dir}} {
		if out, err := run(t, again...); err == nil || !strings.Contains(out, "it is already running in "+dir) {
			t.Errorf("%v while it runs: %v\n%s", again, err, out)
		}
	}
	succeed(t, "local", "down", "--dir", dir)
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder after down: %v, want it removed", err)
	}
	for _, pid := range []int{state.PID, state.OperatorPID} {
		if process.Running(pid) {
			t.Errorf("process %d still runs", pid)
		}
	}
}

func TestUpAfterACrashCleansUp(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "local")
	succeed(t, "local", "up", "--detach", "--no-operator", "--dir", dir)
	crashed := read(t, dir)
	if err := syscall.Kill(crashed.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, dir)
	out := succeed(t, "local", "up", "--detach", "--no-operator", "--dir", dir)
	if !strings.Contains(out, "ended without cleaning up") {
		t.Errorf("up after a crash did not say so:\n%s", out)
	}
	if state := read(t, dir); state.PID == crashed.PID || state.APIServer == crashed.APIServer {
		t.Errorf("the state is still that of before: %+v", state)
	}
	succeed(t, "local", "down", "--dir", dir)
}

func TestDownWithoutAnEnvironmentReportsIt(t *testing.T) {
	dir := t.TempDir()
	if out, err := run(t, "local", "down", "--dir", dir); err == nil || !strings.Contains(out, "nothing runs in "+dir) {
		t.Errorf("got %v\n%s", err, out)
	}
}

func succeed(t *testing.T, args ...string) string {
	t.Helper()
	out, err := run(t, args...)
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func read(t *testing.T, dir string) environment.State {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	var state environment.State
	if err := json.Unmarshal(data, &state); err != nil {
		t.Fatal(err)
	}
	return state
}

// awaitEnd returns when nothing holds the environment in dir any more.
func awaitEnd(t *testing.T, dir string) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		if _, err := environment.Read(dir); errors.Is(err, environment.ErrNotRunning) {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal("it still runs")
		case <-ticker.C:
		}
	}
}
