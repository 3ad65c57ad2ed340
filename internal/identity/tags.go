package identity

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/identity/v1alpha1"
)

// maxTags is the number of tags that users can give to a stack. A resource has at most 50, and some of
// them are the operator's.
const maxTags = 40

// reserved begin the keys of AWS's tags and of those by which the operator and Kubernetes find what is
// theirs.
var reserved = []string{"aws:", "service-operator.aws/", "cluster-operator.aws/", "aws-operator/", "aws-operator.aws/", "kubernetes.io/"}

// tagText is what keys and values of tags consist of.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_Tag.html
var tagText = regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`)

// Tags returns the tags of an object's stack and of its resources: those of the identity, of the
// namespace, and of the object, of which later ones take precedence. Namespace may be nil. Annotation is
// that of the object. The error is a [*RefusedError].
func Tags(ofIdentity map[string]string, namespace client.Object, annotation string) (map[string]string, error) {
	tags := map[string]string{}
	maps.Copy(tags, ofIdentity)
	if namespace != nil {
		theirs, err := parseTags(namespace.GetAnnotations()[v1alpha1.TagsAnnotation])
		if err != nil {
			return nil, invalidTags("The annotation %s of namespace %s: %s.", v1alpha1.TagsAnnotation, namespace.GetName(), err)
		}
		maps.Copy(tags, theirs)
	}
	own, err := parseTags(annotation)
	if err != nil {
		return nil, invalidTags("The annotation %s: %s.", v1alpha1.TagsAnnotation, err)
	}
	maps.Copy(tags, own)
	if len(tags) > maxTags {
		return nil, invalidTags("The object, its namespace and its AWSIdentity have %d tags together, but a resource can have %d of them; remove some.", len(tags), maxTags)
	}
	if len(tags) == 0 {
		return nil, nil //nolint:nilnil // no tags are a valid answer
	}
	return tags, nil
}

func invalidTags(format string, args ...any) error {
	return &RefusedError{Reason: "InvalidTags", Message: fmt.Sprintf(format, args...)}
}

// parseTags reads an annotation with tags: a map in YAML.
func parseTags(text string) (map[string]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil //nolint:nilnil // no tags are a valid answer
	}
	var tags map[string]string
	if err := yaml.UnmarshalStrict([]byte(text), &tags); err != nil {
		return nil, fmt.Errorf(`%q is no map of texts; write it like {team: shop, "cost center": "42"}`, clip(text))
	}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		value := tags[key]
		begins := func(prefix string) bool { return strings.HasPrefix(strings.ToLower(key), prefix) }
		switch {
		case slices.ContainsFunc(reserved, begins):
			return nil, fmt.Errorf("the key %q is reserved; use another one", clip(key))
		case key == "" || utf8.RuneCountInString(key) > 128 || utf8.RuneCountInString(value) > 256:
			return nil, fmt.Errorf("the tag %q must have a key of 1 to 128 characters and a value of at most 256", clip(key))
		case !tagText.MatchString(key) || !tagText.MatchString(value):
			return nil, fmt.Errorf("the tag %q may only have letters, digits, spaces, and _ . : / = + - @", clip(key))
		}
	}
	return tags, nil
}

// clip shortens a text of a user for a message.
func clip(text string) string {
	const most = 80
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}
