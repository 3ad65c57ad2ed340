package live

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// API is the health of a cluster as its own API reports it.
type API struct {
	// Problem is why the API does not respond; empty if it does. Otherwise all fields but
	// Certificate are as last observed.
	Problem string
	// Nodes are all nodes.
	Nodes []workload.Node
	// Slots are the problems of unhealthy slots by number.
	Slots map[int]string
	// Pods are the system pods that are not Ready.
	Pods []corev1.Pod
	// TokenUntil is until when new instances can join, zero if they cannot.
	TokenUntil time.Time
	// Certificate is the API server's certificate, nil if there is none.
	Certificate *x509.Certificate
}

// Kubeconfig returns a kubeconfig for the cluster's API at a server: signed by the CA in the
// cluster's Secrets with the given validity, or the existing one in NAME-kubeconfig. The server's
// certificate is verified for serverName if that is given. If there is neither, it returns an error
// that names the missing or broken Secret.
func Kubeconfig(
	clk clock.PassiveClock, cluster *v1alpha1.Cluster, secrets []*corev1.Secret, server, serverName string, validity time.Duration,
) ([]byte, error) {
	cas, err := pki.Read(clk, cluster, secrets)
	if err == nil {
		return cas.Kubeconfig(clk, pki.KubeconfigInput{
			Cluster: cluster.Name, Server: server, ServerName: serverName, CommonName: cluster.Name + "-terminal",
			Organisations: []string{pki.GroupAdmins}, Validity: validity,
		})
	}
	for _, secret := range secrets {
		if kubeconfig := secret.Data[pki.KubeconfigKey]; secret.Name == cluster.Name+pki.SuffixKubeconfig && len(kubeconfig) > 0 {
			return kubeconfig, nil
		}
	}
	return nil, fmt.Errorf(
		"there are no credentials for the API of cluster %s, and no Secret %s: %w", cluster.Name, cluster.Name+pki.SuffixKubeconfig, err,
	)
}

const (
	// askTimeout bounds one query of a cluster's API.
	askTimeout = 20 * time.Second
	// pollInterval is the polling interval for a new connection.
	pollInterval = 20 * time.Millisecond
)

// Await waits until the API responds, for a limited time, and returns why it does not; empty if it
// does.
func Await(ctx context.Context, to *workload.Cluster, most time.Duration) string {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		reachable, problem := to.Reachable()
		if reachable {
			return ""
		}
		select {
		case <-ctx.Done():
			return problem
		case <-tick.C:
		}
	}
}

// Ask queries the API of a cluster with a number of slots, 0 if EKS runs its control plane: then nodes need no
// token, and EKS renews the API's certificate. Failures are in API.Problem instead of an error.
func Ask(ctx context.Context, to *workload.Cluster, slots int) *API {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	api := &API{}
	if slots > 0 {
		api.Certificate = certificate(ctx, to)
	}
	if reachable, problem := to.Reachable(); !reachable {
		api.Problem = strings.TrimSuffix(problem, ".")
		return api
	}
	api.Nodes, api.Slots = to.Nodes(), to.SlotProblems(ctx, slots)
	err := api.pods(ctx, to)
	if slots > 0 {
		err = errors.Join(err, api.token(ctx, to))
	}
	if err != nil {
		api.Problem = err.Error()
	}
	return api
}

// pods reads the system pods that are not Ready.
func (a *API) pods(ctx context.Context, to *workload.Cluster) error {
	list, err := to.Core().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return fmt.Errorf("its system pods cannot be listed: %w", err)
	}
	for i := range list.Items {
		if pod := &list.Items[i]; workload.IsSystemPod(pod) && !workload.PodUnreadySince(pod).IsZero() {
			a.Pods = append(a.Pods, *pod)
		}
	}
	slices.SortFunc(a.Pods, func(x, y corev1.Pod) int { return strings.Compare(x.Name, y.Name) })
	return nil
}

// token determines how long new instances can join.
func (a *API) token(ctx context.Context, to *workload.Cluster) error {
	list, err := to.Core().Secrets(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("type", string(bootstrapapi.SecretTypeBootstrapToken)).String(),
	})
	if err != nil {
		return fmt.Errorf("its bootstrap tokens cannot be listed: %w", err)
	}
	for i := range list.Items {
		secret := &list.Items[i]
		if secret.Type != bootstrapapi.SecretTypeBootstrapToken ||
			string(secret.Data[bootstrapapi.BootstrapTokenUsageAuthentication]) != "true" {
			continue
		}
		until, err := time.Parse(time.RFC3339, string(secret.Data[bootstrapapi.BootstrapTokenExpirationKey]))
		if err == nil && until.After(a.TokenUntil) {
			a.TokenUntil = until
		}
	}
	return nil
}

// certificate returns the API server's certificate, nil if it cannot be reached.
func certificate(ctx context.Context, to *workload.Cluster) *x509.Certificate {
	config := to.Config()
	server, err := url.Parse(config.Host)
	if err != nil {
		return nil
	}
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	raw, err := dial(ctx, "tcp", server.Host)
	if err != nil {
		return nil
	}
	defer func() { _ = raw.Close() }()
	// The certificate is only read; clients of the API verify it.
	insecure := &tls.Config{ServerName: cmp.Or(config.ServerName, server.Hostname()), InsecureSkipVerify: true} //nolint:gosec // see above
	conn := tls.Client(raw, insecure)
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil
	}
	return conn.ConnectionState().PeerCertificates[0]
}
