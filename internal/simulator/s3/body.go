package s3

import (
	"bytes"
	"crypto/md5"  //nolint:gosec // ETags are MD5 sums
	"crypto/sha1" //nolint:gosec // one of S3's checksums
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
)

// checksums are an object's checksums in base64 by algorithm ("CRC32").
type checksums map[string]string

// nvme is the polynomial of CRC64NVME, reversed:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity.html
var nvme = crc64.MakeTable(0x9a6c9329ac4bc9b5)

var algorithms = map[string]func() hash.Hash{
	"CRC32":     func() hash.Hash { return crc32.NewIEEE() },
	"CRC32C":    func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) },
	"CRC64NVME": func() hash.Hash { return crc64.New(nvme) },
	"SHA1":      sha1.New,
	"SHA256":    sha256.New,
	"SHA512":    sha512.New,
	"MD5":       md5.New,
}

// checksumOf returns a checksum in base64.
func checksumOf(algorithm string, data []byte) string {
	h := algorithms[algorithm]()
	_, _ = h.Write(data) // a hash returns no error
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// checksumHeader is the header of a checksum.
func checksumHeader(algorithm string) string {
	return textproto.CanonicalMIMEHeaderKey("x-amz-checksum-" + strings.ToLower(algorithm))
}

func md5Of(data []byte) []byte {
	sum := md5.Sum(data) //nolint:gosec // ETags are MD5 sums
	return sum[:]
}

// decodeBody removes aws-chunked framing and checks length and checksums:
// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html
func (r *request) decodeBody() error {
	trailer := http.Header{}
	streaming := strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-")
	if streaming || strings.Contains(r.Header.Get("Content-Encoding"), "aws-chunked") {
		data, err := unchunk(r.body, trailer)
		if err != nil {
			return err
		}
		if want := r.Header.Get("X-Amz-Decoded-Content-Length"); want != "" && want != strconv.Itoa(len(data)) {
			return incompleteBody()
		}
		r.body = data
	}
	if err := r.checkDigests(); err != nil {
		return err
	}
	if err := r.checkAlgorithm(trailer); err != nil {
		return err
	}
	r.sums = checksums{}
	for name := range algorithms {
		want := r.Header.Get(checksumHeader(name))
		if want == "" {
			want = trailer.Get(checksumHeader(name))
		}
		if want == "" || r.operation == "CompleteMultipartUpload" {
			continue
		}
		if got := checksumOf(name, r.body); got != want {
			return refuse(http.StatusBadRequest, "BadDigest", "The %s you specified did not match the calculated checksum.", name)
		}
		r.sums[name] = want
	}
	if len(r.sums) > 1 {
		return invalidRequest("Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.")
	}
	return nil
}

// checkAlgorithm rejects checksums that the simulator cannot compute.
func (r *request) checkAlgorithm(trailer http.Header) error {
	asked := []string{r.Header.Get("X-Amz-Sdk-Checksum-Algorithm"), r.Header.Get("X-Amz-Checksum-Algorithm")}
	for _, header := range []http.Header{r.Header, trailer} {
		for name := range header {
			if rest, ok := strings.CutPrefix(name, "X-Amz-Checksum-"); ok && rest != "Algorithm" && rest != "Type" && rest != "Mode" {
				asked = append(asked, rest)
			}
		}
	}
	for _, name := range asked {
		if name != "" && algorithms[strings.ToUpper(name)] == nil {
			return refuse(http.StatusNotImplemented, "NotImplemented", "The simulator has no checksum algorithm %s.", strings.ToUpper(name))
		}
	}
	return nil
}

func incompleteBody() error {
	return refuse(
		http.StatusBadRequest, "IncompleteBody", "You did not provide the number of bytes specified by the Content-Length HTTP header",
	)
}

// checkDigests compares the body with Content-MD5 and with the signed hash.
func (r *request) checkDigests() error {
	if want := r.Header.Get("Content-Md5"); want != "" {
		sum, err := base64.StdEncoding.DecodeString(want)
		if err != nil || len(sum) != md5.Size {
			return refuse(http.StatusBadRequest, "InvalidDigest", "The Content-MD5 you specified was invalid.")
		}
		if !bytes.Equal(sum, md5Of(r.body)) {
			return refuse(http.StatusBadRequest, "BadDigest", "The Content-MD5 you specified did not match what we received.")
		}
	}
	want := r.Header.Get("X-Amz-Content-Sha256")
	if len(want) != hex.EncodedLen(sha256.Size) {
		return nil
	}
	if sum := sha256.Sum256(r.body); hex.EncodeToString(sum[:]) != strings.ToLower(want) {
		return refuse(
			http.StatusBadRequest,
			"XAmzContentSHA256Mismatch",
			"The provided 'x-amz-content-sha256' header does not match what was computed.",
		)
	}
	return nil
}

// unchunk decodes size[;extension]\r\n data \r\n …, a chunk of size 0 and the trailing headers. It
// does not verify the signatures of chunks.
func unchunk(data []byte, trailer http.Header) ([]byte, error) {
	out := make([]byte, 0, len(data))
	for {
		line, rest, found := bytes.Cut(data, []byte("\r\n"))
		if !found {
			return nil, incompleteBody()
		}
		text, _, _ := strings.Cut(string(line), ";")
		size, err := strconv.ParseInt(strings.TrimSpace(text), 16, 64)
		if err != nil || size < 0 || size > int64(len(rest)) {
			return nil, incompleteBody()
		}
		if size == 0 {
			readTrailer(rest, trailer)
			return out, nil
		}
		out = append(out, rest[:size]...)
		data = bytes.TrimPrefix(rest[size:], []byte("\r\n"))
	}
}

func readTrailer(data []byte, trailer http.Header) {
	for line := range strings.SplitSeq(string(data), "\n") {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			trailer.Set(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
}

// checksumsToStore returns the checksums to store: the given ones, else one of the requested
// algorithm, else S3's default.
func (r *request) checksumsToStore() checksums {
	if len(r.sums) > 0 {
		return r.sums
	}
	name := strings.ToUpper(r.Header.Get("X-Amz-Sdk-Checksum-Algorithm"))
	if name == "" {
		name = strings.ToUpper(r.Header.Get("X-Amz-Checksum-Algorithm"))
	}
	if algorithms[name] == nil {
		name = "CRC64NVME"
	}
	return checksums{name: checksumOf(name, r.body)}
}

// names returns the sorted algorithms.
func (c checksums) names() []string { return slices.Sorted(maps.Keys(c)) }

// setHeaders sets the checksums in a response's headers.
func (c checksums) setHeaders(header http.Header, kind string) {
	for name, sum := range c {
		header.Set(checksumHeader(name), sum)
	}
	if len(c) > 0 && kind != "" {
		header.Set("X-Amz-Checksum-Type", kind)
	}
}

// addTo adds the checksums to a response's document.
func (c checksums) addTo(n *node, kind string) {
	for _, name := range c.names() {
		n.add("Checksum"+name, c[name])
	}
	if len(c) > 0 && kind != "" {
		n.add("ChecksumType", kind)
	}
}
