package s3

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// FuzzRequest answers any request without a panic and without an internal error.
func FuzzRequest(f *testing.F) {
	f.Add(http.MethodPut, "/things/a%2Fb?tagging", "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>", "", "")
	f.Add(http.MethodPut, "/things/a", "4;chunk-signature=00\r\ntext\r\n0\r\nx-amz-checksum-crc32:AA==\r\n\r\n", "X-Amz-Content-Sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER")
	f.Add(http.MethodPut, "/things/a", "7fffffffffffffff\r\ntext", "Content-Encoding", "aws-chunked")
	f.Add(http.MethodGet, "/things/a", "", "Range", "bytes=9223372036854775807-9223372036854775807,-0,1-")
	f.Add(http.MethodGet, "/things?list-type=2&continuation-token=AA&max-keys=-1&prefix=a&delimiter=/&start-after=b", "", "", "")
	f.Add(http.MethodGet, "/things?versions&key-marker=a&version-id-marker=b&max-keys=99999999999999999999", "", "", "")
	f.Add(http.MethodPost, "/things/a?uploads", "", "", "")
	f.Add(http.MethodPost, "/things?delete", "<Delete><Object><Key>a</Key><VersionId>null</VersionId></Object><Quiet>x</Quiet></Delete>", "", "")
	f.Add(http.MethodPut, "/things?policy", `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":"*","Action":["s3:*"],"Resource":1}}`, "", "")
	f.Add(http.MethodPut, "/things/b", "", "X-Amz-Copy-Source", "/things/a?versionId=%zz")
	f.Add(http.MethodPut, "/things?lifecycle", "<LifecycleConfiguration><Rule><Expiration><Days>x</Days></Expiration></Rule></LifecycleConfiguration>", "", "")
	f.Fuzz(func(t *testing.T, method, target, body, header, value string) {
		clock := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		router := wire.NewRouter([]*wire.Service{New(&resource.Env{Clock: clock, Partition: "aws"}).Service()}, nil, clock)
		send := func(method, target, body, header, value string) *httptest.ResponseRecorder {
			request, err := http.NewRequestWithContext(t.Context(), method, target, bytes.NewReader([]byte(body)))
			if err != nil || request.URL.Host != "" || request.URL.Opaque != "" {
				return nil
			}
			request.Host = "s3.eu-west-1.amazonaws.com"
			request.Header.Set("Authorization",
				"AWS4-HMAC-SHA256 Credential=111111111111/20260102/eu-west-1/s3/aws4_request, SignedHeaders=host, Signature=00")
			request.Header.Set("X-Amz-Date", clock.Now().Format("20060102T150405Z"))
			if header != "" {
				request.Header.Set(header, value)
			}
			answer := httptest.NewRecorder()
			router.ServeHTTP(answer, request)
			return answer
		}
		send(http.MethodPut, "/things", "", "", "")
		send(http.MethodPut, "/things/a", "data", "", "")
		if answer := send(method, target, body, header, value); answer != nil && answer.Code >= http.StatusInternalServerError &&
			answer.Code != http.StatusNotImplemented {
			t.Errorf("status %d: %s", answer.Code, answer.Body)
		}
		if answer := send(http.MethodGet, "/things?list-type=2", "", "", ""); answer.Code >= http.StatusInternalServerError {
			t.Errorf("afterwards, a listing gives %d: %s", answer.Code, answer.Body)
		}
	})
}

// FuzzUnchunk decodes any body without a panic: the content is no longer than the body, and what was
// encoded is decoded.
func FuzzUnchunk(f *testing.F) {
	f.Add([]byte("4\r\ntext\r\n0\r\n\r\n"))
	f.Add([]byte("-1\r\n\r\n"))
	f.Add([]byte("8000000000000000\r\ntext\r\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if content, err := unchunk(body, http.Header{}); err == nil && len(content) > len(body) {
			t.Errorf("%d bytes become %d", len(body), len(content))
		}
		encoded := fmt.Appendf(nil, "0\r\n\r\n")
		if len(body) > 0 {
			encoded = fmt.Appendf(nil, "%x\r\n%s\r\n0\r\n\r\n", len(body), body)
		}
		if content, err := unchunk(encoded, http.Header{}); err != nil || !bytes.Equal(content, body) {
			t.Errorf("%q is decoded as %q, %v", body, content, err)
		}
	})
}
