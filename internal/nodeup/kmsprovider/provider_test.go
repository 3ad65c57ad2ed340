package kmsprovider_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	awskms "github.com/aws/aws-sdk-go-v2/service/kms"
	"google.golang.org/grpc/codes"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/nodeup/kmsprovider"
)

func TestSeedsAreOfOneKeyAndCluster(t *testing.T) {
	k := newKeys(t)
	ctx := t.Context()
	p := k.provider("demo")
	sealed, err := p.Encrypt(ctx, []byte("seed"))
	if err != nil {
		t.Fatal(err)
	}
	if opened, err := p.Decrypt(ctx, sealed, k.arn); err != nil || string(opened) != "seed" {
		t.Errorf("got %q, %v", opened, err)
	}
	_, of := k.provider("other").Decrypt(ctx, sealed, k.arn)
	_, broken := p.Decrypt(ctx, append(sealed[:len(sealed)-1:len(sealed)-1], sealed[len(sealed)-1]^1), k.arn)
	second := k.provider("demo")
	second.KeyARN = k.more(t)
	_, known := second.Decrypt(ctx, sealed, k.arn)
	_, unknown := second.Decrypt(ctx, sealed, "")
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"another cluster":               {of, "InvalidCiphertextException"},
		"a changed ciphertext":          {broken, "InvalidCiphertextException"},
		"another key":                   {known, "the data in etcd was encrypted with the key " + k.arn},
		"another key that is not named": {unknown, "IncorrectKeyException"},
	} {
		failure, ok := errors.AsType[*kmsprovider.Error](test.err)
		if !ok || failure.Code != codes.InvalidArgument || !strings.Contains(failure.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, test.err, test.want)
		}
	}
	// Data of others says nothing about the key.
	for _, p := range []*kmsprovider.Provider{p, second} {
		if is := p.Status(ctx); is.Healthz != "ok" || is.Version != "v2" || is.KeyId != p.KeyARN {
			t.Errorf("the status is %+v", is)
		}
	}
}

func TestStatusNamesTheRemedy(t *testing.T) {
	k := newKeys(t)
	for code, want := range map[string]string{
		"AccessDeniedException":    "the control plane's role needs kms:Encrypt and kms:Decrypt",
		"DisabledException":        "enable the key in KMS",
		"KMSInvalidStateException": "cancel the deletion of the key",
		"NotFoundException":        "check spec.api.encryption.kmsKeyARN",
		"InvalidKeyUsageException": "a symmetric key",
		"ThrottlingException":      "ThrottlingException", // It has never worked.
	} {
		p := k.provider("demo")
		k.fail(code)
		if is := p.Status(t.Context()); !strings.Contains(is.Healthz, want) || !strings.Contains(is.Healthz, k.arn) || is.KeyId != k.arn {
			t.Errorf("%s: the status is %+v", code, is)
		}
		k.fail("")
		if _, err := p.Encrypt(t.Context(), []byte("x")); err != nil {
			t.Fatal(err)
		}
		if is := p.Status(t.Context()); is.Healthz != "ok" {
			t.Errorf("after %s: the status is %+v", code, is)
		}
	}
}

// The API server requests the status once a minute, or every ten seconds: KMS is called every five
// minutes, and not at all while the API server uses the key.
func TestStatusCallsKMSRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &counter{}
		p := k.provider()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go p.Keep(ctx)
		synctest.Wait()
		for range 60 {
			for range 6 {
				if is := p.Status(ctx); is.Healthz != "ok" {
					t.Fatalf("the status is %+v", is)
				}
				time.Sleep(10 * time.Second)
			}
		}
		used := k.called()
		if used < 2*12 || used > 2*13 {
			t.Errorf("it called KMS %d times within an hour", used)
		}
		for range 60 {
			time.Sleep(time.Minute)
			if _, err := p.Encrypt(ctx, []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		if more := k.called() - used - 60; more > 2 {
			t.Errorf("it called KMS %d times while the API server did so", more)
		}
	})
}

// Temporary failures count once they last. The key is then checked more often.
func TestTemporaryFailuresAreReportedWhenTheyLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &counter{}
		p := k.provider()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go p.Keep(ctx)
		synctest.Wait()
		k.fail(errors.New("dial tcp: i/o timeout"))
		if _, err := p.Encrypt(ctx, []byte("x")); err == nil {
			t.Fatal("it did not fail")
		}
		time.Sleep(time.Minute)
		if is := p.Status(ctx); is.Healthz != "ok" {
			t.Errorf("after a minute, the status is %+v", is)
		}
		time.Sleep(10 * time.Minute)
		if is := p.Status(ctx); !strings.Contains(is.Healthz, "i/o timeout") {
			t.Errorf("after minutes, the status is %+v", is)
		}
		k.fail(nil)
		time.Sleep(16 * time.Second)
		if is := p.Status(ctx); is.Healthz != "ok" {
			t.Errorf("afterwards, the status is %+v", is)
		}
	})
}

func TestCallerThatGivesUpSaysNothingAboutTheKey(t *testing.T) {
	p := newKeys(t).provider("demo")
	if is := p.Status(t.Context()); is.Healthz != "ok" {
		t.Fatalf("the status is %+v", is)
	}
	p.KMS = slow{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Encrypt(ctx, []byte("x"))
	if failure, ok := errors.AsType[*kmsprovider.Error](err); !ok || failure.Code != codes.Canceled {
		t.Errorf("got %v", err)
	}
	if is := p.Status(t.Context()); is.Healthz != "ok" {
		t.Errorf("the status is %+v", is)
	}
}

// counter is a KMS in memory, for tests in which time is simulated.
type counter struct {
	mu      sync.Mutex
	calls   int
	failure error
}

func (c *counter) called() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

func (c *counter) fail(with error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failure = with
}

func (c *counter) next() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	return c.failure
}

const counterKey = "arn:aws:kms:eu-central-1:123456789012:key/1"

func (c *counter) provider() *kmsprovider.Provider {
	return &kmsprovider.Provider{
		KMS: c, KeyARN: counterKey, Clock: clock.RealClock{}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

func (c *counter) Encrypt(_ context.Context, in *awskms.EncryptInput, _ ...func(*awskms.Options)) (*awskms.EncryptOutput, error) {
	return &awskms.EncryptOutput{KeyId: in.KeyId, CiphertextBlob: in.Plaintext}, c.next()
}

func (c *counter) Decrypt(_ context.Context, in *awskms.DecryptInput, _ ...func(*awskms.Options)) (*awskms.DecryptOutput, error) {
	return &awskms.DecryptOutput{KeyId: in.KeyId, Plaintext: in.CiphertextBlob}, c.next()
}
