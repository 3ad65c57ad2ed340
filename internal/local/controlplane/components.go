package controlplane

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
	"github.com/aws-operator/aws-operator/internal/local/process"
)

// probeEvery is how often a starting component is asked whether it serves.
const probeEvery = 50 * time.Millisecond

var errPortTaken = errors.New("another process took the port")

func (c *ControlPlane) startEtcd(ctx context.Context) (url string, err error) {
	err = c.onFreePorts(2, func(ports []int) error {
		url = fmt.Sprintf("https://127.0.0.1:%d", ports[0])
		peer := fmt.Sprintf("https://127.0.0.1:%d", ports[1])
		c.etcd, err = c.run("etcd", c.opts.Binaries.Etcd,
			"--name=local", "--data-dir="+c.file("etcd"),
			"--listen-client-urls="+url, "--advertise-client-urls="+url,
			"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=local="+peer,
			"--cert-file="+c.file("etcd.crt"), "--key-file="+c.file("etcd.key"),
			"--trusted-ca-file="+c.file("ca.crt"), "--client-cert-auth",
			"--peer-cert-file="+c.file("etcd.crt"), "--peer-key-file="+c.file("etcd.key"),
			"--peer-trusted-ca-file="+c.file("ca.crt"), "--peer-client-cert-auth",
			"--unsafe-no-fsync", "--log-level=warn",
		)
		if err != nil {
			return err
		}
		return c.await(ctx, c.etcd, url+"/health")
	})
	return url, err
}

func (c *ControlPlane) startAPIServer(ctx context.Context, etcdURL string) error {
	err := c.onFreePorts(1, func(ports []int) (err error) {
		c.host = fmt.Sprintf("https://127.0.0.1:%d", ports[0])
		c.apiServer, err = c.run("kube-apiserver", c.opts.Binaries.APIServer, c.apiServerFlags(etcdURL, ports[0])...)
		if err != nil {
			return err
		}
		return c.await(ctx, c.apiServer, c.host+"/readyz")
	})
	if err != nil {
		return err
	}
	// The namespaces come from a controller in the API server that readyz does
	// not wait for; what is applied first is usually applied to this one.
	return c.await(ctx, c.apiServer, c.host+"/api/v1/namespaces/default")
}

// Issuer is the issuer of service account tokens.
const Issuer = "https://kubernetes.default.svc"

func (c *ControlPlane) apiServerFlags(etcdURL string, port int) []string {
	flags := []string{
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--etcd-servers=" + etcdURL, "--etcd-cafile=" + c.file("ca.crt"),
		"--etcd-certfile=" + c.file("kube-apiserver.crt"), "--etcd-keyfile=" + c.file("kube-apiserver.key"),
		"--tls-cert-file=" + c.file("kube-apiserver.crt"), "--tls-private-key-file=" + c.file("kube-apiserver.key"),
		"--client-ca-file=" + c.file("ca.crt"), "--anonymous-auth=false", "--authorization-mode=RBAC",
		"--service-account-issuer=" + Issuer,
		"--service-account-key-file=" + c.file("service-account.pub"),
		"--service-account-signing-key-file=" + c.file("service-account.key"),
		fmt.Sprintf("--profiling=%t", c.opts.Profiling),
	}
	if !c.opts.ControllerManager {
		// Nothing makes the service accounts that this plugin would wait for.
		flags = append(flags, "--disable-admission-plugins=ServiceAccount")
	}
	return flags
}

// EnsureControllerManager starts kube-controller-manager unless it runs
// already, and returns when it serves. It errs as Start does.
func (c *ControlPlane) EnsureControllerManager(ctx context.Context) error {
	c.managerMu.Lock()
	defer c.managerMu.Unlock()
	if c.manager != nil {
		return nil
	}
	binary, err := c.managerBinary(ctx)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.file("kubeconfig"), c.Kubeconfig(), 0o600); err != nil {
		return fmt.Errorf("write the controller manager's kubeconfig: %w", err)
	}
	return c.onFreePorts(1, func(ports []int) (err error) {
		c.manager, err = c.run("kube-controller-manager", binary,
			"--kubeconfig="+c.file("kubeconfig"), "--leader-elect=false",
			"--authentication-kubeconfig="+c.file("kubeconfig"), "--authorization-kubeconfig="+c.file("kubeconfig"),
			"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]),
			"--tls-cert-file="+c.file("kube-apiserver.crt"), "--tls-private-key-file="+c.file("kube-apiserver.key"),
			"--client-ca-file="+c.file("ca.crt"), "--root-ca-file="+c.file("ca.crt"),
			"--service-account-private-key-file="+c.file("service-account.key"),
			// Only those that a cluster without nodes has a use for. Objects of
			// a new kind are collected from at most 30 s after its CRD on.
			"--controllers="+strings.Join([]string{
				"garbage-collector-controller", "namespace-controller", "serviceaccount-controller",
				"root-ca-certificate-publisher-controller", "clusterrole-aggregation-controller",
			}, ","),
			"--kube-api-qps=500", "--kube-api-burst=1000", "--profiling=false",
		)
		if err != nil {
			return err
		}
		return c.await(ctx, c.manager, fmt.Sprintf("https://127.0.0.1:%d/healthz", ports[0]))
	})
}

func (c *ControlPlane) managerBinary(ctx context.Context) (string, error) {
	if c.opts.Binaries.ControllerManager != "" {
		return c.opts.Binaries.ControllerManager, nil
	}
	binary, err := kubebuild.Ensure(ctx, kubebuild.Options{Progress: c.opts.Progress})
	if err != nil {
		return "", fmt.Errorf("find kube-controller-manager: %w", err)
	}
	return binary, nil
}

func (c *ControlPlane) run(name, binary string, flags ...string) (*process.Process, error) {
	return process.Start(process.Spec{
		Name: name, Path: binary, Args: append([]string{name}, flags...), LogFile: c.file(name + ".log"),
		// Twice Go's default: a sixth of the API server's time went into collecting garbage, and a
		// laptop has the memory.
		Env: append(os.Environ(), "GOGC="+cmp.Or(os.Getenv("GOGC"), "200")),
	})
}

// onFreePorts calls start with free ports, and again with others while the
// error is that a port was taken meanwhile.
func (c *ControlPlane) onFreePorts(count int, start func(ports []int) error) error {
	var err error
	for range startAttempts {
		ports, portsErr := process.FreePorts(count)
		if portsErr != nil {
			return portsErr
		}
		if err = start(ports); !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return err
}

// await returns when url answers 200. It returns an error when the process ends, the time
// is up or ctx ends.
func (c *ControlPlane) await(ctx context.Context, p *process.Process, url string) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	client, err := c.probeClient()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	ticker := c.opts.Clock.NewTicker(probeEvery)
	defer ticker.Stop()
	for !answers(ctx, client, url) {
		select {
		case <-p.Done():
			if err := p.Err(); strings.Contains(err.Error(), "address already in use") {
				return fmt.Errorf("%w: %w", errPortTaken, err)
			}
			return p.Err()
		case <-ctx.Done():
			return fmt.Errorf("%s does not serve; see %s: %w", url, c.dir, ctx.Err())
		case <-ticker.C():
		}
	}
	return nil
}

func (c *ControlPlane) probeClient() (*http.Client, error) {
	cert, err := tls.X509KeyPair(c.admin.cert, c.admin.key)
	if err != nil {
		return nil, fmt.Errorf("use the admin's certificate: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(c.ca.cert)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: roots, Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12,
	}}}, nil
}

func answers(ctx context.Context, client *http.Client, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}
