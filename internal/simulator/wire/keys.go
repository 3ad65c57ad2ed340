package wire

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strings"
	"sync"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
)

// Principal is the owner of an access key.
type Principal = access.Principal

// RootSecret is the secret access key of the root users of all accounts, whose access key ID is the
// number of the account.
const RootSecret = "secret"

// Keys maps access key IDs to principals. IAM and STS issue keys, and the router looks up callers.
// The zero value is ready for use.
type Keys struct {
	mu   sync.RWMutex
	keys map[string]issued
}

// issued is a key that was issued.
type issued struct {
	Principal

	secret string
	// token is the session's token; empty accepts any.
	token string
}

// Issue issues an access key with the given prefix ("AKIA" for a user's, "ASIA" for a session's)
// and returns its ID and secret.
func (k *Keys) Issue(prefix string, p Principal) (id, secret string) {
	return k.add(prefix, p, "")
}

// IssueSession issues the key of a session, and returns its ID, secret and token. Requests that the
// key signs must have the token.
func (k *Keys) IssueSession(p Principal) (id, secret, token string) {
	token = "IQoJ" + RandomID(120)
	id, secret = k.add("ASIA", p, token)
	return id, secret, token
}

func (k *Keys) add(prefix string, p Principal, token string) (id, secret string) {
	id, secret = prefix+RandomID(16), RandomID(40)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keys == nil {
		k.keys = map[string]issued{}
	}
	k.keys[id] = issued{p, secret, token}
	return id, secret
}

// Revoke revokes a key.
func (k *Keys) Revoke(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.keys, id)
}

// Lookup returns the principal of an issued key.
func (k *Keys) Lookup(id string) (Principal, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	p, ok := k.keys[id]
	return p.Principal, ok
}

// find returns an issued key.
func (k *Keys) find(id string) (issued, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	key, ok := k.keys[id]
	return key, ok
}

// RandomID returns n random characters from the alphabet of AWS's IDs: upper-case letters and the
// digits 2 to 7.
func RandomID(n int) string {
	var buf strings.Builder
	for buf.Len() < n {
		buf.WriteString(rand.Text())
	}
	return buf.String()[:n]
}

// RandomName returns n random characters of the alphabet of the IDs of Route 53 and of the names that
// CloudFormation generates: upper-case letters and all digits.
func RandomName(n int) string {
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	name := make([]byte, n)
	_, _ = rand.Read(name) // never fails, see crypto/rand
	for i := range name {
		name[i] = alphabet[int(name[i])%len(alphabet)]
	}
	return string(name)
}

// userID returns the ID of the user of an account that is not in IAM: AIDA and 17 characters.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids
func userID(account string) string {
	sum := sha256.Sum256([]byte(account))
	return "AIDA" + base32.StdEncoding.EncodeToString(sum[:])[:17]
}
