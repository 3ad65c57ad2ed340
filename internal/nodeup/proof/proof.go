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
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const (
	// KeyHeader binds a request to a public key: its value is the SHA-256 of the key's PKIX form,
	// in hex.
	KeyHeader = "X-Cluster-Operator-Key-Sha256"
	// Validity is how long a proof is good.
	Validity = 5 * time.Minute
	// skew is the difference between clocks that is tolerated.
	skew = 5 * time.Minute
	// emptyHash is the SHA-256 of the request's body, which is empty.
	emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	// maxAnswer bounds STS's answer, in bytes.
	maxAnswer  = 64 << 10
	timeFormat = "20060102T150405Z"
	algorithm  = "AWS4-HMAC-SHA256"
	apiVersion = "2011-06-15"
)

// parameters are those that a proof may have.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
var parameters = []string{
	"Action", "Version", "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-Security-Token", "X-Amz-Signature",
	"X-Amz-SignedHeaders",
}

// RefusedError says that a proof is not good. Verifying it again gives the same result.
type RefusedError struct{ reason string }

// Error returns the reason.
func (e *RefusedError) Error() string { return e.reason }

func refused(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// Caller is the session that signed a proof.
type Caller struct {
	// Partition and Account are those of the role, as in its ARN. Role is its name without a path.
	// Session is the session's name, which is the instance's ID if EC2 opened the session.
	Partition, Account, Role, Session string
}

// Sign returns a proof that the holder of a public key's private key has the credentials: the query
// of a presigned GetCallerIdentity. Host is that of the region's STS.
func Sign(ctx context.Context, credentials aws.Credentials, region, host string, publicKey any, now time.Time) (string, error) {
	hash, err := hashOf(publicKey)
	if err != nil {
		return "", err
	}
	query := url.Values{"Action": {"GetCallerIdentity"}, "Version": {apiVersion}, "X-Amz-Expires": {expires()}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+"/?"+query.Encode(), http.NoBody)
	if err != nil {
		return "", fmt.Errorf("create a request to STS: %w", err)
	}
	request.Header.Set(KeyHeader, hash)
	signed, _, err := v4.NewSigner().PresignHTTP(ctx, credentials, request, emptyHash, "sts", region, now)
	if err != nil {
		return "", fmt.Errorf("sign a request to STS: %w", err)
	}
	_, proof, _ := strings.Cut(signed, "?")
	return proof, nil
}

// Verifier verifies proofs with STS.
type Verifier struct {
	// Client sends the requests. It must not follow redirects.
	Client *http.Client
	// Host is that of the region's STS, for which proofs are signed. Endpoint, if it is not empty,
	// is the address at which STS is reached instead, for example http://127.0.0.1:1234.
	Host, Endpoint string
}

// Verify returns the session that signed a proof for a public key. It returns a [RefusedError] if
// the proof is not good, and another error if STS cannot be asked.
func (v *Verifier) Verify(ctx context.Context, proof string, publicKey any, now time.Time) (*Caller, error) {
	query, err := check(proof, now)
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
		return nil, fmt.Errorf("create a request to STS: %w", err)
	}
	request.Host = v.Host
	request.Header.Set(KeyHeader, hash)
	response, err := v.Client.Do(request)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // Without the URL, which is the proof.
		}
		return nil, fmt.Errorf("call STS at %s: %w", v.Host, err)
	}
	defer response.Body.Close() //nolint:errcheck // It was only read.
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read STS's response: %w", err)
	}
	return callerOf(response, body)
}

// check returns the parameters of a proof, if it is what Sign makes and of now. The signature is
// STS's to verify.
func check(proof string, now time.Time) (url.Values, error) {
	query, err := url.ParseQuery(proof)
	if err != nil {
		return nil, refused("the proof is not a query")
	}
	for name, values := range query {
		if !slices.Contains(parameters, name) || len(values) != 1 {
			return nil, refused("the proof has the parameter %q, or has it more than once", name)
		}
	}
	if query.Get("Action") != "GetCallerIdentity" || query.Get("Version") != apiVersion || query.Get("X-Amz-Algorithm") != algorithm {
		return nil, refused("the proof is not a request of GetCallerIdentity that is signed by %s", algorithm)
	}
	// STS verifies only those headers that the request says are signed.
	if signed := "host;" + strings.ToLower(KeyHeader); query.Get("X-Amz-SignedHeaders") != signed {
		return nil, refused("the proof signs the headers %q, not %q", query.Get("X-Amz-SignedHeaders"), signed)
	}
	signed, err := time.Parse(timeFormat, query.Get("X-Amz-Date"))
	if err != nil || query.Get("X-Amz-Expires") != expires() {
		return nil, refused("the proof has no valid time of signing, or its validity is not %s", Validity)
	}
	if age := now.Sub(signed); age > Validity || age < -skew {
		return nil, refused(
			"the proof was signed at %s and is valid for %s; it is %s",
			signed.Format(time.RFC3339),
			Validity,
			now.UTC().Format(time.RFC3339),
		)
	}
	return query, nil
}

func expires() string { return fmt.Sprint(int(Validity.Seconds())) }

// callerOf reads STS's answer.
func callerOf(response *http.Response, body []byte) (*Caller, error) {
	if response.StatusCode == http.StatusForbidden || response.StatusCode == http.StatusBadRequest {
		var failure struct {
			Code string `xml:"Error>Code"`
		}
		_ = xml.Unmarshal(body, &failure) // An answer that is not STS's has no code.
		if failure.Code != "" && !strings.Contains(failure.Code, "Throttl") {
			return nil, refused("STS rejects the proof: %s", failure.Code)
		}
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("STS answers %s", response.Status)
	}
	var answer struct {
		XMLName xml.Name `xml:"GetCallerIdentityResponse"`
		Arn     string   `xml:"GetCallerIdentityResult>Arn"`
		Account string   `xml:"GetCallerIdentityResult>Account"`
	}
	if err := xml.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("read STS's response: %w", err)
	}
	// arn:aws:sts::ACCOUNT:assumed-role/ROLE/SESSION
	const parts = 6
	arn := strings.SplitN(answer.Arn, ":", parts)
	if len(arn) != parts || arn[2] != "sts" || arn[4] != answer.Account {
		return nil, refused("the proof is for %s, which is not a session of a role", answer.Arn)
	}
	path := strings.Split(arn[5], "/")
	if len(path) != 3 || path[0] != "assumed-role" || slices.Contains(append(path, arn[1], arn[4]), "") { //nolint:mnd // as above
		return nil, refused("the proof is for %s, which is not a session of a role", answer.Arn)
	}
	return &Caller{Partition: arn[1], Account: answer.Account, Role: path[1], Session: path[2]}, nil
}

func hashOf(publicKey any) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(publicKey)
	if err != nil {
		return "", refused("the public key: %v", err)
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:]), nil
}
