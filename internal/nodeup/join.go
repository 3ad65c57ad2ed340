package nodeup

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

// Objects that a worker polls before it runs kubeadm, which waits five seconds whenever one is
// missing. A slot writes the first one after everything else that joining requires, and anonymous
// clients can read it; the second requires a token.
const (
	clusterInfo   = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
	kubeadmConfig = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config"
)

// askTimeout bounds a call of the API.
const askTimeout = 5 * time.Second

// awaitAPI waits until nodes can join the cluster.
func (b *boot) awaitAPI(ctx context.Context) (string, error) {
	if b.files.exists(kubeletKubeconfig) {
		return "nothing, the kubelet has its certificate", nil
	}
	if b.bundle.API == nil {
		return "", permanent("the bundle has no address of the API")
	}
	return b.bundle.API.Server + " lets machines join", b.ask(ctx, clusterInfo, "")
}

// join makes a worker a node. It reads the token at each attempt, since the token is renewed. It
// runs kubeadm only after the API has accepted the token, and has issued a certificate if workers
// must prove their identity.
func (b *boot) join(ctx context.Context) (string, error) {
	if b.files.exists(kubeletKubeconfig) {
		return "nothing, the kubelet has its certificate", b.files.remove(bootstrapKubeconfig, bundle.JoinKubeconfig, kubeadmFile)
	}
	token, err := b.token(ctx)
	if err != nil {
		return "", err
	}
	if b.bundle.Join != nil {
		err = b.proveInstance(ctx, token)
	} else if err = b.ask(ctx, kubeadmConfig, token); err != nil {
		err = fmt.Errorf("try the bootstrap token: %w", err)
	}
	if err != nil {
		return "", err
	}
	b.values[bundle.BootstrapToken] = token
	if _, err := b.writeKubeadmConfig(ctx); err != nil {
		return "", err
	}
	if _, err := b.command(ctx, "kubeadm", "join", "--config", b.files.path(kubeadmFile)); err != nil {
		return "", b.kubeletDown(ctx, err)
	}
	// They contain the token or a key.
	return "joined as " + b.machine.NodeName, b.files.remove(kubeadmFile, bundle.JoinKubeconfig)
}

// token reads the bootstrap token.
func (b *boot) token(ctx context.Context) (string, error) {
	if key := b.bundle.TokenKey; key != "" {
		found, err := b.getObject(ctx, key)
		return strings.TrimSpace(string(found)), err
	}
	decrypt := true
	found, err := b.AWS.Parameters.GetParameter(ctx, &ssm.GetParameterInput{Name: &b.bundle.TokenParameter, WithDecryption: &decrypt})
	if err != nil {
		return "", fmt.Errorf("read the bootstrap token from the parameter %s: %w", b.bundle.TokenParameter, err)
	}
	if found.Parameter == nil || found.Parameter.Value == nil {
		return "", fmt.Errorf("the parameter %s has no value", b.bundle.TokenParameter)
	}
	return strings.TrimSpace(*found.Parameter.Value), nil
}

// ask reads an object from the cluster's API, and returns an error unless it succeeds.
func (b *boot) ask(ctx context.Context, path, token string) error {
	_, err := b.send(ctx, http.MethodGet, path, token, nil)
	return err
}

// send calls the cluster's API and returns its response. It sends the token only to a server with a
// certificate of the cluster's CA. A request body, if it is not nil, is JSON.
func (b *boot) send(ctx context.Context, method, path, token string, sent []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, b.bundle.API.Server+path, bytes.NewReader(sent))
	if err != nil {
		return nil, permanent("the API's address %q: %w", b.bundle.API.Server, err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if sent != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	client, err := b.apiClient()
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the API: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // It was only read.
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("ask the API: %w", err)
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusCreated {
		return nil, fmt.Errorf("the API answers %s for %s", response.Status, path)
	}
	return body, nil
}

// apiClient returns a client that trusts only the cluster's CA.
func (b *boot) apiClient() (*http.Client, error) {
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM([]byte(b.bundle.API.CACertificate)) {
		return nil, permanent("the bundle has no certificate of the cluster's CA")
	}
	return &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("it redirects") },
	}, nil
}
