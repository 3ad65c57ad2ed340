package nodeup

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/nodeup/approver"
	"github.com/aws-operator/aws-operator/internal/nodeup/proof"
)

const (
	certificateRequests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	// certificateEvery is how often a worker looks whether it has its certificate.
	certificateEvery = time.Second
	// deniedRetry is how long a worker whose request is denied waits before it makes another.
	// Denied ones stay for an hour:
	// https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#request-signing-process
	deniedRetry = 15 * time.Second
)

// certificateRequest is a CertificateSigningRequest, with the fields that a worker uses.
type certificateRequest struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Status struct {
		Certificate []byte `json:"certificate"`
		Conditions  []struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"conditions"`
	} `json:"status"`
}

// proveInstance gets the certificate that the machine joins with and writes the kubeconfig that
// kubeadm takes it from. The bootstrap token, which all workers have, only lets it ask: a slot
// approves the request after STS has confirmed which instance signed the proof in it (package
// approver). With that certificate the kubelet asks for its own, as it would with a token.
func (b *boot) proveInstance(ctx context.Context, token string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the key to join with: %w", err)
	}
	request, err := b.certificateRequest(ctx, key)
	if err != nil {
		return err
	}
	body, err := b.send(ctx, http.MethodPost, certificateRequests, token, request)
	if err != nil {
		return fmt.Errorf("ask for a certificate: %w", err)
	}
	certificate, err := b.awaitCertificate(ctx, token, body)
	if err != nil {
		return err
	}
	return b.writeJoinKubeconfig(certificate, key)
}

// certificateRequest returns a CertificateSigningRequest for the machine's Node with a proof of
// which instance asks.
func (b *boot) certificateRequest(ctx context.Context, key *ecdsa.PrivateKey) ([]byte, error) {
	credentials, err := b.AWS.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the credentials of the instance's role: %w", err)
	}
	proven, err := proof.Sign(ctx, credentials, b.Region, b.bundle.Join.STSHost, key.Public(), b.Clock.Now())
	if err != nil {
		return nil, fmt.Errorf("prove which instance this is: %w", err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:" + b.machine.NodeName, Organization: []string{"system:nodes"}},
	}, key)
	if err != nil {
		return nil, fmt.Errorf("write the certificate request: %w", err)
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
		"metadata": map[string]any{
			"generateName": "nodeup-" + b.machine.InstanceID + "-", "annotations": map[string]string{approver.ProofAnnotation: proven},
		},
		"spec": map[string]any{
			"request":    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			"signerName": approver.Signer, "expirationSeconds": int(approver.MaxValidity.Seconds()),
			"usages": []string{"digital signature", "client auth"},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("write the certificate request: %w", err)
	}
	return text, nil
}

// awaitCertificate waits for the certificate of a request that was made, as long as its proof is
// good.
func (b *boot) awaitCertificate(ctx context.Context, token string, made []byte) ([]byte, error) {
	started := b.Clock.Now()
	for {
		var request certificateRequest
		if err := json.Unmarshal(made, &request); err != nil {
			return nil, fmt.Errorf("read the certificate request: %w", err)
		}
		for _, condition := range request.Status.Conditions {
			if condition.Type != "Approved" {
				b.pause(ctx, deniedRetry)
				return nil, fmt.Errorf("certificate request %s is %s: %s", request.Metadata.Name, condition.Type, condition.Message)
			}
		}
		if len(request.Status.Certificate) > 0 {
			return request.Status.Certificate, nil
		}
		if b.Clock.Since(started) > proof.Validity {
			return nil, fmt.Errorf("no slot has decided about certificate request %s; creating another", request.Metadata.Name)
		}
		if b.pause(ctx, certificateEvery); ctx.Err() != nil {
			return nil, ctx.Err() //nolint:wrapcheck // runOne says what was tried
		}
		var err error
		if made, err = b.send(ctx, http.MethodGet, certificateRequests+"/"+url.PathEscape(request.Metadata.Name), token, nil); err != nil {
			return nil, fmt.Errorf("wait for the certificate: %w", err)
		}
	}
}

// pause waits, or until the context ends.
func (b *boot) pause(ctx context.Context, length time.Duration) {
	select {
	case <-ctx.Done():
	case <-b.Clock.After(length):
	}
}

// writeJoinKubeconfig writes the kubeconfig with the certificate that the machine joins with.
func (b *boot) writeJoinKubeconfig(certificate []byte, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("write the key to join with: %w", err)
	}
	encode := base64.StdEncoding.EncodeToString
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: cluster
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: node
  user:
    client-certificate-data: %s
    client-key-data: %s
contexts:
- name: join
  context:
    cluster: cluster
    user: node
current-context: join
`, b.bundle.API.Server, encode([]byte(b.bundle.API.CACertificate)), encode(certificate),
		encode(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})))
	_, err = b.files.write(bundle.JoinKubeconfig, []byte(text), 0o600)
	return err
}

// newApprover returns the approver of a slot, and a function that closes its connections.
func (b *boot) newApprover() (*approver.Approver, func(), error) {
	server, client, err := b.adminClient()
	if err != nil {
		return nil, nil, err
	}
	join := b.bundle.Join
	return &approver.Approver{
		Server: server, Client: client,
		Proofs: &proof.Verifier{
			Host: join.STSHost, Endpoint: b.AWS.Endpoint,
			Client: &http.Client{
				Timeout:       askTimeout,
				CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("it redirects") },
			},
		},
		Instances: b.AWS.Instances, WorkerRole: join.WorkerRole, Tags: join.InstanceTags, Clock: b.Clock, Log: b.Log,
	}, client.CloseIdleConnections, nil
}

// approveRequests decides about the requests of workers, on a slot, for some minutes.
func (b *boot) approveRequests(ctx context.Context) (string, error) {
	decides, closeIdle, err := b.newApprover()
	if err != nil {
		return "", err
	}
	defer closeIdle()
	return "decided about the requests of some minutes", decides.Run(ctx) //nolint:wrapcheck // it says what it was about
}

// approveServing decides about the requests of kubelets for serving certificates, on a slot, for some
// minutes.
func (b *boot) approveServing(ctx context.Context) (string, error) {
	decides, closeIdle, err := b.newApprover()
	if err != nil {
		return "", err
	}
	defer closeIdle()
	return "decided about the requests of some minutes", decides.RunServing(ctx) //nolint:wrapcheck // it says what it was about
}

// keepApproving runs a task that decides about requests until the context ends.
func (b *boot) keepApproving(ctx context.Context, approves task) {
	for ctx.Err() == nil {
		_ = b.runOne(ctx, approves) // It tries until the context ends.
	}
}
