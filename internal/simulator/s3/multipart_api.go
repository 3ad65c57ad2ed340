package s3

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// minPart is the minimum size of all parts but the last:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
const minPart = 5 << 20

// upload is an incomplete multipart upload.
type upload struct {
	id, key   string
	started   time.Time
	version   *version // the version to create
	algorithm string
	kind      string // of the checksum
	announced bool   // the client chose the algorithm
	parts     map[int]*part
}

type part struct {
	data     []byte
	etag     string
	sums     checksums
	modified time.Time
}

func (b *Buckets) createMultipartUpload(r *request) error {
	v, err := b.newVersion(r, r.found)
	if err != nil {
		return err
	}
	u := &upload{id: wire.RandomID(64), key: r.key, started: v.modified, version: v, parts: map[int]*part{}}
	u.algorithm = strings.ToUpper(r.Header.Get("X-Amz-Checksum-Algorithm"))
	u.kind = strings.ToUpper(r.Header.Get("X-Amz-Checksum-Type"))
	u.announced = u.algorithm != ""
	if !u.announced {
		u.algorithm = "CRC64NVME"
	}
	if algorithms[u.algorithm] == nil {
		return invalidRequest(
			"Checksum algorithm provided is unsupported. Please try again with any of the valid types: [CRC32, CRC32C, CRC64NVME, SHA1, SHA256]",
		)
	}
	if u.kind == "" {
		if u.kind = "COMPOSITE"; u.algorithm == "CRC64NVME" {
			u.kind = "FULL_OBJECT"
		}
	}
	if u.kind == "FULL_OBJECT" && strings.HasPrefix(u.algorithm, "SHA") || u.kind == "COMPOSITE" && u.algorithm == "CRC64NVME" {
		return invalidRequest(
			fmt.Sprintf("The %s checksum type cannot be used with the %s checksum algorithm.", u.kind, strings.ToLower(u.algorithm)),
		)
	}
	if u.announced {
		r.header.Set("X-Amz-Checksum-Algorithm", u.algorithm)
		r.header.Set("X-Amz-Checksum-Type", u.kind)
	}
	r.found.uploads[u.id] = u
	v.setEncryption(r.header)
	return r.respond(element("InitiateMultipartUploadResult", leaf("Bucket", r.bucket), leaf("Key", r.key), leaf("UploadId", u.id)))
}

// upload returns the upload of a request.
func (r *request) upload() (*upload, error) {
	id := r.query.Get("uploadId")
	if u := r.found.uploads[id]; u != nil && u.key == r.key {
		return u, nil
	}
	return nil, with(
		refuse(
			http.StatusNotFound,
			"NoSuchUpload",
			"The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.",
		),
		"UploadId",
		id,
	)
}

func (r *request) partNumber() (int, error) {
	text := r.query.Get("partNumber")
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 10000 {
		return 0, invalidArgument("partNumber", text, "Part number must be an integer between 1 and 10000, inclusive")
	}
	return n, nil
}

func (b *Buckets) uploadPart(r *request) error {
	p, u, err := b.addPart(r, r.body)
	if err != nil {
		return err
	}
	r.header.Set("Etag", quoted(p.etag))
	u.version.setEncryption(r.header)
	p.sums.setHeaders(r.header, "")
	return nil
}

func (b *Buckets) addPart(r *request, data []byte) (*part, *upload, error) {
	u, err := r.upload()
	if err != nil {
		return nil, nil, err
	}
	n, err := r.partNumber()
	if err != nil {
		return nil, nil, err
	}
	p := &part{data: data, etag: hex.EncodeToString(md5Of(data)), sums: r.sums, modified: b.env.Clock.Now().UTC().Truncate(time.Second)}
	if len(p.sums) > 0 && u.announced && p.sums[u.algorithm] == "" {
		return nil, nil, invalidRequest(
			fmt.Sprintf(
				"Checksum Type mismatch occurred, expected checksum Type: %s, actual checksum Type: %s",
				strings.ToLower(u.algorithm),
				strings.ToLower(p.sums.names()[0]),
			),
		)
	}
	if len(p.sums) == 0 {
		p.sums = checksums{u.algorithm: checksumOf(u.algorithm, data)}
	}
	u.parts[n] = p
	return p, u, nil
}

func (b *Buckets) uploadPartCopy(r *request) error {
	from, err := b.copySource(r)
	if err != nil {
		return err
	}
	data := from.data
	if text := r.Header.Get("X-Amz-Copy-Source-Range"); text != "" {
		var first, last int
		if n, err := fmt.Sscanf(text, "bytes=%d-%d", &first, &last); n != 2 || err != nil || first > last || last >= len(data) {
			return invalidArgument(
				"x-amz-copy-source-range", text, "Range specified is not valid for source object of size: "+strconv.Itoa(len(data)),
			)
		}
		data = data[first : last+1]
	}
	r.sums = nil
	p, _, err := b.addPart(r, data)
	if err != nil {
		return err
	}
	out := element("CopyPartResult", leaf("LastModified", stamp(p.modified)), leaf("ETag", quoted(p.etag)))
	p.sums.addTo(out, "")
	return r.respond(out)
}

// completeMultipartUpload joins the parts that the client lists:
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html
func (b *Buckets) completeMultipartUpload(r *request) error {
	u, err := r.upload()
	if err != nil {
		return err
	}
	doc, err := parseRoot(r.body, "CompleteMultipartUpload")
	if err != nil {
		return err
	}
	parts, err := u.chosen(doc.all("Part"))
	if err != nil {
		return err
	}
	if err := r.checkPutConditions(); err != nil {
		return err
	}
	v := u.version
	u.join(parts)
	if want := r.Header.Get(checksumHeader(u.algorithm)); want != "" && want != v.sums[u.algorithm] {
		return refuse(http.StatusBadRequest, "BadDigest", "The %s you specified did not match the calculated checksum.", u.algorithm)
	}
	v.modified = b.env.Clock.Now().UTC().Truncate(time.Second)
	r.found.store(v)
	delete(r.found.uploads, u.id)
	r.setVersion(v)
	v.setEncryption(r.header)
	out := element("CompleteMultipartUploadResult", leaf("Location", r.call.Endpoint()+"/"+r.bucket+"/"+encodeKey(r.key)),
		leaf("Bucket", r.bucket), leaf("Key", r.key), leaf("ETag", quoted(v.etag)))
	v.sums.addTo(out, v.sumKind)
	return r.respond(out)
}

// chosen returns the listed parts in order.
func (u *upload) chosen(list []*node) ([]*part, error) {
	if len(list) == 0 {
		return nil, malformedXML()
	}
	numbers := make([]int, len(list))
	for i, listed := range list {
		n, err := strconv.Atoi(listed.at("PartNumber"))
		if err != nil {
			return nil, malformedXML()
		}
		if i > 0 && n <= numbers[i-1] {
			return nil, refuse(
				http.StatusBadRequest,
				"InvalidPartOrder",
				"The list of parts was not in ascending order. The parts list must be specified in order by part number.",
			)
		}
		numbers[i] = n
	}
	var parts []*part
	for i, listed := range list {
		p := u.parts[numbers[i]]
		if p == nil || strings.Trim(listed.at("ETag"), `"`) != p.etag || !p.hasSums(listed) {
			return nil, refuse(
				http.StatusBadRequest,
				"InvalidPart",
				"One or more of the specified parts could not be found.  The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.",
			)
		}
		if len(p.data) < minPart && i < len(list)-1 {
			e := refuse(http.StatusBadRequest, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size")
			return nil, with(with(e, "ProposedSize", strconv.Itoa(len(p.data))), "MinSizeAllowed", strconv.Itoa(minPart))
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// hasSums compares the listed checksums with the part's.
func (p *part) hasSums(listed *node) bool {
	for name := range algorithms {
		if want := listed.at("Checksum" + name); want != "" && p.sums[name] != "" && p.sums[name] != want {
			return false
		}
	}
	return true
}

// join sets the data, the ETag and the checksum of the complete object.
func (u *upload) join(parts []*part) {
	v := u.version
	v.data, v.parts = nil, nil
	var digests, sums []byte
	for _, p := range parts {
		v.data = append(v.data, p.data...)
		v.parts = append(v.parts, len(p.data))
		digests = append(digests, md5Of(p.data)...)
		sum, _ := base64.StdEncoding.DecodeString(checksumOf(u.algorithm, p.data)) // our own encoding
		sums = append(sums, sum...)
	}
	v.etag = fmt.Sprintf("%x-%d", md5Of(digests), len(parts))
	v.sumKind = u.kind
	if u.kind == "FULL_OBJECT" {
		v.sums = checksums{u.algorithm: checksumOf(u.algorithm, v.data)}
		return
	}
	v.sums = checksums{u.algorithm: fmt.Sprintf("%s-%d", checksumOf(u.algorithm, sums), len(parts))}
}

func (b *Buckets) abortMultipartUpload(r *request) error {
	u, err := r.upload()
	if err != nil {
		return err
	}
	delete(r.found.uploads, u.id)
	return r.noContent()
}

func (b *Buckets) listParts(r *request) error {
	u, err := r.upload()
	if err != nil {
		return err
	}
	after, _ := strconv.Atoi(r.query.Get("part-number-marker"))
	limit, err := strconv.Atoi(r.query.Get("max-parts"))
	if err != nil || limit > 1000 {
		limit = 1000
	}
	out := element("ListPartsResult", leaf("Bucket", r.bucket), leaf("Key", r.key), leaf("UploadId", u.id),
		ownerNode("Initiator", r.found.account), ownerNode("Owner", r.found.account),
		leaf("StorageClass", u.version.storageClass), leaf("PartNumberMarker", strconv.Itoa(after)), leaf("MaxParts", strconv.Itoa(limit)))
	if u.announced {
		out.add("ChecksumAlgorithm", u.algorithm).add("ChecksumType", u.kind)
	}
	numbers := slices.DeleteFunc(slices.Sorted(maps.Keys(u.parts)), func(n int) bool { return n <= after })
	truncated := len(numbers) > limit
	if truncated {
		numbers = numbers[:limit]
		out.add("NextPartNumberMarker", strconv.Itoa(numbers[limit-1]))
	}
	out.add("IsTruncated", strconv.FormatBool(truncated))
	for _, n := range numbers {
		p := u.parts[n]
		listed := element(
			"Part",
			leaf("PartNumber", strconv.Itoa(n)),
			leaf("LastModified", stamp(p.modified)),
			leaf("ETag", quoted(p.etag)),
			leaf("Size", strconv.Itoa(len(p.data))),
		)
		p.sums.addTo(listed, "")
		out.children = append(out.children, listed)
	}
	return r.respond(out)
}

func (b *Buckets) listMultipartUploads(r *request) error {
	prefix := r.query.Get("prefix")
	out := element(
		"ListMultipartUploadsResult",
		leaf("Bucket", r.bucket),
		leaf("Prefix", prefix),
		leaf("MaxUploads", "1000"),
		leaf("IsTruncated", "false"),
	)
	uploads := slices.SortedFunc(maps.Values(r.found.uploads), func(a, b *upload) int {
		return strings.Compare(a.key+"\x00"+a.id, b.key+"\x00"+b.id)
	})
	for _, u := range uploads {
		if !strings.HasPrefix(u.key, prefix) {
			continue
		}
		out.children = append(
			out.children,
			element("Upload", leaf("Key", u.key), leaf("UploadId", u.id), ownerNode("Initiator", r.found.account),
				ownerNode("Owner", r.found.account), leaf("StorageClass", u.version.storageClass), leaf("Initiated", stamp(u.started))),
		)
	}
	return r.respond(out)
}
