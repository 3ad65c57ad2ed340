package kmsprovider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"google.golang.org/grpc/codes"
	kmsapi "k8s.io/kms/apis/v2"
	"k8s.io/utils/clock"
)

const (
	// version is the version of the API that Status reports.
	version = "v2"
	// healthy is the status of a healthy plugin.
	healthy = "ok"
	// checkEvery is how often the plugin checks the key if the API server does not use it, and
	// checkAgain how often after a failure. The API server requests the status every minute, and
	// every ten seconds while it is unhealthy: it gets the result of the last check.
	checkEvery, checkAgain = 5 * time.Minute, 15 * time.Second
	// checkTimeout bounds a check.
	checkTimeout = 10 * time.Second
	// tolerance is how long the plugin stays healthy while KMS does not answer. Meanwhile, the API
	// server works with the seeds that it has.
	tolerance = 2 * time.Minute
)

// KMS encrypts and decrypts up to 4 KiB with keys of AWS KMS.
type KMS interface {
	Encrypt(context.Context, *kms.EncryptInput, ...func(*kms.Options)) (*kms.EncryptOutput, error)
	Decrypt(context.Context, *kms.DecryptInput, ...func(*kms.Options)) (*kms.DecryptOutput, error)
}

// Provider encrypts and decrypts seeds with a key.
type Provider struct {
	// KMS has the key.
	KMS KMS
	// KeyARN is the ARN of the key. It is the ID by which the API server knows it, which does not
	// change when KMS rotates the key's material.
	KeyARN string
	// Context is the encryption context, without which a ciphertext cannot be decrypted.
	Context map[string]string
	// Clock tells the time and waits.
	Clock clock.Clock
	// Log gets a line when the health of the key changes.
	Log *slog.Logger

	mu     sync.Mutex
	health health
}

// health is what the last calls of KMS say about the key.
type health struct {
	checked bool
	// failure is the last failure, empty if there is none. It is temporary if KMS may succeed
	// without any change.
	failure   string
	temporary bool
	// succeeded is when a call last succeeded.
	succeeded time.Time
}

// Status returns the status of the plugin. It calls KMS only if nothing has been called before.
func (p *Provider) Status(ctx context.Context) *kmsapi.StatusResponse {
	p.mu.Lock()
	checked := p.health.checked
	p.mu.Unlock()
	if !checked {
		p.check(ctx)
	}
	return &kmsapi.StatusResponse{Version: version, Healthz: p.healthz(), KeyId: p.KeyARN}
}

// healthz returns the health of the key as a text for the API server, which reports it.
func (p *Provider) healthz() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	is := p.health
	switch {
	case !is.checked:
		return "the key has not been checked yet"
	case is.failure == "", is.temporary && p.Clock.Since(is.succeeded) < tolerance:
		return healthy
	}
	return is.failure
}

// Encrypt encrypts a seed and returns the ciphertext.
func (p *Provider) Encrypt(ctx context.Context, plaintext []byte) ([]byte, error) {
	out, err := p.KMS.Encrypt(ctx, &kms.EncryptInput{KeyId: &p.KeyARN, Plaintext: plaintext, EncryptionContext: p.Context})
	if err = p.note("kms:Encrypt", err); err != nil {
		return nil, err
	}
	if used := aws.ToString(out.KeyId); used != p.KeyARN {
		return nil, &Error{Code: codes.Internal, err: fmt.Errorf("KMS has encrypted with the key %s, not with %s", used, p.KeyARN)}
	}
	return out.CiphertextBlob, nil
}

// Decrypt decrypts a seed that was encrypted with the key of that ID.
func (p *Provider) Decrypt(ctx context.Context, ciphertext []byte, keyID string) ([]byte, error) {
	if keyID != "" && keyID != p.KeyARN {
		return nil, &Error{Code: codes.InvalidArgument, err: fmt.Errorf(
			"the data in etcd was encrypted with the key %s, and this cluster uses %s; set spec.api.encryption.kmsKeyARN of a cluster "+
				"that is created from a backup to the key of the backed up cluster", keyID, p.KeyARN,
		)}
	}
	out, err := p.KMS.Decrypt(ctx, &kms.DecryptInput{KeyId: &p.KeyARN, CiphertextBlob: ciphertext, EncryptionContext: p.Context})
	if err = p.note("kms:Decrypt", err); err != nil {
		return nil, err
	}
	return out.Plaintext, nil
}

// Keep checks the key until the context ends.
func (p *Provider) Keep(ctx context.Context) {
	for {
		if p.due() {
			p.check(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-p.Clock.After(checkAgain):
		}
	}
}

// due reports whether the key is to be checked.
func (p *Provider) due() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	is := p.health
	return !is.checked || is.failure != "" || p.Clock.Since(is.succeeded) >= checkEvery
}

// check encrypts and decrypts a text.
func (p *Provider) check(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	text := []byte("health check")
	sealed, err := p.Encrypt(ctx, text)
	if err != nil {
		return
	}
	if opened, err := p.Decrypt(ctx, sealed, p.KeyARN); err == nil && !bytes.Equal(opened, text) {
		p.set(&Error{Code: codes.Internal, err: errors.New("KMS has not decrypted what it had encrypted")})
	}
}

// note records what a call of KMS says about the key, and returns its error, explained.
func (p *Provider) note(action string, err error) error {
	if err == nil {
		p.set(nil)
		return nil
	}
	explained := explain(action, p.KeyARN, err)
	// A caller that does not wait, and data of another key, say nothing about this one.
	if explained.Code != codes.Canceled && explained.Code != codes.InvalidArgument {
		p.set(explained)
	}
	return explained
}

// set records the health of the key, and logs when it changes.
func (p *Provider) set(failed *Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.health
	p.health.checked, p.health.failure, p.health.temporary = true, "", false
	if failed == nil {
		p.health.succeeded = p.Clock.Now()
	} else {
		p.health.failure, p.health.temporary = failed.Error(), failed.Code == codes.Unavailable
	}
	switch {
	case failed != nil && before.failure != p.health.failure:
		p.Log.Warn("encryption at rest", "error", p.health.failure)
	case failed == nil && (before.failure != "" || !before.checked):
		p.Log.Info("encryption at rest", "did", "KMS encrypts and decrypts with the key "+p.KeyARN)
	}
}
