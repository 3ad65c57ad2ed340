package render

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxStackName is CloudFormation's limit, see
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html.
const maxStackName = 128

// StackName returns the name of an object's stack: <cluster>-<kind>-<name>-<namespace>. It adds a
// short hash only if the plain name could also be another object's (a namespace with a hyphen),
// contains characters that CloudFormation rejects, or is too long.
func StackName(cluster, kind, namespace, name string) string {
	plain := strings.Join([]string{cluster, strings.ToLower(kind), name, namespace}, "-")
	clean := strings.Map(stackNameCharacter, plain)
	if clean == "" || !isLetter(rune(clean[0])) {
		clean = "s-" + clean
	}
	if clean == plain && len(clean) <= maxStackName && !strings.Contains(namespace, "-") {
		return clean
	}
	return WithHash(clean, maxStackName, cluster, kind, namespace, name)
}

// stackNameCharacter keeps the characters that a stack's name may contain and replaces the others.
func stackNameCharacter(r rune) rune {
	if isLetter(r) || r >= '0' && r <= '9' || r == '-' {
		return r
	}
	return '-'
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// WithHash appends a short hash of the parts to a name and truncates the name to the limit.
func WithHash(name string, limit int, parts ...string) string {
	const bytes = 4
	return withHash(name, limit, bytes, parts...)
}

// withHash is WithHash with a hash of that many bytes.
func withHash(name string, limit, bytes int, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	hash := hex.EncodeToString(sum[:bytes])
	if most := limit - len(hash) - 1; len(name) > most {
		name = name[:most]
	}
	return strings.TrimRight(name, "-.") + "-" + hash
}

// maxServiceName is the limit of a DNS label.
const maxServiceName = 63

// ServiceName converts the name of an object to a name for a Service: Services have DNS labels,
// objects may have longer DNS names.
func ServiceName(name string) string {
	clean := strings.ReplaceAll(name, ".", "-")
	if clean != "" && !isLetter(rune(clean[0])) {
		clean = "s-" + clean
	}
	if clean == name && len(clean) <= maxServiceName {
		return name
	}
	return WithHash(clean, maxServiceName, name)
}
