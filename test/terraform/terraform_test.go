package terraform

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// needed is the oldest provider with which the configurations work, according to their
// requirements.
const needed = `terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.81"
    }
  }
}
`

// unreachable matches terraform's errors if the provider is not available.
var unreachable = regexp.MustCompile(`(?i)could not connect|no such host|provider registry|timeout|no available releases`)

// provider installs the provider once. It returns a folder that is initialized with it, or why
// there is none.
var provider = sync.OnceValues(func() (folder, skip string) {
	if _, err := exec.LookPath("terraform"); err != nil {
		return "", "terraform is not installed"
	}
	folder, err := os.MkdirTemp("", "aws-operator-terraform-")
	if err != nil {
		return "", err.Error()
	}
	if err := os.WriteFile(filepath.Join(folder, "main.tf"), []byte(needed), 0o600); err != nil {
		return "", err.Error()
	}
	cmd := exec.CommandContext(context.Background(), "terraform", append([]string{"-chdir=" + folder}, initialize()...)...)
	cmd.Env = inherited()
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return folder, ""
	case unreachable.Match(out):
		return "", "the provider hashicorp/aws is in no folder of TF_PLUGIN_DIR, TF_PLUGIN_CACHE_DIR, ~/.terraform.d or /opt, and terraform cannot install it: " + lastLine(
			string(out),
		)
	default:
		_, _ = os.Stderr.Write(out)
		return "", "" // it is broken, and the test will fail with the error
	}
})

// inherited is the environment of this process. If it names a missing configuration of terraform,
// the variable is removed, and terraform searches for providers in its default folders.
func inherited() []string {
	const configuration = "TF_CLI_CONFIG_FILE"
	all := os.Environ()
	if file := os.Getenv(configuration); file != "" {
		if _, err := os.Stat(file); os.IsNotExist(err) {
			return slices.DeleteFunc(all, func(variable string) bool { return strings.HasPrefix(variable, configuration+"=") })
		}
	}
	return all
}

// initialize returns the command that installs the provider.
func initialize() []string {
	args := []string{"init", "-input=false", "-no-color"}
	if plugins := mirror(); plugins != "" {
		args = append(args, "-plugin-dir="+plugins)
	}
	return args
}

// mirrors are folders that may contain providers besides terraform's default ones: from the
// environment, or common ones.
func mirrors() []string {
	found := []string{os.Getenv("TF_PLUGIN_DIR"), os.Getenv("TF_PLUGIN_CACHE_DIR")}
	if home, err := os.UserHomeDir(); err == nil {
		found = append(found, filepath.Join(home, ".terraform.d", "plugin-cache"))
	}
	add, _ := filepath.Glob("/opt/*")
	return append(found, add...)
}

// mirror returns the first of the mirrors with the provider, or "".
func mirror() string {
	for _, folder := range mirrors() {
		if folder == "" {
			continue
		}
		if has, _ := filepath.Glob(filepath.Join(folder, "registry.terraform.io", "hashicorp", "aws", "*")); len(has) > 0 {
			return folder
		}
	}
	return ""
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines {
		if line = strings.Trim(line, "│╷╵ "); strings.HasPrefix(line, "Error: ") {
			return line
		}
	}
	return lines[len(lines)-1]
}

func TestMain(m *testing.M) {
	code := m.Run()
	if folder, _ := installed(); folder != "" {
		_ = os.RemoveAll(folder)
	}
	os.Exit(code)
}

// asked is true if a test needed the provider.
var asked bool

func installed() (folder, skip string) {
	if !asked {
		return "", ""
	}
	return provider()
}

// terraform is the program in a folder.
type terraform struct {
	t      *testing.T
	folder string
	env    []string
}

// in returns terraform in a folder in which the provider is installed. It skips the test if the
// provider is not available.
func (c *cloud) in(folder string) *terraform {
	c.t.Helper()
	asked = true
	from, skip := provider()
	if skip != "" {
		c.t.Skip(skip)
	}
	if from == "" {
		c.t.Fatal("terraform init fails; run it manually on a configuration that requires hashicorp/aws")
	}
	for _, name := range []string{".terraform", ".terraform.lock.hcl"} {
		to := filepath.Join(folder, name)
		if name == ".terraform" {
			if err := os.CopyFS(to, os.DirFS(filepath.Join(from, name))); err != nil {
				c.t.Fatal(err)
			}
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			c.t.Fatal(err)
		}
		write(c.t, to, string(text))
	}
	// The simulator has one address for all buckets.
	write(c.t, filepath.Join(folder, "simulator_override.tf"), "provider \"aws\" {\n  s3_use_path_style = true\n}\n")
	return &terraform{t: c.t, folder: folder, env: append(inherited(), c.environment()...)}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs terraform and returns its standard output. It fails the test if terraform fails.
func (p *terraform) run(args ...string) string {
	p.t.Helper()
	out, said, code := p.try(args...)
	if code != 0 {
		p.t.Fatalf("terraform %s: exit code %d\n%s\n%s", strings.Join(args, " "), code, out, said)
	}
	return out
}

// try runs terraform and returns its standard output, standard error and exit code.
func (p *terraform) try(args ...string) (out, said string, code int) {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), "terraform", append([]string{"-chdir=" + p.folder}, args...)...)
	cmd.Env = p.env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// apply repeats an apply that S3 refuses since the bucket of the issuer still blocks public policies,
// as the guide says: that the block is removed takes effect some time later.
func (p *terraform) apply() string {
	p.t.Helper()
	const most = 5
	for n := 1; ; n++ {
		out, said, code := p.try("apply", "-auto-approve", "-input=false", "-no-color", "-parallelism=30")
		switch {
		case code == 0:
			return out
		case n == most || !strings.Contains(said, "S3: PutBucketPolicy") || !strings.Contains(said, "api error AccessDenied"):
			p.t.Fatalf("terraform apply: exit code %d\n%s\n%s", code, out, said)
		}
	}
}

// unchanged fails the test unless a plan is empty.
func (p *terraform) unchanged() {
	p.t.Helper()
	if out, said, code := p.try("plan", "-input=false", "-no-color", "-detailed-exitcode", "-parallelism=30"); code != 0 {
		p.t.Errorf("the plan contains changes (exit code %d):\n%s\n%s", code, out, said)
	}
}

// destroy repeats a destroy that does not find a volume's last snapshot, as the guide says: EC2 does
// not show it at once, and the provider 5.100 does not ask again. Each repetition leaves another
// snapshot of the volume; destroy returns their number.
func (p *terraform) destroy() (repeated int) {
	p.t.Helper()
	for {
		out, said, code := p.try("destroy", "-auto-approve", "-input=false", "-no-color", "-parallelism=30")
		late := strings.Count(said, "api error InvalidSnapshot.NotFound")
		switch {
		case code == 0:
			return repeated
		case late == 0 || repeated+late > 10:
			p.t.Fatalf("terraform destroy: exit code %d\n%s\n%s", code, out, said)
		}
		repeated += late
	}
}
