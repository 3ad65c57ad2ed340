package ekstoken_test

import (
	"context"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/ekstoken"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

var start = time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)

// presigner signs with a key, or with what provider returns.
func presigner(region string, provider aws.CredentialsProvider) *sts.PresignClient {
	return sts.NewPresignClient(sts.NewFromConfig(aws.Config{Region: region, Credentials: provider}))
}

var key = credentials.NewStaticCredentialsProvider("AKIAEXAMPLE", "secret", "")

// decoded returns the presigned URL of a token.
func decoded(t *testing.T, token string) *url.URL {
	t.Helper()
	encoded, ok := strings.CutPrefix(token, "k8s-aws-v1.")
	if !ok {
		t.Fatalf("the token %s has another prefix", token)
	}
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := url.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// The rules are those of Verify in
// https://github.com/kubernetes-sigs/aws-iam-authenticator/blob/master/pkg/token/token.go
func TestTokenHasTheFormThatEKSVerifies(t *testing.T) {
	for region, host := range map[string]string{
		"eu-central-1": "sts.eu-central-1.amazonaws.com", "us-east-1": "sts.us-east-1.amazonaws.com",
		"cn-north-1": "sts.cn-north-1.amazonaws.com.cn", "us-gov-west-1": "sts.us-gov-west-1.amazonaws.com",
	} {
		session := credentials.NewStaticCredentialsProvider("ASIAEXAMPLE", "secret", "session")
		token, err := ekstoken.Make(t.Context(), presigner(region, session), "demo", start)
		if err != nil {
			t.Fatal(err)
		}
		if len(token.Value) > 4096 {
			t.Errorf("the token has %d bytes", len(token.Value))
		}
		signed := decoded(t, token.Value)
		if signed.Scheme != "https" || signed.Host != host || signed.Path != "/" {
			t.Errorf("in %s, the request is sent to %s://%s%s", region, signed.Scheme, signed.Host, signed.Path)
		}
		query := signed.Query()
		for name, want := range map[string]string{
			"Action": "GetCallerIdentity", "Version": "2011-06-15", "X-Amz-Expires": "60", "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
			"X-Amz-Date": "20261129T080000Z", "X-Amz-Security-Token": "session",
			"X-Amz-Credential": "ASIAEXAMPLE/20261129/" + region + "/sts/aws4_request",
		} {
			if got := query.Get(name); got != want {
				t.Errorf("in %s, %s is %q, want %q", region, name, got, want)
			}
		}
		if headers := strings.Split(query.Get("X-Amz-SignedHeaders"), ";"); !slices.Equal(headers, []string{"host", "x-k8s-aws-id"}) {
			t.Errorf("signed headers %v", headers)
		}
		permitted := []string{
			"Action", "Version", "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-Security-Token",
			"X-Amz-Signature", "X-Amz-SignedHeaders",
		}
		for name, values := range query {
			if !slices.Contains(permitted, name) || len(values) != 1 {
				t.Errorf("parameter %s has the values %v", name, values)
			}
		}
	}
}

func TestTokenExpiresAfter14MinutesOrWithItsCredentials(t *testing.T) {
	expiring := func(in time.Duration) aws.CredentialsProvider {
		return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "ASIAEXAMPLE", SecretAccessKey: "secret", CanExpire: true, Expires: start.Add(in)}, nil
		})
	}
	for name, c := range map[string]struct {
		provider aws.CredentialsProvider
		want     time.Duration
	}{
		"a key":                         {key, 14 * time.Minute},
		"a session of an hour":          {expiring(time.Hour), 14 * time.Minute},
		"a session with 5 minutes left": {expiring(5 * time.Minute), 5 * time.Minute},
	} {
		token, err := ekstoken.Make(t.Context(), presigner("eu-central-1", c.provider), "demo", start)
		if err != nil || !token.Expires.Equal(start.Add(c.want)) {
			t.Errorf("%s: expires %s, %v, want %s", name, token.Expires, err, start.Add(c.want))
		}
	}
}

func TestTokenNeedsCredentialsAndACluster(t *testing.T) {
	failing := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, errors.New("the role cannot be assumed")
	})
	for name, c := range map[string]struct {
		provider       aws.CredentialsProvider
		cluster, cause string
	}{
		"credentials that fail": {failing, "demo", "the role cannot be assumed"},
		"no credentials":        {nil, "demo", "no credentials"},
		"anonymous":             {aws.AnonymousCredentials{}, "demo", "no credentials"},
		"no cluster":            {key, "", "the name of a cluster"},
	} {
		if token, err := ekstoken.Make(t.Context(), presigner("eu-central-1", c.provider), c.cluster, start); err == nil || !strings.Contains(err.Error(), c.cause) || token.Value != "" {
			t.Errorf("%s: %q, %v", name, token.Value, err)
		}
	}
}

func TestSourceRenewsTokensInTimeAndAfterARefusal(t *testing.T) {
	clock := testclock.NewFakePassiveClock(start)
	source := ekstoken.NewSource(presigner("eu-central-1", key), clock, "demo")
	status := http.StatusOK
	var sent []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		sent = append(sent, strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer "))
		w.WriteHeader(status)
	}))
	defer api.Close()
	client := &http.Client{Transport: source.Wrap(http.DefaultTransport)}
	call := func() {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, api.URL, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if request.Header.Get("Authorization") != "" {
			t.Error("the caller's request was changed")
		}
	}
	signedAt := func(i int) string { return decoded(t, sent[i]).Query().Get("X-Amz-Date") }
	call()
	clock.SetTime(start.Add(13 * time.Minute))
	call()
	clock.SetTime(start.Add(14 * time.Minute))
	call()
	clock.SetTime(start.Add(15 * time.Minute))
	status = http.StatusUnauthorized
	call()
	status = http.StatusOK
	call()
	for i, want := range []string{"20261129T080000Z", "20261129T080000Z", "20261129T081400Z", "20261129T081400Z", "20261129T081500Z"} {
		if got := signedAt(i); got != want {
			t.Errorf("request %d has a token of %s, want %s", i, got, want)
		}
	}
}

// EKS sends the request of a token to STS.
func TestTokenIsOfThePrincipalThatManagesTheCluster(t *testing.T) {
	simulated, endpoint := simulatortest.Start(t, simulator.Options{Region: "eu-central-1", Lag: simulator.NoLag})
	user := simulatortest.User(t, simulatortest.Root(endpoint, "123456789012", "eu-central-1"), "operator", simulatortest.Administrator)
	role := simulatortest.Role(t, simulatortest.Root(endpoint, "210987654321", "eu-central-1"), "operator", "123456789012", "id", simulatortest.Administrator)
	clients, err := awsapi.New(t.Context(), awsapi.Options{
		Region: "eu-central-1", EndpointURL: endpoint, Credentials: credentials.StaticCredentialsProvider{Value: user},
	})
	if err != nil {
		t.Fatal(err)
	}
	for want, target := range map[string]awsapi.Target{
		"arn:aws:iam::123456789012:user/operator":                      {},
		"arn:aws:sts::210987654321:assumed-role/operator/aws-operator": {RoleARN: role, ExternalID: "id", Region: "eu-west-1"},
	} {
		for range 2 {
			token, err := ekstoken.Make(t.Context(), clients.CallerPresigner(target), "demo", time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if got, code := caller(t, token.Value, "demo"); got != want {
				t.Errorf("the token is of %s (%d), want %s", got, code, want)
			}
			if got, code := caller(t, token.Value, "other"); code == http.StatusOK {
				t.Errorf("another cluster accepts the token as of %s", got)
			}
		}
	}
	if calls := simulated.Calls()["sts/AssumeRole"]; calls != 1 {
		t.Errorf("the role was assumed %d times, want once", calls)
	}
}

// caller sends the request of a token, as a cluster does.
func caller(t *testing.T, token, cluster string) (arn string, status int) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, decoded(t, token).String(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-K8s-Aws-Id", cluster)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var is struct {
		ARN string `xml:"GetCallerIdentityResult>Arn"`
	}
	_ = xml.NewDecoder(response.Body).Decode(&is) // an error has another form
	return is.ARN, response.StatusCode
}
