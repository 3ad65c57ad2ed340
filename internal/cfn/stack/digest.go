package stack

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
	"strconv"
)

// Digest returns the SHA-256 of everything that is applied: template, parameters and tags. The
// capabilities and the role are included if set, so that an operation that failed for lack of them
// is retried when they change.
func (d *Desired) Digest() string { return d.digestWith(d.Template.Digest()) }

// digestWith is Digest for a caller that has the template's digest.
func (d *Desired) digestWith(template string) string {
	h := sha256.New()
	write(h, template)
	parameters := d.Parameters
	if len(d.Hidden) > 0 {
		parameters = maps.Clone(parameters)
		maps.Copy(parameters, d.Hidden)
	}
	writeMap(h, parameters)
	writeMap(h, d.Tags)
	if d.RoleARN != "" || len(d.Capabilities) > 0 {
		write(h, d.RoleARN)
		for _, capability := range slices.Sorted(slices.Values(d.Capabilities)) {
			write(h, capability)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// owner returns the tags that identify the object to which a stack belongs.
func (d *Desired) owner() map[string]string {
	if len(d.OwnerTags) == 0 {
		return d.Tags
	}
	tags := make(map[string]string, len(d.OwnerTags))
	for _, name := range d.OwnerTags {
		tags[name] = d.Tags[name]
	}
	return tags
}

func digestMap(values map[string]string) string {
	h := sha256.New()
	writeMap(h, values)
	return hex.EncodeToString(h.Sum(nil))
}

// token returns the client request token of an operation. The same operation has the same token,
// also after a restart, so that CloudFormation executes it once. Tokens match
// [a-zA-Z0-9][-a-zA-Z0-9]* and have up to 128 characters:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html
func token(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		write(h, part)
	}
	return "aws-operator-" + hex.EncodeToString(h.Sum(nil)[:20])
}

// write adds a text with its length, so that different lists of texts never hash alike.
func write(h hash.Hash, text string) {
	var scratch [24]byte
	_, _ = h.Write(append(strconv.AppendInt(scratch[:0], int64(len(text)), 10), ':')) // a hash never returns an error
	_, _ = h.Write([]byte(text))
}

func writeMap(h hash.Hash, values map[string]string) {
	write(h, "map")
	for _, key := range slices.Sorted(maps.Keys(values)) {
		write(h, key)
		write(h, values[key])
	}
}
