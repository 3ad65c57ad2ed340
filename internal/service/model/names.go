package model

import (
	"strings"
	"unicode"
)

// FieldName returns the Kubernetes spelling of a CloudFormation property name: the leading run of
// capitals in lower case, up to the capital that begins a word. QueueName is queueName,
// DBInstanceClass is dbInstanceClass, ARN is arn, S3BucketName is s3BucketName.
func FieldName(property string) string {
	runes := []rune(property)
	end := 0
	for end < len(runes) && (unicode.IsUpper(runes[end]) || end > 0 && unicode.IsDigit(runes[end])) {
		end++
	}
	// The last capital of a run of several begins the next word, unless the run is all there is.
	if end > 1 && end < len(runes) && unicode.IsLower(runes[end]) && unicode.IsUpper(runes[end-1]) {
		end--
	}
	return strings.ToLower(string(runes[:end])) + string(runes[end:])
}

// PascalName returns a field name as CloudFormation spells parameters and outputs: with a capital
// first letter.
func PascalName(field string) string {
	if field == "" {
		return ""
	}
	return strings.ToUpper(field[:1]) + field[1:]
}

// plural returns the default plural of a kind.
func plural(kind string) string {
	lower := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(lower, "s"), strings.HasSuffix(lower, "x"), strings.HasSuffix(lower, "ch"), strings.HasSuffix(lower, "sh"):
		return lower + "es"
	case strings.HasSuffix(lower, "y") && len(lower) > 1 && !strings.ContainsRune("aeiou", rune(lower[len(lower)-2])):
		return lower[:len(lower)-1] + "ies"
	default:
		return lower + "s"
	}
}
