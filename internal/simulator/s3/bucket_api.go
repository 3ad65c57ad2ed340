package s3

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws-operator/aws-operator/internal/simulator/tagging"
)

// allRoutes returns the routes of the REST API; the first one that matches applies.
func (b *Buckets) allRoutes() []route {
	var routes []route
	for i := range subresources {
		routes = append(routes, subresources[i].routes()...)
	}
	for i := range listedResources {
		routes = append(routes, listedResources[i].listedRoutes()...)
	}
	routes = append(routes, bucketRoutes()...)
	return append(routes, objectRoutes()...)
}

func bucketRoutes() []route {
	return []route{
		{operation: "GetAccountPublicAccessBlock", method: http.MethodGet, level: onAccount, handle: (*Buckets).getAccountBlock},
		{operation: "PutAccountPublicAccessBlock", method: http.MethodPut, level: onAccount, write: true, handle: (*Buckets).putAccountBlock},
		{operation: "DeleteAccountPublicAccessBlock", method: http.MethodDelete, level: onAccount, write: true, handle: (*Buckets).deleteAccountBlock},
		{operation: "ListBuckets", method: http.MethodGet, level: onService, handle: (*Buckets).listBuckets},
		{operation: "GetBucketLocation", method: http.MethodGet, level: onBucket, query: "location", handle: (*Buckets).getBucketLocation},
		{operation: "GetBucketPolicy", method: http.MethodGet, level: onBucket, query: "policy", handle: (*Buckets).getBucketPolicy},
		{operation: "PutBucketPolicy", method: http.MethodPut, level: onBucket, query: "policy", write: true, handle: (*Buckets).putBucketPolicy},
		{operation: "DeleteBucketPolicy", method: http.MethodDelete, level: onBucket, query: "policy", write: true, handle: (*Buckets).deleteBucketPolicy},
		{operation: "GetBucketPolicyStatus", method: http.MethodGet, level: onBucket, query: "policyStatus", handle: (*Buckets).getBucketPolicyStatus},
		{operation: "GetBucketTagging", method: http.MethodGet, level: onBucket, query: "tagging", handle: (*Buckets).getBucketTagging},
		{operation: "PutBucketTagging", method: http.MethodPut, level: onBucket, query: "tagging", write: true, handle: (*Buckets).putBucketTagging},
		{operation: "DeleteBucketTagging", method: http.MethodDelete, level: onBucket, query: "tagging", write: true, handle: (*Buckets).deleteBucketTagging},
		{operation: "GetBucketAcl", method: http.MethodGet, level: onBucket, query: "acl", handle: (*Buckets).getBucketACL},
		{operation: "PutBucketAcl", method: http.MethodPut, level: onBucket, query: "acl", write: true, handle: (*Buckets).putBucketACL},
		{operation: "ListMultipartUploads", method: http.MethodGet, level: onBucket, query: "uploads", handle: (*Buckets).listMultipartUploads},
		{operation: "ListObjectVersions", method: http.MethodGet, level: onBucket, query: "versions", handle: (*Buckets).listObjectVersions},
		{operation: "DeleteObjects", method: http.MethodPost, level: onBucket, query: "delete", write: true, handle: (*Buckets).deleteObjects},
		{operation: "ListObjectsV2", method: http.MethodGet, level: onBucket, query: "list-type", handle: (*Buckets).listObjectsV2},
		{operation: "GetBucketAbac", method: http.MethodGet, level: onBucket, query: "abac", handle: (*Buckets).notServed},
		{operation: "GetBucketMetadataConfiguration", method: http.MethodGet, level: onBucket, query: "metadataConfiguration", handle: (*Buckets).notServed},
		{operation: "GetBucketMetadataTableConfiguration", method: http.MethodGet, level: onBucket, query: "metadataTable", handle: (*Buckets).notServed},
		{operation: "CreateSession", method: http.MethodGet, level: onBucket, query: "session", handle: (*Buckets).notServed},
		{operation: "HeadBucket", method: http.MethodHead, level: onBucket, handle: func(*Buckets, *request) error { return nil }},
		{operation: "ListObjects", method: http.MethodGet, level: onBucket, handle: (*Buckets).listObjects},
		{operation: "CreateBucket", method: http.MethodPut, level: onBucket, write: true, handle: (*Buckets).createBucket},
		{operation: "DeleteBucket", method: http.MethodDelete, level: onBucket, write: true, handle: (*Buckets).deleteBucket},
	}
}

func objectRoutes() []route {
	return []route{
		{operation: "GetObjectTagging", method: http.MethodGet, level: onObject, query: "tagging", handle: (*Buckets).getObjectTagging},
		{operation: "PutObjectTagging", method: http.MethodPut, level: onObject, query: "tagging", write: true, handle: (*Buckets).putObjectTagging},
		{operation: "DeleteObjectTagging", method: http.MethodDelete, level: onObject, query: "tagging", write: true, handle: (*Buckets).deleteObjectTagging},
		{operation: "GetObjectAcl", method: http.MethodGet, level: onObject, query: "acl", handle: (*Buckets).getObjectACL},
		{operation: "PutObjectAcl", method: http.MethodPut, level: onObject, query: "acl", write: true, handle: (*Buckets).putObjectACL},
		{operation: "GetObjectRetention", method: http.MethodGet, level: onObject, query: "retention", handle: (*Buckets).getObjectRetention},
		{operation: "PutObjectRetention", method: http.MethodPut, level: onObject, query: "retention", write: true, handle: (*Buckets).putObjectRetention},
		{operation: "GetObjectLegalHold", method: http.MethodGet, level: onObject, query: "legal-hold", handle: (*Buckets).getObjectLegalHold},
		{operation: "PutObjectLegalHold", method: http.MethodPut, level: onObject, query: "legal-hold", write: true, handle: (*Buckets).putObjectLegalHold},
		{operation: "GetObjectAttributes", method: http.MethodGet, level: onObject, query: "attributes", handle: (*Buckets).getObjectAttributes},
		{operation: "GetObjectTorrent", method: http.MethodGet, level: onObject, query: "torrent", handle: (*Buckets).notServed},
		{operation: "RestoreObject", method: http.MethodPost, level: onObject, query: "restore", handle: (*Buckets).notServed},
		{operation: "SelectObjectContent", method: http.MethodPost, level: onObject, query: "select", handle: (*Buckets).notServed},
		{operation: "CreateMultipartUpload", method: http.MethodPost, level: onObject, query: "uploads", write: true, handle: (*Buckets).createMultipartUpload},
		{operation: "CompleteMultipartUpload", method: http.MethodPost, level: onObject, query: "uploadId", write: true, handle: (*Buckets).completeMultipartUpload},
		{operation: "ListParts", method: http.MethodGet, level: onObject, query: "uploadId", handle: (*Buckets).listParts},
		{operation: "AbortMultipartUpload", method: http.MethodDelete, level: onObject, query: "uploadId", write: true, handle: (*Buckets).abortMultipartUpload},
		{operation: "UploadPartCopy", method: http.MethodPut, level: onObject, query: "partNumber", header: "X-Amz-Copy-Source", write: true, handle: (*Buckets).uploadPartCopy},
		{operation: "UploadPart", method: http.MethodPut, level: onObject, query: "partNumber", write: true, handle: (*Buckets).uploadPart},
		{operation: "CopyObject", method: http.MethodPut, level: onObject, header: "X-Amz-Copy-Source", write: true, handle: (*Buckets).copyObject},
		{operation: "HeadObject", method: http.MethodHead, level: onObject, handle: (*Buckets).getObject},
		{operation: "GetObject", method: http.MethodGet, level: onObject, handle: (*Buckets).getObject},
		{operation: "PutObject", method: http.MethodPut, level: onObject, write: true, handle: (*Buckets).putObject},
		{operation: "DeleteObject", method: http.MethodDelete, level: onObject, write: true, handle: (*Buckets).deleteObject},
	}
}

// notServed returns the error for operations that the simulator does not support.
func (b *Buckets) notServed(r *request) error {
	return refuse(http.StatusNotImplemented, "NotImplemented", "The simulator does not serve %s.", r.operation)
}

// createBucket creates a bucket in the region in the body:
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucket.html
func (b *Buckets) createBucket(r *request) error {
	if r.anonymous {
		return accessDenied()
	}
	region, tags, err := r.newBucketSettings()
	if err != nil {
		return err
	}
	if have := b.buckets[r.bucket]; have != nil && have.account == r.call.Account && have.region == region && region == "us-east-1" {
		r.header.Set("Location", "/"+r.bucket) // in us-east-1 an owner may create it again
		return nil
	}
	made, err := b.create(r.bucket, r.call.Account, region)
	if err != nil {
		return err
	}
	if err := made.applyHeaders(r); err != nil {
		delete(b.buckets, r.bucket)
		return err
	}
	made.tags = tags
	r.header.Set("Location", "/"+r.bucket)
	if region != "us-east-1" {
		r.header.Set("Location", "http://"+r.bucket+".s3.amazonaws.com/")
	}
	r.header.Set("X-Amz-Bucket-Arn", b.arn(made))
	return nil
}

// newTagRules are the errors for tags of a new bucket. The one for reserved keys is on record, with its
// words, in the answers of AWS that localstack's tests record.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucket.html
// https://github.com/localstack/localstack/blob/main/tests/aws/services/s3control/test_s3control.snapshot.json
var newTagRules = tagging.Rules{
	Reserved: tagging.Refusal{
		Code: "InvalidTag", Message: "User-defined tag keys can't start with \"aws:\". This prefix is reserved for system tags. " +
			"Remove \"aws:\" from your tag keys and try again.",
	},
	Key:     tagging.Refusal{Code: "InvalidTag", Message: "The TagKey you have provided is invalid"},
	Value:   tagging.Refusal{Code: "InvalidTag", Message: "The TagValue you have provided is invalid"},
	TooMany: tagging.Refusal{Code: "BadRequest", Message: "Bucket tag count cannot be greater than 50"},
}

// newBucketSettings parses region and tags in the body of CreateBucket.
func (r *request) newBucketSettings() (region string, tags map[string]string, err error) {
	tags = map[string]string{}
	constraint := ""
	if len(r.body) > 0 {
		doc, err := parseRoot(r.body, "CreateBucketConfiguration")
		if err != nil {
			return "", nil, err
		}
		constraint = doc.at("LocationConstraint")
		for _, tag := range doc.child("Tags").all("Tag") {
			tags[tag.at("Key")] = tag.at("Value")
		}
		if err := newTagRules.Check(nil, tags); err != nil {
			return "", nil, err
		}
	}
	region = r.call.Region
	switch {
	case constraint == "" && region != "us-east-1":
		return "", nil, illegalLocation("unspecified")
	case constraint == "":
	case constraint == "us-east-1":
		return "", nil, with(refuse(http.StatusBadRequest, "InvalidLocationConstraint", "The specified location-constraint is not valid"), "LocationConstraint", constraint)
	case region != "us-east-1" && constraint != region:
		return "", nil, illegalLocation(constraint)
	default:
		region = constraint
	}
	return region, tags, nil
}

func illegalLocation(constraint string) error {
	return refuse(http.StatusBadRequest, "IllegalLocationConstraintException", "The %s location constraint is incompatible for the region specific endpoint this request was sent to.", constraint)
}

// applyHeaders applies the headers of CreateBucket.
func (k *bucket) applyHeaders(r *request) error {
	if ownership := r.Header.Get("X-Amz-Object-Ownership"); ownership != "" {
		controls := element("OwnershipControls", element("Rule", leaf("ObjectOwnership", ownership)))
		if err := k.configure(subresourceNamed("ownershipControls"), controls); err != nil {
			return err
		}
	}
	if r.Header.Get("X-Amz-Bucket-Object-Lock-Enabled") == "true" {
		k.objectLock = true
		k.configuration["versioning"] = element("VersioningConfiguration", leaf("Status", "Enabled"))
		k.configuration["object-lock"] = element("ObjectLockConfiguration", leaf("ObjectLockEnabled", "Enabled"))
	}
	canned := r.Header.Get("X-Amz-Acl")
	if canned == "" {
		return nil
	}
	if err := k.checkNewACL(canned); err != nil {
		return err
	}
	return k.setACL(canned, nil)
}

func (b *Buckets) deleteBucket(r *request) error {
	if err := b.delete(r.found); err != nil {
		return err
	}
	return r.noContent()
}

func (b *Buckets) getBucketLocation(r *request) error {
	region := r.found.region
	if region == "us-east-1" {
		region = ""
	}
	return r.respond(leaf("LocationConstraint", region))
}

func noSuchPolicy(name string) error {
	return with(refuse(http.StatusNotFound, "NoSuchBucketPolicy", "The bucket policy does not exist"), "BucketName", name)
}

func (b *Buckets) getBucketPolicy(r *request) error {
	policy := b.policyOf(r.found)
	if policy == "" {
		return noSuchPolicy(r.bucket)
	}
	r.header.Set("Content-Type", "application/json")
	r.answer = []byte(policy)
	return nil
}

func (b *Buckets) putBucketPolicy(r *request) error {
	if !b.env.KnowsPrincipals(string(r.body)) {
		return refuse(http.StatusBadRequest, "MalformedPolicy", "Invalid principal in policy")
	}
	err := b.changePolicy(r.found, func() error { return r.found.setPolicy(b.arn(r.found), string(r.body)) })
	if err != nil {
		return err
	}
	return r.noContent()
}

func (b *Buckets) deleteBucketPolicy(r *request) error {
	_ = b.changePolicy(r.found, func() error { r.found.policy = ""; return nil }) // it returns only the change's error
	return r.noContent()
}

func (b *Buckets) getBucketTagging(r *request) error {
	if len(r.found.tags) == 0 {
		return with(refuse(http.StatusNotFound, "NoSuchTagSet", "The TagSet does not exist"), "BucketName", r.bucket)
	}
	return r.respond(taggingNode(r.found.tags))
}

func taggingNode(tags map[string]string) *node {
	set := element("TagSet")
	for _, key := range sortedNames(tags) {
		set.children = append(set.children, element("Tag", leaf("Key", key), leaf("Value", tags[key])))
	}
	return element("Tagging", set)
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// readTagging parses a Tagging document with at most limit tags.
func readTagging(data []byte, limit int) (map[string]string, error) {
	doc, err := parseRoot(data, "Tagging")
	if err != nil {
		return nil, err
	}
	tags := map[string]string{}
	list := doc.child("TagSet").all("Tag")
	for _, tag := range list {
		key := rawAt(tag, "Key")
		if _, doubled := tags[key]; doubled {
			return nil, refuse(http.StatusBadRequest, "InvalidTag", "Cannot provide multiple Tags with the same key")
		}
		if key == "" || utf8.RuneCountInString(key) > 128 {
			return nil, refuse(http.StatusBadRequest, "InvalidTag", "The TagKey you have provided is invalid")
		}
		value := rawAt(tag, "Value")
		if utf8.RuneCountInString(value) > 256 {
			return nil, refuse(http.StatusBadRequest, "InvalidTag", "The TagValue you have provided is invalid")
		}
		tags[key] = value
	}
	if len(list) > limit {
		return nil, refuse(http.StatusBadRequest, "BadRequest", "Object tags cannot be greater than %d", limit)
	}
	return tags, nil
}

// putBucketTagging replaces the user's tags. It keeps aws: tags, which users cannot set:
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketTagging.html
func (b *Buckets) putBucketTagging(r *request) error {
	tags, err := readTagging(r.body, 50)
	if err != nil {
		return err
	}
	for key := range tags {
		if value, ours := r.found.tags[key]; strings.HasPrefix(key, "aws:") && (!ours || value != tags[key]) {
			return refuse(http.StatusBadRequest, "InvalidTag", "System tags cannot be added/updated by requester")
		}
	}
	for key := range r.found.tags {
		if _, kept := tags[key]; strings.HasPrefix(key, "aws:") && !kept {
			return refuse(http.StatusConflict, "OperationAborted", "System tags cannot be removed by requester")
		}
	}
	r.found.tags = tags
	return r.noContent()
}

func (b *Buckets) deleteBucketTagging(r *request) error {
	kept := maps.Clone(r.found.tags)
	maps.DeleteFunc(kept, func(key, _ string) bool { return !strings.HasPrefix(key, "aws:") })
	r.found.tags = kept
	return r.noContent()
}

func (b *Buckets) getBucketACL(r *request) error {
	return r.respond(element("AccessControlPolicy", ownerNode("Owner", r.found.account), r.found.acl()))
}

func (b *Buckets) putBucketACL(r *request) error {
	canned, list, err := r.givenACL()
	if err != nil {
		return err
	}
	return r.found.setACL(canned, list)
}

// givenACL parses a canned ACL in the headers or a list in the body.
func (r *request) givenACL() (canned string, list *node, err error) {
	if canned = r.Header.Get("X-Amz-Acl"); canned != "" {
		return canned, nil, nil
	}
	if len(r.body) == 0 {
		return "", nil, refuse(http.StatusNotImplemented, "NotImplemented", "The simulator takes an ACL by x-amz-acl or as a document, not by x-amz-grant headers.")
	}
	doc, err := parseRoot(r.body, "AccessControlPolicy")
	if err != nil {
		return "", nil, err
	}
	if list = doc.child("AccessControlList"); list == nil {
		return "", nil, malformedXML()
	}
	return "", list, nil
}

func (b *Buckets) getObjectTagging(r *request) error {
	v, err := r.target()
	if err != nil {
		return err
	}
	r.setVersion(v)
	return r.respond(taggingNode(v.tags))
}

func (b *Buckets) putObjectTagging(r *request) error {
	v, err := r.target()
	if err != nil {
		return err
	}
	tags, err := readTagging(r.body, 10)
	if err != nil {
		return err
	}
	v.tags = tags
	r.setVersion(v)
	return nil
}

func (b *Buckets) deleteObjectTagging(r *request) error {
	v, err := r.target()
	if err != nil {
		return err
	}
	v.tags = map[string]string{}
	r.setVersion(v)
	return r.noContent()
}

func (b *Buckets) getObjectACL(r *request) error {
	v, err := r.target()
	if err != nil {
		return err
	}
	return r.respond(element("AccessControlPolicy", ownerNode("Owner", r.found.account), grantList(r.found.account, v.acl)))
}

func (b *Buckets) putObjectACL(r *request) error {
	v, err := r.target()
	if err != nil {
		return err
	}
	canned, list, err := r.givenACL()
	if err != nil {
		return err
	}
	if list != nil {
		if !ownerOnly(r.found.account, list) {
			return refuse(http.StatusNotImplemented, "NotImplemented", "The simulator takes canned ACLs for objects.")
		}
		canned = "private"
	}
	if err := r.found.checkObjectACL(canned); err != nil {
		return err
	}
	v.acl = canned
	return nil
}

func (b *Buckets) getObjectRetention(r *request) error {
	v, err := r.target()
	if err != nil {
		return err
	}
	if v.lockMode == "" {
		return refuse(http.StatusNotFound, "NoSuchObjectLockConfiguration", "The specified object does not have a ObjectLock configuration")
	}
	return r.respond(element("Retention", leaf("Mode", v.lockMode), leaf("RetainUntilDate", stamp(v.lockUntil))))
}

func (b *Buckets) putObjectRetention(r *request) error {
	v, err := r.lockable()
	if err != nil {
		return err
	}
	doc, err := parseRoot(r.body, "Retention")
	if err != nil {
		return err
	}
	until, err := time.Parse(time.RFC3339, doc.at("RetainUntilDate"))
	if err != nil {
		return malformedXML()
	}
	bypass := r.Header.Get("X-Amz-Bypass-Governance-Retention") == "true"
	if v.locked(b.env.Clock.Now(), bypass) && !v.legalHold && until.Before(v.lockUntil) {
		return refuse(http.StatusForbidden, "AccessDenied", "Access Denied because object protected by object lock.")
	}
	v.lockMode, v.lockUntil = doc.at("Mode"), until
	return nil
}

// lockable returns the requested version if its bucket has object lock.
func (r *request) lockable() (*version, error) {
	if !r.found.objectLock {
		return nil, invalidRequest("Bucket is missing Object Lock Configuration")
	}
	return r.target()
}

func (b *Buckets) getObjectLegalHold(r *request) error {
	v, err := r.lockable()
	if err != nil {
		return err
	}
	status := map[bool]string{true: "ON", false: "OFF"}[v.legalHold]
	return r.respond(element("LegalHold", leaf("Status", status)))
}

func (b *Buckets) putObjectLegalHold(r *request) error {
	v, err := r.lockable()
	if err != nil {
		return err
	}
	doc, err := parseRoot(r.body, "LegalHold")
	if err != nil {
		return err
	}
	v.legalHold = doc.at("Status") == "ON"
	return nil
}
