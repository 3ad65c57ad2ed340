package nodeup

import (
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

// What a worker looks at before kubeadm does, which waits five seconds whenever something is not there
// yet. A slot writes the first last of all that joining needs, and shows it to everybody; the second is
// shown to those who have a token.
const (
	clusterInfo   = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
	kubeadmConfig = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config"
)

// askTimeout bounds a question to the API.
const askTimeout = 5 * time.Second

// awaitAPI waits until the cluster lets machines join.
func (b *boot) awaitAPI(ctx context.Context) (string, error) {
	if b.files.exists(kubeletKubeconfig) {
		return "nothing, the kubelet has its certificate", nil
	}
	if b.bundle.API == nil {
		return "", permanent("the bundle does not say where the API is")
	}
	return b.bundle.API.Server + " lets machines join", b.ask(ctx, clusterInfo, "")
}

// join makes a worker a node. The token is read at each try: the operator renews it. kubeadm is called
// only when the API knows it.
func (b *boot) join(ctx context.Context) (string, error) {
	if b.files.exists(kubeletKubeconfig) {
		return "nothing, the kubelet has its certificate", b.files.remove(bootstrapKubeconfig, kubeadmFile)
	}
	token, err := b.token(ctx)
	if err != nil {
		return "", err
	}
	if err := b.ask(ctx, kubeadmConfig, token); err != nil {
		return "", fmt.Errorf("try the bootstrap token: %w", err)
	}
	b.values[bundle.BootstrapToken] = token
	if _, err := b.writeKubeadmConfig(ctx); err != nil {
		return "", err
	}
	if _, err := b.command(ctx, "kubeadm", "join", "--config", b.files.path(kubeadmFile)); err != nil {
		return "", err
	}
	// It has the token in it.
	return "joined as " + b.machine.NodeName, b.files.remove(kubeadmFile)
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

// ask asks the cluster's API for something, and errs unless it is given. Nobody but the holder of a
// certificate of the cluster's CA is asked or shown the token.
func (b *boot) ask(ctx context.Context, path, token string) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.bundle.API.Server+path, http.NoBody)
	if err != nil {
		return permanent("the API's address %q: %w", b.bundle.API.Server, err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client, err := b.apiClient()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("ask the API: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // It was only read.
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return fmt.Errorf("ask the API: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the API answers %s for %s", response.Status, path)
	}
	return nil
}

// apiClient returns a client that trusts the cluster's CA and nobody else.
func (b *boot) apiClient() (*http.Client, error) {
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM([]byte(b.bundle.API.CACertificate)) {
		return nil, permanent("the bundle has no certificate of the cluster's CA")
	}
	return &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("it sends elsewhere") },
	}, nil
}
