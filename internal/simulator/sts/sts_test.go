package sts_test

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/sts"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

func start(t *testing.T) (func(key string) *awssts.Client, *testclock.FakeClock) {
	t.Helper()
	clk := testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	keys := &wire.Keys{}
	service := sts.New(&resource.Env{Clock: clk}, keys)
	config := wiretest.Serve(t, wire.NewRouter([]*wire.Service{service.Service()}, nil, clk, wire.WithKeys(keys)))
	return func(key string) *awssts.Client {
		return awssts.NewFromConfig(config, func(o *awssts.Options) {
			o.Credentials = credentials.NewStaticCredentialsProvider(key, "secret", "")
		})
	}, clk
}

func TestSessionActsInAccountOfRole(t *testing.T) {
	client, clk := start(t)
	me, err := client("test").GetCallerIdentity(t.Context(), nil)
	if err != nil || *me.Arn != "arn:aws:iam::123456789012:user/demo" || *me.Account != "123456789012" {
		t.Fatalf("who am I: %+v %v", me, err)
	}
	out, err := client("test").AssumeRole(t.Context(), &awssts.AssumeRoleInput{
		RoleArn: aws.String("arn:aws:iam::999999999999:role/team/operator"), RoleSessionName: aws.String("s1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	session := client(*out.Credentials.AccessKeyId)
	who, err := session.GetCallerIdentity(t.Context(), nil)
	if err != nil || *who.Account != "999999999999" || *who.Arn != "arn:aws:sts::999999999999:assumed-role/operator/s1" {
		t.Errorf("in the session: %+v %v", who, err)
	}
	clk.Step(time.Hour)
	_, err = session.GetCallerIdentity(t.Context(), nil)
	wiretest.WantCode(t, err, "ExpiredToken") // after an hour
}

func TestWebIdentity(t *testing.T) {
	client, _ := start(t)
	token := "e30." + base64.RawURLEncoding.EncodeToString(
		[]byte(`{"iss":"https://issuer","sub":"system:serviceaccount:a:b","aud":["sts.amazonaws.com"]}`),
	) + ".x"
	out, err := client("test").AssumeRoleWithWebIdentity(t.Context(), &awssts.AssumeRoleWithWebIdentityInput{
		RoleArn: aws.String("arn:aws:iam::999999999999:role/pod"), RoleSessionName: aws.String("pod"), WebIdentityToken: &token,
	})
	if err != nil {
		t.Fatal(err)
	}
	if *out.SubjectFromWebIdentityToken != "system:serviceaccount:a:b" || *out.Audience != "sts.amazonaws.com" ||
		*out.Provider != "issuer" {
		t.Errorf("got %+v", out)
	}
}

// Authenticators of EKS ask for JSON, which AWS does not document:
// https://github.com/kubernetes-sigs/aws-iam-authenticator/blob/v0.6.13/pkg/token/token.go
func TestAnswersAndErrorsAreInJSONIfAsked(t *testing.T) {
	client, _ := start(t)
	for name, c := range map[string]struct {
		accept, secret, media, body string
		status                      int
	}{
		"an answer":        {"application/json", wire.RootSecret, "application/json", `{"GetCallerIdentityResponse":{"GetCallerIdentityResult":{"Account":"123456789012","Arn":"arn:aws:iam::123456789012:root","UserId":"123456789012"},"ResponseMetadata":{"RequestId":"`, 200},
		"an error":         {"application/json", "wrong", "application/json", `{"Error":{"Code":"SignatureDoesNotMatch","Message":"`, 403},
		"an answer in XML": {"*/*", wire.RootSecret, "text/xml", "<GetCallerIdentityResponse", 200},
	} {
		signed, err := awssts.NewPresignClient(client("test")).PresignGetCallerIdentity(t.Context(), nil, awssts.WithPresignClientFromClientOptions(func(o *awssts.Options) {
			o.Credentials = credentials.NewStaticCredentialsProvider("123456789012", c.secret, "")
		}), at(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, signed.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", c.accept)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != c.status || response.Header.Get("Content-Type") != c.media || !strings.HasPrefix(string(body), c.body) {
			t.Errorf("%s: %d %s %s, %v", name, response.StatusCode, response.Header.Get("Content-Type"), body, err)
		}
	}
}

// at signs at a time.
func at(now time.Time) func(*awssts.PresignOptions) {
	return func(o *awssts.PresignOptions) { o.Presigner = signer{o.Presigner, now} }
}

type signer struct {
	awssts.HTTPPresignerV4

	now time.Time
}

func (s signer) PresignHTTP(
	ctx context.Context, c aws.Credentials, r *http.Request, hash, service, region string, _ time.Time, o ...func(*v4.SignerOptions),
) (string, http.Header, error) {
	return s.HTTPPresignerV4.PresignHTTP(ctx, c, r, hash, service, region, s.now, o...)
}

// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
func TestRefusals(t *testing.T) {
	client, _ := start(t)
	arn := aws.String("arn:aws:iam::999999999999:role/r")
	tests := map[string]*awssts.AssumeRoleInput{
		"role that is no ARN":       {RoleArn: aws.String("operator-role-name"), RoleSessionName: aws.String("ok")},
		"session name with a blank": {RoleArn: arn, RoleSessionName: aws.String("a b")},
		"session of a minute":       {RoleArn: arn, RoleSessionName: aws.String("ok"), DurationSeconds: aws.Int32(60)},
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := client("test").AssumeRole(t.Context(), in)
			wiretest.WantCode(t, err, "ValidationError")
		})
	}
}
