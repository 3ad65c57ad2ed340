package wire

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// findRoute determines the operation of a request by its method and path.
// https://smithy.io/2.0/aws/protocols/aws-restjson1-protocol.html
func (q *request) findRoute() error {
	parts := strings.Split(strings.Trim(q.URL.EscapedPath(), "/"), "/")
	for operation, route := range q.service.Routes {
		method, path, _ := strings.Cut(route, " ")
		if method != q.Method {
			continue
		}
		if members, ok := matchPath(strings.Split(strings.Trim(path, "/"), "/"), parts); ok {
			q.call.Operation, q.path = operation, members
			return nil
		}
	}
	return &Error{
		Code:    "UnknownOperationException",
		Message: "The simulator's " + q.service.Name + " has no operation at " + q.Method + " " + q.URL.Path + ".",
		Status:  http.StatusNotFound,
	}
}

// matchPath compares the parts of a path to those of a route, and returns the members in the path. A
// member may contain a slash, which clients encode.
func matchPath(route, parts []string) (members url.Values, ok bool) {
	if len(route) != len(parts) {
		return nil, false
	}
	members = url.Values{}
	for i, want := range route {
		name, isMember := strings.CutPrefix(want, "{")
		if !isMember {
			if want != parts[i] {
				return nil, false
			}
			continue
		}
		value, err := url.PathUnescape(parts[i])
		if err != nil || value == "" {
			return nil, false
		}
		members.Set(strings.TrimSuffix(name, "}"), value)
	}
	return members, true
}

// decodeREST decodes the members of an input from the body, the query and the path. Later ones take
// precedence.
func (q *request) decodeREST(input any) error {
	if err := q.readBody(); err != nil {
		return err
	}
	if err := q.service.decodeJSON(q.body, input); err != nil {
		return err
	}
	v := reflect.ValueOf(input).Elem()
	p := q.service.planOf(dialectJSON, v.Type())
	for _, values := range []url.Values{q.query, q.path} {
		for name, texts := range values {
			i := slices.IndexFunc(p.fields, func(f field) bool { return f.Wire == name })
			if i < 0 {
				continue
			}
			if err := setTexts(v.Field(p.fields[i].index), texts); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// setTexts sets a member from its values in a URL: a list from all, and a scalar from the first.
func setTexts(v reflect.Value, texts []string) error {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return setTexts(v.Elem(), texts)
	case reflect.Slice:
		list := reflect.MakeSlice(v.Type(), len(texts), len(texts))
		for i := range texts {
			if err := setScalar(list.Index(i), texts[i]); err != nil {
				return err
			}
		}
		v.Set(list)
		return nil
	default:
		return setScalar(v, texts[0])
	}
}
