package wire

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// verifySignature returns an error if a request is not signed with a secret.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
func (r *Router) verifySignature(q *request, secret string) error {
	date := q.Header.Get("X-Amz-Date")
	if q.scope.presigned {
		date = q.query.Get("X-Amz-Date")
	}
	signed, err := time.Parse(amzDate, date)
	if err != nil {
		if signed, err = http.ParseTime(q.Header.Get("Date")); err != nil {
			return q.refuse(incomplete, "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.")
		}
		date = signed.Format(amzDate)
	}
	names := strings.Split(q.scope.headers, ";")
	switch {
	case q.scope.service == "s3" && !q.scope.presigned && q.Header.Get("X-Amz-Content-Sha256") == "":
		return Errorf("InvalidRequest", "Missing required header for this request: x-amz-content-sha256")
	case !strings.HasPrefix(date, q.scope.day) || len(q.scope.day) != len(amzDay):
		return q.refuse(wrongSignature, "")
	case !slices.Contains(names, "host"):
		return q.refuse(incomplete, "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.")
	}
	if refused := q.checkTime(signed, r.clock.Now()); refused != nil {
		return refused
	}
	payload, err := q.payloadHash()
	if err != nil {
		return malformed(q.protocol, err)
	}
	text := strings.Join([]string{
		algorithmHMAC, date, q.scope.day + "/" + q.scope.region + "/" + q.scope.service + "/aws4_request", hexHash(q.canonical(names, payload)),
	}, "\n")
	if !hmac.Equal([]byte(q.scope.signature), []byte(hex.EncodeToString(keyed(r.signing.key(secret, &q.scope), text)))) {
		return q.refuse(wrongSignature, "")
	}
	return nil
}

// canonical returns the canonical form of the request.
func (q *request) canonical(names []string, payload string) string {
	var b strings.Builder
	b.WriteString(q.Method)
	b.WriteByte('\n')
	writePath(&b, q.URL.EscapedPath(), q.scope.service != "s3")
	b.WriteByte('\n')
	b.WriteString(canonicalQuery(q.URL.RawQuery))
	b.WriteByte('\n')
	for _, name := range names {
		b.WriteString(name)
		b.WriteByte(':')
		b.WriteString(q.signedHeader(name))
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	b.WriteString(q.scope.headers)
	b.WriteByte('\n')
	b.WriteString(payload)
	return b.String()
}

// signedHeader returns the canonical value of a header. Package net/http moves some out of the
// header.
func (q *request) signedHeader(name string) string {
	values := q.Header.Values(name)
	switch {
	case name == "host":
		values = []string{q.Host}
	case name == "content-length" && len(values) == 0:
		values = []string{strconv.FormatInt(q.ContentLength, 10)}
	case name == "transfer-encoding" && len(values) == 0:
		values = q.TransferEncoding
	}
	if len(values) == 1 && !strings.Contains(values[0], "  ") {
		return strings.TrimSpace(values[0])
	}
	trimmed := make([]string, len(values))
	for i, value := range values {
		trimmed[i] = strings.Join(strings.FieldsFunc(value, func(c rune) bool { return c == ' ' }), " ")
	}
	return strings.Join(trimmed, ",")
}

const upperHex = "0123456789ABCDEF"

// writePath writes a path in which every character except the unreserved ones is encoded. S3's paths
// are encoded once, those of all other services twice.
func writePath(b *strings.Builder, path string, twice bool) {
	if path == "" {
		b.WriteByte('/')
		return
	}
	for i := range len(path) {
		c := path[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("/-_.~", c) >= 0, c == '%' && !twice:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		}
	}
}

// canonicalQuery returns the parameters without the signature, encoded and sorted.
func canonicalQuery(raw string) string {
	if raw == "" {
		return ""
	}
	var parts []string
	for part := range strings.SplitSeq(raw, "&") {
		name, value, _ := strings.Cut(part, "=")
		if part == "" || name == "X-Amz-Signature" {
			continue
		}
		parts = append(parts, reencoded(name)+"="+reencoded(value))
	}
	slices.Sort(parts)
	return strings.Join(parts, "&")
}

func reencoded(text string) string {
	plain, err := url.QueryUnescape(text)
	if err != nil {
		plain = text
	}
	return strings.ReplaceAll(url.QueryEscape(plain), "+", "%20")
}

// payloadHash returns the hash of the body as the client signed it. S3 compares a hash in the header
// with the body itself; other services hash the body.
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
func (q *request) payloadHash() (string, error) {
	if q.scope.service == "s3" {
		if hash := q.Header.Get("X-Amz-Content-Sha256"); hash != "" {
			return hash, nil
		}
		return "UNSIGNED-PAYLOAD", nil
	}
	if err := q.readRaw(); err != nil {
		return "", err
	}
	if len(q.raw) == 0 {
		return emptyHash, nil
	}
	sum := sha256.Sum256(q.raw)
	return hex.EncodeToString(sum[:]), nil
}

// readRaw reads the body as it was sent, which can be read again afterwards.
func (q *request) readRaw() error {
	if q.raw != nil || q.Body == nil {
		return nil
	}
	var buf bytes.Buffer
	if q.ContentLength > 0 && q.ContentLength < maxBody {
		buf.Grow(int(q.ContentLength) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(io.LimitReader(q.Body, maxBody+1)); err != nil {
		return err
	}
	q.raw = buf.Bytes()
	q.Body = io.NopCloser(bytes.NewReader(q.raw))
	return nil
}

// signingKeys caches the keys that secrets derive: they change once a day.
type signingKeys struct {
	mu   sync.RWMutex
	keys map[signingKey][]byte
}

type signingKey struct{ secret, day, region, service string }

// maxSigningKeys bounds the cache.
const maxSigningKeys = 10_000

func (s *signingKeys) key(secret string, at *scope) []byte {
	id := signingKey{secret, at.day, at.region, at.service}
	s.mu.RLock()
	key, ok := s.keys[id]
	s.mu.RUnlock()
	if ok {
		return key
	}
	key = []byte("AWS4" + secret)
	for _, part := range []string{at.day, at.region, at.service, "aws4_request"} {
		key = keyed(key, part)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil || len(s.keys) >= maxSigningKeys {
		s.keys = map[signingKey][]byte{}
	}
	s.keys[id] = key
	return key
}

// emptyHash is the hash of no bytes.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func hexHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func keyed(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
