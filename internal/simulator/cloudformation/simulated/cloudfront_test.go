package simulated_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/simulated"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

const (
	distribution  = "AWS::CloudFront::Distribution"
	accessControl = "AWS::CloudFront::OriginAccessControl"
	certificate   = "arn:aws:acm:us-east-1:123456789012:certificate/1234abcd"
	cachePolicy   = "658327ea-f89d-4fab-a63d-7e88639e58f6"
)

// distributionWith returns the properties of a distribution with changes of its configuration, of its origin, and of its
// default cache behavior.
func distributionWith(t *testing.T, config, origin, behavior string) map[string]any {
	t.Helper()
	merge := func(into map[string]any, changes string) map[string]any {
		if changes != "" {
			if err := json.Unmarshal([]byte(changes), &into); err != nil {
				t.Fatal(err)
			}
		}
		return into
	}
	return map[string]any{"DistributionConfig": merge(map[string]any{
		"Enabled": true,
		"Origins": []any{merge(map[string]any{
			"Id": "bucket", "DomainName": "pages.s3.eu-west-1.amazonaws.com", "S3OriginConfig": map[string]any{"OriginAccessIdentity": ""},
		}, origin)},
		"DefaultCacheBehavior": merge(map[string]any{
			"TargetOriginId": "bucket", "ViewerProtocolPolicy": "https-only", "CachePolicyId": cachePolicy,
		}, behavior),
	}, config)}
}

// made creates a resource of an account.
func made(t *testing.T, store *simulated.Store, account, kind string, properties map[string]any) (resource.Request, error) {
	t.Helper()
	r := resource.Request{Account: account, Region: "eu-west-1", StackName: "stack", LogicalID: "It", Properties: properties}
	result, err := store.Provider(kind).Create(t.Context(), r)
	r.PhysicalID = result.PhysicalID
	return r, err
}

func control(name string) map[string]any {
	return map[string]any{"OriginAccessControlConfig": map[string]any{
		"Name": name, "OriginAccessControlOriginType": "s3", "SigningBehavior": "always", "SigningProtocol": "sigv4",
	}}
}

func wantRefusal(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("the error is %v, want %q", err, want)
	}
}

// TestRulesOfDistributions tests what CloudFront refuses although the schema allows it.
func TestRulesOfDistributions(t *testing.T) {
	for _, c := range []struct{ reason, config, origin, behavior, want string }{
		{"a distribution", "", "", "", ""},
		{"an alias with a certificate", `{"Aliases": ["a.example.com"], "ViewerCertificate": {"AcmCertificateArn": "` + certificate + `"}}`, "", "", ""},
		{"an alias without a certificate", `{"Aliases": ["a.example.com"]}`, "", "", "you must attach a trusted certificate"},
		{
			"a certificate in another region",
			`{"ViewerCertificate": {"AcmCertificateArn": "arn:aws:acm:eu-west-1:123456789012:certificate/1234abcd"}}`, "", "", "isn't in us-east-1 region",
		},
		{
			"a certificate of another account",
			`{"ViewerCertificate": {"AcmCertificateArn": "arn:aws:acm:us-east-1:210987654321:certificate/1234abcd"}}`, "", "", "SSL certificate doesn't exist",
		},
		{
			"a regional web ACL", `{"WebACLId": "arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/a/b"}`, "", "", "Web ACL is not accessible",
		},
		{"a web ACL", `{"WebACLId": "arn:aws:wafv2:us-east-1:123456789012:global/webacl/a/b"}`, "", "", ""},
		{"a path as root object", `{"DefaultRootObject": "/index.html"}`, "", "", "default root object"},
		{"a long comment", `{"Comment": "` + strings.Repeat("a", 129) + `"}`, "", "", "Comment is too big"},
		{"an origin that is neither a bucket nor another", "", `{"S3OriginConfig": null}`, "", "Exactly one of CustomOriginConfig and S3OriginConfig"},
		{"two kinds of access", "", `{"OriginAccessControlId": "E1", "S3OriginConfig": {"OriginAccessIdentity": "origin-access-identity/cloudfront/E2"}}`, "", "Cannot use both"},
		{"an access control that does not exist", "", `{"OriginAccessControlId": "E1"}`, "", "origin access control is not valid"},
		{"another origin", "", "", `{"TargetOriginId": "other"}`, "target origins or origin groups do not exist"},
		{"no cache policy", "", "", `{"CachePolicyId": ""}`, "ForwardedValues is required"},
		{"no cache policy and none", "", "", `{"CachePolicyId": null}`, "ForwardedValues is required"},
		{"two cache policies", "", "", `{"ForwardedValues": {"QueryString": false}}`, "cannot be used when a cache policy"},
		{"a cache policy that does not exist", "", "", `{"CachePolicyId": "00000000-0000-0000-0000-000000000000"}`, "cache policy does not exist"},
		{"headers that do not exist", "", "", `{"ResponseHeadersPolicyId": "00000000-0000-0000-0000-000000000000"}`, "response headers policy does not exist"},
		{"a page without a code", `{"CustomErrorResponses": [{"ErrorCode": 403, "ResponsePagePath": "/a.html"}]}`, "", "", "belong together"},
		{"a page without a slash", `{"CustomErrorResponses": [{"ErrorCode": 403, "ResponseCode": 200, "ResponsePagePath": "a.html"}]}`, "", "", "begins with a slash"},
		{"a page", `{"CustomErrorResponses": [{"ErrorCode": 403, "ResponseCode": 200, "ResponsePagePath": "/a.html"}]}`, "", "", ""},
		{"no countries", `{"Restrictions": {"GeoRestriction": {"RestrictionType": "whitelist"}}}`, "", "", "geo restriction"},
		{"countries of no restriction", `{"Restrictions": {"GeoRestriction": {"RestrictionType": "none", "Locations": ["DE"]}}}`, "", "", "geo restriction"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := made(t, simulated.NewStore(schema.Default()), "123456789012", distribution, distributionWith(t, c.config, c.origin, c.behavior))
			wantRefusal(t, err, c.want)
		})
	}
}

// TestAliasesAreUnique tests that no two distributions of any account have the same domain name.
func TestAliasesAreUnique(t *testing.T) {
	store := simulated.NewStore(schema.Default())
	of := func(account, alias string) map[string]any {
		return distributionWith(t, fmt.Sprintf(`{"Aliases": [%q], "ViewerCertificate": {"AcmCertificateArn": %q}}`,
			alias, strings.ReplaceAll(certificate, "123456789012", account)), "", "")
	}
	first, err := made(t, store, "123456789012", distribution, of("123456789012", "a.example.com"))
	wantRefusal(t, err, "")
	_, err = store.Provider(distribution).Update(t.Context(), first)
	wantRefusal(t, err, "")
	const taken = "already associated with a different resource"
	_, err = made(t, store, "210987654321", distribution, of("210987654321", "A.example.com"))
	wantRefusal(t, err, taken)
	second, err := made(t, store, "123456789012", distribution, of("123456789012", "b.example.com"))
	wantRefusal(t, err, "")
	second.Properties = of("123456789012", "a.example.com")
	_, err = store.Provider(distribution).Update(t.Context(), second)
	wantRefusal(t, err, taken)
	wantRefusal(t, store.Provider(distribution).Delete(t.Context(), first), "")
	_, err = store.Provider(distribution).Update(t.Context(), second)
	wantRefusal(t, err, "")
}

// TestAccessControlsAreUsed tests that an origin access control has a name of its own, and is not deleted while a
// distribution uses it.
func TestAccessControlsAreUsed(t *testing.T) {
	store := simulated.NewStore(schema.Default())
	_, err := made(t, store, "123456789012", accessControl, control(strings.Repeat("a", 65)))
	wantRefusal(t, err, "Name is too big")
	first, err := made(t, store, "123456789012", accessControl, control("pages"))
	wantRefusal(t, err, "")
	_, err = made(t, store, "123456789012", accessControl, control("pages"))
	wantRefusal(t, err, "already exists")
	_, err = made(t, store, "210987654321", accessControl, control("pages"))
	wantRefusal(t, err, "")
	user, err := made(t, store, "123456789012", distribution, distributionWith(t, "", fmt.Sprintf(`{"OriginAccessControlId": %q}`, first.PhysicalID), ""))
	wantRefusal(t, err, "")
	wantRefusal(t, store.Provider(accessControl).Delete(t.Context(), first), "still being used")
	wantRefusal(t, store.Provider(distribution).Delete(t.Context(), user), "")
	wantRefusal(t, store.Provider(accessControl).Delete(t.Context(), first), "")
}
