package s3_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

func get(t *testing.T, url, host string) (status int, body string) {
	t.Helper()
	req := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody))
	if host != "" {
		req.Host = host
		req.Header.Set(
			"Authorization",
			"AWS4-HMAC-SHA256 Credential="+account+"/20260102/"+region+"/s3/aws4_request, SignedHeaders=host, Signature=00",
		)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode, string(must[[]byte](t)(io.ReadAll(resp.Body)))
}

// https://docs.aws.amazon.com/AmazonS3/latest/userguide/VirtualHosting.html
func TestBucketInHostName(t *testing.T) {
	w := newSuite(t)
	put(t, w.bucket(), "a/b", "data")
	for _, host := range []string{
		"things.s3.eu-west-1.amazonaws.com", "things.s3.amazonaws.com", "things.localhost:4566", "things.s3.localhost",
		"things.simulator.svc.cluster.local:80",
	} {
		if status, body := get(t, w.url+"/a/b", host); status != http.StatusOK || body != "data" {
			t.Errorf("%s: %d %s", host, status, body)
		}
	}
	for _, host := range []string{"s3.eu-west-1.amazonaws.com", "localhost:4566", "simulator.svc.cluster.local", "127.0.0.1"} {
		if status, body := get(t, w.url+"/things/a/b", host); status != http.StatusOK || body != "data" {
			t.Errorf("%s: %d %s", host, status, body)
		}
	}
}

func TestPresignedURLs(t *testing.T) {
	w := newSuite(t)
	c := w.bucket()
	put(t, c, "a", "data")
	w.clock.SetTime(time.Now())
	signed, err := s3.NewPresignClient(c).PresignGetObject(t.Context(), &s3.GetObjectInput{Bucket: things, Key: aws.String("a")})
	if err != nil {
		t.Fatal(err)
	}
	old := w.url + "/things/a?AWSAccessKeyId=" + account + "&Signature=x&Expires=" + strconv.FormatInt(w.clock.Now().Unix()+60, 10)
	for _, url := range []string{signed.URL, old} {
		if status, body := get(t, url, ""); status != http.StatusOK || body != "data" {
			t.Errorf("%s: %d %s", url, status, body)
		}
	}
	w.clock.Step(time.Hour)
	for _, url := range []string{signed.URL, old} {
		if status, body := get(t, url, ""); status != http.StatusForbidden || !strings.Contains(body, "Request has expired") {
			t.Errorf("%s: %d %s", url, status, body)
		}
	}
}

func TestAnonymousCallersAreRefused(t *testing.T) {
	w := newSuite(t)
	put(t, w.bucket(), "a", "data")
	if status, body := get(t, w.url+"/things/a", ""); status != http.StatusForbidden || !strings.Contains(body, "AccessDenied") {
		t.Errorf("%d %s", status, body)
	}
}

func TestErrorsNameTheResource(t *testing.T) {
	w := newSuite(t)
	w.bucket()
	status, body := get(t, w.url+"/things/none", "localhost")
	for _, want := range []string{"<Code>NoSuchKey</Code>", "<Key>none</Key>", "<Resource>/things/none</Resource>", "<RequestId>"} {
		if status != http.StatusNotFound || !strings.Contains(body, want) {
			t.Errorf("%d, no %s in %s", status, want, body)
		}
	}
}
