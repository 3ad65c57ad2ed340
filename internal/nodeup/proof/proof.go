package proof

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const (
	// KeyHeader binds a request to a public key: its value is the SHA-256 of the key's PKIX form, in hex.
	KeyHeader = "X-Cluster-Operator-Key-Sha256"
	// validity is for how long a proof is good.
	validity = 5 * time.Minute
	// skew is by how much clocks may differ.
	skew = 5 * time.Minute
	// emptyHash is the SHA-256 of nothing, which is what the request has for a body.
	emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	// mostAnswer bounds STS's answer.
	mostAnswer = 64 << 10
	timeFormat = "20060102T150405Z"
)

// parameters are those of a proof, and must be its only ones.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
var parameters = []string{
	"Action", "Version", "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-Security-Token", "X-Amz-Signature",
	"X-Amz-SignedHeaders",
}

// RefusedError says that a proof does not prove anything; asking again does not help.
type RefusedError struct{ reason string }

// Error says why.
func (e *RefusedError) Error() string { return e.reason }

func refused(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// Caller is who signed a proof.
type Caller struct {
	// Account is the AWS account, Role the name of its role, Session the session's name, which for instances is their ID.
	Account, Role, Session string
}

// Sign returns a proof that whoever holds the private key of a public key has the credentials. Host is that of the region's STS.
func Sign(ctx context.Context, credentials aws.Credentials, region, host string, publicKey any, now time.Time) (string, error) {
	hash, err := hashOf(publicKey)
	if err != nil {
		return "", err
	}
	query := url.Values{"Action": {"GetCallerIdentity"}, "Version": {"2011-06-15"}, "X-Amz-Expires": {fmt.Sprint(int(validity.Seconds()))}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+"/?"+query.Encode(), http.NoBody)
	if err != nil {
		return "", fmt.Errorf("make a request of STS: %w", err)
	}
	request.Header.Set(KeyHeader, hash)
	signed, _, err := v4.NewSigner().PresignHTTP(ctx, credentials, request, emptyHash, "sts", region, now)
	if err != nil {
		return "", fmt.Errorf("sign a request of STS: %w", err)
	}
	_, proof, _ := strings.Cut(signed, "?")
	return proof, nil
}

// Verifier has STS verify proofs.
type Verifier struct {
	// Client sends the requests; it must not follow redirects.
	Client interface {
		Do(request *http.Request) (*http.Response, error)
	}
	// Host is that of the region's STS. Endpoint, if it is not empty, is where STS is reached in its place, as http://127.0.0.1:1234.
	Host, Endpoint string
}

// Verify returns who signed a proof for a public key. It returns a [RefusedError] if the proof is not good, and another error if that
// cannot be found out now.
func (v *Verifier) Verify(ctx context.Context, proof string, publicKey any, now time.Time) (*Caller, error) {
	query, err := v.check(proof, now)
	if err != nil {
		return nil, err
	}
	hash, err := hashOf(publicKey)
	if err != nil {
		return nil, err
	}
	endpoint := v.Endpoint
	if endpoint == "" {
		endpoint = "https://" + v.Host
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint+"/?"+query.Encode(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("make a request of STS: %w", err)
	}
	request.Host = v.Host
	request.Header.Set(KeyHeader, hash)
	response, err := v.Client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask STS: %w", errors.Unwrap(err)) // The error of the client has the whole URL.
	}
	defer response.Body.Close() //nolint:errcheck // It was only read.
	body, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return nil, fmt.Errorf("read STS's answer: %w", err)
	}
	return callerOf(response, body)
}

// check looks at what can be seen of a proof without STS.
func (v *Verifier) check(proof string, now time.Time) (url.Values, error) {
	query, err := url.ParseQuery(proof)
	if err != nil {
		return nil, refused("the proof is not a query")
	}
	known := map[string]bool{}
	for _, name := range parameters {
		known[name] = true
	}
	for name, values := range query {
		if !known[name] || len(values) != 1 {
			return nil, refused("the proof has the parameter %q, or has it more than once", name)
		}
	}
	if query.Get("Action") != "GetCallerIdentity" || query.Get("X-Amz-Algorithm") != "AWS4-HMAC-SHA256" {
		return nil, refused("the proof is not a request of GetCallerIdentity that is signed by AWS4-HMAC-SHA256")
	}
	headers := strings.Split(query.Get("X-Amz-SignedHeaders"), ";")
	for _, want := range []string{"host", strings.ToLower(KeyHeader)} {
		if !contains(headers, want) {
			return nil, refused("the proof does not sign the header %s", want)
		}
	}
	if len(headers) != 2 { //nolint:mnd // those two
		return nil, refused("the proof signs headers beside host and %s", strings.ToLower(KeyHeader))
	}
	signed, err := time.Parse(timeFormat, query.Get("X-Amz-Date"))
	if err != nil || query.Get("X-Amz-Expires") != fmt.Sprint(int(validity.Seconds())) {
		return nil, refused("the proof does not say when it was signed, or is to be good for another time than %s", validity)
	}
	if age := now.Sub(signed); age > validity || age < -skew {
		return nil, refused("the proof was signed at %s, and is good for %s", signed.Format(time.RFC3339), validity)
	}
	return query, nil
}

func contains(list []string, want string) bool {
	for _, one := range list {
		if one == want {
			return true
		}
	}
	return false
}

// callerOf reads STS's answer.
func callerOf(response *http.Response, body []byte) (*Caller, error) {
	switch {
	case response.StatusCode == http.StatusForbidden, response.StatusCode == http.StatusBadRequest && !strings.Contains(string(body), "Throttl"):
		var failure struct {
			Code    string `xml:"Error>Code"`
			Message string `xml:"Error>Message"`
		}
		_ = xml.Unmarshal(body, &failure) // What is no error of STS has no code.
		return nil, refused("STS refuses the proof: %s", failure.Code)
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("STS answers %s", response.Status)
	}
	var answer struct {
		XMLName xml.Name `xml:"GetCallerIdentityResponse"`
		Arn     string   `xml:"GetCallerIdentityResult>Arn"`
		Account string   `xml:"GetCallerIdentityResult>Account"`
	}
	if err := xml.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("read STS's answer: %w", err)
	}
	// arn:aws:sts::ACCOUNT:assumed-role/ROLE/SESSION
	const parts = 6
	arn := strings.SplitN(answer.Arn, ":", parts)
	if len(arn) != parts || arn[2] != "sts" || arn[4] != answer.Account {
		return nil, refused("the proof is of %s, which is not a session of a role", answer.Arn)
	}
	path := strings.Split(arn[5], "/")
	if len(path) != 3 || path[0] != "assumed-role" { //nolint:mnd // as above
		return nil, refused("the proof is of %s, which is not a session of a role", answer.Arn)
	}
	return &Caller{Account: answer.Account, Role: path[1], Session: path[2]}, nil
}

func hashOf(publicKey any) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(publicKey)
	if err != nil {
		return "", refused("the public key: %v", err)
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:]), nil
}
