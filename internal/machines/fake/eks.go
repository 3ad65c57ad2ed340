package fake

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/kubeapi"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

var _ machine.ControlPlanes = (*Host)(nil)

// controlPlane serves the API of an EKS cluster.
type controlPlane struct {
	spec     machine.ControlPlaneSpec
	endpoint machine.ControlPlaneEndpoint
	api      *kubeapi.Server
	server   *http.Server
}

// StartControlPlane serves the API of an EKS cluster at a port of the loopback interface. It returns an
// error if the cluster has one already, or for a version that is not one.
func (h *Host) StartControlPlane(spec machine.ControlPlaneSpec) (machine.ControlPlaneEndpoint, error) {
	version, err := eksVersion(spec.Version)
	if err != nil {
		return machine.ControlPlaneEndpoint{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return machine.ControlPlaneEndpoint{}, errClosed
	case h.controlPlanes[spec.ControlPlaneKey] != nil:
		return machine.ControlPlaneEndpoint{}, fmt.Errorf("the control plane of %s is already running", spec.Cluster)
	}
	c, err := h.newControlPlane(spec, version)
	if err != nil {
		return machine.ControlPlaneEndpoint{}, err
	}
	h.controlPlanes[spec.ControlPlaneKey] = c
	return c.endpoint, nil
}

// UpgradeControlPlane changes the version that the API of an EKS cluster reports. It returns an error
// for an unknown cluster.
func (h *Host) UpgradeControlPlane(key machine.ControlPlaneKey, version string) error {
	full, err := eksVersion(version)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.controlPlanes[key]
	if c == nil {
		return fmt.Errorf("the control plane of %s is not running", key.Cluster)
	}
	c.api.Upgrade(full)
	return nil
}

// StopControlPlane ends the API of an EKS cluster. Its nodes lose it.
func (h *Host) StopControlPlane(key machine.ControlPlaneKey) {
	h.mu.Lock()
	c := h.controlPlanes[key]
	delete(h.controlPlanes, key)
	h.mu.Unlock()
	if c != nil {
		c.close()
	}
}

// ControlPlane returns the API of an EKS cluster, bypassing its endpoint. It returns false if the cluster
// has none.
func (h *Host) ControlPlane(key machine.ControlPlaneKey) (*kubeapi.Server, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, ok := h.controlPlanes[key]
	if !ok {
		return nil, false
	}
	return c.api, true
}

// controlPlaneAt returns the control plane of an endpoint, nil if there is none.
func (h *Host) controlPlaneAt(url string) *controlPlane {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.controlPlanes {
		if c.endpoint.URL == url {
			return c
		}
	}
	return nil
}

// eksVersion returns the version that an API server of EKS reports for a minor version. EKS chooses the
// patch version, and appends its own build:
// https://docs.aws.amazon.com/eks/latest/userguide/platform-versions.html
func eksVersion(minor string) (string, error) {
	var major, number int
	if n, err := fmt.Sscanf(minor, "%d.%d", &major, &number); err != nil || n != 2 || minor != fmt.Sprintf("%d.%d", major, number) {
		return "", fmt.Errorf("%q is not a minor version of Kubernetes, such as 1.36", minor)
	}
	return "v" + minor + ".0-eks-simulated", nil
}

// newControlPlane starts an API.
func (h *Host) newControlPlane(spec machine.ControlPlaneSpec, version string) (*controlPlane, error) {
	now := h.options.Clock.Now()
	authority, err := newAuthority(now)
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the API of %s: %w", spec.Cluster, err)
	}
	certificate, err := serving(now, authority, []string{
		"127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	})
	if err != nil {
		_ = listener.Close()
		return nil, err
	}
	c := &controlPlane{spec: spec, endpoint: machine.ControlPlaneEndpoint{
		URL:                  "https://" + listener.Addr().String(),
		CertificateAuthority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Certificate[0]}),
	}}
	c.api = kubeapi.New(kubeapi.Options{
		Authority:  x509.NewCertPool(), // EKS issues no client certificates
		Kubernetes: version, Clock: h.options.Clock, PodStart: h.options.PodStart, PodStop: h.options.PodStop,
		Observe: func(e kubeapi.Event) {
			if h.options.Observe != nil {
				h.options.Observe(strings.Join([]string{spec.Account, spec.Region, spec.Cluster}, "/"), e)
			}
		},
	})
	for _, object := range eksObjects() {
		if err := c.api.Put(object); err != nil {
			_ = listener.Close()
			return nil, fmt.Errorf("create %s in %s: %w", object.GetName(), spec.Cluster, err)
		}
	}
	c.server = &http.Server{
		Handler: c, ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}},
		ErrorLog:  log.New(io.Discard, "", 0), // clients that end cut connections
	}
	go func() { _ = c.server.ServeTLS(listener, "", "") }()
	return c, nil
}

func (c *controlPlane) close() {
	c.api.Close()
	_ = c.server.Close()
}

// newAuthority creates the CA of a cluster.
func newAuthority(now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate the key of a CA: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "kubernetes"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign a CA: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read a CA: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}
