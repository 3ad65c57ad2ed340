package s3

import (
	"encoding/base64"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// listing holds the parameters that the list operations share.
type listing struct {
	bucket            *bucket
	prefix, delimiter string
	limit             int
	versions          bool // every version, not only current objects
	encode            func(string) string
}

// row is one line of a listing: a version, or a common prefix of several keys.
type row struct {
	common  string
	version *version
	latest  bool
}

// name is the key or the prefix.
func (w row) name() string {
	if w.version == nil {
		return w.common
	}
	return w.version.key
}

func (r *request) newListing() (*listing, error) {
	l := &listing{
		bucket: r.found, prefix: r.query.Get("prefix"), delimiter: r.query.Get("delimiter"), limit: 1000,
		encode: func(s string) string { return s },
	}
	switch encoding := r.query.Get("encoding-type"); encoding {
	case "":
	case "url":
		l.encode = encodeKey
	default:
		return nil, invalidArgument("encoding-type", encoding, "Invalid Encoding Method specified in Request")
	}
	if text := r.query.Get("max-keys"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, invalidArgument("max-keys", text, "Provided max-keys not an integer or within integer range")
		}
		l.limit = min(n, 1000)
	}
	return l, nil
}

// encodeKey is the url encoding-type, which leaves slashes alone.
func encodeKey(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "%2F", "/") }

// rows returns the rows of the listing after a key or, within that key, after a version.
func (l *listing) rows(after, afterVersion string) iter.Seq[row] {
	return func(yield func(row) bool) {
		keys := l.bucket.keys
		start, _ := slices.BinarySearch(keys, max(after, l.prefix))
		last := ""
		for _, key := range keys[start:] {
			if !strings.HasPrefix(key, l.prefix) {
				return
			}
			versions := l.visible(key, after, afterVersion)
			if len(versions) == 0 {
				continue
			}
			common := l.common(key)
			switch {
			case common == "":
				if !l.each(key, versions, yield) {
					return
				}
			case common != last && common != after:
				last = common
				if !yield(row{common: common}) {
					return
				}
			}
		}
	}
}

// each yields the versions of a key, and reports whether to continue.
func (l *listing) each(key string, versions []*version, yield func(row) bool) bool {
	for _, v := range versions {
		if !yield(row{version: v, latest: v == l.bucket.objects[key].versions[0]}) {
			return false
		}
	}
	return true
}

// visible returns the versions of a key that the listing shows.
func (l *listing) visible(key, after, afterVersion string) []*version {
	versions := l.bucket.objects[key].versions
	if !l.versions {
		if key <= after && after != "" || versions[0].marker {
			return nil
		}
		return versions[:1]
	}
	if key != after || after == "" {
		return versions
	}
	i := slices.IndexFunc(versions, func(v *version) bool { return v.id == afterVersion })
	if afterVersion == "" || i < 0 {
		return nil
	}
	return versions[i+1:]
}

// common returns the common prefix that contains the key, if any.
func (l *listing) common(key string) string {
	if l.delimiter == "" {
		return ""
	}
	before, _, found := strings.Cut(key[len(l.prefix):], l.delimiter)
	if !found {
		return ""
	}
	return l.prefix + before + l.delimiter
}

// page returns one page of rows and whether there are more.
func (l *listing) page(after, afterVersion string) (page []row, truncated bool) {
	if l.limit == 0 {
		return nil, false
	}
	for w := range l.rows(after, afterVersion) {
		if len(page) == l.limit {
			return page, true
		}
		page = append(page, w)
	}
	return page, false
}

// addRows adds objects and then common prefixes to a document.
func (l *listing) addRows(out *node, page []row, object func(row) *node) {
	var prefixes []*node
	for _, w := range page {
		if w.version == nil {
			prefixes = append(prefixes, element("CommonPrefixes", leaf("Prefix", l.encode(w.common))))
			continue
		}
		out.children = append(out.children, object(w))
	}
	out.children = append(out.children, prefixes...)
}

// contents describes an object, with the owner only on request.
func (l *listing) contents(withOwner bool) func(row) *node {
	return func(w row) *node {
		n := element(
			"Contents",
			leaf("Key", l.encode(w.version.key)),
			leaf("LastModified", stamp(w.version.modified)),
			leaf("ETag", quoted(w.version.etag)),
		)
		for _, name := range w.version.sums.names() {
			n.add("ChecksumAlgorithm", name)
		}
		n.addIf("ChecksumType", w.version.sumKind).add("Size", strconv.Itoa(len(w.version.data)))
		if withOwner {
			n.children = append(n.children, ownerNode("Owner", l.bucket.account))
		}
		return n.add("StorageClass", w.version.storageClass)
	}
}

func ownerNode(name, account string) *node { return element(name, leaf("ID", canonicalID(account))) }

// head returns the start of a listing's document.
func (l *listing) head(root string, r *request, truncated bool) *node {
	out := element(root, leaf("Name", r.bucket), leaf("Prefix", l.encode(l.prefix)), leaf("MaxKeys", strconv.Itoa(l.limit)),
		leaf("IsTruncated", strconv.FormatBool(truncated)))
	out.addIf("Delimiter", l.encode(l.delimiter))
	return out.addIf("EncodingType", r.query.Get("encoding-type"))
}

func (b *Buckets) listObjects(r *request) error {
	l, err := r.newListing()
	if err != nil {
		return err
	}
	marker := r.query.Get("marker")
	page, truncated := l.page(marker, "")
	out := l.head("ListBucketResult", r, truncated).add("Marker", l.encode(marker))
	if truncated && l.delimiter != "" {
		out.add("NextMarker", l.encode(page[len(page)-1].name()))
	}
	l.addRows(out, page, l.contents(true))
	return r.respond(out)
}

func (b *Buckets) listObjectsV2(r *request) error {
	l, err := r.newListing()
	if err != nil {
		return err
	}
	after, token := r.query.Get("start-after"), r.query.Get("continuation-token")
	if r.query.Has("continuation-token") {
		decoded, err := base64.URLEncoding.DecodeString(token)
		if err != nil || token == "" {
			return invalidArgument("continuation-token", token, "The continuation token provided is incorrect")
		}
		after = string(decoded)
	}
	page, truncated := l.page(after, "")
	out := l.head("ListBucketResult", r, truncated).add("KeyCount", strconv.Itoa(len(page)))
	out.addIf("StartAfter", l.encode(r.query.Get("start-after"))).addIf("ContinuationToken", token)
	if truncated {
		out.add("NextContinuationToken", base64.URLEncoding.EncodeToString([]byte(page[len(page)-1].name())))
	}
	l.addRows(out, page, l.contents(r.query.Get("fetch-owner") == "true"))
	return r.respond(out)
}

func (b *Buckets) listObjectVersions(r *request) error {
	l, err := r.newListing()
	if err != nil {
		return err
	}
	l.versions = true
	after, afterVersion := r.query.Get("key-marker"), r.query.Get("version-id-marker")
	if afterVersion != "" && after == "" {
		return invalidArgument("version-id-marker", afterVersion, "A version-id marker cannot be specified without a key marker.")
	}
	page, truncated := l.page(after, afterVersion)
	out := l.head("ListVersionsResult", r, truncated).add("KeyMarker", l.encode(after)).add("VersionIdMarker", afterVersion)
	if truncated {
		end := page[len(page)-1]
		out.add("NextKeyMarker", l.encode(end.name()))
		if end.version != nil {
			out.add("NextVersionIdMarker", end.version.id)
		}
	}
	l.addRows(out, page, func(w row) *node {
		n := l.contents(true)(w)
		n.name = "Version"
		if w.version.marker {
			n = element(
				"DeleteMarker",
				leaf("Key", l.encode(w.version.key)),
				leaf("LastModified", stamp(w.version.modified)),
				ownerNode("Owner", l.bucket.account),
			)
		}
		return n.add("VersionId", w.version.id).add("IsLatest", strconv.FormatBool(w.latest))
	})
	return r.respond(out)
}

// listBuckets lists the caller's buckets in all regions, or in one:
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListBuckets.html
func (b *Buckets) listBuckets(r *request) error {
	if r.anonymous {
		return accessDenied()
	}
	limit := 10000
	if text := r.query.Get("max-buckets"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 10000 {
			return refuse(http.StatusBadRequest, "InvalidArgument", "Argument max-buckets must be an integer between 1 and 10000")
		}
		limit = n
	}
	after, _ := base64.URLEncoding.DecodeString(r.query.Get("continuation-token"))
	var names []string
	for name, k := range b.buckets {
		if k.account == r.call.Account && name > string(after) && strings.HasPrefix(name, r.query.Get("prefix")) &&
			(r.query.Get("bucket-region") == "" || r.query.Get("bucket-region") == k.region) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	list, out := element("Buckets"), element("ListAllMyBucketsResult", ownerNode("Owner", r.call.Account))
	for _, name := range names[:min(limit, len(names))] {
		k := b.buckets[name]
		list.children = append(list.children, element("Bucket", leaf("Name", name), leaf("CreationDate", stamp(k.created)),
			leaf("BucketRegion", k.region), leaf("BucketArn", b.arn(k))))
	}
	out.children = append(out.children, list)
	if len(names) > limit {
		out.add("ContinuationToken", base64.URLEncoding.EncodeToString([]byte(names[limit-1])))
	}
	return r.respond(out.addIf("Prefix", r.query.Get("prefix")))
}
