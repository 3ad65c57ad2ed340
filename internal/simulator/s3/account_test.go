package s3_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// control sends a request about the block public access settings of an account in the form of S3
// Control.
func (w *suite) control(caller, method, body string) (status int, answer string) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(
		w.t.Context(), method, w.url+"/v20180820/configuration/publicAccessBlock", strings.NewReader(body),
	)
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header.Set("X-Amz-Account-Id", account)
	request.Header.Set(
		"Authorization", "AWS4-HMAC-SHA256 Credential="+caller+"/20260102/"+region+"/s3/aws4_request, SignedHeaders=host, Signature=0",
	)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode, read(w.t, io.NopCloser(response.Body))
}

// If the account blocks public policies, S3 refuses them on every bucket, regardless of the
// bucket's own settings, and keeps existing ones.
func TestPublicPoliciesAreRefusedIfAccountBlocksThem(t *testing.T) {
	w := newSuite(t)
	c := w.bucket()
	public := &s3.PutBucketPolicyInput{Bucket: things, Policy: aws.String(
		`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::things/oidc"}]}`,
	)}
	must[*s3.PutPublicAccessBlockOutput](t)(c.PutPublicAccessBlock(t.Context(), &s3.PutPublicAccessBlockInput{
		Bucket: things, PublicAccessBlockConfiguration: &types.PublicAccessBlockConfiguration{BlockPublicPolicy: aws.Bool(false)},
	}))
	must[*s3.PutBucketPolicyOutput](t)(c.PutBucketPolicy(t.Context(), public))

	if status, answer := w.control(account, http.MethodGet, ""); status != http.StatusNotFound ||
		!strings.Contains(answer, "NoSuchPublicAccessBlockConfiguration") {
		t.Errorf("an account without settings: %d %s", status, answer)
	}
	const block = `<PublicAccessBlockConfiguration xmlns="http://awss3control.amazonaws.com/doc/2018-08-20/"><BlockPublicPolicy>true</BlockPublicPolicy></PublicAccessBlockConfiguration>`
	if status, answer := w.control("222222222222", http.MethodPut, block); status != http.StatusForbidden {
		t.Errorf("another account changes the settings: %d %s", status, answer)
	}
	if status, answer := w.control(account, http.MethodPut, block); status != http.StatusCreated {
		t.Fatalf("the settings are refused: %d %s", status, answer)
	}
	if status, answer := w.control(account, http.MethodGet, ""); status != http.StatusOK ||
		!strings.Contains(answer, "<BlockPublicPolicy>true</BlockPublicPolicy>") {
		t.Errorf("the settings are %d %s", status, answer)
	}
	_, err := c.PutBucketPolicy(t.Context(), public)
	wantError(t, err, "AccessDenied", "Access Denied")
	must[*s3.GetBucketPolicyOutput](t)(c.GetBucketPolicy(t.Context(), &s3.GetBucketPolicyInput{Bucket: things}))

	if status, answer := w.control(account, http.MethodDelete, ""); status != http.StatusNoContent {
		t.Fatalf("the settings stay: %d %s", status, answer)
	}
	must[*s3.PutBucketPolicyOutput](t)(c.PutBucketPolicy(t.Context(), public))
}
