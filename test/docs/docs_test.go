package docs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

// pages returns the pages, in the order in which a new user reads them.
func pages(t *testing.T) []string {
	t.Helper()
	all := []string{filepath.Join(root, "README.md")}
	for _, folder := range []string{"docs/tutorials", "docs/guide"} {
		found, err := filepath.Glob(filepath.Join(root, folder, "*.md"))
		if err != nil || len(found) == 0 {
			t.Fatalf("there are no pages in %s: %v", folder, err)
		}
		all = append(all, found...)
	}
	return all
}

const root = "../.."

func parsed(t *testing.T, page string) []*Block {
	t.Helper()
	blocks, err := Parse(contentOf(t, page))
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	return blocks
}

func TestEveryBlockIsRunOrSaysWhyNot(t *testing.T) {
	for _, page := range pages(t) {
		parsed(t, page)
	}
}

// TestPagesCanBeFollowed runs all pages, of which -run TestPagesCanBeFollowed/approval selects one.
func TestPagesCanBeFollowed(t *testing.T) {
	if os.Getenv("TEST_DOCS") == "" {
		t.Skip("it takes minutes and is part of make interop: set TEST_DOCS=1 to run it here")
	}
	for _, program := range []string{"bash", "kubectl", "git"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	for _, page := range slices.Backward(pages(t)) { // the guide to Terraform, which takes longest, comes first
		name, err := filepath.Rel(root, page)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.ReplaceAll(strings.TrimSuffix(name, ".md"), "/", "-"), func(t *testing.T) {
			t.Parallel() // the commands mostly wait
			follow(t, page, name)
		})
	}
}

// follow runs a page, in the order of its blocks, and checks what its commands print.
func follow(t *testing.T, page, name string) {
	t.Helper()
	dir := reader(t)
	steps := Steps(parsed(t, page), func(b *Block) bool {
		for _, program := range b.Needs {
			if missing := missing(t, dir, program); missing != "" {
				t.Logf("%s:%d: skipped: %s", name, b.Line, missing)
				return true
			}
		}
		return false
	})
	if len(steps) == 0 {
		t.Skip("the page has no commands")
	}
	began := clock.RealClock{}.Now()
	output, err := run(t, dir, Script(steps))
	results := Results(steps, output)
	times := map[string]time.Duration{}
	var sections []string
	for _, r := range results {
		if missing := r.Missing(); len(missing) > 0 && (r.Took > 0 || err == nil) {
			t.Errorf("%s:%d: the commands do not print this:\n%s\nbut:\n%s", name, r.Line, strings.Join(missing, "\n"), r.Printed)
		}
		if _, ok := times[r.Section]; !ok {
			sections = append(sections, r.Section)
		}
		times[r.Section] += r.Took
	}
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, ".local/operator.log"))
		last := Result{Step: &Step{}, Printed: output}
		if len(results) > 0 {
			last = results[len(results)-1]
		}
		t.Errorf("%s:%d: %v\n%s\nprinted:\n%s\nthe end of the operator's log:\n%s", name, last.Line, err, last.Code, last.Printed, log[max(0, len(log)-3000):])
	}
	t.Logf("%s took %.0f s", name, clock.RealClock{}.Since(began).Seconds())
	for _, section := range sections {
		t.Logf("%s: %s took %.1f s", name, section, times[section].Seconds())
	}
}

// reader returns the folder of a reader: that of a clone, with what the pages use.
func reader(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	bin, err := filepath.Abs(filepath.Join(root, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(bin, "aws-operator")); err != nil {
		t.Skip("bin/aws-operator does not exist: run make build")
	}
	home := filepath.Join(dir, "home")
	err = errors.Join(
		os.Symlink(bin, filepath.Join(dir, "bin")),
		os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(filepath.Join(root, "examples"))),
		os.CopyFS(filepath.Join(dir, "config"), os.DirFS(filepath.Join(root, "config"))),
		os.MkdirAll(filepath.Join(home, ".ssh"), 0o700),
		os.WriteFile(filepath.Join(home, ".ssh/id_ed25519.pub"), []byte("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl reader@example.com\n"), 0o600),
		os.WriteFile(filepath.Join(home, ".terraformrc"), providers(), 0o600),
		os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\nname = Reader\nemail = reader@example.com\n"), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "git", "init", "--quiet", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	return dir
}

// missing returns why a program cannot be used, "" if it can: terraform needs a provider, too. Root is no program, but what
// machines need to boot.
func missing(t *testing.T, dir, program string) string {
	t.Helper()
	if program == "root" {
		if runtime.GOOS != "linux" || os.Geteuid() != 0 {
			return "machines do not really boot without Linux and root"
		}
		return ""
	}
	if _, err := exec.LookPath(program); err != nil {
		return program + " is not installed"
	}
	if program != "terraform" {
		return ""
	}
	initialize := exec.CommandContext(t.Context(), "terraform", "-chdir=examples/terraform/1-prerequisites", "init", "-input=false")
	initialize.Dir, initialize.Env = dir, environ(t, dir)
	if out, err := initialize.CombinedOutput(); err != nil {
		return "terraform has no provider hashicorp/aws: " + string(out)
	}
	return ""
}

// providers returns a configuration of terraform with the folder of providers of this computer, if
// it has one: that of TF_PLUGIN_DIR, or a common one.
func providers() []byte {
	folders, _ := filepath.Glob("/opt/*")
	for _, folder := range append([]string{os.Getenv("TF_PLUGIN_DIR")}, folders...) {
		if _, err := os.Stat(filepath.Join(folder, "registry.terraform.io/hashicorp/aws")); err == nil && folder != "" {
			return fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", folder)
		}
	}
	return nil
}

// run runs a script in the folder of a reader, and then ends what it left running.
func run(t *testing.T, dir, script string) (string, error) {
	t.Helper()
	path := filepath.Join(dir, "home/page.sh")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	env := environ(t, dir)
	t.Cleanup(func() {
		down := exec.Command("bin/aws-operator", "local", "down") //nolint:noctx // the test's context has ended
		down.Dir, down.Env = dir, env
		_ = down.Run() // nothing runs if the page ends with it
	})
	ctx := t.Context()
	if deadline, ok := t.Deadline(); ok {
		before, cancel := context.WithDeadline(ctx, deadline.Add(-20*time.Second)) // in time for a report
		defer cancel()
		ctx = before
	}
	var out bytes.Buffer
	command := exec.CommandContext(ctx, "bash", path)
	command.Dir, command.Env, command.Stdout, command.Stderr = dir, env, &out, &out
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = 10 * time.Second // a background process may keep the output open
	err := command.Run()
	return out.String(), err
}

// environ returns the environment of a reader: no cluster and no account that this process may have.
func environ(t *testing.T, dir string) []string {
	t.Helper()
	caches, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE", "GOMODCACHE", "GOPATH").Output()
	if err != nil {
		t.Fatal(err)
	}
	values := strings.Split(string(caches), "\n")
	env := []string{
		"HOME=" + filepath.Join(dir, "home"), "GOCACHE=" + values[0], "GOMODCACHE=" + values[1], "GOPATH=" + values[2],
		"NO_COLOR=1", "TF_CLI_ARGS=-no-color", "AWS_PAGER=",
	}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if name != "HOME" && name != "KUBECONFIG" && name != "TF_CLI_CONFIG_FILE" && !strings.HasPrefix(name, "AWS_") && !strings.HasPrefix(name, "GO") {
			env = append(env, variable)
		}
	}
	return env
}
