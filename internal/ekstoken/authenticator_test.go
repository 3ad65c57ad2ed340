package ekstoken_test

import (
	"bytes"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/aws-operator/aws-operator/internal/ekstoken"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

// TestAuthenticatorVerifiesTokens judges tokens with the verifier of aws-iam-authenticator, which sends their
// requests to the simulator.
func TestAuthenticatorVerifiesTokens(t *testing.T) {
	if os.Getenv("TEST_AUTHENTICATOR") == "" {
		t.Skip("compiling aws-iam-authenticator takes minutes; make test-authenticator runs this test")
	}
	program := filepath.Join(t.TempDir(), "authenticator")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "../../test/authenticator", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	simulated := simulatortest.New(t, simulator.Options{Region: "eu-central-1", Lag: simulator.NoLag})
	endpoint := simulatortest.Serve(t, simulated.Handler())
	user := simulatortest.User(t, simulatortest.Root(endpoint, "123456789012", "eu-central-1"), "operator")
	sts := httptest.NewTLSServer(simulated.Handler())
	t.Cleanup(sts.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: sts.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	verify := func(token, cluster string) (string, error) {
		t.Helper()
		command := exec.CommandContext(t.Context(), program, cluster, "eu-central-1", sts.Listener.Addr().String(), ca)
		command.Stdin = strings.NewReader(token)
		var out bytes.Buffer
		command.Stdout, command.Stderr = &out, &out
		err := command.Run()
		return strings.TrimSpace(out.String()), err
	}
	token, err := ekstoken.Make(
		t.Context(), presigner("eu-central-1", credentials.StaticCredentialsProvider{Value: user}), "demo", time.Now(),
	)
	if err != nil {
		t.Fatal(err)
	}
	if arn, err := verify(token.Value, "demo"); err != nil || arn != "arn:aws:iam::123456789012:user/operator" {
		t.Errorf("the token is of %s, %v", arn, err)
	}
	if out, err := verify(token.Value, "other"); err == nil || !strings.Contains(out, "SignatureDoesNotMatch") {
		t.Errorf("for another cluster: %s, %v", out, err)
	}
	if out, err := verify(token.Value+"A", "demo"); err == nil {
		t.Errorf("a changed token is of %s", out)
	}
}
