package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// graceTime is how long Ginkgo may take to clean up after the limit.
const graceTime = 3 * time.Minute

// runSuite runs the conformance specs that match the focus, except those to skip, and returns what
// Ginkgo reports.
func runSuite(ctx context.Context, o options, reasons *reasons, skip []string) (report, error) {
	path := filepath.Join(o.programs, "report.json")
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	focus := `\[Conformance\]`
	if o.focus != "" {
		focus = "(" + o.focus + ").*" + focus
	}
	args := []string{
		"--focus=" + focus, "--timeout=" + o.limit.String(), "--seed=" + strconv.FormatInt(o.seed, 10),
		"--procs=" + strconv.Itoa(o.procs), "--grace-period=" + graceTime.String(), "--output-interceptor-mode=none",
		"--json-report=" + filepath.Base(path), "--output-dir=" + filepath.Dir(path), "--no-color", "--succinct",
	}
	for _, entry := range reasons.NotRunnable {
		args = append(args, "--skip="+entry.Match)
	}
	args = append(args, skipped(skip)...)
	kubeconfig, hosts, err := byName(o)
	if err != nil {
		return nil, err
	}
	args = append(args, filepath.Join(o.programs, "e2e.test"), "--",
		"-kubeconfig="+kubeconfig, "-provider=skeleton", "-kubectl-path="+filepath.Join(o.programs, "kubectl"),
		"-report-dir="+filepath.Join(o.programs, "reports"), "-disable-log-dump=true",
	)
	_, _ = fmt.Fprintf(os.Stderr, "running the specs of %s, seed %d, for at most %s\n", focus, o.seed, o.limit)
	// The suite and its kubectl see these hosts only.
	args = append([]string{
		"--mount", "sh", "-c", `mount --bind "$0" /etc/hosts && exec "$@"`, hosts, filepath.Join(o.programs, "ginkgo"),
	}, args...)
	cmd := exec.CommandContext(ctx, "unshare", args...) //nolint:gosec // built by make
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = graceTime
	log, err := os.Create(filepath.Join(o.programs, "suite.log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd.Stdout, cmd.Stderr = log, log
	// It also fails if a spec does: the report says which.
	failed := cmd.Run()
	text, err := os.ReadFile(path) //nolint:gosec // just written
	if err != nil {
		return nil, fmt.Errorf("the suite has written no report: %w (see %s)", errors.Join(failed, err), log.Name())
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("read the suite's report: %w", err)
	}
	return r, nil
}

// byName writes a kubeconfig that names the API server by the name in its certificate, and the hosts
// that say where that is: the suite ignores a kubeconfig's tls-server-name, which local clusters need.
func byName(o options) (kubeconfig, hosts string, err error) {
	config, err := clientcmd.LoadFromFile(o.kubeconfig)
	if err != nil {
		return "", "", fmt.Errorf("read the cluster's kubeconfig: %w", err)
	}
	text, err := os.ReadFile("/etc/hosts")
	if err != nil {
		return "", "", err
	}
	for _, cluster := range config.Clusters {
		server, err := url.Parse(cluster.Server)
		if err != nil {
			return "", "", fmt.Errorf("read the cluster's kubeconfig: %w", err)
		}
		if cluster.TLSServerName == "" {
			continue
		}
		text = fmt.Appendf(text, "\n%s %s\n", server.Hostname(), cluster.TLSServerName)
		server.Host = net.JoinHostPort(cluster.TLSServerName, server.Port())
		cluster.Server, cluster.TLSServerName = server.String(), ""
	}
	kubeconfig, hosts = filepath.Join(o.programs, "kubeconfig"), filepath.Join(o.programs, "hosts")
	return kubeconfig, hosts, errors.Join(
		clientcmd.WriteToFile(*config, kubeconfig), os.WriteFile(hosts, text, 0o644), //nolint:gosec // as all hosts
	)
}

// skipped returns the flags that leave out specs by their full text. A single argument may have 128
// KiB on Linux, and the texts of all specs have less.
func skipped(texts []string) []string {
	if len(texts) == 0 {
		return nil
	}
	quoted := make([]string, 0, len(texts))
	for _, text := range texts {
		quoted = append(quoted, quote(text))
	}
	return []string{"--skip=(" + strings.Join(quoted, "|") + ")$"}
}

// commit returns the commit of the repository, with a mark if files differ from it.
func commit(ctx context.Context, root string) string {
	cmd := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--exclude=*")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
