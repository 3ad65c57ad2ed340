package proof_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/nodeup/proof"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/sts"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const (
	region  = "eu-central-1"
	host    = "sts.eu-central-1.amazonaws.com"
	session = "arn:aws:sts::123456789012:assumed-role/demo-WorkerRole-X/i-0123456789abcdef0"
)

// suite is a simulated STS with the credentials of one instance's role.
type suite struct {
	keys        *wire.Keys
	clock       *testclock.FakeClock
	server      *httptest.Server
	credentials aws.Credentials
	key         *ecdsa.PrivateKey
}

func start(t *testing.T) *suite {
	t.Helper()
	w := &suite{keys: &wire.Keys{}, clock: testclock.NewFakeClock(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)), key: newKey(t)}
	service := sts.New(&resource.Env{Clock: w.clock}, w.keys)
	w.server = httptest.NewServer(wire.NewRouter([]*wire.Service{service.Service()}, nil, w.clock, wire.WithKeys(w.keys)))
	t.Cleanup(w.server.Close)
	w.credentials = w.issue("ASIA", session)
	return w
}

// issue returns the keys of a principal.
func (w *suite) issue(prefix, arn string) aws.Credentials {
	id, secret := w.keys.Issue(prefix, wire.Principal{Account: "123456789012", ARN: arn, UserID: "AROA:i"})
	made := aws.Credentials{AccessKeyID: id, SecretAccessKey: secret}
	if prefix == "ASIA" { // only sessions have a token
		made.SessionToken = "token+/="
	}
	return made
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (w *suite) verifier() *proof.Verifier {
	return &proof.Verifier{Client: w.server.Client(), Host: host, Endpoint: w.server.URL}
}

// sign signs a proof with the instance's credentials.
func (w *suite) sign(t *testing.T) string {
	t.Helper()
	return w.signWith(t, w.credentials, host)
}

func (w *suite) signWith(t *testing.T, credentials aws.Credentials, host string) string {
	t.Helper()
	made, err := proof.Sign(t.Context(), credentials, region, host, w.key.Public(), w.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// with returns a proof with another value of a parameter.
func with(proof, name, value string) string {
	query, err := url.ParseQuery(proof)
	if err != nil {
		panic(err) // it was made by Sign
	}
	query.Set(name, value)
	return query.Encode()
}

func TestProofIdentifiesTheSigningInstance(t *testing.T) {
	w := start(t)
	made := w.sign(t)
	if strings.Contains(made, w.credentials.SecretAccessKey) {
		t.Error("the proof has the secret key in it")
	}
	w.clock.Step(4 * time.Minute)
	got, err := w.verifier().Verify(t.Context(), made, w.key.Public(), w.clock.Now())
	want := proof.Caller{Partition: "aws", Account: "123456789012", Role: "demo-WorkerRole-X", Session: "i-0123456789abcdef0"}
	if err != nil || *got != want {
		t.Errorf("got %+v %v, want %+v", got, err, want)
	}
}

func TestProofsAreRefused(t *testing.T) {
	tests := map[string]struct {
		proof  func(*testing.T, *suite) string
		reason string
	}{
		"for another public key": {func(t *testing.T, w *suite) string {
			t.Helper()
			made := w.sign(t)
			w.key = newKey(t)
			return made
		}, "SignatureDoesNotMatch"},
		"signed with another secret": {func(t *testing.T, w *suite) string {
			t.Helper()
			forged := w.credentials
			forged.SecretAccessKey = "guessed"
			return w.signWith(t, forged, host)
		}, "SignatureDoesNotMatch"},
		"signed with a key that STS does not know": {func(t *testing.T, w *suite) string {
			t.Helper()
			return w.signWith(t, aws.Credentials{AccessKeyID: "ASIAUNKNOWN", SecretAccessKey: "s", SessionToken: "t"}, host)
		}, "InvalidClientTokenId"},
		"signed for another host": {func(t *testing.T, w *suite) string {
			t.Helper()
			return w.signWith(t, w.credentials, "sts.example.com")
		}, "SignatureDoesNotMatch"},
		"of a user": {func(t *testing.T, w *suite) string {
			t.Helper()
			return w.signWith(t, w.issue("AKIA", "arn:aws:iam::123456789012:user/assumed-role/demo-WorkerRole-X/i-0123456789abcdef0"), host)
		}, "not a session of a role"},
		"older than five minutes": {func(t *testing.T, w *suite) string {
			t.Helper()
			made := w.sign(t)
			w.clock.Step(6 * time.Minute)
			return made
		}, "is valid for 5m0s"},
		"signed in the future": {func(t *testing.T, w *suite) string {
			t.Helper()
			w.clock.Step(time.Hour)
			made := w.sign(t)
			w.clock.SetTime(w.clock.Now().Add(-time.Hour))
			return made
		}, "is valid for 5m0s"},
		"with a later date than was signed": {func(t *testing.T, w *suite) string {
			t.Helper()
			made := w.sign(t)
			w.clock.Step(10 * time.Minute)
			return with(made, "X-Amz-Date", w.clock.Now().Format("20060102T150405Z"))
		}, "SignatureDoesNotMatch"},
		"with a longer validity": {func(t *testing.T, w *suite) string {
			t.Helper()
			return with(w.sign(t), "X-Amz-Expires", "604800")
		}, "its validity is not"},
		"of another operation": {func(t *testing.T, w *suite) string {
			t.Helper()
			return with(w.sign(t), "Action", "GetSessionToken")
		}, "not a request of GetCallerIdentity"},
		"that does not sign the key": {func(t *testing.T, w *suite) string {
			t.Helper()
			return with(w.sign(t), "X-Amz-SignedHeaders", "host")
		}, "signs the headers"},
		"with a parameter of its own": {func(t *testing.T, w *suite) string {
			t.Helper()
			return w.sign(t) + "&RoleArn=x"
		}, `the parameter "RoleArn"`},
		"with a parameter twice": {func(t *testing.T, w *suite) string {
			t.Helper()
			return w.sign(t) + "&Action=GetSessionToken"
		}, `the parameter "Action"`},
		"that is none":  {func(*testing.T, *suite) string { return "%" }, "not a query"},
		"that is empty": {func(*testing.T, *suite) string { return "" }, "not a request of GetCallerIdentity"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			made := test.proof(t, w)
			_, err := w.verifier().Verify(t.Context(), made, w.key.Public(), w.clock.Now())
			if _, ok := errors.AsType[*proof.RefusedError](err); !ok || !strings.Contains(err.Error(), test.reason) {
				t.Errorf("got %v, want a refusal: %s", err, test.reason)
			}
		})
	}
}

// A proof must not decide which host the verifier sends requests to.
func TestProofIsSentToTheVerifiersHostOnly(t *testing.T) {
	w := start(t)
	var paths []string
	w.server.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.Method+" "+r.Host+r.URL.Path)
		rw.WriteHeader(http.StatusServiceUnavailable)
	})
	for _, made := range []string{w.sign(t), "https://evil.example/?" + w.sign(t), "//evil.example/?" + w.sign(t)} {
		_, _ = w.verifier().Verify(t.Context(), made, w.key.Public(), w.clock.Now())
	}
	if len(paths) != 1 || paths[0] != "GET "+host+"/" {
		t.Errorf("asked %q", paths)
	}
}

func TestResponseWithoutAVerdictIsNotARejection(t *testing.T) {
	tests := map[string]struct {
		status int
		body   string
	}{
		"STS fails":     {http.StatusInternalServerError, ""},
		"STS throttles": {http.StatusBadRequest, "<ErrorResponse><Error><Code>Throttling</Code></Error></ErrorResponse>"},
		"a proxy":       {http.StatusForbidden, "<html>"},
		"a redirect":    {http.StatusFound, ""},
		"another page":  {http.StatusOK, "<html></html>"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.server.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
				rw.WriteHeader(test.status)
				_, _ = rw.Write([]byte(test.body))
			})
			_, err := w.verifier().Verify(t.Context(), w.sign(t), w.key.Public(), w.clock.Now())
			if _, ok := errors.AsType[*proof.RefusedError](err); ok || err == nil {
				t.Errorf("got %v, want an error that is no refusal", err)
			}
			if err != nil && strings.Contains(err.Error(), "X-Amz-Signature") {
				t.Errorf("the error has the proof in it: %v", err)
			}
		})
	}
}
