package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
)

// decodeJSON decodes an AWS JSON document into v, a pointer to an SDK structure.
func (s *Service) decodeJSON(data []byte, v any) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return fmt.Errorf("malformed JSON: %w", err)
	}
	return s.fromJSON(tree, reflect.ValueOf(v).Elem())
}

func (s *Service) fromJSON(tree any, v reflect.Value) error {
	if tree == nil {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return s.fromJSON(tree, v.Elem())
	case reflect.Interface:
		return s.fromJSONUnion(tree, v)
	case reflect.Struct:
		if v.Type() == timeType {
			return fromJSONTime(tree, v)
		}
		return s.fromJSONStruct(tree, v)
	case reflect.Slice:
		return s.fromJSONList(tree, v)
	case reflect.Map:
		return s.fromJSONMap(tree, v)
	default:
		return fromJSONScalar(tree, v)
	}
}

func (s *Service) fromJSONStruct(tree any, v reflect.Value) error {
	object, ok := tree.(map[string]any)
	if !ok {
		return unexpected(tree, "an object")
	}
	p := s.planOf(dialectJSON, v.Type())
	for name, value := range object {
		f, known := p.find(name)
		if !known {
			continue
		}
		if err := s.fromJSON(value, v.Field(f.index)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (s *Service) fromJSONUnion(tree any, v reflect.Value) error {
	u, err := unionOf(v.Type())
	if err != nil {
		return err
	}
	object, ok := tree.(map[string]any)
	if !ok {
		return unexpected(tree, "an object")
	}
	for name, value := range object {
		t, known := u.member(name)
		if !known || value == nil {
			continue
		}
		if !v.IsNil() {
			return fmt.Errorf("supplied %s is empty or has more than one member set", v.Type().Name())
		}
		member := reflect.New(t)
		if err := s.fromJSON(value, member.Elem().FieldByName("Value")); err != nil {
			return err
		}
		v.Set(member)
	}
	return nil
}

func (s *Service) fromJSONList(tree any, v reflect.Value) error {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		text, ok := tree.(string)
		if !ok {
			return unexpected(tree, "a base64 string")
		}
		return setBytes(v, text)
	}
	items, ok := tree.([]any)
	if !ok {
		return unexpected(tree, "a list")
	}
	list := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		if err := s.fromJSON(item, list.Index(i)); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

func (s *Service) fromJSONMap(tree any, v reflect.Value) error {
	object, ok := tree.(map[string]any)
	if !ok {
		return unexpected(tree, "an object")
	}
	result := reflect.MakeMapWithSize(v.Type(), len(object))
	for name, value := range object {
		element := reflect.New(v.Type().Elem()).Elem()
		if err := s.fromJSON(value, element); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		result.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), element)
	}
	v.Set(result)
	return nil
}

func fromJSONTime(tree any, v reflect.Value) error {
	switch t := tree.(type) {
	case json.Number:
		seconds, err := t.Float64()
		if err != nil {
			return unexpected(tree, "a timestamp")
		}
		v.Set(reflect.ValueOf(time.UnixMilli(int64(math.Round(seconds * 1000))).UTC()))
		return nil
	case string:
		return setTime(v, t)
	default:
		return unexpected(tree, "a timestamp")
	}
}

func fromJSONScalar(tree any, v reflect.Value) error {
	switch t := tree.(type) {
	case string:
		if v.Kind() == reflect.String {
			v.SetString(t)
			return nil
		}
		if v.Kind() == reflect.Float32 || v.Kind() == reflect.Float64 {
			return setScalar(v, t)
		}
		return unexpected(tree, v.Kind().String())
	case json.Number:
		if v.Kind() == reflect.String || v.Kind() == reflect.Bool {
			return unexpected(tree, v.Kind().String())
		}
		return setScalar(v, t.String())
	case bool:
		if v.Kind() != reflect.Bool {
			return unexpected(tree, v.Kind().String())
		}
		v.SetBool(t)
		return nil
	default:
		return unexpected(tree, v.Kind().String())
	}
}

func unexpected(tree any, want string) error {
	got := "an object"
	switch tree.(type) {
	case string:
		got = "a string"
	case json.Number:
		got = "a number"
	case bool:
		got = "a boolean"
	case []any:
		got = "a list"
	}
	return fmt.Errorf("found %s where %s was expected", got, want)
}

// setScalar parses text into a string, number or boolean.
func setScalar(v reflect.Value, text string) error {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is not a boolean", text)
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return setInt(v, text)
	case reflect.Float32, reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%q is not a number", text)
		}
		v.SetFloat(f)
	default:
		return fmt.Errorf("cannot decode %s", v.Type())
	}
	return nil
}

func setInt(v reflect.Value, text string) error {
	n, err := strconv.ParseInt(text, 10, v.Type().Bits())
	if err == nil {
		v.SetInt(n)
		return nil
	}
	f, ferr := strconv.ParseFloat(text, 64)
	if ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return fmt.Errorf("%q is not an integer: %w", text, err)
	}
	v.SetInt(int64(f))
	return nil
}

func setBytes(v reflect.Value, text string) error {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return fmt.Errorf("malformed base64: %w", err)
	}
	v.SetBytes(data)
	return nil
}

func setTime(v reflect.Value, text string) error {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", time.RFC1123, "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil {
			v.Set(reflect.ValueOf(t.UTC()))
			return nil
		}
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		v.Set(reflect.ValueOf(time.UnixMilli(int64(math.Round(seconds * 1000))).UTC()))
		return nil
	}
	return fmt.Errorf("%q is not a timestamp", text)
}
