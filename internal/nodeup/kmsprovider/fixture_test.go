package kmsprovider_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awskms "github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/smithy-go"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/nodeup/kmsprovider"
	"github.com/aws-operator/aws-operator/internal/simulator/kms"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// keys is a KMS with one key. It counts calls, and fails all of them on request.
type keys struct {
	*awskms.Client

	arn string

	mu      sync.Mutex
	failure error
	calls   int
	// most is the length of the longest text to encrypt.
	most int
}

func newKeys(t *testing.T) *keys {
	t.Helper()
	service := kms.New(&resource.Env{Clock: clock.RealClock{}}).Service()
	k := &keys{Client: awskms.NewFromConfig(wiretest.Serve(t, wire.NewRouter([]*wire.Service{service}, nil, clock.RealClock{})))}
	k.arn = k.more(t)
	return k
}

// more makes another key and returns its ARN.
func (k *keys) more(t *testing.T) string {
	t.Helper()
	made, err := k.CreateKey(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return *made.KeyMetadata.Arn
}

// fail makes all calls fail with a code of AWS, empty for none.
func (k *keys) fail(code string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failure = nil
	if code != "" {
		k.failure = &smithy.GenericAPIError{Code: code, Message: "simulated"}
	}
}

func (k *keys) called() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.calls
}

func (k *keys) longest() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.most
}

func (k *keys) next() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls++
	return k.failure
}

func (k *keys) Encrypt(ctx context.Context, in *awskms.EncryptInput, o ...func(*awskms.Options)) (*awskms.EncryptOutput, error) {
	err := k.next()
	k.mu.Lock()
	k.most = max(k.most, len(in.Plaintext))
	k.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return k.Client.Encrypt(ctx, in, o...)
}

func (k *keys) Decrypt(ctx context.Context, in *awskms.DecryptInput, o ...func(*awskms.Options)) (*awskms.DecryptOutput, error) {
	if err := k.next(); err != nil {
		return nil, err
	}
	return k.Client.Decrypt(ctx, in, o...)
}

// provider returns the provider of a cluster.
func (k *keys) provider(cluster string) *kmsprovider.Provider {
	return &kmsprovider.Provider{
		KMS: k, KeyARN: k.arn, Context: map[string]string{"cluster-operator.aws/cluster": cluster}, Clock: clock.RealClock{},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// plugin serves a provider, and can be stopped.
type plugin struct {
	socket string
	stop   func()
}

// serve serves a provider at a socket, at one of its own if that is empty.
func serve(t *testing.T, p *kmsprovider.Provider, socket string) *plugin {
	t.Helper()
	if socket == "" {
		socket = filepath.Join(t.TempDir(), "s", "kms.sock")
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- kmsprovider.Serve(ctx, socket, p) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the plugin ended: %v", err)
		}
	})
	t.Cleanup(stop)
	return &plugin{socket: socket, stop: stop}
}

// slow is a KMS that answers only when its caller gives up.
type slow struct{}

func (slow) Encrypt(ctx context.Context, _ *awskms.EncryptInput, _ ...func(*awskms.Options)) (*awskms.EncryptOutput, error) {
	<-ctx.Done()
	return nil, fmt.Errorf("request: %w", context.Cause(ctx))
}

func (slow) Decrypt(ctx context.Context, _ *awskms.DecryptInput, _ ...func(*awskms.Options)) (*awskms.DecryptOutput, error) {
	<-ctx.Done()
	return &awskms.DecryptOutput{KeyId: aws.String("")}, context.Cause(ctx)
}
