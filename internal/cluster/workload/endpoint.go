package workload

import (
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Endpoint is the API of a cluster whose control plane EKS runs.
type Endpoint struct {
	// Server is the API's URL, https://host.
	Server string
	// CA has the certificates that the API's certificate is verified with, in PEM.
	CA []byte
	// Tokens authenticate requests.
	Tokens Tokens
	// Principal identifies whose tokens they are. Another principal makes another connection.
	Principal string
}

// Tokens authenticate requests. A Source of package ekstoken is one.
type Tokens interface {
	// Wrap returns what adds a token to requests.
	Wrap(next http.RoundTripper) http.RoundTripper
}

// ConnectEKS returns the connection to a cluster whose control plane EKS runs, and creates it if there is
// none with this endpoint, CA and principal yet. It does not wait until the API responds: see
// [Cluster.Reachable]. It returns an error for an endpoint without https or without a CA, or after Start
// has ended.
//
// Nodes of such a cluster that have no label of an instance group are not checked against EC2: EKS may have
// launched them.
func (c *Clusters) ConnectEKS(key types.NamespacedName, at Endpoint) (*Cluster, error) {
	digest := sha256.Sum256([]byte(strings.Join([]string{at.Server, string(at.CA), at.Principal}, "\x00")))
	return c.connection(key, digest, func() (*Cluster, error) {
		if server, err := url.Parse(at.Server); err != nil || server.Scheme != "https" || server.Host == "" {
			return nil, fmt.Errorf("the endpoint %q of cluster %s is not an HTTPS URL", at.Server, key)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(at.CA) { // client-go would trust the CAs of the system
			return nil, fmt.Errorf("the endpoint of cluster %s has no CA", key)
		}
		config := &rest.Config{Host: at.Server, TLSClientConfig: rest.TLSClientConfig{CAData: at.CA}}
		config.Wrap(at.Tokens.Wrap)
		made, err := c.make(key, config)
		if err != nil {
			return nil, err
		}
		made.eks = true
		return made, nil
	})
}
