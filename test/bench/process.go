package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// operator is the operator as its own process, to measure its memory and CPU time separately.
type operator struct {
	binary, kubeconfig, endpoint string
	key                          aws.Credentials
	// names is the address of the simulator's DNS server.
	names string
	dir   string
	// flags are further flags of the operator.
	flags []string

	metrics, profiles string
	command           *exec.Cmd
}

// start runs the operator and returns once it is ready.
func (o *operator) start(ctx context.Context) error {
	metrics, err := freeAddress()
	if err != nil {
		return err
	}
	probes, err := freeAddress()
	if err != nil {
		return err
	}
	if o.profiles, err = freeAddress(); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(o.dir, "operator.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the operator's log: %w", err)
	}
	defer func() { _ = log.Close() }()
	o.metrics = metrics
	//nolint:gosec // the user names the project's own binary on the command line
	o.command = exec.CommandContext(ctx, o.binary, "operator",
		"--kubeconfig="+o.kubeconfig, "--aws-endpoint-url="+o.endpoint, "--aws-region="+region,
		"--aws-api-budget=unlimited", "--metrics-bind-address="+metrics, "--health-probe-bind-address="+probes,
		"--pprof-bind-address="+o.profiles,
		"--nodeup-dir="+o.dir, "--log-level=warn")
	o.command.Args = append(o.command.Args, o.flags...)
	o.command.Env = append(
		os.Environ(),
		awsapi.ResolverVariable+"="+o.names,
		"AWS_ACCESS_KEY_ID="+o.key.AccessKeyID,
		"AWS_SECRET_ACCESS_KEY="+o.key.SecretAccessKey,
		"AWS_EC2_METADATA_DISABLED=true",
	)
	o.command.Stdout, o.command.Stderr = log, log
	if err := o.command.Start(); err != nil {
		return fmt.Errorf("start the operator: %w", err)
	}
	return waitFor(ctx, time.Minute, "the operator to be ready", func() (bool, error) {
		response, err := get(ctx, "http://"+probes+"/readyz")
		if err != nil {
			return false, nil
		}
		defer func() { _ = response.Body.Close() }()
		return response.StatusCode == http.StatusOK, nil
	})
}

// stop signals the operator and waits until it has exited.
func (o *operator) stop(signal syscall.Signal) error {
	if o.command == nil {
		return nil
	}
	if err := o.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the operator: %w", err)
	}
	_ = o.command.Wait() // a killed process always returns an error
	o.command = nil
	return nil
}

// residentMB returns the operator's resident memory in MB (10⁶ bytes).
func (o *operator) residentMB() (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", o.command.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read the operator's memory: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kB, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kB * 1024 / 1e6, err
		}
	}
	return 0, errors.New("no VmRSS in the operator's status")
}

// settle waits until the operator is idle: until it has used less than 1 % of a core for ten
// seconds. It returns how long it was busy.
func (o *operator) settle(ctx context.Context) (time.Duration, error) {
	const window = 5 * time.Second
	start, quiet := now(), 0
	last, err := o.cpu()
	if err != nil {
		return 0, err
	}
	for quiet < 2 && time.Since(start) < 5*time.Minute {
		if err := pause(ctx, window); err != nil {
			return 0, err
		}
		used, err := o.cpu()
		if err != nil {
			return 0, err
		}
		if quiet++; used-last > window/100 {
			quiet = 0
		}
		last = used
	}
	return time.Since(start) - 2*window, nil
}

// residentParts returns how much of the resident memory is the program's file, which the kernel can
// drop and read again, and how much is data.
func (o *operator) residentParts() (string, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", o.command.Process.Pid))
	if err != nil {
		return "", fmt.Errorf("read the operator's memory: %w", err)
	}
	parts := map[string]float64{}
	for line := range strings.Lines(string(status)) {
		for _, name := range []string{"RssAnon", "RssFile"} {
			if rest, ok := strings.CutPrefix(line, name+":"); ok {
				kB, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
				if err != nil {
					return "", fmt.Errorf("read the operator's memory: %w", err)
				}
				parts[name] = kB * 1024 / 1e6
			}
		}
	}
	return fmt.Sprintf("%.0f MB data, %.0f MB program file", parts["RssAnon"], parts["RssFile"]), nil
}

// cpu returns the CPU time of the operator.
func (o *operator) cpu() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", o.command.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read the operator's CPU time: %w", err)
	}
	of, err := parseStat(string(stat))
	return of.cpu, err
}

// sumOf sums the samples of one metric whose labels contain all of with.
func (o *operator) sumOf(ctx context.Context, metric string, with ...string) (float64, error) {
	response, err := get(ctx, "http://"+o.metrics+"/metrics")
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, fmt.Errorf("read the operator's metrics: %w", err)
	}
	total := 0.0
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, 1<<20)
next:
	for lines.Scan() {
		line := lines.Text()
		name, value, _ := strings.Cut(line, "} ")
		if !strings.HasPrefix(name, metric+"{") {
			continue
		}
		for _, label := range with {
			if !strings.Contains(name, label) {
				continue next
			}
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("read metric %s: %w", metric, err)
		}
		total += n
	}
	return total, lines.Err()
}

func get(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", url, err)
	}
	return http.DefaultClient.Do(request)
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed below
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String(), nil
}
