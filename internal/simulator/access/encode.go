package access

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
)

// items is a list in a decoded message.
type items[T any] struct {
	Items []T `json:"items"`
}

// failure is the message about a denial that EC2 encodes.
// https://docs.aws.amazon.com/STS/latest/APIReference/API_DecodeAuthorizationMessage.html
type failure struct {
	Allowed           bool       `json:"allowed"`
	ExplicitDeny      bool       `json:"explicitDeny"`
	MatchedStatements items[any] `json:"matchedStatements"`
	Failures          items[any] `json:"failures"`
	Context           struct {
		Principal struct {
			ID  string `json:"id"`
			ARN string `json:"arn"`
		} `json:"principal"`
		Action     string           `json:"action"`
		Resource   string           `json:"resource"`
		Conditions items[condition] `json:"conditions"`
	} `json:"context"`
}

type condition struct {
	Key    string       `json:"key"`
	Values items[value] `json:"values"`
}

type value struct {
	Value string `json:"value"`
}

// Encode returns the encoded message about a request that is denied.
func Encode(r *Request, reason string) string {
	f := failure{ExplicitDeny: strings.Contains(reason, "explicit"), MatchedStatements: items[any]{[]any{}}, Failures: items[any]{[]any{}}}
	f.Context.Principal.ARN, f.Context.Action, f.Context.Resource = r.Principal, r.Action, r.Resource
	if r.Caller != nil {
		f.Context.Principal.ID = r.Caller.UserID
	}
	for _, name := range slices.Sorted(maps.Keys(r.Context)) {
		c := condition{Key: name}
		for _, text := range r.Context[name] {
			c.Values.Items = append(c.Values.Items, value{text})
		}
		f.Context.Conditions.Items = append(f.Context.Conditions.Items, c)
	}
	data, err := json.Marshal(f)
	if err != nil {
		return err.Error() // texts always encode
	}
	var buf bytes.Buffer
	w := zlib.NewWriter(&buf)
	_, _ = w.Write(data) // a buffer returns no error
	_ = w.Close()
	return base64.RawURLEncoding.EncodeToString(buf.Bytes())
}

// Decode returns the message that [Encode] encoded.
func Decode(encoded string) (string, error) {
	data, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return "", fmt.Errorf("decode the message: %w", err)
	}
	r, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return "", fmt.Errorf("decode the message: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(r, 1<<20)) //nolint:mnd // a mebibyte
	if err != nil {
		return "", fmt.Errorf("decode the message: %w", err)
	}
	return string(text), nil
}

// parsed caches policies by their text: they are read much more often than written.
var parsed struct {
	mu       sync.RWMutex
	policies map[parsedKey]*iampolicy.Policy
}

type parsedKey struct{ name, document string }

// maxParsed bounds the cache.
const maxParsed = 20_000

// ParseResource parses the policy of a resource or a role's trust policy, or returns nil for none. A
// document that cannot be parsed allows nothing.
func ParseResource(name, document string) *iampolicy.Policy {
	if document == "" {
		return nil
	}
	key := parsedKey{name, document}
	parsed.mu.RLock()
	p, ok := parsed.policies[key]
	parsed.mu.RUnlock()
	if ok {
		return p
	}
	p, err := iampolicy.Parse(name, document)
	if err != nil {
		p = &iampolicy.Policy{Name: name}
	}
	parsed.mu.Lock()
	defer parsed.mu.Unlock()
	if parsed.policies == nil || len(parsed.policies) >= maxParsed {
		parsed.policies = map[parsedKey]*iampolicy.Policy{}
	}
	parsed.policies[key] = p
	return p
}
