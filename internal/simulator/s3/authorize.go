package s3

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Ciphers decides about the use of KMS keys.
type Ciphers interface {
	// Use returns an error if the caller may not take an action with a key through a service.
	Use(ctx context.Context, action, keyID, via string, encryption map[string]string, more map[string][]string) error
}

// Option configures the buckets.
type Option func(*Buckets)

// WithCiphers sets what decides about the keys of encrypted objects. By default every caller may use
// them.
func WithCiphers(ciphers Ciphers) Option { return func(b *Buckets) { b.ciphers = ciphers } }

// Destinations decides whom buckets notify.
type Destinations interface {
	// MayNotify returns an error if a bucket of an account may not notify the queue, topic or function with
	// an ARN.
	MayNotify(account, bucketARN, target string) error
}

// WithDestinations sets what decides whom buckets may notify. By default every bucket may notify all.
func WithDestinations(d Destinations) Option { return func(b *Buckets) { b.destinations = d } }

// versioned are actions of another name if a request names a version.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html
var versioned = map[string]string{
	"s3:GetObject": "s3:GetObjectVersion", "s3:DeleteObject": "s3:DeleteObjectVersion", "s3:GetObjectAcl": "s3:GetObjectVersionAcl",
	"s3:PutObjectAcl": "s3:PutObjectVersionAcl", "s3:GetObjectTagging": "s3:GetObjectVersionTagging",
	"s3:PutObjectTagging": "s3:PutObjectVersionTagging", "s3:DeleteObjectTagging": "s3:DeleteObjectVersionTagging",
}

// ownersAlways are the actions that no policy can take from the root user of the bucket's account.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketPolicy.html
var ownersAlways = []string{"s3:GetBucketPolicy", "s3:PutBucketPolicy", "s3:DeleteBucketPolicy"}

// action returns the action of an operation.
func action(operation string, ofVersion bool) string {
	name := "s3:" + operation
	if permissions := access.Permissions("s3", operation); len(permissions) > 0 {
		name = permissions[0].Action
	}
	if other, ok := versioned[name]; ok && ofVersion {
		return other
	}
	return name
}

// permitRequest returns an error if the caller may not make the request.
func (b *Buckets) permitRequest(r *request, k *bucket) error {
	if r.operation == "DeleteObjects" {
		return nil // each object is decided
	}
	actions := []string{action(r.operation, r.query.Has("versionId"))}
	if r.key != "" && (r.Method == http.MethodPut || r.Method == http.MethodPost) {
		for header, also := range map[string]string{
			"X-Amz-Tagging": "s3:PutObjectTagging", "X-Amz-Acl": "s3:PutObjectAcl", "X-Amz-Object-Lock-Mode": "s3:PutObjectRetention",
			"X-Amz-Object-Lock-Legal-Hold": "s3:PutObjectLegalHold",
		} {
			if r.Header.Get(header) != "" && !slices.Contains(actions, also) {
				actions = append(actions, also)
			}
		}
	}
	for _, one := range actions {
		if err := b.permit(r, k, one, r.key); err != nil {
			return err
		}
	}
	return b.permitMissing(r, k)
}

// permitMissing hides from callers who may not list the bucket that an object does not exist.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html
func (b *Buckets) permitMissing(r *request, k *bucket) error {
	reads := (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.key != "" && r.operation != "ListParts"
	if !reads || !b.env.Control.Checks() || k.current(r.key) != nil || r.query.Has("versionId") {
		return nil
	}
	return b.permit(r, k, "s3:ListBucket", "")
}

// permit returns an error if the caller may not take an action on the bucket, or on an object of it.
func (b *Buckets) permit(r *request, k *bucket, action, key string) error {
	of := access.Resource{ARN: b.arn(k), Account: k.account, Policy: wire.ParsePolicy("BucketPolicy", b.policyOf(k)), Tags: k.tags}
	if key != "" {
		of.ARN += "/" + key
	}
	if !b.env.Control.Checks() {
		if err := wire.Authorize(r.Context(), action, of, nil); err != nil {
			return err
		}
		return b.permitAccount(r, k, action, of.ARN)
	}
	caller := r.call.Caller
	foreign := r.anonymous || caller == nil || caller.Account != k.account
	switch {
	case !foreign && caller.IsRoot() && slices.Contains(ownersAlways, action):
		return nil
	case foreign && b.mayReadByACL(r, k):
		return nil
	}
	err := wire.Authorize(r.Context(), action, of, r.keys(k, key))
	switch {
	case err != nil && foreign:
		return accessDenied() // S3 tells other accounts no reason
	case err != nil:
		return refusal(err)
	case foreign && k.blocks("RestrictPublicBuckets") && b.hasPublicPolicy(k):
		return accessDenied()
	}
	return nil
}

// refusal returns an error with the details of S3's errors.
func refusal(err error) error {
	var e *wire.Error
	if !errors.As(err, &e) {
		return err
	}
	return refuse(e.Status, e.Code, "%s", e.Message)
}

// permitAccount decides without identity-based policies: the bucket's account may do everything.
func (b *Buckets) permitAccount(r *request, k *bucket, action, arn string) error {
	caller := r.call.Account
	if r.anonymous {
		caller = ""
	}
	if caller == k.account {
		return nil
	}
	if p, err := parsePolicy(b.policyOf(k)); err == nil && p.allows(caller, action, arn) {
		if p.isPublic() && k.blocks("RestrictPublicBuckets") {
			return accessDenied()
		}
		return nil
	}
	if b.mayReadByACL(r, k) {
		return nil
	}
	return accessDenied()
}

func (b *Buckets) hasPublicPolicy(k *bucket) bool {
	p, err := parsePolicy(b.policyOf(k))
	return err == nil && p.isPublic()
}

// keys returns the condition keys of a request.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazons3.html
func (r *request) keys(k *bucket, key string) map[string][]string {
	keys := map[string][]string{"s3:authtype": {"REST-HEADER"}, "s3:signatureversion": {"AWS4-HMAC-SHA256"}}
	if r.query.Has("X-Amz-Signature") {
		keys["s3:authtype"] = []string{"REST-QUERY-STRING"}
	}
	for parameter, name := range map[string]string{
		"prefix": "s3:prefix", "delimiter": "s3:delimiter", "max-keys": "s3:max-keys", "versionId": "s3:versionid",
	} {
		if r.query.Has(parameter) {
			keys[name] = r.query[parameter]
		}
	}
	if r.key != "" && key == "" { // whether an object exists
		keys["s3:prefix"] = []string{r.key}
	}
	for _, name := range []string{
		"x-amz-acl", "x-amz-copy-source", "x-amz-metadata-directive", "x-amz-server-side-encryption", "x-amz-content-sha256",
		"x-amz-server-side-encryption-aws-kms-key-id", "x-amz-storage-class", "x-amz-object-ownership",
	} {
		if value := r.Header.Get(name); value != "" {
			keys["s3:"+name] = []string{value}
		}
	}
	r.writeKeys(keys)
	if v := k.current(key); v != nil {
		for name, value := range v.tags {
			keys["s3:existingobjecttag/"+strings.ToLower(name)] = []string{value}
		}
	}
	if tags, err := headerTags(r.Header.Get("X-Amz-Tagging")); err == nil {
		for name, value := range tags {
			keys["s3:requestobjecttag/"+strings.ToLower(name)] = []string{value}
		}
		if len(tags) > 0 {
			keys["s3:requestobjecttagkeys"] = slices.Sorted(maps.Keys(tags))
		}
	}
	return keys
}

// writeKeys adds the condition keys of writes. Only these operations take the headers, and only the first
// two create an object under a condition: with a policy that requires one, nothing can be copied.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes-enforce.html
func (r *request) writeKeys(keys map[string][]string) {
	switch r.operation {
	case "PutObject", "CompleteMultipartUpload":
		for _, name := range []string{"if-match", "if-none-match"} {
			if value := r.Header.Get(name); value != "" {
				keys["s3:"+name] = []string{value}
			}
		}
		keys["s3:objectcreationoperation"] = []string{"true"}
	case "CopyObject":
		keys["s3:objectcreationoperation"] = []string{"true"}
	case "CreateMultipartUpload", "UploadPart", "UploadPartCopy":
		keys["s3:objectcreationoperation"] = []string{"false"}
	}
}

// useKey returns an error if the caller may not use the key of an encrypted object.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html#require-sse-kms
func (b *Buckets) useKey(r *request, k *bucket, v *version, action string) error {
	managed := v.kmsKey == "" || strings.Contains(v.kmsKey, "alias/aws/") // all principals of the account may use it through S3
	if b.ciphers == nil || !b.env.Control.Checks() || !strings.HasPrefix(v.encryption, "aws:kms") || managed {
		return nil
	}
	arn := b.arn(k)
	if v.bucketKey != "true" {
		arn += "/" + v.key
	}
	if err := b.ciphers.Use(r.Context(), action, v.kmsKey, "s3", map[string]string{"aws:s3:arn": arn}, nil); err != nil {
		return refusal(err)
	}
	return nil
}
