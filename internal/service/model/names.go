package model

import (
	"strings"
	"unicode"
)

// FieldName returns the Kubernetes name of a CloudFormation property: it lower-cases the leading
// run of capitals, up to the capital that begins a word. QueueName becomes queueName,
// DBInstanceClass dbInstanceClass, ARN arn, and S3BucketName s3BucketName.
func FieldName(property string) string {
	runes := []rune(property)
	end := 0
	for end < len(runes) && (unicode.IsUpper(runes[end]) || end > 0 && unicode.IsDigit(runes[end])) {
		end++
	}
	// The last capital of a run begins the next word, unless the run is the whole name.
	if end > 1 && end < len(runes) && unicode.IsLower(runes[end]) && unicode.IsUpper(runes[end-1]) {
		end--
	}
	return strings.ToLower(string(runes[:end])) + string(runes[end:])
}

// PascalName returns a field name with a capital first letter, as CloudFormation writes parameters
// and outputs.
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
