package simulation

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// census counts what an operator holds: for each field of a type, the entries of its maps, slices
// and channels in all values that are reachable from the operator. Whatever remains of deleted
// objects increases one of the counts. Variables of closures cannot be reached;
// the heap has those, too.
type census struct {
	counts map[string]int
	seen   map[visited]bool
}

type visited struct {
	at uintptr
	of reflect.Type
}

// outside are packages whose values belong to the environment, or hold what all processes share.
var outside = []string{
	"github.com/aws-operator/aws-operator/internal/simulator", "github.com/aws-operator/aws-operator/internal/machines",
	"github.com/aws-operator/aws-operator/internal/kubeapi", "github.com/aws-operator/aws-operator/test",
	"reflect", "runtime", "testing", "testing/synctest", "crypto", "internal", "text/template", "regexp",
}

// take counts what is reachable from the roots. All goroutines must be blocked.
func take(roots ...any) map[string]int {
	c := &census{counts: map[string]int{}, seen: map[visited]bool{}}
	for _, root := range roots {
		c.visit(fmt.Sprintf("%T", root), reflect.ValueOf(root))
	}
	return c.counts
}

// visit counts what is in a value of a field.
func (c *census) visit(field string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || isOutside(v.Type().Elem()) || c.saw(v) {
			return
		}
		c.visit(field, v.Elem())
	case reflect.Interface:
		if !v.IsNil() {
			c.visit(field, v.Elem())
		}
	case reflect.Struct:
		if isOutside(v.Type()) {
			return
		}
		if v.CanAddr() && v.Type() == reflect.TypeFor[sync.Map]() {
			(*sync.Map)(v.Addr().UnsafePointer()).Range(func(_, value any) bool {
				c.counts[field]++
				c.visit(field, reflect.ValueOf(value))
				return true
			})
			return
		}
		if v.CanAddr() && strings.HasPrefix(v.Type().String(), "atomic.Pointer[") {
			load, _ := v.Addr().Type().MethodByName("Load")
			if p := v.FieldByName("v").UnsafePointer(); p != nil {
				c.visit(field, reflect.NewAt(load.Type.Out(0).Elem(), p))
			}
			return
		}
		for i := range v.NumField() {
			c.visit(nameOf(v.Type())+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Map:
		if v.IsNil() || c.saw(v) {
			return
		}
		c.counts[field] += v.Len()
		if isPlain(v.Type().Key()) && isPlain(v.Type().Elem()) {
			return
		}
		for entries := v.MapRange(); entries.Next(); {
			c.visit(field, entries.Key())
			c.visit(field, entries.Value())
		}
	case reflect.Slice:
		if v.Len() == 0 || c.saw(v) {
			return
		}
		if v.Type().Elem().Kind() != reflect.Uint8 { // texts and buffers
			c.counts[field] += v.Len()
		}
		fallthrough
	case reflect.Array:
		if isPlain(v.Type().Elem()) {
			return
		}
		for i := range v.Len() {
			c.visit(field, v.Index(i))
		}
	case reflect.Chan:
		c.counts[field] += v.Len()
	default: // nothing that holds values
	}
}

// saw reports whether a value was visited before.
func (c *census) saw(v reflect.Value) bool {
	key := visited{v.Pointer(), v.Type()}
	before := c.seen[key]
	c.seen[key] = true
	return before
}

// isPlain reports whether values of a type refer to no others.
func isPlain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Struct, reflect.Map, reflect.Slice, reflect.Chan:
		return false
	case reflect.Array:
		return isPlain(t.Elem())
	default:
		return true
	}
}

func isOutside(t reflect.Type) bool {
	for _, name := range outside {
		if t.PkgPath() == name || strings.HasPrefix(t.PkgPath(), name+"/") {
			return true
		}
	}
	return false
}

// nameOf returns the name of a type without the paths of packages.
func nameOf(t reflect.Type) string {
	path := strings.TrimPrefix(t.PkgPath(), "github.com/aws-operator/aws-operator/")
	name, _, generic := strings.Cut(t.Name(), "[")
	if generic {
		name += "[…]"
	}
	return path + "." + name
}
