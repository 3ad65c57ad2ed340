package yamltree

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Kind is what a value is.
type Kind int

// Kinds.
const (
	// Null is nothing.
	Null Kind = iota
	// Bool is true or false.
	Bool
	// Number is an integer or a fraction.
	Number
	// String is text.
	String
	// List is a list.
	List
	// Map is a map by text.
	Map
)

// String returns the kind as a person calls it.
func (k Kind) String() string {
	return [...]string{"nothing", "true or false", "a number", "text", "a list", "a map"}[k]
}

// Value is a value of a document.
type Value struct {
	// Kind is what it is.
	Kind Kind
	// Line is where it begins, from 1, in the file.
	Line int
	// Text is a scalar's, as it was written but without quotes.
	Text string
	// Items are those of a list.
	Items []*Value
	// Entries are those of a map, in their order.
	Entries []Entry
	// word is whether it is one of the words that YAML 1.1 takes for booleans, without quotes, and
	// letter whether it is one of the letters (y and n).
	word, letter bool
}

// Entry is an entry of a map.
type Entry struct {
	// Key is the entry's.
	Key string
	// Line is where the key stands.
	Line int
	// Value is what it holds.
	Value *Value
}

// Field returns the value of a map's key, nil if it is not there or v is no map.
func (v *Value) Field(key string) *Value {
	if v == nil || v.Kind != Map {
		return nil
	}
	i := slices.IndexFunc(v.Entries, func(e Entry) bool { return e.Key == key })
	if i < 0 {
		return nil
	}
	return v.Entries[i].Value
}

// Int returns an integer, and whether it is one.
func (v *Value) Int() (int64, bool) {
	if v == nil || v.Kind != Number {
		return 0, false
	}
	n, err := strconv.ParseInt(v.Text, 0, 64)
	return n, err == nil
}

// Truth returns a boolean, and whether it is one.
func (v *Value) Truth() (truth, ok bool) {
	switch {
	case v == nil:
		return false, false
	case v.Kind == Bool:
		return strings.EqualFold(v.Text, "true"), true
	case v.word:
		lower := strings.ToLower(v.Text)
		return lower == "yes" || lower == "on" || lower == "y", true
	}
	return false, false
}

// Interface returns the value as encoding/json would have it: nil, bool, json.Number, string, []any
// or map[string]any.
func (v *Value) Interface() any { return v.native(func(v *Value) any { return v.Text }) }

// YAML11 is Interface for a reader of YAML 1.1, such as kubectl: y, yes, on, n, no and off without
// quotes are booleans.
func (v *Value) YAML11() any {
	return v.native(func(v *Value) any {
		if !v.word && !v.letter {
			return v.Text
		}
		return slices.Contains([]string{"y", "yes", "on"}, strings.ToLower(v.Text))
	})
}

// native returns the value as encoding/json would have it, with text for strings.
func (v *Value) native(text func(*Value) any) any {
	switch v.Kind {
	case Bool:
		return strings.EqualFold(v.Text, "true")
	case Number:
		return number(v.Text)
	case String:
		return text(v)
	case List:
		items := make([]any, len(v.Items))
		for i, item := range v.Items {
			items[i] = item.native(text)
		}
		return items
	case Map:
		fields := make(map[string]any, len(v.Entries))
		for _, entry := range v.Entries {
			fields[entry.Key] = entry.Value.native(text)
		}
		return fields
	case Null:
	}
	return nil
}

// LineOf returns the line of the field at a path such as spec.zones[1].name; if there is no such
// field, the line of the closest one around it.
func (v *Value) LineOf(path string) int {
	line := v.Line
	for path != "" {
		next, at, rest := v.step(path)
		if next == nil {
			return line
		}
		v, line, path = next, at, rest
	}
	return line
}

// step returns the value that a path begins with, its line, and the rest of the path; nil if there
// is none. Keys may contain dots, which paths do not always mark, so the longest key wins.
func (v *Value) step(path string) (next *Value, line int, rest string) {
	switch v.Kind {
	case List:
		index, after, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
		i, err := strconv.Atoi(index)
		if !ok || err != nil || i < 0 || i >= len(v.Items) {
			return nil, 0, ""
		}
		return v.Items[i], v.Items[i].Line, strings.TrimPrefix(after, ".")
	case Map:
		longest := -1
		for _, entry := range v.Entries {
			for _, form := range []string{entry.Key, "[" + entry.Key + "]", "[" + strconv.Quote(entry.Key) + "]"} {
				after, ok := strings.CutPrefix(path, form)
				if !ok || len(form) <= longest || after != "" && after[0] != '.' && after[0] != '[' {
					continue
				}
				longest = len(form)
				next, line, rest = entry.Value, entry.Line, strings.TrimPrefix(after, ".")
			}
		}
	default:
	}
	return next, line, rest
}

// number returns a number as JSON writes it; what JSON cannot write, infinity, stays text.
func number(text string) any {
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return json.Number(strconv.FormatInt(n, 10))
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return text
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}
