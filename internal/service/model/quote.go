package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// errUnset means that a template interpolates a value that the object does not have.
var errUnset = errors.New("the value is not set; guard the interpolation with {{ if }} or {{ with }}")

// printYAML is quoteYAML with an error that names the expression of an unset value.
func printYAML(source string, value any) (string, error) {
	if value == nil {
		return "", fmt.Errorf("%s is not set; guard the interpolation with {{ if }} or {{ with }}", source)
	}
	return quoteYAML(value)
}

// quoteYAML formats a value as YAML on one line that contains nothing but the value: a quoted
// scalar, a number, a boolean, or a flow collection of these. In strings it escapes every character
// except letters, digits and a few harmless signs, so that even an interpolation in the wrong place
// cannot add structure.
func quoteYAML(value any) (string, error) {
	var b strings.Builder
	if err := writeYAML(&b, value); err != nil {
		return "", err
	}
	return b.String(), nil
}

func writeYAML(b *strings.Builder, value any) error {
	switch v := value.(type) {
	case nil:
		return errUnset
	case string:
		writeString(b, v)
	case free:
		writeString(b, string(v))
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int:
		b.WriteString(strconv.Itoa(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case float64:
		b.WriteString(strconv.FormatFloat(v, 'f', -1, 64))
	case json.Number:
		b.WriteString(v.String())
	case []string:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = item
		}
		return writeList(b, items)
	case []any:
		return writeList(b, v)
	case map[string]any:
		return writeMap(b, v)
	default:
		return fmt.Errorf("a value of type %T cannot be put into a template", value)
	}
	return nil
}

func writeList(b *strings.Builder, items []any) error {
	b.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		if err := writeYAML(b, item); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

func writeMap(b *strings.Builder, m map[string]any) error {
	b.WriteByte('{')
	for i, key := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b.WriteString(", ")
		}
		writeString(b, key)
		b.WriteString(": ")
		if err := writeYAML(b, m[key]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	b.WriteByte('}')
	return nil
}

// writeString writes a double-quoted YAML scalar. YAML 1.2, section 5.7, defines the escapes.
func writeString(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9',
			r == '-', r == '_', r == '.', r == '/', r == ' ':
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(b, `\U%08x`, r)
		default:
			fmt.Fprintf(b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
}
