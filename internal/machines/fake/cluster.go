package fake

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/kubeapi"
)

// cluster is the state that the slots of one cluster share.
type cluster struct {
	api      *kubeapi.Server
	server   *http.Server
	listener *listener
	ended    chan struct{}
	// serving is the certificate of the API servers: that of the slot that joined last.
	serving atomic.Pointer[tls.Certificate]

	mu sync.Mutex
	// members are the slots that etcd knows, and slots those that run.
	members     map[int]bool
	slots       map[int]member
	volumes     map[string]bool
	snapshots   map[string]bool
	connections map[*connection]struct{}
	// reads says of slots whether they read encrypted objects, encrypted whether one has written any.
	reads     map[int]bool
	encrypted bool
	// token is the token that a slot created last; tokenUntil is its expiry.
	token      string
	tokenUntil time.Time
}

// member is a running slot: its machine, its Node, and whether its etcd fails.
type member struct {
	instance, node string
	broken         bool
}

// newCluster serves the API of a cluster whose first slot has joined.
func newCluster(o *Options, bucket string, b *bundle.Bundle, files map[string][]byte) (*cluster, error) {
	certificate, pool, err := identityOf(o.Clock.Now(), b, files)
	if err != nil {
		return nil, err
	}
	c := &cluster{
		listener: newListener(), ended: make(chan struct{}), members: map[int]bool{}, slots: map[int]member{}, volumes: map[string]bool{},
		snapshots: map[string]bool{}, reads: map[int]bool{},
		connections: map[*connection]struct{}{},
	}
	for name := range b.Etcd.Members {
		slot, err := strconv.Atoi(strings.TrimPrefix(name, "etcd-"))
		if err != nil {
			return nil, fmt.Errorf("the member %q is not named after a slot", name)
		}
		c.members[slot] = true
	}
	leaving := c.observe(o.Clock)
	options := kubeapi.Options{
		Authority: pool, Kubernetes: b.Kubernetes, Clock: o.Clock, PodStart: o.PodStart, PodStop: o.PodStop, Proxy: c.reach,
	}
	options.Observe = func(e kubeapi.Event) {
		leaving(e)
		if o.Observe != nil {
			o.Observe(bucket, e)
		}
	}
	c.api = kubeapi.New(options)
	c.serving.Store(certificate)
	c.server = &http.Server{
		Handler: c.api, ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.serving.Load(), nil },
			// A simulated cluster needs no protection against future decryption.
			CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP256},
		},
		ErrorLog: log.New(io.Discard, "", 0), // machines that end cut connections
	}
	go func() { _ = c.server.ServeTLS(c.listener, "", "") }()
	return c, nil
}

// renew makes the API servers use the CAs of a slot that joins. On real machines, only the slot's own would.
func (c *cluster) renew(now time.Time, b *bundle.Bundle, files map[string][]byte) error {
	certificate, pool, err := identityOf(now, b, files)
	if err != nil {
		return err
	}
	c.serving.Store(certificate)
	c.api.Trust(pool)
	return nil
}

// identityOf returns the certificate of a slot's API server, and the CAs whose client certificates it accepts.
func identityOf(now time.Time, b *bundle.Bundle, files map[string][]byte) (*tls.Certificate, *x509.CertPool, error) {
	authority, err := authorityOf(files)
	if err != nil {
		return nil, nil, err
	}
	names, err := namesOf(b.Kubeadm.Config)
	if err != nil {
		return nil, nil, err
	}
	certificate, err := serving(now, authority, names)
	if err != nil {
		return nil, nil, err
	}
	for name, data := range files {
		if path.Base(name) != model.KeyCross {
			continue
		}
		if block, _ := pem.Decode(data); block != nil {
			certificate.Certificate = append(certificate.Certificate, block.Bytes)
		}
	}
	pool := x509.NewCertPool()
	for _, der := range authority.Certificate {
		trusted, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, nil, fmt.Errorf("read a CA of the cluster: %w", err)
		}
		pool.AddCert(trusted)
	}
	return &certificate, pool, nil
}

func (c *cluster) close() {
	close(c.ended)
	c.api.Close()
	_ = c.server.Close()
	_ = c.listener.Close()
}

// authorityOf parses the cluster's CA.
func authorityOf(files map[string][]byte) (*tls.Certificate, error) {
	var certificate, key []byte
	for name, data := range files {
		switch path.Base(path.Dir(name)) + "/" + path.Base(name) {
		case "pki/ca.crt":
			certificate = data
		case "pki/ca.key":
			key = data
		}
	}
	if certificate == nil || key == nil {
		return nil, errors.New("the bundle names no CA among the files to fetch")
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("read the cluster's CA: %w", err)
	}
	return &pair, nil
}

// namesOf returns the names of the API server's certificate from kubeadm's configuration.
func namesOf(config string) ([]string, error) {
	for document := range strings.SplitSeq(config, "\n---\n") {
		var known struct {
			Kind                 string `json:"kind"`
			ControlPlaneEndpoint string `json:"controlPlaneEndpoint"`
			APIServer            struct {
				CertSANs []string `json:"certSANs"`
			} `json:"apiServer"`
		}
		if err := yaml.Unmarshal([]byte(document), &known); err != nil {
			return nil, fmt.Errorf("read kubeadm's configuration: %w", err)
		}
		if known.Kind != "ClusterConfiguration" {
			continue
		}
		names := append([]string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost"}, known.APIServer.CertSANs...)
		if host, _, err := net.SplitHostPort(known.ControlPlaneEndpoint); err == nil {
			names = append(names, host)
		}
		for _, name := range names {
			if err := checkName(name); err != nil {
				return nil, err
			}
		}
		return names, nil
	}
	return nil, errors.New("kubeadm's configuration has no ClusterConfiguration")
}

// checkName rejects what kubeadm rejects as a host or in a certificate: names with capital letters,
// such as the DNS names of load balancers.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/cmd/kubeadm/app/apis/kubeadm/validation/validation.go
func checkName(name string) error {
	if net.ParseIP(name) != nil {
		return nil
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("kubeadm refuses %q: %s", name, strings.Join(problems, "; "))
	}
	return nil
}

// serving issues the API server's certificate.
func serving(now time.Time, authority *tls.Certificate, names []string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("generate the API server's key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "kube-apiserver"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, authority.Leaf, key.Public(), authority.PrivateKey)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("sign the API server's certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der, authority.Certificate[0]}, PrivateKey: key}, nil
}

// listener accepts the connections from load balancers.
type listener struct {
	connections chan net.Conn
	closed      chan struct{}
	once        sync.Once
}

func newListener() *listener {
	return &listener{connections: make(chan net.Conn), closed: make(chan struct{})}
}

// offer passes on a connection, unless the listener is closed.
func (l *listener) offer(c net.Conn) bool {
	select {
	case l.connections <- c:
		return true
	case <-l.closed:
		return false
	}
}

// Accept returns the next connection.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.connections:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close closes the listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr returns an address for messages.
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: "simulated", Net: "unix"} }
