package proof

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

const host = "sts.eu-central-1.amazonaws.com"

var now = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)

// sent is the transport of a verifier whose STS accepts everything: what remains is what the verifier
// lets through.
type sent struct{ requests []*http.Request }

func (s *sent) RoundTrip(request *http.Request) (*http.Response, error) {
	s.requests = append(s.requests, request)
	return nil, errors.New("not sent")
}

// FuzzProof verifies any proof without a panic. One that an adversary wrote is sent
// to STS's host alone, calls nothing but GetCallerIdentity, signs the header that binds it to the key,
// and has been signed within the last minutes.
func FuzzProof(f *testing.F) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	credentials := aws.Credentials{AccessKeyID: "ASIA1", SecretAccessKey: "secret", SessionToken: "token+/="}
	good, err := Sign(f.Context(), credentials, "eu-central-1", host, key.Public(), now)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good + "&Action=AssumeRole")
	f.Add(strings.Replace(good, "GetCallerIdentity", "GetCallerIdentity%26Action=AssumeRole", 1))
	f.Add(strings.Replace(good, "host%3B", "", 1))
	f.Add(strings.Replace(good, "X-Amz-Date=2027", "X-Amz-Date=2026", 1))
	f.Add(strings.Replace(good, "&", ";", 1))
	f.Add(good + "#@evil.example.com/")
	f.Add("Action=GetCallerIdentity&%zz")
	f.Fuzz(func(t *testing.T, proof string) {
		transport := &sent{}
		verifier := &Verifier{Client: &http.Client{Transport: transport}, Host: host}
		caller, err := verifier.Verify(context.Background(), proof, key.Public(), now)
		if caller != nil || err == nil {
			t.Errorf("it is verified although STS does not answer: %+v", caller)
		}
		if _, refused := errors.AsType[*RefusedError](err); refused == (len(transport.requests) > 0) {
			t.Errorf("%d requests were sent, and the error is %v", len(transport.requests), err)
		}
		hash, err := hashOf(key.Public())
		if err != nil {
			t.Fatal(err)
		}
		for _, request := range transport.requests {
			query := request.URL.Query()
			signed, err := time.Parse(timeFormat, query.Get("X-Amz-Date"))
			switch {
			case request.URL.Scheme != "https" || request.URL.Host != host || request.Host != host || request.URL.Path != "/":
				t.Errorf("it is sent to %s (%s)", request.URL, request.Host)
			case request.Method != http.MethodGet || len(query["Action"]) != 1 || query.Get("Action") != "GetCallerIdentity":
				t.Errorf("it calls %s %v", request.Method, query["Action"])
			case query.Get("X-Amz-SignedHeaders") != "host;"+strings.ToLower(KeyHeader) || request.Header.Get(KeyHeader) != hash:
				t.Errorf("it signs %s", query.Get("X-Amz-SignedHeaders"))
			case err != nil || now.Sub(signed).Abs() > Validity:
				t.Errorf("it was signed at %s: %v", signed, err)
			}
		}
	})
}

// FuzzAnswer reads any response of STS without a panic. A caller has an account and the name of a
// role and a session, as the ARN has them.
func FuzzAnswer(f *testing.F) {
	f.Add(http.StatusOK, `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>arn:aws:sts::123456789012:assumed-role/demo/i-1</Arn>`+
		`<Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`)
	f.Add(http.StatusOK, `<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>:aws:sts:::assumed-role//</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>`)
	f.Add(http.StatusForbidden, `<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code></Error></ErrorResponse>`)
	f.Add(http.StatusBadRequest, `<ErrorResponse><Error><Code>Throttling</Code></Error></ErrorResponse>`)
	f.Fuzz(func(t *testing.T, code int, body string) {
		caller, err := callerOf(&http.Response{StatusCode: code, Status: "status"}, []byte(body))
		if err != nil {
			if caller != nil {
				t.Errorf("it is refused (%v) and gives %+v", err, caller)
			}
			return
		}
		arn := "arn:" + caller.Partition + ":sts::" + caller.Account + ":assumed-role/" + caller.Role + "/" + caller.Session
		if code != http.StatusOK || caller.Partition == "" || caller.Account == "" || caller.Role == "" || caller.Session == "" ||
			!strings.Contains(body, caller.Account) {
			t.Errorf("status %d of %q gives %s", code, body, arn)
		}
	})
}
