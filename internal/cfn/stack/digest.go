package stack

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
	"strconv"
)

// Digest returns the SHA-256 of all that is applied: template, parameters and tags; and of what it is applied with, if that is
// given, so that what failed for want of a capability or of another role is tried again with it.
func (d *Desired) Digest() string { return d.digestWith(d.Template.Digest()) }

// digestWith is Digest for who has the template's.
func (d *Desired) digestWith(template string) string {
	h := sha256.New()
	write(h, template)
	writeMap(h, d.Parameters)
	writeMap(h, d.Tags)
	if d.RoleARN != "" || len(d.Capabilities) > 0 {
		write(h, d.RoleARN)
		for _, capability := range slices.Sorted(slices.Values(d.Capabilities)) {
			write(h, capability)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// owner identifies the object that a stack belongs to.
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

// token returns the client request token of an operation. Whoever sends the same operation again, also after a restart, sends the
// same token, and CloudFormation carries it out once. Tokens match [a-zA-Z0-9][-a-zA-Z0-9]* and have up to 128 characters:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html
func token(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		write(h, part)
	}
	return "aws-operator-" + hex.EncodeToString(h.Sum(nil)[:20])
}

// write adds a text with its length, so that no two lists of texts look the same.
func write(h hash.Hash, text string) {
	var scratch [24]byte
	_, _ = h.Write(append(strconv.AppendInt(scratch[:0], int64(len(text)), 10), ':')) // a hash never errs
	_, _ = h.Write([]byte(text))
}

func writeMap(h hash.Hash, values map[string]string) {
	write(h, "map")
	for _, key := range slices.Sorted(maps.Keys(values)) {
		write(h, key)
		write(h, values[key])
	}
}
