package s3

import (
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// nullVersion is the ID of versions written while versioning is not enabled.
const nullVersion = "null"

// object is a key with at least one version, newest first.
type object struct{ versions []*version }

// version is one version of an object, or a delete marker. It is immutable once stored, except for
// tags, ACL, retention and legal hold.
type version struct {
	id, key      string
	marker       bool
	data         []byte
	etag         string // without quotes
	modified     time.Time
	headers      http.Header // Content-Type and similar headers
	metadata     http.Header // x-amz-meta-…
	tags         map[string]string
	sums         checksums
	sumKind      string
	parts        []int // sizes, of a multipart upload
	storageClass string
	encryption   string
	kmsKey       string
	bucketKey    string
	redirect     string
	acl          string
	lockMode     string
	lockUntil    time.Time
	legalHold    bool
}

// keptHeaders are the headers that S3 stores with the object.
var keptHeaders = []string{"Content-Type", "Content-Encoding", "Content-Language", "Content-Disposition", "Cache-Control", "Expires"}

// newVersion creates a version from a request's headers, without data.
func (b *Buckets) newVersion(r *request, k *bucket) (*version, error) {
	v := &version{
		key: r.key, modified: b.env.Clock.Now().UTC().Truncate(time.Second), headers: http.Header{}, metadata: http.Header{},
		storageClass: r.Header.Get("X-Amz-Storage-Class"), redirect: r.Header.Get("X-Amz-Website-Redirect-Location"),
		acl: r.Header.Get("X-Amz-Acl"),
	}
	if err := r.checkServed(); err != nil {
		return nil, err
	}
	v.setHeaders(r.Header)
	if v.storageClass == "" {
		v.storageClass = "STANDARD"
	}
	if v.acl == "" {
		v.acl = "private"
	}
	if err := k.checkObjectACL(v.acl); err != nil {
		return nil, err
	}
	v.encrypt(r.Header, k)
	if err := b.useKey(r, k, v, "kms:GenerateDataKey"); err != nil {
		return nil, err
	}
	var err error
	if v.tags, err = headerTags(r.Header.Get("X-Amz-Tagging")); err != nil {
		return nil, err
	}
	return v, v.lock(r.Header, k, v.modified)
}

// checkServed rejects unsupported headers that would change the result.
func (r *request) checkServed() error {
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Amz-Grant-") || strings.HasPrefix(name, "X-Amz-Server-Side-Encryption-Customer-") {
			return with(
				refuse(http.StatusNotImplemented, "NotImplemented", "The simulator does not serve the header %s.", name), "Header", name,
			)
		}
	}
	return nil
}

// checkObjectACL rejects an ACL that the bucket does not accept.
func (k *bucket) checkObjectACL(canned string) error {
	grants, known := cannedGrants[canned]
	switch {
	case !known:
		return invalidArgument("x-amz-acl", canned, "")
	case k.ownership() == bucketOwnerEnforced && len(grants) > 0:
		return refuse(http.StatusBadRequest, "AccessControlListNotSupported", "The bucket does not allow ACLs")
	case k.blocks("BlockPublicAcls") && isPublicList(grantList(k.account, canned)):
		return accessDenied()
	}
	return nil
}

func (v *version) setHeaders(from http.Header) {
	for _, name := range keptHeaders {
		if value := from.Get(name); value != "" {
			v.headers.Set(name, value)
		}
	}
	if encoding := v.headers.Get("Content-Encoding"); encoding != "" {
		rest := slices.DeleteFunc(strings.Split(encoding, ","), func(e string) bool { return strings.TrimSpace(e) == "aws-chunked" })
		v.headers.Set("Content-Encoding", strings.TrimSpace(strings.Join(rest, ",")))
		if len(rest) == 0 {
			v.headers.Del("Content-Encoding")
		}
	}
	if v.headers.Get("Content-Type") == "" {
		v.headers.Set("Content-Type", "binary/octet-stream")
	}
	for name, values := range from {
		if strings.HasPrefix(name, "X-Amz-Meta-") {
			v.metadata[name] = slices.Clone(values)
		}
	}
}

// encrypt records how the version is encrypted: as requested, or by the bucket's default. The
// simulator stores the data unencrypted.
func (v *version) encrypt(from http.Header, k *bucket) {
	v.encryption = from.Get("X-Amz-Server-Side-Encryption")
	v.kmsKey = from.Get("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id")
	v.bucketKey = from.Get("X-Amz-Server-Side-Encryption-Bucket-Key-Enabled")
	if v.encryption != "" {
		return
	}
	rule := k.configuration["encryption"].child("Rule")
	if v.encryption = rule.at("ApplyServerSideEncryptionByDefault", "SSEAlgorithm"); v.encryption == "" {
		v.encryption = "AES256"
	}
	v.kmsKey = rule.at("ApplyServerSideEncryptionByDefault", "KMSMasterKeyID")
	if v.encryption != "AES256" {
		v.bucketKey = rule.at("BucketKeyEnabled")
	}
}

// lock sets retention and legal hold, as requested or by the bucket's default.
func (v *version) lock(from http.Header, k *bucket, now time.Time) error {
	v.lockMode = from.Get("X-Amz-Object-Lock-Mode")
	v.legalHold = from.Get("X-Amz-Object-Lock-Legal-Hold") == "ON"
	if (v.lockMode != "" || v.legalHold) && !k.objectLock {
		return invalidRequest("Bucket is missing Object Lock Configuration")
	}
	if v.lockMode != "" {
		until, err := time.Parse(time.RFC3339, from.Get("X-Amz-Object-Lock-Retain-Until-Date"))
		if err != nil {
			return invalidArgument(
				"x-amz-object-lock-retain-until-date",
				from.Get("X-Amz-Object-Lock-Retain-Until-Date"),
				"The retain until date must be provided in ISO 8601 format",
			)
		}
		v.lockUntil = until
		return nil
	}
	retention := k.configuration["object-lock"].child("Rule").child("DefaultRetention")
	if mode := retention.at("Mode"); mode != "" {
		days, _ := strconv.Atoi(retention.at("Days"))
		years, _ := strconv.Atoi(retention.at("Years"))
		v.lockMode, v.lockUntil = mode, now.AddDate(years, 0, days)
	}
	return nil
}

// locked reports whether the version may not be deleted.
func (v *version) locked(now time.Time, bypass bool) bool {
	if v.legalHold {
		return true
	}
	return v.lockMode != "" && now.Before(v.lockUntil) && (v.lockMode != "GOVERNANCE" || !bypass)
}

// headerTags parses the tags in the x-amz-tagging header.
func headerTags(text string) (map[string]string, error) {
	values, err := url.ParseQuery(text)
	if err != nil {
		return nil, invalidArgument(
			"x-amz-tagging",
			text,
			"The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name duplicates.",
		)
	}
	tags := map[string]string{}
	for key, list := range values {
		if len(list) > 1 {
			return nil, invalidArgument(
				"x-amz-tagging",
				text,
				"The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name duplicates.",
			)
		}
		tags[key] = list[0]
	}
	return tags, nil
}

// fill sets data, ETag and checksums of a version that is written in one request.
func (v *version) fill(data []byte, sums checksums) {
	v.data, v.etag = data, hex.EncodeToString(md5Of(data))
	v.sums, v.sumKind = sums, "FULL_OBJECT"
}

// store makes a version the newest of its key.
func (k *bucket) store(v *version) {
	v.id = nullVersion
	if k.versioning() == "Enabled" {
		v.id = wire.RandomID(32)
	}
	o := k.objects[v.key]
	if o == nil {
		o = &object{}
		k.objects[v.key] = o
		i, _ := slices.BinarySearch(k.keys, v.key)
		k.keys = slices.Insert(k.keys, i, v.key)
	}
	if v.id == nullVersion {
		o.versions = slices.DeleteFunc(slices.Clone(o.versions), func(old *version) bool { return old.id == nullVersion })
	}
	o.versions = slices.Insert(slices.Clone(o.versions), 0, v)
}

// forget removes a version, and the key with its last version.
func (k *bucket) forget(o *object, v *version) {
	o.versions = slices.DeleteFunc(slices.Clone(o.versions), func(old *version) bool { return old == v })
	if len(o.versions) > 0 {
		return
	}
	delete(k.objects, v.key)
	if i, found := slices.BinarySearch(k.keys, v.key); found {
		k.keys = slices.Delete(k.keys, i, i+1)
	}
}

// current returns the newest version of a key, or nil if there is none or it is a delete marker.
func (k *bucket) current(key string) *version {
	if o := k.objects[key]; o != nil && !o.versions[0].marker {
		return o.versions[0]
	}
	return nil
}

// version returns the requested version of a key, or the newest.
func (k *bucket) version(key, id string) (*version, error) {
	o := k.objects[key]
	if id == "" {
		if o == nil || o.versions[0].marker {
			return nil, noSuchKey(key)
		}
		return o.versions[0], nil
	}
	if o != nil {
		if i := slices.IndexFunc(o.versions, func(v *version) bool { return v.id == id }); i >= 0 {
			return o.versions[i], nil
		}
	}
	return nil, noSuchVersion(key, id)
}

// target returns the requested version of an object, which must not be a delete marker.
func (r *request) target() (*version, error) {
	v, err := r.found.version(r.key, r.query.Get("versionId"))
	if err != nil {
		if o := r.found.objects[r.key]; o != nil && o.versions[0].marker && r.query.Get("versionId") == "" {
			r.header.Set("X-Amz-Delete-Marker", "true")
			r.header.Set("X-Amz-Version-Id", o.versions[0].id)
		}
		return nil, err
	}
	if v.marker {
		r.header.Set("X-Amz-Delete-Marker", "true")
		r.header.Set("X-Amz-Version-Id", v.id)
		return nil, with(
			refuse(http.StatusMethodNotAllowed, "MethodNotAllowed", "The specified method is not allowed against this resource."),
			"ResourceType",
			"DeleteMarker",
		)
	}
	return v, nil
}

// setVersion sets the version's ID in the response, if the bucket has versions.
func (r *request) setVersion(v *version) {
	if r.found.versioning() != "" {
		r.header.Set("X-Amz-Version-Id", v.id)
	}
}

// setEncryption sets the encryption headers of the version.
func (v *version) setEncryption(header http.Header) {
	header.Set("X-Amz-Server-Side-Encryption", v.encryption)
	if v.kmsKey != "" {
		header.Set("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id", v.kmsKey)
	}
	if v.bucketKey == "true" {
		header.Set("X-Amz-Server-Side-Encryption-Bucket-Key-Enabled", "true")
	}
}

// clone returns a copy for another key.
func (v *version) clone() *version {
	c := *v
	c.headers, c.metadata, c.tags = v.headers.Clone(), v.metadata.Clone(), maps.Clone(v.tags)
	return &c
}
