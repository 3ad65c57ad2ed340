package s3_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// Names: https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
func TestBucketNamesAreGlobal(t *testing.T) {
	w := newSuite(t)
	c := w.bucket()
	in := &s3.CreateBucketInput{Bucket: things, CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: region}}
	_, err := c.CreateBucket(t.Context(), in)
	wantError(t, err, "BucketAlreadyOwnedByYou", "Your previous request to create the named bucket succeeded and you already own it.")
	stranger := w.client("222222222222", region)
	_, err = stranger.CreateBucket(t.Context(), in)
	wantError(
		t,
		err,
		"BucketAlreadyExists",
		"The requested bucket name is not available. The bucket namespace is shared by all users of the system. Please select a different name and try again.",
	)
	_, err = stranger.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: things})
	wantError(t, err, "AccessDenied", "Access Denied")
	_, err = stranger.GetBucketVersioning(t.Context(), &s3.GetBucketVersioningInput{Bucket: aws.String("nothing")})
	wantError(t, err, "NoSuchBucket", "The specified bucket does not exist")
	if list := must[*s3.ListBucketsOutput](t)(stranger.ListBuckets(t.Context(), &s3.ListBucketsInput{})); len(list.Buckets) != 0 {
		t.Fatalf("a stranger sees %v", list.Buckets)
	}
	if list := must[*s3.ListBucketsOutput](t)(c.ListBuckets(t.Context(), &s3.ListBucketsInput{})); len(list.Buckets) != 1 ||
		*list.Buckets[0].Name != "things" {
		t.Fatalf("the owner sees %v", list.Buckets)
	}
	_, err = c.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("Things_1")})
	wantError(
		t,
		err,
		"IllegalLocationConstraintException",
		"The unspecified location constraint is incompatible for the region specific endpoint this request was sent to.",
	)
	_, err = w.client(account, "us-east-1").CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("Things_1")})
	wantError(t, err, "InvalidBucketName", "The specified bucket is not valid.")
	_, err = w.client(account, "us-west-2").ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: things})
	wantError(
		t,
		err,
		"AuthorizationHeaderMalformed",
		"The authorization header is malformed; the region 'us-west-2' is wrong; expecting 'eu-west-1'",
	)
	if got := must[*s3.GetBucketLocationOutput](t)(c.GetBucketLocation(
		t.Context(), &s3.GetBucketLocationInput{Bucket: things},
	)); got.LocationConstraint != region {
		t.Fatalf("got %v", got.LocationConstraint)
	}
}

// Defaults since April 2023:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/create-bucket-faq.html
func TestNewBucketHasOnlyTheDefaultsOfAWS(t *testing.T) {
	w := newSuite(t)
	c := w.bucket()
	ctx := t.Context()
	block := must[*s3.GetPublicAccessBlockOutput](t)(
		c.GetPublicAccessBlock(ctx, &s3.GetPublicAccessBlockInput{Bucket: things}),
	).PublicAccessBlockConfiguration
	if !*block.BlockPublicAcls || !*block.IgnorePublicAcls || !*block.BlockPublicPolicy || !*block.RestrictPublicBuckets {
		t.Errorf("public access is not blocked: %+v", block)
	}
	owner := must[*s3.GetBucketOwnershipControlsOutput](t)(
		c.GetBucketOwnershipControls(ctx, &s3.GetBucketOwnershipControlsInput{Bucket: things}),
	)
	if owner.OwnershipControls.Rules[0].ObjectOwnership != types.ObjectOwnershipBucketOwnerEnforced {
		t.Errorf("ACLs are on: %+v", owner.OwnershipControls)
	}
	encryption := must[*s3.GetBucketEncryptionOutput](t)(c.GetBucketEncryption(ctx, &s3.GetBucketEncryptionInput{Bucket: things}))
	rule := encryption.ServerSideEncryptionConfiguration.Rules[0]
	if rule.ApplyServerSideEncryptionByDefault.SSEAlgorithm != types.ServerSideEncryptionAes256 {
		t.Errorf("no default encryption: %+v", encryption)
	}
	if v := must[*s3.GetBucketVersioningOutput](t)(c.GetBucketVersioning(
		ctx, &s3.GetBucketVersioningInput{Bucket: things},
	)); v.Status != "" {
		t.Errorf("versioning is %v", v.Status)
	}
	if v := must[*s3.GetBucketLoggingOutput](t)(c.GetBucketLogging(
		ctx, &s3.GetBucketLoggingInput{Bucket: things},
	)); v.LoggingEnabled != nil {
		t.Errorf("logging is %v", v.LoggingEnabled)
	}
	if v := must[*s3.GetBucketNotificationConfigurationOutput](t)(c.GetBucketNotificationConfiguration(
		ctx, &s3.GetBucketNotificationConfigurationInput{Bucket: things},
	)); len(v.QueueConfigurations) != 0 {
		t.Errorf("notifications are %v", v)
	}
	if v := must[*s3.GetBucketRequestPaymentOutput](t)(c.GetBucketRequestPayment(
		ctx, &s3.GetBucketRequestPaymentInput{Bucket: things},
	)); v.Payer != types.PayerBucketOwner {
		t.Errorf("payer is %v", v.Payer)
	}
	if v := must[*s3.GetBucketAclOutput](t)(c.GetBucketAcl(ctx, &s3.GetBucketAclInput{Bucket: things})); len(v.Grants) != 1 ||
		v.Grants[0].Permission != types.PermissionFullControl {
		t.Errorf("grants are %v", v.Grants)
	}
	_, err := c.GetBucketWebsite(ctx, &s3.GetBucketWebsiteInput{Bucket: things})
	wantError(t, err, "NoSuchWebsiteConfiguration", "The specified bucket does not have a website configuration")
	_, err = c.GetBucketLifecycleConfiguration(ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: things})
	wantError(t, err, "NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist")
	_, err = c.GetBucketCors(ctx, &s3.GetBucketCorsInput{Bucket: things})
	wantError(t, err, "NoSuchCORSConfiguration", "The CORS configuration does not exist")
	_, err = c.GetBucketTagging(ctx, &s3.GetBucketTaggingInput{Bucket: things})
	wantError(t, err, "NoSuchTagSet", "The TagSet does not exist")
	_, err = c.GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: things})
	wantError(t, err, "NoSuchBucketPolicy", "The bucket policy does not exist")
	_, err = c.GetBucketReplication(ctx, &s3.GetBucketReplicationInput{Bucket: things})
	wantError(t, err, "ReplicationConfigurationNotFoundError", "The replication configuration was not found")
	_, err = c.GetObjectLockConfiguration(ctx, &s3.GetObjectLockConfigurationInput{Bucket: things})
	wantError(t, err, "ObjectLockConfigurationNotFoundError", "Object Lock configuration does not exist for this bucket")
}

func TestConfigurationsRoundTrip(t *testing.T) {
	w := newSuite(t)
	c := w.bucket()
	ctx := t.Context()
	must[*s3.PutBucketWebsiteOutput](t)(
		c.PutBucketWebsite(ctx, &s3.PutBucketWebsiteInput{Bucket: things, WebsiteConfiguration: &types.WebsiteConfiguration{
			IndexDocument: &types.IndexDocument{
				Suffix: aws.String("index.html"),
			}, ErrorDocument: &types.ErrorDocument{Key: aws.String("error.html")},
		}}),
	)
	website := must[*s3.GetBucketWebsiteOutput](t)(c.GetBucketWebsite(ctx, &s3.GetBucketWebsiteInput{Bucket: things}))
	if *website.IndexDocument.Suffix != "index.html" || *website.ErrorDocument.Key != "error.html" {
		t.Errorf("got %+v", website)
	}
	must[*s3.PutBucketTaggingOutput](t)(
		c.PutBucketTagging(
			ctx,
			&s3.PutBucketTaggingInput{
				Bucket:  things,
				Tagging: &types.Tagging{TagSet: []types.Tag{{Key: aws.String("a"), Value: aws.String("<b>")}}},
			},
		),
	)
	if tags := must[*s3.GetBucketTaggingOutput](t)(c.GetBucketTagging(
		ctx, &s3.GetBucketTaggingInput{Bucket: things},
	)); *tags.TagSet[0].Value != "<b>" {
		t.Errorf("got %+v", tags)
	}
	must[*s3.PutBucketLifecycleConfigurationOutput](t)(c.PutBucketLifecycleConfiguration(ctx, &s3.PutBucketLifecycleConfigurationInput{
		Bucket: things, LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: []types.LifecycleRule{{
			Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: aws.String("tmp/")},
			Expiration: &types.LifecycleExpiration{Days: aws.Int32(3)},
		}}},
	}))
	lifecycle := must[*s3.GetBucketLifecycleConfigurationOutput](t)(
		c.GetBucketLifecycleConfiguration(ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: things}),
	)
	if lifecycle.TransitionDefaultMinimumObjectSize != types.TransitionDefaultMinimumObjectSizeAllStorageClasses128k {
		t.Errorf("got %v", lifecycle.TransitionDefaultMinimumObjectSize)
	}
	rules := lifecycle.Rules
	if len(rules) != 1 || *rules[0].Expiration.Days != 3 || *rules[0].Filter.Prefix != "tmp/" {
		t.Errorf("got %+v", rules)
	}
	must[*s3.DeleteBucketLifecycleOutput](t)(c.DeleteBucketLifecycle(ctx, &s3.DeleteBucketLifecycleInput{Bucket: things}))
	_, err := c.GetBucketLifecycleConfiguration(ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: things})
	wantError(t, err, "NoSuchLifecycleConfiguration", "")
	_, err = c.PutBucketReplication(
		ctx,
		&s3.PutBucketReplicationInput{Bucket: things, ReplicationConfiguration: &types.ReplicationConfiguration{
			Role: aws.String("arn:aws:iam::111111111111:role/r"), Rules: []types.ReplicationRule{
				{Status: types.ReplicationRuleStatusEnabled, Destination: &types.Destination{Bucket: aws.String("arn:aws:s3:::b")}},
			},
		}},
	)
	wantError(t, err, "InvalidRequest", "Versioning must be 'Enabled' on the bucket to apply a replication configuration")
	must[*s3.PutBucketMetricsConfigurationOutput](t)(c.PutBucketMetricsConfiguration(ctx, &s3.PutBucketMetricsConfigurationInput{
		Bucket: things, Id: aws.String("all"), MetricsConfiguration: &types.MetricsConfiguration{Id: aws.String("all")},
	}))
	if list := must[*s3.ListBucketMetricsConfigurationsOutput](t)(c.ListBucketMetricsConfigurations(
		ctx, &s3.ListBucketMetricsConfigurationsInput{Bucket: things},
	)); len(list.MetricsConfigurationList) != 1 {
		t.Errorf("got %+v", list)
	}
}

// https://docs.aws.amazon.com/AmazonS3/latest/userguide/about-object-ownership.html
func TestPublicAccessRequiresAllSettings(t *testing.T) {
	w := newSuite(t)
	ctx := t.Context()
	_, err := w.client(account, region).CreateBucket(ctx, &s3.CreateBucketInput{
		Bucket: things, ACL: types.BucketCannedACLPublicRead,
		CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: region},
	})
	wantError(
		t, err, "InvalidBucketAclWithObjectOwnership", "Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting",
	)
	c := w.bucket()
	public := &s3.PutBucketAclInput{Bucket: things, ACL: types.BucketCannedACLPublicRead}
	_, err = c.PutBucketAcl(ctx, public)
	wantError(t, err, "AccessControlListNotSupported", "The bucket does not allow ACLs")
	must[*s3.PutBucketOwnershipControlsOutput](t)(c.PutBucketOwnershipControls(ctx, &s3.PutBucketOwnershipControlsInput{
		Bucket: things,
		OwnershipControls: &types.OwnershipControls{
			Rules: []types.OwnershipControlsRule{{ObjectOwnership: types.ObjectOwnershipBucketOwnerPreferred}},
		},
	}))
	_, err = c.PutBucketAcl(ctx, public)
	wantError(t, err, "AccessDenied", "")
	policy := &s3.PutBucketPolicyInput{
		Bucket: things,
		Policy: aws.String(
			`{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::things/*"}}`,
		),
	}
	_, err = c.PutBucketPolicy(ctx, policy)
	wantError(t, err, "AccessDenied", "")
	must[*s3.DeletePublicAccessBlockOutput](t)(c.DeletePublicAccessBlock(ctx, &s3.DeletePublicAccessBlockInput{Bucket: things}))
	must[*s3.PutBucketAclOutput](t)(c.PutBucketAcl(ctx, public))
	must[*s3.PutBucketPolicyOutput](t)(c.PutBucketPolicy(ctx, policy))
	put(t, c, "a", "data")
	stranger := w.client("222222222222", region)
	if got := must[*s3.GetObjectOutput](t)(stranger.GetObject(ctx, &s3.GetObjectInput{Bucket: things, Key: aws.String("a")})); read(
		t, got.Body,
	) != "data" {
		t.Error("the policy lets everybody read")
	}
	_, err = stranger.PutObject(ctx, &s3.PutObjectInput{Bucket: things, Key: aws.String("b")})
	wantError(t, err, "AccessDenied", "")
	status := must[*s3.GetBucketPolicyStatusOutput](t)(c.GetBucketPolicyStatus(ctx, &s3.GetBucketPolicyStatusInput{Bucket: things}))
	if !*status.PolicyStatus.IsPublic {
		t.Error("the policy is public")
	}
}

func TestFaultsNameTheOperation(t *testing.T) {
	w := newSuite(t)
	c := w.bucket()
	w.faults.Add(
		fault.Rule{Service: "s3", Operation: "PutBucketVersioning", Name: "things", Code: "AccessDenied", Message: "no", Status: 403},
	)
	put(t, c, "a", "data")
	_, err := c.PutBucketVersioning(
		t.Context(),
		&s3.PutBucketVersioningInput{
			Bucket:                  things,
			VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
		},
	)
	wantError(t, err, "AccessDenied", "no")
}
