package templates

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/strvals"

	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// Values are what templates are filled with. The zero Values are none.
type Values struct {
	values map[string]any
	// outputs are the names of outputs of Terraform.
	outputs map[string]bool
}

// AddFile merges a file of YAML or JSON over the values. The error is yamltree.Problems.
func (v *Values) AddFile(file string, data []byte) error {
	values, err := read(file, data)
	if err != nil {
		return err
	}
	v.merge(values)
	for name := range values {
		delete(v.outputs, name)
	}
	return nil
}

// AddTerraform merges what `terraform output -json` printed over the values. The error is
// yamltree.Problems.
func (v *Values) AddTerraform(file string, data []byte) error {
	outputs, err := read(file, data)
	if err != nil {
		return err
	}
	flat := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		output, ok := outputs[name].(map[string]any)
		value, has := output["value"]
		if !ok || !has {
			return yamltree.Problems{
				{
					File:    file,
					Path:    name,
					Message: "this is not an output of Terraform, which has a value: pass the output of `terraform output -json`, or use --values",
				},
			}
		}
		flat[name] = value
	}
	v.merge(flat)
	if v.outputs == nil {
		v.outputs = map[string]bool{}
	}
	for name := range flat {
		v.outputs[name] = true
	}
	return nil
}

// Set sets values as a=1,b.c=true,d[0]=x says; what looks like a number or a boolean is one.
func (v *Values) Set(text string) error {
	v.merge(nil)
	if err := strvals.ParseInto(text, v.values); err != nil {
		return fmt.Errorf("--set %s: %w", text, err)
	}
	return nil
}

// SetString is as Set, but all values are text.
func (v *Values) SetString(text string) error {
	v.merge(nil)
	if err := strvals.ParseIntoString(text, v.values); err != nil {
		return fmt.Errorf("--set-string %s: %w", text, err)
	}
	return nil
}

// Put sets one value.
func (v *Values) Put(name string, value any) { v.merge(map[string]any{name: value}) }

// read returns the map that a file holds; one that holds nothing is an empty map.
func read(file string, data []byte) (map[string]any, error) {
	documents, err := yamltree.Parse(file, data)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	for _, d := range documents {
		one, ok := native(d.Value.Interface()).(map[string]any)
		if !ok {
			return nil, yamltree.Problems{
				{
					File:     file,
					Document: d.Number,
					Line:     d.Value.Line,
					Message:  fmt.Sprintf("values must be a map; this is %s", d.Value.Kind),
				},
			}
		}
		values = merged(values, one)
	}
	return values, nil
}

// native returns a value with the numbers that templates compute with.
func native(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // as it was read as a number
		return f
	case []any:
		for i := range v {
			v[i] = native(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = native(v[key])
		}
	}
	return value
}

func (v *Values) merge(over map[string]any) {
	if v.values == nil {
		v.values = map[string]any{}
	}
	v.values = merged(v.values, over)
}

// merged puts a map over another: maps are merged, all else is replaced.
func merged(base, over map[string]any) map[string]any {
	for key, value := range over {
		below, isMap := base[key].(map[string]any)
		above, aboveIsMap := value.(map[string]any)
		if isMap && aboveIsMap {
			value = merged(below, above)
		}
		base[key] = value
	}
	return base
}

// outputMaps returns the addresses of the maps that are outputs, of which .value is the map itself.
func (v *Values) outputMaps() map[uintptr]bool {
	found := map[uintptr]bool{}
	for name := range v.outputs {
		if m, ok := v.values[name].(map[string]any); ok {
			found[reflect.ValueOf(m).Pointer()] = true
		}
	}
	return found
}

// names returns the keys of the values, at a path such as .a.b if there is a map.
func (v *Values) names(path []string) []string {
	at := v.values
	for _, key := range path {
		below, ok := at[key].(map[string]any)
		if !ok {
			if key == outputValue {
				continue
			}
			return nil
		}
		at = below
	}
	return slices.Sorted(maps.Keys(at))
}

// everyName returns the keys of all maps in the values, with where they are.
func (v *Values) everyName() map[string]string {
	all := map[string]string{}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				if other, ok := all[key]; !ok || strings.Count(other, ".") > strings.Count(path, ".")+1 {
					all[key] = path + "." + key
				}
				walk(path+"."+key, value[key])
			}
		case []any:
			for _, item := range value {
				walk(path+"[]", item)
			}
		}
	}
	walk("", v.values)
	return all
}
