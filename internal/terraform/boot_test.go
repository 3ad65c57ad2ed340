package terraform_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/terraform"
)

// What Terraform would know after it has made the load balancer and the zone. The address is sorted as the mark is among the
// names of the API server's certificate.
const (
	apiAddress = "tf-0123456789abcdef.elb.eu-central-1.amazonaws.com"
	zoneID     = "Z0987654321ABC"
)

// one is a function of Terraform's of a text.
func one(of func(string) string) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}}, Type: function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.StringVal(of(args[0].AsString())), nil
		},
	})
}

// evaluation evaluates expressions as Terraform does.
func (p *parsed) evaluation(t *testing.T, c *terraform.Configuration) *hcl.EvalContext {
	t.Helper()
	every := func(resource, attribute, value string) cty.Value {
		all := map[string]cty.Value{}
		for address := range p.resources {
			if kind, name, _ := strings.Cut(address, "."); kind == resource {
				all[name] = cty.ObjectVal(map[string]cty.Value{attribute: cty.StringVal(value)})
			}
		}
		return cty.ObjectVal(all)
	}
	ctx := &hcl.EvalContext{
		Variables: map[string]cty.Value{
			"path":             cty.ObjectVal(map[string]cty.Value{"module": cty.StringVal(".")}),
			"aws_lb":           every("aws_lb", "dns_name", apiAddress),
			"aws_route53_zone": every("aws_route53_zone", "zone_id", zoneID),
		},
		Functions: map[string]function.Function{
			"replace": stdlib.ReplaceFunc,
			"file": one(func(path string) string {
				contents, ok := c.Files[strings.TrimPrefix(path, "./")]
				if !ok {
					t.Errorf("there is no %s", path)
				}
				return string(contents)
			}),
			"sha256":       one(hashOf),
			"base64encode": one(func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }),
		},
	}
	locals := map[string]cty.Value{}
	for name, e := range p.locals {
		if strings.HasSuffix(name, "_bundle") {
			locals[name] = cty.StringVal(text(t, e, ctx))
		}
	}
	ctx.Variables["local"] = cty.ObjectVal(locals)
	return ctx
}

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func text(t *testing.T, e hclsyntax.Expression, ctx *hcl.EvalContext) string {
	t.Helper()
	value, problems := e.Value(ctx)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return value.AsString()
}

// TestMachinesBootFromWhatTerraformPutsThere evaluates user data and objects as Terraform would: each machine is told the hash
// of a bundle that is in the bucket under that hash, and the bundle is the one that the operator would make.
func TestMachinesBootFromWhatTerraformPutsThere(t *testing.T) {
	every(t, func(t *testing.T, f fixture, c *terraform.Configuration) {
		p := parse(t, c)
		ctx := p.evaluation(t, c)
		stored := map[string]string{}
		for address, b := range p.resources {
			if content := b.Body.Attributes["content"]; content != nil {
				stored[text(t, b.Body.Attributes["key"].Expr, ctx)] = text(t, content.Expr, ctx)
				if b.Labels[0] != "aws_s3_object" {
					t.Errorf("%s has contents", address)
				}
			}
		}
		machines := 0
		for address, b := range p.resources {
			if b.Labels[0] != "aws_launch_template" || strings.Contains(address, "bastion") {
				continue
			}
			machines++
			encoded := text(t, b.Body.Attributes["user_data"].Expr, ctx)
			script, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil {
				t.Fatal(err)
			}
			told, err := bootstrap.ParseUserData(string(script))
			if err != nil {
				t.Fatalf("%s: %v", address, err)
			}
			document, ok := stored[model.BundleKey(told.BundleSHA256)]
			if !ok || hashOf(document) != told.BundleSHA256 {
				t.Errorf("%s boots from bundle %s, which is not there", address, told.BundleSHA256)
			}
			if _, err := bootstrap.Parse([]byte(document)); err != nil {
				t.Error(err)
			}
		}
		if machines == 0 || machines != len(stored) {
			t.Errorf("there are %d launch templates and %d bundles", machines, len(stored))
		}
		f.sameBundles(t, stored)
	})
}

// sameBundles compares bundles with those that the operator makes when the stacks' outputs are known.
func (f fixture) sameBundles(t *testing.T, stored map[string]string) {
	t.Helper()
	in := f.input(t)
	outputs := map[string]string{model.OutputAPIAddress: apiAddress, model.OutputHostedZone: zoneID}
	check := func(b *bootstrap.Bundle, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if stored[model.BundleKey(b.Hash())] != string(b.JSON()) {
			t.Errorf("a %s's bundle of the operator's is not Terraform's", b.Role)
		}
	}
	for _, slot := range in.Cluster.Slots {
		check(bootstrap.ControlPlane(in.Cluster, slot.Index, outputs))
	}
	for _, group := range in.Groups {
		check(bootstrap.Worker(in.Cluster, group, outputs, in.CACertificate))
	}
}

// TestNoFileOfDataIsMissingOrInTheWay compares the files with what the configuration reads.
func TestNoFileOfDataIsMissingOrInTheWay(t *testing.T) {
	every(t, func(t *testing.T, _ fixture, c *terraform.Configuration) {
		text := string(c.Files["kubernetes.tf"])
		for file := range c.Files {
			if file != "kubernetes.tf" && !strings.Contains(text, `"${path.module}/`+file+`"`) {
				t.Errorf("nothing reads %s", file)
			}
		}
		for _, program := range c.Programs {
			if !strings.Contains(text, `"${path.module}/`+program.Path+`"`) || !strings.Contains(text, program.SHA256) {
				t.Errorf("nothing uploads %s", program.Path)
			}
		}
		for _, secret := range []string{"PRIVATE KEY", model.KeyCAKey + `"` + "\n"} {
			if strings.Contains(text, secret) {
				t.Errorf("there is a %s in the configuration", secret)
			}
		}
	})
}
