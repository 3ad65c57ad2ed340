package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// encodeJSON appends v, a pointer to an SDK structure, as an AWS JSON document.
func (s *Service) encodeJSON(buf []byte, v any) ([]byte, error) {
	value := reflect.ValueOf(v)
	for value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return append(buf, "{}"...), nil
		}
		value = value.Elem()
	}
	return s.appendJSON(buf, value)
}

func (s *Service) appendJSON(buf []byte, v reflect.Value) ([]byte, error) {
	switch v.Kind() {
	case reflect.Pointer:
		return s.appendJSON(buf, v.Elem())
	case reflect.Interface:
		return s.appendJSONUnion(buf, v)
	case reflect.Struct:
		if v.Type() == timeType {
			return appendEpoch(buf, v.Interface().(time.Time)), nil //nolint:forcetypeassert // checked by type
		}
		return s.appendJSONStruct(buf, v)
	case reflect.Slice:
		return s.appendJSONList(buf, v)
	case reflect.Map:
		return s.appendJSONMap(buf, v)
	default:
		return appendJSONScalar(buf, v)
	}
}

func appendJSONScalar(buf []byte, v reflect.Value) ([]byte, error) {
	switch v.Kind() {
	case reflect.String:
		return appendJSONString(buf, v.String()), nil
	case reflect.Bool:
		return strconv.AppendBool(buf, v.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.AppendInt(buf, v.Int(), 10), nil
	case reflect.Float32:
		return appendJSONFloat(buf, v.Float(), 32), nil
	case reflect.Float64:
		return appendJSONFloat(buf, v.Float(), 64), nil
	default:
		return nil, fmt.Errorf("cannot encode %s", v.Type())
	}
}

func (s *Service) appendJSONStruct(buf []byte, v reflect.Value) ([]byte, error) {
	p := s.planOf(dialectJSON, v.Type())
	buf = append(buf, '{')
	first := true
	var err error
	for i := range p.fields {
		member := v.Field(p.fields[i].index)
		if absent(member) {
			continue
		}
		if !first {
			buf = append(buf, ',')
		}
		first = false
		buf = append(appendJSONString(buf, p.fields[i].Wire), ':')
		if buf, err = s.appendJSON(buf, member); err != nil {
			return nil, err
		}
	}
	return append(buf, '}'), nil
}

func (s *Service) appendJSONUnion(buf []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(buf, "null"...), nil
	}
	u, err := unionOf(v.Type())
	if err != nil {
		return nil, err
	}
	member := v.Elem()
	for member.Kind() == reflect.Pointer {
		member = member.Elem()
	}
	name, ok := u.names[member.Type()]
	if !ok {
		return nil, fmt.Errorf("%s is not a member of %s", member.Type(), v.Type())
	}
	if s.LowerCamel {
		name = lowerFirst(name)
	}
	buf = append(append(buf, '{'), appendJSONString(nil, name)...)
	buf = append(buf, ':')
	if buf, err = s.appendJSON(buf, member.FieldByName("Value")); err != nil {
		return nil, err
	}
	return append(buf, '}'), nil
}

func (s *Service) appendJSONList(buf []byte, v reflect.Value) ([]byte, error) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		buf = append(buf, '"')
		buf = base64.StdEncoding.AppendEncode(buf, v.Bytes())
		return append(buf, '"'), nil
	}
	buf = append(buf, '[')
	var err error
	for i := range v.Len() {
		if i > 0 {
			buf = append(buf, ',')
		}
		if buf, err = s.appendJSON(buf, v.Index(i)); err != nil {
			return nil, err
		}
	}
	return append(buf, ']'), nil
}

func (s *Service) appendJSONMap(buf []byte, v reflect.Value) ([]byte, error) {
	buf = append(buf, '{')
	var err error
	for i, key := range sortedKeys(v) {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = append(appendJSONString(buf, key.String()), ':')
		if buf, err = s.appendJSON(buf, v.MapIndex(key)); err != nil {
			return nil, err
		}
	}
	return append(buf, '}'), nil
}

func sortedKeys(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		switch {
		case a.String() < b.String():
			return -1
		case a.String() > b.String():
			return 1
		default:
			return 0
		}
	})
	return keys
}

// absent reports whether a member is omitted: nil, or an enum's empty string. Numbers and booleans
// that are not pointers always have a value.
func absent(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return v.IsNil()
	case reflect.String:
		return v.Len() == 0
	default:
		return false
	}
}

func appendEpoch(buf []byte, t time.Time) []byte {
	if ms := t.UnixMilli(); ms%1000 != 0 {
		return strconv.AppendFloat(buf, float64(ms)/1000, 'f', 3, 64)
	}
	return strconv.AppendInt(buf, t.Unix(), 10)
}

func appendJSONFloat(buf []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(buf, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(buf, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(buf, `"-Infinity"`...)
	case f == math.Trunc(f) && math.Abs(f) < mostWhole:
		// AWS writes whole numbers of this type with a point, so that dynamic languages do not read an integer:
		// https://docs.aws.amazon.com/cli/latest/reference/service-quotas/list-service-quotas.html#examples
		return strconv.AppendFloat(buf, f, 'f', 1, bits)
	default:
		return strconv.AppendFloat(buf, f, 'g', -1, bits)
	}
}

// mostWhole is the number up to which each whole number is one of type double.
const mostWhole = 1 << 53

// appendJSONString appends a quoted string. The common case of plain text needs only one copy.
func appendJSONString(buf []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return appendEscaped(buf, s)
		}
	}
	buf = append(buf, '"')
	buf = append(buf, s...)
	return append(buf, '"')
}

func appendEscaped(buf []byte, s string) []byte {
	quoted, err := json.Marshal(s)
	if err != nil {
		return append(buf, `""`...)
	}
	return append(buf, quoted...)
}
