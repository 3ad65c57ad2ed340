package s3_test

import (
	"errors"
	"regexp"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

type properties = map[string]any

func request(p properties) resource.Request {
	return resource.Request{
		Account:    account,
		Region:     region,
		StackName:  "My-Stack",
		LogicalID:  "Bucket",
		PhysicalID: "things",
		Properties: p,
	}
}

func wantHandlerError(t *testing.T, err error, code, message string) {
	t.Helper()
	var e *resource.Error
	if !errors.As(err, &e) || e.Code != code || message != "" && e.Message != message {
		t.Fatalf("got %v, want %s: %s", err, code, message)
	}
}

// Return values:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-s3-bucket.html#aws-resource-s3-bucket-return-values
func TestBucketProviderAttributes(t *testing.T) {
	p := newSuite(t).buckets.Providers()["AWS::S3::Bucket"]
	got, err := p.Create(t.Context(), request(properties{"BucketName": "things"}))
	want := resource.Result{PhysicalID: "things", Attributes: map[string]any{
		"Arn": "arn:aws:s3:::things", "DomainName": "things.s3.amazonaws.com", "RegionalDomainName": "things.s3.eu-west-1.amazonaws.com",
		"DualStackDomainName": "things.s3.dualstack.eu-west-1.amazonaws.com",
		"WebsiteURL":          "http://things.s3-website-eu-west-1.amazonaws.com",
	}}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Fatal(err, d)
	}
	_, err = p.Create(t.Context(), request(properties{"BucketName": "things"}))
	wantHandlerError(t, err, resource.AlreadyExists, "things already exists")
	named, err := p.Create(t.Context(), request(properties{}))
	if err != nil || !regexp.MustCompile(`^my-stack-bucket-[a-z0-9]{12}$`).MatchString(named.PhysicalID) {
		t.Fatalf("got %v %v", named, err)
	}
	long := request(properties{})
	long.StackName = "A-Stack-With-A-Name-That-Is-Longer-Than-A-Bucket-May-Be-Called-At-All"
	if named, err = p.Create(t.Context(), long); err != nil || len(named.PhysicalID) > 63 {
		t.Fatalf("got %v %v", named, err)
	}
}

func TestBucketProviderConfigures(t *testing.T) {
	w := newSuite(t)
	p := w.buckets.Providers()["AWS::S3::Bucket"]
	r := request(properties{"BucketName": "things"})
	if _, err := p.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	r.Properties = properties{
		"BucketName":              "things",
		"VersioningConfiguration": properties{"Status": "Enabled"},
		"WebsiteConfiguration": properties{"IndexDocument": "index.html", "ErrorDocument": "error.html", "RoutingRules": []any{
			properties{
				"RoutingRuleCondition": properties{"KeyPrefixEquals": "a/"},
				"RedirectRule":         properties{"ReplaceKeyPrefixWith": "b/"},
			},
		}},
		"LoggingConfiguration": properties{"DestinationBucketName": "logs", "LogFilePrefix": "p/"},
		"PublicAccessBlockConfiguration": properties{
			"BlockPublicAcls":       false,
			"IgnorePublicAcls":      false,
			"BlockPublicPolicy":     true,
			"RestrictPublicBuckets": true,
		},
		"OwnershipControls": properties{"Rules": []any{properties{"ObjectOwnership": "BucketOwnerPreferred"}}},
		"BucketEncryption": properties{"ServerSideEncryptionConfiguration": []any{properties{
			"BucketKeyEnabled": true, "ServerSideEncryptionByDefault": properties{"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": "alias/k"},
		}}},
		"CorsConfiguration": properties{
			"CorsRules": []any{properties{"AllowedMethods": []any{"GET"}, "AllowedOrigins": []any{"*"}, "MaxAge": 60.0}},
		},
		"LifecycleConfiguration": properties{"Rules": []any{
			properties{"Id": "one", "Status": "Enabled", "Prefix": "tmp/", "ExpirationInDays": 7.0},
			properties{
				"Id": "two", "Status": "Disabled", "Prefix": "x", "TagFilters": []any{properties{"Key": "k", "Value": "v"}},
				"Transitions": []any{
					properties{"StorageClass": "GLACIER", "TransitionInDays": 30.0},
				}, "NoncurrentVersionExpiration": properties{"NoncurrentDays": 3.0},
			},
		}},
		"NotificationConfiguration": properties{
			"QueueConfigurations":      []any{properties{"Event": "s3:ObjectCreated:*", "Queue": "arn:aws:sqs:eu-west-1:111111111111:q"}},
			"EventBridgeConfiguration": properties{"EventBridgeEnabled": true},
		},
		"Tags": []any{properties{"Key": "a", "Value": "b"}},
	}
	r.Tags = map[string]string{"aws:cloudformation:stack-name": "My-Stack", "team": "blue"}
	if _, err := p.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	live, err := p.Read(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range r.Properties {
		if d := cmp.Diff(want, live[name]); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	c := w.client(account, region)
	rules := must[*s3.GetBucketLifecycleConfigurationOutput](t)(
		c.GetBucketLifecycleConfiguration(t.Context(), &s3.GetBucketLifecycleConfigurationInput{Bucket: things}),
	).Rules
	if *rules[0].Filter.Prefix != "tmp/" || *rules[1].Filter.And.Prefix != "x" || len(rules[1].Filter.And.Tags) != 1 {
		t.Errorf("got %+v", rules)
	}
	if tags := must[*s3.GetBucketTaggingOutput](t)(c.GetBucketTagging(t.Context(), &s3.GetBucketTaggingInput{Bucket: things})); len(
		tags.TagSet,
	) != 3 {
		t.Errorf("got %+v", tags.TagSet)
	}

	r.Previous, r.Properties = r.Properties, properties{"BucketName": "things"}
	if _, err := p.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	_, err = c.GetBucketWebsite(t.Context(), &s3.GetBucketWebsiteInput{Bucket: things})
	wantError(t, err, "NoSuchWebsiteConfiguration", "")
	if v := must[*s3.GetBucketVersioningOutput](t)(c.GetBucketVersioning(
		t.Context(), &s3.GetBucketVersioningInput{Bucket: things},
	)); v.Status != "Suspended" {
		t.Errorf("versioning cannot be undone, only suspended; got %v", v.Status)
	}
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-s3-bucket.html#cfn-s3-bucket-accesscontrol
func TestAccessControlNeedsOwnershipControls(t *testing.T) {
	controls := properties{"Rules": []any{properties{"ObjectOwnership": "BucketOwnerPreferred"}}}
	tests := map[string]struct {
		properties properties
		message    string
	}{
		"private says nothing": {properties{"AccessControl": "Private"}, ""},
		"public without controls": {
			properties{"AccessControl": "PublicRead"},
			"Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting",
		},
		"log delivery without them": {
			properties{"AccessControl": "LogDeliveryWrite"},
			"Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting",
		},
		"log delivery with them": {properties{"AccessControl": "LogDeliveryWrite", "OwnershipControls": controls}, ""},
		"public while access is block": {
			properties{"AccessControl": "PublicRead", "OwnershipControls": controls},
			"Bucket cannot have public ACLs set with BlockPublicAccess enabled",
		},
		"public with all that it takes": {properties{
			"AccessControl": "PublicRead", "OwnershipControls": controls,
			"PublicAccessBlockConfiguration": properties{"BlockPublicAcls": false},
		}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newSuite(t)
			tt.properties["BucketName"] = "things"
			_, err := w.buckets.Providers()["AWS::S3::Bucket"].Create(t.Context(), request(tt.properties))
			if tt.message == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			wantHandlerError(t, err, resource.InvalidRequest, tt.message)
			_, err = w.client(account, region).HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: things})
			wantError(t, err, "NotFound", "")
		})
	}
}

func TestBucketProviderDeletes(t *testing.T) {
	w := newSuite(t)
	p := w.buckets.Providers()["AWS::S3::Bucket"]
	r := request(properties{"BucketName": "things"})
	if _, err := p.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	c := w.client(account, region)
	put(t, c, "a", "x")
	wantHandlerError(t, p.Delete(t.Context(), r), resource.GeneralService, "The bucket you tried to delete is not empty")
	must[*s3.DeleteObjectOutput](t)(c.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: things, Key: things}))
	a := "a"
	must[*s3.DeleteObjectOutput](t)(c.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: things, Key: &a}))
	if err := p.Delete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	wantHandlerError(t, p.Delete(t.Context(), r), resource.NotFound, "")
}

func TestBucketPolicyProvider(t *testing.T) {
	w := newSuite(t)
	buckets, policies := w.buckets.Providers()["AWS::S3::Bucket"], w.buckets.Providers()["AWS::S3::BucketPolicy"]
	if _, err := buckets.Create(t.Context(), request(properties{"BucketName": "things"})); err != nil {
		t.Fatal(err)
	}
	statement := properties{
		"Effect":    "Allow",
		"Principal": properties{"AWS": "arn:aws:iam::222222222222:root"},
		"Action":    "s3:GetObject",
		"Resource":  "arn:aws:s3:::things/*",
	}
	r := request(properties{"Bucket": "things", "PolicyDocument": properties{"Version": "2012-10-17", "Statement": []any{statement}}})
	got, err := policies.Create(t.Context(), r)
	if err != nil || got.PhysicalID != "things" {
		t.Fatalf("got %v %v", got, err)
	}
	live, err := policies.Read(t.Context(), r)
	if d := cmp.Diff(r.Properties, live); err != nil || d != "" {
		t.Fatal(err, d)
	}
	statement["Principal"] = "*"
	_, err = policies.Update(t.Context(), r)
	wantHandlerError(t, err, resource.AccessDenied, "Access Denied")
	if err := policies.Delete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	wantHandlerError(t, policies.Delete(t.Context(), r), resource.NotFound, "")
}
