// Package tagging checks the tags in requests: which keys are reserved, how long keys and values are,
// and how many tags a resource has. These rules are the same for all services; the errors differ, so
// each service states its own. The package stores no tags.
// https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html#id_tags_naming_best_practices
package tagging

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const (
	longestKey   = 128
	longestValue = 256
	mostTags     = 50
	reserved     = "aws:"
)

// Refusal is an error of a service. {key} in its message stands for the key of the tag.
type Refusal struct {
	Code, Message string
	// Status is the HTTP status. The default is 400.
	Status int
}

// LongKey refuses a key in the words of the validator that many services share. Member is the name of
// the key in a tag of the request.
func LongKey(code, member string) Refusal {
	return Refusal{Code: code, Message: fmt.Sprintf(
		"1 validation error detected: Value '{key}' at 'tags.1.member.%s' failed to satisfy constraint: Member must have length less than or equal to %d",
		member, longestKey,
	)}
}

// LongValue is [LongKey] for a value.
func LongValue(code, member string) Refusal {
	return Refusal{Code: code, Message: fmt.Sprintf(
		"1 validation error detected: Value at 'tags.1.member.%s' failed to satisfy constraint: Member must have length less than or equal to %d",
		member, longestValue,
	)}
}

// Rules are the rules of a service.
type Rules struct {
	// Reserved refuses a key that begins with aws:, in upper or lower case.
	Reserved Refusal
	// Key and Value refuse a key or value of a wrong length.
	Key, Value Refusal
	// TooMany refuses a tag more than a resource can have. Tags of AWS do not count.
	TooMany Refusal
}

// Check returns an error if the tags cannot be added to those that a resource has.
func (r *Rules) Check(has, added map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(added)) {
		switch {
		case IsReserved(key):
			return r.Reserved.error(key)
		case key == "" || utf8.RuneCountInString(key) > longestKey:
			return r.Key.error(key)
		case utf8.RuneCountInString(added[key]) > longestValue:
			return r.Value.error(key)
		}
	}
	if Exceed(has, added) {
		return r.TooMany.error("")
	}
	return nil
}

// Exceed reports whether the tags are too many for one resource.
func Exceed(has, added map[string]string) bool {
	all := map[string]bool{}
	for _, tags := range []map[string]string{has, added} {
		for key := range tags {
			if !IsReserved(key) {
				all[key] = true
			}
		}
	}
	return len(all) > mostTags
}

// IsReserved reports whether only AWS's own services can set a tag with the key.
func IsReserved(key string) bool {
	return len(key) >= len(reserved) && strings.EqualFold(key[:len(reserved)], reserved)
}

func (f *Refusal) error(key string) error {
	status := f.Status
	if status == 0 {
		status = http.StatusBadRequest
	}
	return &wire.Error{Code: f.Code, Message: strings.ReplaceAll(f.Message, "{key}", key), Status: status}
}
