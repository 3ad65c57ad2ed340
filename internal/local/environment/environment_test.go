package environment_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/local/environment"
)

func TestUpServesAndStopLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "local")
	var said bytes.Buffer
	env := up(t, dir, &said)
	if !strings.Contains(said.String(), env.State().APIServer) || !strings.Contains(said.String(), env.State().AWS) {
		t.Errorf("it said\n%s\nwithout the addresses", said.String())
	}
	config, err := clientcmd.LoadFromFile(filepath.Join(dir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	if got := config.Clusters[config.Contexts[config.CurrentContext].Cluster].Server; got != env.State().APIServer {
		t.Errorf("the kubeconfig is for %s, the cluster is at %s", got, env.State().APIServer)
	}
	variables, err := os.ReadFile(filepath.Join(dir, "aws.env"))
	if err != nil || !strings.Contains(string(variables), "export AWS_ENDPOINT_URL="+env.State().AWS+"\n") {
		t.Errorf("aws.env is %q (%v), without the endpoint %s", variables, err, env.State().AWS)
	}
	releases := filepath.Join(dir, "releases")
	if files, _ := filepath.Glob(releases + "/v*.yaml"); len(files) == 0 || !strings.Contains(string(variables), releases) {
		t.Errorf("releases for states are %v, and aws.env is %q; want both", files, variables)
	}
	if err := env.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder after the end: %v, want it removed", err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, env.State().AWS, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if response, err := http.DefaultClient.Do(request); err == nil {
		_ = response.Body.Close()
		t.Error("AWS still answers")
	}
}

func TestAFolderHasOneEnvironment(t *testing.T) {
	dir := t.TempDir()
	up(t, dir, io.Discard)
	state, err := environment.Read(dir)
	if err != nil || state.Phase != environment.Serving || state.PID != os.Getpid() {
		t.Errorf("its state is %+v (%v), want Serving by this process", state, err)
	}
	_, err = environment.Up(t.Context(), environment.Options{Dir: dir})
	if !errors.Is(err, environment.ErrRunning) {
		t.Errorf("a second one in the folder: %v, want ErrRunning", err)
	}
}

func TestOtherFilesAreNotOverwritten(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := environment.Up(t.Context(), environment.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), mine) {
		t.Errorf("got %v, want a refusal that names %s", err, mine)
	}
	if _, err := environment.Down(t.Context(), dir, clock.RealClock{}); !errors.Is(err, environment.ErrNotRunning) {
		t.Errorf("stopping what does not run: %v, want ErrNotRunning", err)
	}
	if data, err := os.ReadFile(mine); err != nil || string(data) != "mine" {
		t.Errorf("the file is now %q (%v)", data, err)
	}
}

func TestRemainsOfACrashAreRemoved(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"state.json": `{"pid":1,"phase":"Serving"}`, "kubeconfig": "old", "lock": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := environment.Read(dir); !errors.Is(err, environment.ErrNotRunning) {
		t.Errorf("the lock is free: %v, want ErrNotRunning", err)
	}
	if _, err := environment.Down(t.Context(), dir, clock.RealClock{}); !errors.Is(err, environment.ErrNotRunning) {
		t.Errorf("got %v, want ErrNotRunning", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder: %v, want it removed", err)
	}
}

func up(t *testing.T, dir string, out io.Writer) *environment.Environment {
	t.Helper()
	env, err := environment.Up(t.Context(), environment.Options{Dir: dir, Out: out, Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := os.Stat(dir); err != nil {
			return // the test has stopped it
		}
		if err := env.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return env
}
