package controller_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	cctypes "github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/simulator"
)

const (
	distributionType  = "AWS::CloudFront::Distribution"
	accessControlType = "AWS::CloudFront::OriginAccessControl"
	ownCertificate    = "arn:aws:acm:us-east-1:" + account + ":certificate/1234abcd-12ab-34cd-56ef-1234567890ab"
)

// stalls waits until a distribution is refused with a message.
func (w *suite) stalls(name, want string) {
	w.t.Helper()
	w.eventually("the distribution says "+want, func() error {
		if got := w.condition("CloudFrontDistribution", name, "Stalled", "True", "InvalidSpec"); !strings.Contains(got.Message, want) {
			return fmt.Errorf("it says %q", got.Message)
		}
		return nil
	})
}

// bucketPolicy returns the policy of a bucket, empty if it has none, and whether S3 says that it is public.
func (w *suite) bucketPolicy(bucket string) (policy string, public bool) {
	w.t.Helper()
	buckets := s3.NewFromConfig(w.awsConfig(), func(o *s3.Options) { o.UsePathStyle = true })
	out, err := buckets.GetBucketPolicy(w.t.Context(), &s3.GetBucketPolicyInput{Bucket: &bucket})
	var status *s3.GetBucketPolicyStatusOutput
	if err == nil {
		status, err = buckets.GetBucketPolicyStatus(w.t.Context(), &s3.GetBucketPolicyStatusInput{Bucket: &bucket})
	}
	if err != nil {
		if strings.Contains(err.Error(), "NoSuchBucketPolicy") { // perhaps only since the first call
			return "", false
		}
		w.t.Fatal(err)
	}
	return aws.ToString(out.Policy), aws.ToBool(status.PolicyStatus.IsPublic)
}

// TestCloudFrontDistribution follows a distribution through its lifecycle: it waits until the bucket lets it read, is the
// only one that the bucket's policy allows, and takes the policy with it.
func TestCloudFrontDistribution(t *testing.T) {
	w := newGrantsSuite(t)
	w.createAccount("deploy", nil)
	w.apply(`
{kind: S3Bucket, metadata: {name: pages}}
---
{kind: CloudFrontDistribution, metadata: {name: site}, spec: {bucketName: pages, grants: [{serviceAccount: deploy, access: Invalidate}]}}
`)
	w.stalls("site", "The S3Bucket pages lets no CloudFrontDistribution site read. Set its spec.distributionName to site")
	w.change("S3Bucket", "pages", `{"spec": {"distributionName": "site"}}`)
	output, _ := nested(w.ready("CloudFrontDistribution", "site"), "status", "output").(map[string]any)
	id := fmt.Sprint(output["distributionID"])
	if want := "arn:aws:cloudfront::" + account + ":distribution/" + id; output["distributionARN"] != want {
		t.Errorf("output.distributionARN is %v, want %s", output["distributionARN"], want)
	}
	live, _ := w.live(distributionType, id)["DistributionConfig"].(map[string]any)
	want := map[string]any{
		"Enabled": true, "DefaultRootObject": "index.html", "HttpVersion": "http2and3", "IPV6Enabled": true, "PriceClass": "PriceClass_All",
	}
	got := map[string]any{}
	for name := range want {
		got[name] = live[name]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the distribution differs (-want +got):\n%s", diff)
	}
	origins := fmt.Sprint(live["Origins"])
	control := w.physicalIDs("CloudFrontDistribution", "site")["AccessControl"]
	if !strings.Contains(origins, "DomainName:pages.s3.eu-west-1.amazonaws.com") || !strings.Contains(origins, "OriginAccessControlId:"+control) {
		t.Errorf("the origins are %s, without the bucket or the access control %s", origins, control)
	}
	signs := fmt.Sprint(w.live(accessControlType, control)["OriginAccessControlConfig"])
	if !strings.Contains(signs, "SigningBehavior:always") || !strings.Contains(signs, "SigningProtocol:sigv4") {
		t.Errorf("the access control is %s", signs)
	}
	wantPolicy := `{"Statement":[{"Action":"s3:GetObject","Condition":{"StringEquals":{"AWS:SourceArn":"` + fmt.Sprint(output["distributionARN"]) +
		`"}},"Effect":"Allow","Principal":{"Service":"cloudfront.amazonaws.com"},"Resource":"arn:aws:s3:::pages/*","Sid":"DistributionReads"}],` +
		`"Version":"2012-10-17"}`
	w.eventually("the bucket has the policy", func() error { // which takes effect later
		if policy, public := w.bucketPolicy("pages"); policy != wantPolicy || public {
			return fmt.Errorf("the policy is %s (public: %t), want %s", policy, public, wantPolicy)
		}
		return nil
	})
	if data, err := w.configMap("site"); err != nil || data["url"] != fmt.Sprintf("https://%v", output["domainName"]) {
		t.Errorf("the ConfigMap holds %v: %v", data, err)
	}
	if policies := w.inlinePolicies(w.roleOf("deploy")); !strings.Contains(policies, ":distribution/"+id) || strings.Contains(policies, `"*"`) {
		t.Errorf("the policies of the service account are %s", policies)
	}
	w.checkDrift("CloudFrontDistribution", "site", "False", "InSync")

	w.apply(`{kind: CloudFrontDistribution, metadata: {name: second}, spec: {bucketName: pages}}`)
	w.stalls("second", "The S3Bucket pages lets no CloudFrontDistribution second read")
	w.delete("CloudFrontDistribution", "second")

	w.change("CloudFrontDistribution", "site", `{"spec": {"description": "The shop", "deniedCountries": ["AQ"]}}`)
	w.eventually("the distribution changes in place", func() error {
		live := fmt.Sprint(w.live(distributionType, id)["DistributionConfig"])
		if !strings.Contains(live, "Comment:The shop") || !strings.Contains(live, "RestrictionType:blacklist") {
			return fmt.Errorf("it is %s", live)
		}
		return nil
	})
	w.ready("CloudFrontDistribution", "site")
	w.delete("CloudFrontDistribution", "site")
	w.eventually("the bucket has no policy", func() error {
		if policy, _ := w.bucketPolicy("pages"); policy != "" {
			return fmt.Errorf("the policy %s is left", policy)
		}
		return nil
	})
	if w.live(distributionType, id) != nil || w.live(accessControlType, control) != nil {
		t.Error("the distribution or its access control is left")
	}
	w.ready("S3Bucket", "pages")
	w.delete("S3Bucket", "pages")
}

// TestDistributionsMoveToAnotherBucket tests that the policy moves with the distribution.
func TestDistributionsMoveToAnotherBucket(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`
{kind: S3Bucket, metadata: {name: blue}, spec: {distributionName: site}}
---
{kind: S3Bucket, metadata: {name: green}, spec: {distributionName: site}}
---
{kind: CloudFrontDistribution, metadata: {name: site}, spec: {bucketName: blue}}
`)
	id := fmt.Sprint(nested(w.ready("CloudFrontDistribution", "site"), "status", "output", "distributionID"))
	w.ready("S3Bucket", "green")
	w.change("CloudFrontDistribution", "site", `{"spec": {"bucketName": "green"}}`)
	w.eventually("the distribution reads the other bucket", func() error {
		before, _ := w.bucketPolicy("blue")
		after, _ := w.bucketPolicy("green")
		live := fmt.Sprint(w.live(distributionType, id)["DistributionConfig"])
		if before != "" || !strings.Contains(after, id) || !strings.Contains(live, "green.s3.") {
			return fmt.Errorf("the policies are %q and %q, the distribution %s", before, after, live)
		}
		return nil
	})
	if now := nested(w.ready("CloudFrontDistribution", "site"), "status", "output", "distributionID"); now != id {
		t.Errorf("the distribution was replaced by %v", now)
	}
}

// TestDistributionsOfEncryptedBuckets tests that a bucket whose objects CloudFront could not decrypt is refused.
func TestDistributionsOfEncryptedBuckets(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`
{kind: EncryptionKey, metadata: {name: vault}}
---
{kind: S3Bucket, metadata: {name: sealed}, spec: {distributionName: site, encryptionKeyName: vault}}
---
{kind: CloudFrontDistribution, metadata: {name: site}, spec: {bucketName: sealed}}
`)
	w.stalls("site", "CloudFront cannot read the S3Bucket sealed, which an EncryptionKey encrypts")
	w.change("S3Bucket", "sealed", `{"spec": {"encryptionKeyName": null, "kmsKeyID": "alias/aws/s3"}}`)
	w.stalls("site", "which AWS's own key alias/aws/s3 encrypts. Remove its spec.kmsKeyID")
	w.change("S3Bucket", "sealed", `{"spec": {"kmsKeyID": null}}`)
	w.ready("CloudFrontDistribution", "site")
}

// TestCertificatesOfDistributions tests that a distribution has only certificates that are granted to its namespace, and
// that CloudFront uses.
func TestCertificatesOfDistributions(t *testing.T) {
	site := func(certificate string) string {
		return `
{kind: S3Bucket, metadata: {name: pages}, spec: {distributionName: site}}
---
{kind: CloudFrontDistribution, metadata: {name: site}, spec: {bucketName: pages, aliases: [www.example.com], certificateARN: ` + certificate + `}}
`
	}
	w := newSuite(t, nil)
	w.apply(site(ownCertificate))
	got := w.condition("CloudFrontDistribution", "site", "Stalled", "True", "ForeignResource")
	if want := "--allow-foreign=" + w.namespace + "=" + ownCertificate; !strings.Contains(got.Message, want) || !strings.Contains(got.Message, "spec.certificateARN") {
		t.Errorf("the message is %q, want the field and %s", got.Message, want)
	}
	w = newLimitedSuite(t, nil, render.Limits{Foreign: []grant.Grant{{Namespace: "*", Pattern: "arn:aws:acm:us-east-1:*"}}})
	w.apply(site(strings.Replace(ownCertificate, account, "210987654321", 1)))
	w.stalls("site", "spec.certificateARN names a certificate of another account, which CloudFront does not use; request one in account "+account)
	w.change("CloudFrontDistribution", "site", `{"spec": {"certificateARN": "`+ownCertificate+`"}}`)
	id := fmt.Sprint(nested(w.ready("CloudFrontDistribution", "site"), "status", "output", "distributionID"))
	live, _ := w.live(distributionType, id)["DistributionConfig"].(map[string]any)
	want := map[string]any{"AcmCertificateArn": ownCertificate, "MinimumProtocolVersion": "TLSv1.2_2021", "SslSupportMethod": "sni-only"}
	if diff := cmp.Diff(any(want), live["ViewerCertificate"]); diff != "" {
		t.Errorf("the certificate differs (-want +got):\n%s", diff)
	}
}

// awaitByHand waits until a request to Cloud Control API has ended, and returns the resource's identifier.
func (w *suite) awaitByHand(control *cloudcontrol.Client, event *cctypes.ProgressEvent) string {
	w.t.Helper()
	w.eventually("the request ends", func() error {
		out, err := control.GetResourceRequestStatus(w.t.Context(), &cloudcontrol.GetResourceRequestStatusInput{
			RequestToken: event.RequestToken,
		})
		if err != nil {
			return err
		}
		if event = out.ProgressEvent; event.OperationStatus == cctypes.OperationStatusInProgress {
			return errors.New("it runs")
		}
		return nil
	})
	if event.OperationStatus != cctypes.OperationStatusSuccess {
		w.t.Fatalf("%s: %s", event.ErrorCode, aws.ToString(event.StatusMessage))
	}
	return aws.ToString(event.Identifier)
}

// TestDistributionIsAdopted adopts a distribution that was made by hand, and then reverts a change by hand.
func TestDistributionIsAdopted(t *testing.T) {
	w := newSuiteOf(t, simulator.Options{}, render.Limits{Adoption: []grant.Grant{{Namespace: "*", Pattern: distributionType + "/*"}}})
	control := cloudcontrol.NewFromConfig(w.awsConfig())
	config := map[string]any{
		"Enabled": true, "Comment": "by hand",
		"Origins": []any{map[string]any{
			"Id": "old", "DomainName": "pages.s3.amazonaws.com", "S3OriginConfig": map[string]any{"OriginAccessIdentity": ""},
		}},
		"DefaultCacheBehavior": map[string]any{
			"TargetOriginId": "old", "ViewerProtocolPolicy": "allow-all", "CachePolicyId": "658327ea-f89d-4fab-a63d-7e88639e58f6",
		},
	}
	desired, err := json.Marshal(map[string]any{"DistributionConfig": config})
	if err != nil {
		t.Fatal(err)
	}
	made, err := control.CreateResource(t.Context(), &cloudcontrol.CreateResourceInput{
		TypeName: aws.String(distributionType), DesiredState: aws.String(string(desired)),
	})
	if err != nil {
		t.Fatal(err)
	}
	id := w.awaitByHand(control, made.ProgressEvent)
	w.apply(`
{kind: S3Bucket, metadata: {name: pages}, spec: {distributionName: site}}
---
kind: CloudFrontDistribution
metadata: {name: site, annotations: {service-operator.aws/adopt: Distribution=` + id + `}}
spec: {bucketName: pages}
`)
	w.condition("CloudFrontDistribution", "site", "Synced", "False", "ApprovalNeeded")
	if pending := fmt.Sprint(w.pending("CloudFrontDistribution", "site").Changes); !strings.Contains(pending, "Origins") {
		t.Errorf("pending %s, want the origins", pending)
	}
	w.approve("CloudFrontDistribution", "site")
	if got := nested(w.ready("CloudFrontDistribution", "site"), "status", "output", "distributionID"); got != id {
		t.Errorf("the distribution is %v, not %s", got, id)
	}
	w.eventually("the bucket lets the distribution read", func() error {
		if policy, _ := w.bucketPolicy("pages"); !strings.Contains(policy, ":distribution/"+id) {
			return fmt.Errorf("the policy is %q", policy)
		}
		return nil
	})
	w.checkDrift("CloudFrontDistribution", "site", "False", "InSync")
	changed, err := control.UpdateResource(t.Context(), &cloudcontrol.UpdateResourceInput{
		TypeName: aws.String(distributionType), Identifier: &id,
		PatchDocument: aws.String(`[{"op": "replace", "path": "/DistributionConfig/DefaultCacheBehavior/ViewerProtocolPolicy", "value": "allow-all"}]`),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.awaitByHand(control, changed.ProgressEvent)
	w.checkDrift("CloudFrontDistribution", "site", "True", "Drifted")
	if found := fmt.Sprint(w.driftOf("CloudFrontDistribution", "site")); !strings.Contains(found, "ViewerProtocolPolicy") {
		t.Errorf("the drift is %s", found)
	}
	w.revert("CloudFrontDistribution", "site")
	w.eventually("the change is reverted", func() error {
		if live := fmt.Sprint(w.live(distributionType, id)["DistributionConfig"]); !strings.Contains(live, "ViewerProtocolPolicy:redirect-to-https") {
			return fmt.Errorf("the distribution is %s", live)
		}
		return nil
	})
}
