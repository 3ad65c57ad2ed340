package s3

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxPut is the maximum size of an object in a single request:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/upload-objects.html
const maxPut = 5 << 30

func (b *Buckets) putObject(r *request) error {
	if len(r.key) > 1024 {
		return refuse(http.StatusBadRequest, "KeyTooLongError", "Your key is too long")
	}
	if len(r.body) > maxPut {
		return refuse(http.StatusBadRequest, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size")
	}
	if err := r.checkPutConditions(); err != nil {
		return err
	}
	v, err := b.newVersion(r, r.found)
	if err != nil {
		return err
	}
	v.fill(r.body, r.checksumsToStore())
	r.found.store(v)
	r.stored(v)
	return nil
}

// stored sets the response for a written version.
func (r *request) stored(v *version) {
	r.header.Set("Etag", quoted(v.etag))
	r.setVersion(v)
	v.setEncryption(r.header)
	v.sums.setHeaders(r.header, v.sumKind)
}

func quoted(etag string) string { return `"` + etag + `"` }

// checkPutConditions applies If-Match and If-None-Match to a write:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
func (r *request) checkPutConditions() error {
	have := r.found.current(r.key)
	if want := r.Header.Get("If-None-Match"); want != "" {
		if want != "*" {
			return with(
				refuse(http.StatusNotImplemented, "NotImplemented", "A header you provided implies functionality that is not implemented"),
				"Header",
				"If-None-Match",
			)
		}
		if have != nil {
			return preconditionFailed("If-None-Match")
		}
	}
	if want := r.Header.Get("If-Match"); want != "" {
		if have == nil {
			return noSuchKey(r.key)
		}
		if strings.Trim(want, `"`) != have.etag {
			return preconditionFailed("If-Match")
		}
	}
	return nil
}

// checkReadConditions applies the conditional headers to a read:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-reads.html
func (r *request) checkReadConditions(v *version, prefix string) error {
	get := func(name string) string { return r.Header.Get(prefix + name) }
	since := func(name string) (time.Time, bool) {
		t, err := http.ParseTime(get(name))
		return t, err == nil
	}
	if want := get("If-Match"); want != "" {
		if !matchesETag(want, v.etag) {
			return preconditionFailed("If-Match")
		}
	} else if t, given := since("If-Unmodified-Since"); given && v.modified.After(t) {
		return preconditionFailed("If-Unmodified-Since")
	}
	unchanged := false
	if want := get("If-None-Match"); want != "" {
		unchanged = matchesETag(want, v.etag)
	} else if t, given := since("If-Modified-Since"); given {
		unchanged = !v.modified.After(t)
	}
	switch {
	case !unchanged:
		return nil
	case prefix != "":
		return preconditionFailed("x-amz-copy-source-If-None-Match")
	}
	r.header.Set("Etag", quoted(v.etag))
	return refuse(http.StatusNotModified, "NotModified", "Not Modified")
}

func matchesETag(list, etag string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(one string) bool {
		one = strings.TrimSpace(one)
		return one == "*" || strings.Trim(one, `"`) == etag
	})
}

// getObject serves GetObject and HeadObject.
func (b *Buckets) getObject(r *request) error {
	v, err := r.target()
	if err != nil {
		return err
	}
	if err := r.checkReadConditions(v, ""); err != nil {
		return err
	}
	if r.Method != http.MethodHead {
		if err := b.useKey(r, r.found, v, "kms:Decrypt"); err != nil {
			return err
		}
	}
	r.describe(v)
	start, end, err := r.wanted(v)
	if err != nil {
		return err
	}
	r.answer = v.data[start:end]
	if r.Method == http.MethodHead {
		r.header.Set("Content-Length", strconv.Itoa(end-start))
	}
	for parameter, name := range map[string]string{
		"response-content-type": "Content-Type", "response-content-language": "Content-Language", "response-expires": "Expires",
		"response-cache-control": "Cache-Control", "response-content-disposition": "Content-Disposition",
		"response-content-encoding": "Content-Encoding",
	} {
		if value := r.query.Get(parameter); value != "" {
			r.header.Set(name, value)
		}
	}
	return nil
}

// describe sets the headers that describe a version.
func (r *request) describe(v *version) {
	maps.Copy(r.header, v.headers)
	for name, values := range v.metadata {
		// S3 sends them in lower case, and SDKs keep the case:
		// https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingMetadata.html
		r.header[strings.ToLower(name)] = values
	}
	r.header.Set("Etag", quoted(v.etag))
	r.header.Set("Last-Modified", v.modified.Format(http.TimeFormat))
	r.header.Set("Accept-Ranges", "bytes")
	r.setVersion(v)
	v.setEncryption(r.header)
	if v.storageClass != "STANDARD" {
		r.header.Set("X-Amz-Storage-Class", v.storageClass)
	}
	if v.redirect != "" {
		r.header.Set("X-Amz-Website-Redirect-Location", v.redirect)
	}
	if len(v.tags) > 0 {
		r.header.Set("X-Amz-Tagging-Count", strconv.Itoa(len(v.tags)))
	}
	if v.lockMode != "" {
		r.header.Set("X-Amz-Object-Lock-Mode", v.lockMode)
		r.header.Set("X-Amz-Object-Lock-Retain-Until-Date", v.lockUntil.UTC().Format(time.RFC3339))
	}
	if v.legalHold {
		r.header.Set("X-Amz-Object-Lock-Legal-Hold", "ON")
	}
	if len(v.parts) > 0 && r.query.Has("partNumber") {
		r.header.Set("X-Amz-Mp-Parts-Count", strconv.Itoa(len(v.parts)))
	}
	if strings.EqualFold(r.Header.Get("X-Amz-Checksum-Mode"), "ENABLED") && r.Header.Get("Range") == "" {
		v.sums.setHeaders(r.header, v.sumKind)
	}
}

// wanted returns the requested range of bytes, by Range or partNumber.
func (r *request) wanted(v *version) (start, end int, err error) {
	size := len(v.data)
	if text := r.query.Get("partNumber"); text != "" {
		return r.wantedPart(v, text)
	}
	text := r.Header.Get("Range")
	from, to, ok := strings.Cut(strings.TrimPrefix(text, "bytes="), "-")
	if !ok || !strings.HasPrefix(text, "bytes=") || strings.Contains(to, ",") {
		return 0, size, nil
	}
	first, ferr := strconv.Atoi(from)
	last, lerr := strconv.Atoi(to)
	switch {
	case from == "" && lerr == nil && last > 0:
		start, end = max(0, size-last), size
	case ferr == nil && to == "":
		start, end = first, size
	case ferr == nil && lerr == nil && last >= first:
		start, end = first, min(last+1, size)
	case from == "" && lerr == nil: // the last zero bytes
		start, end = size, size
	default:
		return 0, size, nil
	}
	if start >= size {
		e := refuse(http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The requested range is not satisfiable")
		return 0, 0, with(with(e, "RangeRequested", text), "ActualObjectSize", strconv.Itoa(size))
	}
	r.partial(start, end, size)
	return start, end, nil
}

func (r *request) partial(start, end, size int) {
	r.status = http.StatusPartialContent
	r.header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", start, end-1, size))
}

func (r *request) wantedPart(v *version, text string) (start, end int, err error) {
	parts := v.parts
	if len(parts) == 0 {
		parts = []int{len(v.data)}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > len(parts) {
		return 0, 0, refuse(http.StatusRequestedRangeNotSatisfiable, "InvalidPartNumber", "The requested partnumber is not satisfiable")
	}
	for _, size := range parts[:n-1] {
		start += size
	}
	end = start + parts[n-1]
	r.partial(start, end, len(v.data))
	return start, end, nil
}

func (b *Buckets) deleteObject(r *request) error {
	bypass := r.Header.Get("X-Amz-Bypass-Governance-Retention") == "true"
	if want := r.Header.Get("If-Match"); want != "" {
		if have := r.found.current(r.key); have != nil && !matchesETag(want, have.etag) {
			return preconditionFailed("If-Match")
		}
	}
	gone, err := b.remove(r.found, r.key, r.query.Get("versionId"), bypass)
	if err != nil {
		return err
	}
	if gone.marker {
		r.header.Set("X-Amz-Delete-Marker", "true")
	}
	if gone.id != "" {
		r.header.Set("X-Amz-Version-Id", gone.id)
	}
	return r.noContent()
}

// removed is the result of a deletion: the ID of the deleted version or of the new delete marker.
type removed struct {
	id     string
	marker bool
	made   bool
}

// remove deletes a version, or adds a delete marker if the bucket keeps versions:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/DeletingObjectVersions.html
func (b *Buckets) remove(k *bucket, key, id string, bypass bool) (removed, error) {
	o := k.objects[key]
	now := b.env.Clock.Now().UTC()
	if id != "" {
		v, err := k.version(key, id)
		if err != nil {
			return removed{id: id}, nil //nolint:nilerr // deleting a missing key succeeds
		}
		if v.locked(now, bypass) {
			return removed{}, refuse(http.StatusForbidden, "AccessDenied", "Access Denied because object protected by object lock.")
		}
		k.forget(o, v)
		return removed{id: id, marker: v.marker}, nil
	}
	if k.versioning() == "" {
		if o != nil {
			k.forget(o, o.versions[0])
		}
		return removed{}, nil
	}
	marker := &version{key: key, marker: true, modified: now.Truncate(time.Second)}
	k.store(marker)
	return removed{id: marker.id, marker: true, made: true}, nil
}

func (b *Buckets) deleteObjects(r *request) error {
	doc, err := parseRoot(r.body, "Delete")
	if err != nil {
		return err
	}
	objects := doc.all("Object")
	if len(objects) == 0 || len(objects) > 1000 {
		return malformedXML()
	}
	out := element("DeleteResult")
	bypass := r.Header.Get("X-Amz-Bypass-Governance-Retention") == "true"
	for _, o := range objects {
		key, id := rawAt(o, "Key"), o.at("VersionId")
		err := b.permit(r, r.found, action("DeleteObjects", id != ""), key)
		var gone removed
		if err == nil {
			gone, err = b.remove(r.found, key, id, bypass)
		}
		if err != nil {
			out.children = append(
				out.children, element("Error", leaf("Key", key), leaf("Code", "AccessDenied"), leaf("Message", "Access Denied")),
			)
			continue
		}
		if doc.at("Quiet") == "true" {
			continue
		}
		deleted := element("Deleted", leaf("Key", key)).addIf("VersionId", id)
		if gone.marker {
			deleted.add("DeleteMarker", "true").add("DeleteMarkerVersionId", gone.id)
		}
		out.children = append(out.children, deleted)
	}
	return r.respond(out)
}

// rawAt returns a child's text unchanged, because keys may begin or end with blanks.
func rawAt(n *node, name string) string {
	if c := n.child(name); c != nil {
		return c.text
	}
	return ""
}

// copySource returns the version in x-amz-copy-source.
func (b *Buckets) copySource(r *request) (*version, error) {
	text, query, _ := strings.Cut(r.Header.Get("X-Amz-Copy-Source"), "?")
	text, err := url.PathUnescape(text)
	name, key, found := strings.Cut(strings.TrimPrefix(text, "/"), "/")
	if err != nil || !found || key == "" {
		return nil, invalidArgument("x-amz-copy-source", text, "Invalid copy source object key")
	}
	k := b.buckets[name]
	if k == nil {
		return nil, noSuchBucket(name)
	}
	source := &request{Request: r.Request, call: r.call, bucket: name, key: key, operation: "GetObject", anonymous: r.anonymous}
	values, _ := url.ParseQuery(query)
	if err := b.permit(source, k, action("GetObject", values.Has("versionId")), key); err != nil {
		return nil, err
	}
	v, err := k.version(key, values.Get("versionId"))
	if err != nil {
		return nil, err
	}
	if v.marker {
		return nil, invalidRequest("The source of a copy request may not specifically refer to a delete marker by version id.")
	}
	if err := b.useKey(r, k, v, "kms:Decrypt"); err != nil {
		return nil, err
	}
	if k.versioning() != "" {
		r.header.Set("X-Amz-Copy-Source-Version-Id", v.id)
	}
	return v, r.checkReadConditions(v, "X-Amz-Copy-Source-")
}

func (b *Buckets) copyObject(r *request) error {
	from, err := b.copySource(r)
	if err != nil {
		return err
	}
	made, err := b.newVersion(r, r.found)
	if err != nil {
		return err
	}
	replace := r.Header.Get("X-Amz-Metadata-Directive") == "REPLACE"
	if !replace {
		source := from.clone()
		made.headers, made.metadata = source.headers, source.metadata
	}
	if r.Header.Get("X-Amz-Tagging-Directive") != "REPLACE" {
		made.tags = from.clone().tags
	}
	same := r.found.current(r.key) == from
	if same && !replace && r.Header.Get("X-Amz-Storage-Class") == "" && made.redirect == "" &&
		r.Header.Get("X-Amz-Server-Side-Encryption") == "" {
		return invalidRequest(
			"This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes.",
		)
	}
	algorithm := strings.ToUpper(r.Header.Get("X-Amz-Checksum-Algorithm"))
	sums := from.sums
	if algorithms[algorithm] != nil {
		sums = checksums{algorithm: checksumOf(algorithm, from.data)}
	} else if from.sumKind == "COMPOSITE" {
		name := from.sums.names()[0]
		sums = checksums{name: checksumOf(name, from.data)}
	}
	made.fill(from.data, sums)
	r.found.store(made)
	r.setVersion(made)
	made.setEncryption(r.header)
	out := element("CopyObjectResult", leaf("LastModified", stamp(made.modified)), leaf("ETag", quoted(made.etag)))
	made.sums.addTo(out, made.sumKind)
	return r.respond(out)
}

// stamp formats a time as in S3's documents.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func (b *Buckets) getObjectAttributes(r *request) error {
	v, err := r.target()
	if err != nil {
		return err
	}
	r.header.Set("Last-Modified", v.modified.Format(http.TimeFormat))
	r.setVersion(v)
	out := element("GetObjectAttributesResponse")
	for name := range strings.SplitSeq(strings.Join(r.Header.Values("X-Amz-Object-Attributes"), ","), ",") {
		switch strings.TrimSpace(name) {
		case "ETag":
			out.add("ETag", v.etag)
		case "ObjectSize":
			out.add("ObjectSize", strconv.Itoa(len(v.data)))
		case "StorageClass":
			out.add("StorageClass", v.storageClass)
		case "Checksum":
			sums := element("Checksum")
			v.sums.addTo(sums, v.sumKind)
			out.children = append(out.children, sums)
		case "ObjectParts":
			if len(v.parts) > 0 {
				out.children = append(out.children, element("ObjectParts", leaf("PartsCount", strconv.Itoa(len(v.parts)))))
			}
		}
	}
	return r.respond(out)
}

func (b *Buckets) getBucketPolicyStatus(r *request) error {
	if r.found.policy == "" {
		return noSuchPolicy(r.bucket)
	}
	p := &policyDocument{}
	public := json.Unmarshal([]byte(r.found.policy), p) == nil && p.isPublic()
	return r.respond(element("PolicyStatus", leaf("IsPublic", strconv.FormatBool(public))))
}
