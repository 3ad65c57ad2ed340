package terraform_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/aws-operator/aws-operator/internal/terraform"
)

// parsed is a configuration as Terraform reads it.
type parsed struct {
	files int
	// resources and data are blocks by address.
	resources, data map[string]*hclsyntax.Block
	// locals and outputs are expressions by name.
	locals, outputs map[string]hclsyntax.Expression
}

// parse parses the *.tf files. It fails the test where one is not formatted, and where something is
// there twice.
func parse(t *testing.T, c *terraform.Configuration) *parsed {
	t.Helper()
	p := &parsed{
		resources: map[string]*hclsyntax.Block{}, data: map[string]*hclsyntax.Block{},
		locals: map[string]hclsyntax.Expression{}, outputs: map[string]hclsyntax.Expression{},
	}
	for name, contents := range c.Files {
		if !strings.HasSuffix(name, ".tf") {
			continue
		}
		p.files++
		file, problems := hclparse.NewParser().ParseHCL(contents, name)
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		if string(hclwrite.Format(contents)) != string(contents) {
			t.Errorf("%s is not formatted as terraform fmt would", name)
		}
		body, ok := file.Body.(*hclsyntax.Body)
		if !ok {
			t.Fatalf("%s is not in Terraform's own syntax", name)
		}
		for _, b := range body.Blocks {
			p.take(t, b)
		}
	}
	return p
}

func (p *parsed) take(t *testing.T, b *hclsyntax.Block) {
	t.Helper()
	address := strings.Join(b.Labels, ".")
	blocks := map[string]map[string]*hclsyntax.Block{"resource": p.resources, "data": p.data}[b.Type]
	switch {
	case blocks != nil && blocks[address] != nil:
		t.Errorf("%s %s is there twice", b.Type, address)
	case blocks != nil:
		blocks[address] = b
	case b.Type == "output":
		p.outputs[address] = b.Body.Attributes["value"].Expr
	case b.Type == "locals":
		for name, a := range b.Body.Attributes {
			p.locals[name] = a.Expr
		}
	}
}

// expressions calls visit for each expression of a block, with the place where it stands.
func expressions(place string, body *hclsyntax.Body, visit func(string, hclsyntax.Expression)) {
	for name, a := range body.Attributes {
		visit(place+"."+name, a.Expr)
	}
	for _, b := range body.Blocks {
		expressions(place+"."+b.Type, b.Body, visit)
	}
}

// each calls visit for each expression of the configuration.
func (p *parsed) each(visit func(string, hclsyntax.Expression)) {
	for address, b := range p.resources {
		expressions(address, b.Body, visit)
	}
	for address, b := range p.data {
		expressions("data."+address, b.Body, visit)
	}
	for name, e := range p.locals {
		visit("local."+name, e)
	}
	for name, e := range p.outputs {
		visit("output."+name, e)
	}
}

// steps returns a traversal as names.
func steps(of hcl.Traversal) []string {
	var names []string
	for _, step := range of {
		switch step := step.(type) {
		case hcl.TraverseRoot:
			names = append(names, step.Name)
		case hcl.TraverseAttr:
			names = append(names, step.Name)
		}
	}
	return names
}
