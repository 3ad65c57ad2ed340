package fake

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"

	"github.com/aws-operator/aws-operator/internal/ekstoken"
)

// answerTime is how long an API may take to answer a machine.
const answerTime = 30 * time.Second

// isForEKS reports whether user data is for an instance of an EKS cluster.
func isForEKS(userData []byte) bool {
	_, err := nodeConfigsOf(userData)
	return !errors.Is(err, errNoNodeConfig) || isBottlerocket(userData)
}

// joinEKS retries until the machine is a node of the EKS cluster that its user data names. Like nodeadm and
// Bottlerocket, it does not retry with user data that is not valid.
func (m *fakeMachine) joinEKS(ctx context.Context) {
	what, read := "nodeadm: invalid NodeConfig", parseNodeConfig
	if isBottlerocket(m.spec.UserData) {
		what, read = "early-boot-config: invalid settings", parseBottlerocket
	}
	config, err := read(m.spec.UserData)
	var flags kubeletFlags
	if err == nil {
		flags, err = config.kubelet()
	}
	if err != nil {
		m.log.Info("The user data is not valid.", "why", err.Error())
		m.report(ctx, slog.LevelError, what, slog.String("error", err.Error()))
		return
	}
	for wait := startOver; ; wait = min(2*wait, longestWait) {
		err := m.register(ctx, config, &flags)
		if err == nil {
			m.log.Info("joined", "cluster", config.Spec.Cluster.Name)
			m.report(ctx, slog.LevelInfo, "Successfully registered node", slog.String("node", m.spec.PrivateDNSName))
			return
		}
		m.log.Info("retrying", "why", err.Error())
		m.report(
			ctx, slog.LevelWarn, "Unable to register node with API server", slog.String("error", err.Error()),
			slog.String("again in", wait.String()),
		)
		if !m.sleep(ctx, wait) {
			return
		}
	}
}

// register creates the machine's Node, as its kubelet does, with the credentials of the instance's role.
func (m *fakeMachine) register(ctx context.Context, config *nodeConfig, flags *kubeletFlags) error {
	role, err := m.config(ctx)
	if err != nil {
		return err
	}
	api, err := newAPIClient(&config.Spec.Cluster)
	if err != nil {
		return err
	}
	defer api.CloseIdleConnections()
	tokens := ekstoken.NewSource(sts.NewPresignClient(sts.NewFromConfig(role)), m.host.options.Clock, config.Spec.Cluster.Name)
	api.Transport = tokens.Wrap(api.Transport)
	endpoint := config.Spec.Cluster.APIServerEndpoint
	var running version.Info
	if err := call(ctx, api, http.MethodGet, endpoint+"/version", nil, &running); err != nil {
		return err
	}
	c := m.host.controlPlaneAt(endpoint)
	if c == nil {
		return errors.New("the API server does not belong to a control plane of this host")
	}
	if err := call(ctx, api, http.MethodPost, endpoint+"/api/v1/nodes", m.eksNode(flags, running.GitVersion), nil); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.api, m.node = c.api, m.spec.PrivateDNSName
	if m.ended {
		m.leaveAPI()
	}
	return nil
}

// newAPIClient returns a client that verifies the API server's certificate with the cluster's CA.
func newAPIClient(cluster *clusterDetails) (*http.Client, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(cluster.CertificateAuthority) {
		return nil, errors.New("spec.cluster.certificateAuthority has no certificate")
	}
	return &http.Client{Timeout: answerTime, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
	}}, nil
}

// call sends an object to a Kubernetes API and reads the answer. The error has the API's message.
func call(ctx context.Context, api *http.Client, method, url string, object, into any) error {
	body := []byte(nil)
	if object != nil {
		var err error
		if body, err = json.Marshal(object); err != nil {
			return fmt.Errorf("encode a request: %w", err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("request %s: %w", url, err)
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := api.Do(req)
	if err != nil {
		return err //nolint:wrapcheck // names the URL
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", url, err)
	}
	if answer.StatusCode >= http.StatusBadRequest {
		var status metav1.Status
		_ = json.Unmarshal(data, &status) // The error then has the code only.
		return fmt.Errorf("the API server answers %d: %s", answer.StatusCode, status.Message)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read the answer of %s: %w", url, err)
	}
	return nil
}

// eksNode returns the Node that the kubelet and the cloud controller of EKS would create. Its version is
// that of the control plane when it boots.
func (m *fakeMachine) eksNode(flags *kubeletFlags, kubernetes string) *corev1.Node {
	node := named(m.spec.PrivateDNSName)
	node.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
	node.Labels = map[string]string{
		corev1.LabelHostname: m.spec.PrivateDNSName, corev1.LabelArchStable: m.spec.Architecture, corev1.LabelOSStable: "linux",
		corev1.LabelInstanceTypeStable: m.spec.InstanceType,
		corev1.LabelTopologyZone:       m.spec.Zone, corev1.LabelTopologyRegion: m.spec.Region,
	}
	maps.Copy(node.Labels, flags.labels)
	node.Spec.ProviderID, node.Spec.Taints = m.providerID(), flags.taints
	m.setStatus(node, kubernetes, m.spec.Architecture)
	return node
}
