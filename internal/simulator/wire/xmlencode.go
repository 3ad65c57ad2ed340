package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"time"
)

const xmlHeader = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"

// xmlWriter writes SDK values as XML elements.
type xmlWriter struct {
	buf     *bytes.Buffer
	service *Service
	dialect dialect
}

func (w *xmlWriter) open(name string)  { w.buf.WriteString("<" + name + ">") }
func (w *xmlWriter) close(name string) { w.buf.WriteString("</" + name + ">") }

func (w *xmlWriter) text(name, text string) {
	w.open(name)
	escapeXML(w.buf, text)
	w.close(name)
}

func escapeXML(buf *bytes.Buffer, text string) {
	// EscapeText returns only the errors of its writer, and a buffer has none.
	_ = xml.EscapeText(buf, []byte(text))
}

// EncodeXML encodes an SDK structure as an XML document with the given root element, for REST-XML
// bodies. It returns an error for a type that XML cannot represent.
func (s *Service) EncodeXML(out io.Writer, root string, v any) error {
	w := &xmlWriter{buf: &bytes.Buffer{}, service: s, dialect: dialectXML}
	w.buf.WriteString(xmlHeader)
	w.openRoot(root)
	if err := w.members(reflect.Indirect(reflect.ValueOf(v))); err != nil {
		return err
	}
	w.close(root)
	if _, err := out.Write(w.buf.Bytes()); err != nil {
		return fmt.Errorf("writing the document: %w", err)
	}
	return nil
}

func (w *xmlWriter) openRoot(root string) {
	w.buf.WriteByte('<')
	w.buf.WriteString(root)
	if w.service.XMLNamespace != "" {
		w.buf.WriteString(` xmlns="`)
		escapeXML(w.buf, w.service.XMLNamespace)
		w.buf.WriteByte('"')
	}
	w.buf.WriteByte('>')
}

func (w *xmlWriter) members(v reflect.Value) error {
	p := w.service.planOf(w.dialect, v.Type())
	for i := range p.fields {
		member := v.Field(p.fields[i].index)
		if absent(member) {
			continue
		}
		if err := w.element(p.fields[i].Name, member); err != nil {
			return err
		}
	}
	return nil
}

func (w *xmlWriter) element(n Name, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		return w.element(n, v.Elem())
	case reflect.Struct:
		if v.Type() == timeType {
			w.text(n.Wire, formatTime(v.Interface().(time.Time))) //nolint:forcetypeassert // checked by type
			return nil
		}
		w.open(n.Wire)
		defer w.close(n.Wire)
		return w.members(v)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			w.text(n.Wire, base64.StdEncoding.EncodeToString(v.Bytes()))
			return nil
		}
		return w.list(n, v)
	case reflect.Map:
		return w.mapping(n, v)
	default:
		return w.scalar(n.Wire, v)
	}
}

func (w *xmlWriter) scalar(name string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		w.text(name, v.String())
	case reflect.Bool:
		w.text(name, strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.text(name, strconv.FormatInt(v.Int(), 10))
	case reflect.Float32, reflect.Float64:
		w.text(name, strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits()))
	default:
		return fmt.Errorf("cannot encode %s", v.Type())
	}
	return nil
}

func (w *xmlWriter) list(n Name, v reflect.Value) error {
	item := Name{Wire: n.Item, Item: w.itemName()}
	if n.Flattened {
		item.Wire = n.Wire
	} else {
		w.open(n.Wire)
		defer w.close(n.Wire)
	}
	item.Key, item.Value = "key", "value"
	for i := range v.Len() {
		if err := w.element(item, v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (w *xmlWriter) itemName() string {
	if w.dialect == dialectEC2 {
		return "item"
	}
	return "member"
}

func (w *xmlWriter) mapping(n Name, v reflect.Value) error {
	entry := "entry"
	if n.Flattened {
		entry = n.Wire
	} else {
		w.open(n.Wire)
		defer w.close(n.Wire)
	}
	for _, key := range sortedKeys(v) {
		w.open(entry)
		w.text(n.Key, key.String())
		if err := w.element(Name{Wire: n.Value, Item: w.itemName(), Key: "key", Value: "value"}, v.MapIndex(key)); err != nil {
			return err
		}
		w.close(entry)
	}
	return nil
}

// formatTime formats a timestamp as AWS does in XML: with milliseconds only if they are not zero.
func formatTime(t time.Time) string {
	t = t.UTC()
	if t.Nanosecond()/int(time.Millisecond) == 0 {
		return t.Format("2006-01-02T15:04:05Z")
	}
	return t.Format("2006-01-02T15:04:05.000Z")
}
