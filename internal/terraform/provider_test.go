package terraform_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/aws-operator/aws-operator/internal/terraform"
)

// provider is what of the provider's schema the table uses. It is that of hashicorp/aws 5.100.0,
// cut down from terraform providers schema -json by
//
//	jq 'def body: {
//	      arguments: ((.attributes // {}) | map_values(if .required then "required" elif .optional then "optional" else "attribute" end)),
//	      blocks: ((.block_types // {}) | map_values(.block | body))};
//	    .provider_schemas[] | {resources: .resource_schemas | map_values(.block | body),
//	      data: .data_source_schemas | map_values(.block | body)}'
//
// to the types that are used.
type provider struct {
	Resources map[string]providerBlock `json:"resources"`
	Data      map[string]providerBlock `json:"data"`
}

type providerBlock struct {
	Arguments map[string]string        `json:"arguments"`
	Blocks    map[string]providerBlock `json:"blocks"`
}

func readProvider(t *testing.T) provider {
	t.Helper()
	data, err := os.ReadFile("testdata/provider.json")
	if err != nil {
		t.Fatal(err)
	}
	var p provider
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// check holds a block against the provider's schema.
func (b providerBlock) check(t *testing.T, place string, body *hclsyntax.Body) {
	t.Helper()
	for name := range body.Attributes {
		if kind, known := b.Arguments[name]; (!known || kind == "attribute") && name != "depends_on" {
			t.Errorf("%s: the provider has no argument %s", place, name)
		}
	}
	for name, kind := range b.Arguments {
		if kind == "required" && body.Attributes[name] == nil {
			t.Errorf("%s: the provider requires %s", place, name)
		}
	}
	for _, inner := range body.Blocks {
		below, known := b.Blocks[inner.Type]
		if inner.Type == "lifecycle" {
			continue
		}
		if !known {
			t.Errorf("%s: the provider has no block %s", place, inner.Type)
			continue
		}
		below.check(t, place+"."+inner.Type, inner.Body)
	}
}

// TestTheProviderKnowsAllThatIsWritten holds the configurations of all manifests against the
// provider's schema.
func TestTheProviderKnowsAllThatIsWritten(t *testing.T) {
	known := readProvider(t)
	every(t, func(t *testing.T, _ fixture, c *terraform.Configuration) {
		t.Helper()
		p := parse(t, c)
		for address, b := range p.resources {
			of, ok := known.Resources[b.Labels[0]]
			if !ok {
				t.Errorf("testdata/provider.json has no %s; add it", b.Labels[0])
			}
			of.check(t, address, b.Body)
		}
		for address, b := range p.data {
			known.Data[b.Labels[0]].check(t, "data."+address, b.Body)
		}
	})
}

// TestReferencesResolve looks up each reference: the resource, and the attribute in the provider's
// schema.
func TestReferencesResolve(t *testing.T) {
	known := readProvider(t)
	every(t, func(t *testing.T, _ fixture, c *terraform.Configuration) {
		t.Helper()
		p := parse(t, c)
		p.each(func(place string, e hclsyntax.Expression) {
			if strings.Contains(place, ".lifecycle") {
				return
			}
			for _, reference := range e.Variables() {
				if problem := p.resolve(known, steps(reference)); problem != "" {
					t.Errorf("%s: %s", place, problem)
				}
			}
		})
	})
}

// resolve returns what is wrong with a reference, empty if nothing is.
func (p *parsed) resolve(known provider, names []string) string {
	whole := strings.Join(names, ".")
	switch {
	case whole == "path.module":
		return ""
	case names[0] == "local":
		if p.locals[names[1]] == nil {
			return "there is no " + whole
		}
		return ""
	}
	there, schema := p.resources, known.Resources
	if names[0] == "data" {
		there, schema, names = p.data, known.Data, names[1:]
	}
	if len(names) < 2 || there[names[0]+"."+names[1]] == nil {
		return "there is no " + whole
	}
	if len(names) <= 2 { // depends_on names none
		return ""
	}
	if inner, isBlock := schema[names[0]].Blocks[names[2]]; isBlock {
		if last := names[len(names)-1]; len(names) < 4 || inner.Arguments[last] == "" {
			return whole + " is no attribute of a block"
		}
		return ""
	}
	if schema[names[0]].Arguments[names[2]] == "" {
		return names[0] + " has no attribute " + names[2]
	}
	return ""
}

// TestNothingWaitsForItself looks for cycles, which Terraform refuses.
func TestNothingWaitsForItself(t *testing.T) {
	every(t, func(t *testing.T, _ fixture, c *terraform.Configuration) {
		t.Helper()
		waits := parse(t, c).dependencies()
		state := map[string]int{} // 1 while it is visited, 2 afterwards
		var visit func(string, []string)
		visit = func(address string, path []string) {
			switch path = append(path, address); state[address] {
			case 1:
				t.Fatalf("a cycle: %s", strings.Join(path, " waits for "))
			case 2:
				return
			}
			state[address] = 1
			for _, on := range slices.Sorted(maps.Keys(waits[address])) {
				visit(on, path)
			}
			state[address] = 2
		}
		for _, address := range slices.Sorted(maps.Keys(waits)) {
			visit(address, nil)
		}
	})
}

// dependencies returns what each address refers to.
func (p *parsed) dependencies() map[string]map[string]bool {
	waits := map[string]map[string]bool{}
	p.each(func(place string, e hclsyntax.Expression) {
		of := first(place)
		if waits[of] == nil {
			waits[of] = map[string]bool{}
		}
		for _, reference := range e.Variables() {
			if on := first(strings.Join(steps(reference), ".")); on != "path.module" && !strings.Contains(place, ".lifecycle") {
				waits[of][on] = true
			}
		}
	})
	return waits
}

// first returns the address that a place or a reference begins with.
func first(place string) string {
	const parts = 2
	names := strings.Split(place, ".")
	if names[0] == "data" {
		return strings.Join(names[:min(len(names), parts+1)], ".")
	}
	return strings.Join(names[:min(len(names), parts)], ".")
}
