package kmsprovider_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"
	envelope "k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/apiserver"
	"github.com/aws-operator/aws-operator/internal/nodeup/kmsprovider"
	"github.com/aws-operator/aws-operator/internal/patience"
)

// apiServer is what a new process of the API server does with the configuration of a cluster whose
// plugin is at a socket.
func apiServer(t *testing.T, socket string) *encryptionconfig.EncryptionConfiguration {
	t.Helper()
	return apiServerIn(t, socket, "")
}

// apiServerIn is [apiServer] in a stage of encryption that is added to a cluster.
func apiServerIn(t *testing.T, socket string, stage v1alpha1.EncryptionStage) *encryptionconfig.EncryptionConfiguration {
	t.Helper()
	api := &v1alpha1.APIEndpoint{Encryption: &v1alpha1.Encryption{Resources: []string{"secrets"}}}
	config, problems := apiserver.New(api, "", stage)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	path := filepath.Join(t.TempDir(), "encryption.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(config.Files["encryption.yaml"], apiserver.Socket, socket)), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := encryptionconfig.LoadEncryptionConfig(t.Context(), path, false, "test")
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func secrets(of *encryptionconfig.EncryptionConfiguration) value.Transformer {
	return of.Transformers[schema.GroupResource{Resource: "secrets"}]
}

func healthOf(of *encryptionconfig.EncryptionConfiguration) error {
	return of.HealthChecks[0].Check(httptest.NewRequestWithContext(context.Background(), "GET", "/readyz", nil))
}

var at = value.DefaultContext("/registry/secrets/default/one")

// Kubernetes' own code encrypts with the plugin, works on while the plugin is away, and reads what it
// has written with another process of both.
func TestAPIServerEncryptsSecrets(t *testing.T) {
	k := newKeys(t)
	ctx := patience.Context(t)
	p := serve(t, k.provider("demo"), "")
	api := apiServer(t, p.socket)
	if err := healthOf(api); err != nil {
		t.Fatal(err)
	}
	write := func() []byte {
		t.Helper()
		stored, err := secrets(api).TransformToStorage(ctx, []byte("top secret"), at)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(stored, []byte("k8s:enc:kms:v2:aws-kms:")) || bytes.Contains(stored, []byte("top secret")) {
			t.Fatalf("it stores %q", stored)
		}
		return stored
	}
	stored := write()
	called := k.called()
	p.stop()
	for range 10 {
		write()
	}
	if got := k.called(); got != called {
		t.Errorf("KMS was called %d times for objects", got-called)
	}
	p = serve(t, k.provider("demo"), p.socket)
	for name, of := range map[string]*encryptionconfig.EncryptionConfiguration{"the same": api, "another": apiServer(t, p.socket)} {
		read, stale, err := secrets(of).TransformFromStorage(ctx, stored, at)
		if err != nil || string(read) != "top secret" || stale && name == "the same" {
			t.Errorf("%s process reads %q, stale %v, %v", name, read, stale, err)
		}
		plain, stale, err := secrets(of).TransformFromStorage(ctx, []byte("k8s\x00plain"), at)
		if err != nil || string(plain) != "k8s\x00plain" || !stale {
			t.Errorf("%s process reads plain text as %q, stale %v, %v", name, plain, stale, err)
		}
	}
}

// Kubernetes' own code reads, in each stage of encryption that is added, what it writes in the adjacent ones. In the first
// one it writes plain text.
func TestAPIServersOfAdjacentStagesReadWhatTheOthersWrite(t *testing.T) {
	k := newKeys(t)
	p := serve(t, k.provider("demo"), "")
	readable := apiServerIn(t, p.socket, v1alpha1.EncryptionReadable)
	encrypting := apiServerIn(t, p.socket, v1alpha1.EncryptionEncrypting)
	for name, c := range map[string]struct {
		by     *encryptionconfig.EncryptionConfiguration
		prefix string
	}{
		"readable": {readable, "k8s\x00"}, "encrypting": {encrypting, "k8s:enc:kms:v2:aws-kms:"},
	} {
		stored, err := secrets(c.by).TransformToStorage(t.Context(), []byte("k8s\x00top secret"), at)
		if err != nil || !bytes.HasPrefix(stored, []byte(c.prefix)) {
			t.Fatalf("%s stores %q: %v", name, stored, err)
		}
		for other, of := range map[string]*encryptionconfig.EncryptionConfiguration{"readable": readable, "encrypting": encrypting} {
			read, stale, err := secrets(of).TransformFromStorage(t.Context(), stored, at)
			if err != nil || string(read) != "k8s\x00top secret" || stale != (other != name) {
				t.Errorf("%s reads what %s has written as %q, stale %v: %v", other, name, read, stale, err)
			}
		}
	}
}

// Another cluster has another encryption context.
func TestAPIServerOfAnotherClusterCannotRead(t *testing.T) {
	k := newKeys(t)
	stored, err := secrets(apiServer(t, serve(t, k.provider("demo"), "").socket)).TransformToStorage(t.Context(), []byte("x"), at)
	if err != nil {
		t.Fatal(err)
	}
	read, _, err := secrets(apiServer(t, serve(t, k.provider("other"), "").socket)).TransformFromStorage(t.Context(), stored, at)
	if err == nil || !strings.Contains(err.Error(), "InvalidCiphertextException") {
		t.Errorf("it reads %q, %v", read, err)
	}
}

// The API server's readyz has the plugin's message.
func TestAPIServerReportsTheKey(t *testing.T) {
	k := newKeys(t)
	k.fail("DisabledException")
	api := apiServer(t, serve(t, k.provider("demo"), "").socket)
	if err := healthOf(api); err == nil || !strings.Contains(err.Error(), "enable the key in KMS") {
		t.Errorf("the health is %v", err)
	}
	k.fail("")
	patience.Until(t, "the API server is healthy", func() error { return healthOf(api) })
}

// A call that begins while no plugin runs waits for the next one, as the API server's calls do while
// systemd starts the unit again.
func TestCallsWaitForTheNextPlugin(t *testing.T) {
	k := newKeys(t)
	p := serve(t, k.provider("demo"), "")
	client, err := envelope.NewGRPCService(t.Context(), "unix://"+p.socket, "replaced", 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if sealed, err := client.Encrypt(t.Context(), fmt.Sprint(i), []byte("seed")); err != nil || sealed.KeyID != k.arn {
			t.Fatalf("call %d: %v, %v", i, sealed, err)
		}
		p.stop()
		done := make(chan error, 1)
		go func() {
			_, err := client.Encrypt(t.Context(), "waits", []byte("seed"))
			done <- err
		}()
		time.Sleep(50 * time.Millisecond) // The call is under way, which nothing reports.
		p = serve(t, k.provider("demo"), p.socket)
		if err := <-done; err != nil {
			t.Errorf("call that waits for plugin %d: %v", i, err)
		}
	}
}

func TestOnlyRootMayConnect(t *testing.T) {
	p := serve(t, newKeys(t).provider("demo"), "")
	patience.Until(t, "the plugin answers", func() error { return kmsprovider.Check(t.Context(), p.socket) })
	for path, want := range map[string]os.FileMode{filepath.Dir(p.socket): 0o700, p.socket: 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}
