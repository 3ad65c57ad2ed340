package wire

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// element is one XML element, with its children in order.
type element struct {
	name     string
	text     string
	children []*element
}

// DecodeXML decodes an XML document into v, a pointer to an SDK structure, for REST-XML bodies. It
// ignores unknown elements; malformed XML and values of the wrong type are errors.
func (s *Service) DecodeXML(r io.Reader, v any) error {
	root, err := parseXML(r)
	if err != nil {
		return fmt.Errorf("malformed XML: %w", err)
	}
	return s.fromElements([]*element{root}, reflect.ValueOf(v).Elem(), Name{})
}

func parseXML(r io.Reader) (*element, error) {
	decoder := xml.NewDecoder(r)
	root := &element{}
	stack := []*element{root}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		top := stack[len(stack)-1]
		switch t := token.(type) {
		case xml.StartElement:
			child := &element{name: t.Name.Local}
			top.children = append(top.children, child)
			stack = append(stack, child)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			top.text += string(t)
		}
	}
	if len(root.children) == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return root.children[0], nil
}

// fromElements decodes the elements of one name into a value; only flattened lists and maps have
// more than one.
func (s *Service) fromElements(list []*element, v reflect.Value, n Name) error {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return s.fromElements(list, v.Elem(), n)
	case reflect.Struct:
		if v.Type() == timeType {
			return setTime(v, strings.TrimSpace(list[0].text))
		}
		return s.fromElementStruct(list[0], v)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return setBytes(v, strings.TrimSpace(list[0].text))
		}
		if !n.Flattened {
			list = list[0].children
		}
		return s.fromElementList(list, v)
	case reflect.Map:
		if !n.Flattened {
			list = list[0].children
		}
		return s.fromElementMap(list, v, n)
	case reflect.String:
		v.SetString(list[0].text)
		return nil
	default:
		return setScalar(v, strings.TrimSpace(list[0].text))
	}
}

func (s *Service) fromElementStruct(e *element, v reflect.Value) error {
	p := s.planOf(dialectXML, v.Type())
	groups := map[int][]*element{}
	names := map[int]Name{}
	for _, child := range e.children {
		if f, ok := p.find(child.name); ok {
			groups[f.index] = append(groups[f.index], child)
			names[f.index] = f.Name
		}
	}
	for index, group := range groups {
		if err := s.fromElements(group, v.Field(index), names[index]); err != nil {
			return fmt.Errorf("%s: %w", names[index].Wire, err)
		}
	}
	return nil
}

func (s *Service) fromElementList(list []*element, v reflect.Value) error {
	result := reflect.MakeSlice(v.Type(), len(list), len(list))
	for i, item := range list {
		if err := s.fromElements([]*element{item}, result.Index(i), Name{}); err != nil {
			return err
		}
	}
	v.Set(result)
	return nil
}

func (s *Service) fromElementMap(list []*element, v reflect.Value, n Name) error {
	result := reflect.MakeMapWithSize(v.Type(), len(list))
	for _, entry := range list {
		value := reflect.New(v.Type().Elem()).Elem()
		key := ""
		for _, part := range entry.children {
			if strings.EqualFold(part.name, n.Key) {
				key = part.text
				continue
			}
			if err := s.fromElements([]*element{part}, value, Name{}); err != nil {
				return err
			}
		}
		result.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), value)
	}
	v.Set(result)
	return nil
}
