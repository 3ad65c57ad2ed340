package terraform_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/terraform"
)

// What Terraform would know after it has made the load balancer and the zone. The address is sorted
// as the mark is among the names of the API server's certificate.
const (
	workerRole = "arn:aws:iam::123456789012:role/demo-worker"
	apiAddress = "tf-LB-0123456789abcdef.elb.eu-central-1.amazonaws.com"
	zoneID     = "Z0987654321ABC"
	keyARN     = "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
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
			"aws_kms_key":      every("aws_kms_key", "arn", keyARN),
			"aws_iam_role":     every("aws_iam_role", "arn", workerRole),
			"aws_route53_zone": every("aws_route53_zone", "zone_id", zoneID),
			"data": cty.ObjectVal(map[string]cty.Value{"aws_caller_identity": cty.ObjectVal(map[string]cty.Value{
				"current": cty.ObjectVal(map[string]cty.Value{"account_id": cty.StringVal("123456789012")}),
			})}),
		},
		Functions: map[string]function.Function{
			"replace": stdlib.ReplaceFunc,
			"lower":   stdlib.LowerFunc,
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

// TestMachinesBootFromWhatTerraformPutsThere evaluates user data and objects as Terraform would:
// user data has the hash of a bundle, the bucket has that bundle, and the bundle equals the one
// that the model returns when the stacks' outputs are known.
func TestMachinesBootFromWhatTerraformPutsThere(t *testing.T) {
	every(t, func(t *testing.T, f fixture, c *terraform.Configuration) {
		t.Helper()
		if f.cluster.Spec.ControlPlane.EKS != nil {
			return // EKS boots its nodes.
		}
		p := parse(t, c)
		ctx := p.evaluation(t, c)
		stored := map[string]string{}
		for address, b := range p.resources {
			if content := b.Body.Attributes["content"]; content != nil && !strings.Contains(address, "_oidc_") {
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
			userData, err := bootstrap.ParseUserData(string(script))
			if err != nil {
				t.Fatalf("%s: %v", address, err)
			}
			document, ok := stored[model.BundleKey(userData.BundleSHA256)]
			if !ok || hashOf(document) != userData.BundleSHA256 {
				t.Errorf("%s boots from bundle %s, which is not there", address, userData.BundleSHA256)
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

// sameBundles compares bundles with those that are made when the stacks' outputs are known.
func (f fixture) sameBundles(t *testing.T, stored map[string]string) {
	t.Helper()
	in := f.input(t)
	outputs := map[string]string{
		model.OutputAPIAddress: apiAddress, model.OutputHostedZone: zoneID, model.OutputWorkerRole: workerRole, model.OutputKey: keyARN,
	}
	check := func(b *bootstrap.Bundle, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if stored[model.BundleKey(b.Hash())] != string(b.JSON()) {
			t.Errorf("a %s's bundle is not Terraform's", b.Role)
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
		t.Helper()
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
	})
}

// TestSecretsAreUploadedAndStandNowhere checks everything that Git, plans and Terraform's state
// contain.
func TestSecretsAreUploadedAndStandNowhere(t *testing.T) {
	every(t, func(t *testing.T, f fixture, c *terraform.Configuration) {
		t.Helper()
		if f.cluster.Spec.ControlPlane.EKS != nil {
			return // EKS boots its nodes.
		}
		if len(c.Secrets) != len(keys()) {
			t.Errorf("there are %d secrets of %d", len(c.Secrets), len(keys()))
		}
		slots := 0
		for file, contents := range c.Secrets {
			if !strings.HasPrefix(file, c.SecretsFolder()+"/") {
				t.Errorf("%s is not in %s", file, c.SecretsFolder())
			}
			if !strings.Contains(string(c.Files["kubernetes.tf"]), `"${path.module}/`+file+`"`) {
				t.Errorf("nothing uploads %s", file)
			}
			for name, text := range c.Files {
				if strings.Contains(string(text), string(contents)) {
					t.Errorf("%s has what is in %s", name, file)
				}
			}
		}
		for address, b := range parse(t, c).resources {
			if b.Labels[0] == "aws_autoscaling_group" && strings.Contains(address, "control_plane") {
				slots++
				if waits := string(dependsOn(c, b)); !strings.Contains(waits, "_pki_ca_key,") {
					t.Errorf("%s does not wait for the keys", address)
				}
			}
		}
		if slots == 0 {
			t.Error("there are no slots")
		}
		if slices.ContainsFunc(c.Elsewhere, func(key string) bool { return strings.Contains(key, "pki/") }) {
			t.Errorf("the keys are in the configuration and said to be missing: %v", c.Elsewhere)
		}
	})
}

// dependsOn returns the text of a block's depends_on.
func dependsOn(c *terraform.Configuration, b *hclsyntax.Block) []byte {
	of := b.Body.Attributes["depends_on"]
	if of == nil {
		return nil
	}
	return of.SrcRange.SliceBytes(c.Files[of.SrcRange.Filename])
}

// TestWithoutKeysItIsSaidWhatIsMissing leaves out what a caller may not have.
func TestWithoutKeysItIsSaidWhatIsMissing(t *testing.T) {
	f := fixtures(t, "../../examples/clusters/minimal-public.yaml")["minimal-public.minimal"]
	c := f.configuration(t, func(in *terraform.Input) { in.Keys = nil })
	if len(c.Secrets) != 0 || len(c.Elsewhere) != 1 || !strings.HasSuffix(c.Elsewhere[0], "/pki/") {
		t.Errorf("it has %d secrets and says that %v are missing", len(c.Secrets), c.Elsewhere)
	}
}

// TestTheAccountMayBeTheProvidersOwn evaluates what Terraform would with the account that it finds
// out: it is all the same.
func TestTheAccountMayBeTheProvidersOwn(t *testing.T) {
	for name, f := range fixtures(t, "../../examples/clusters/*.yaml") {
		t.Run(name, func(t *testing.T) {
			in := f.input(t)
			unknown, err := model.Resolve(model.Input{
				Cluster: f.cluster, Release: releaseOf(t, f.cluster.Spec.Release), Operator: "aws-operator",
				AccountID: terraform.AccountOfProvider,
				Partition: "aws", DNSSuffix: "amazonaws.com", Existing: f.existing(), Alone: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			known, in2 := f.configuration(t, nil), in
			in2.Cluster = unknown
			for key := range in2.Public {
				in2.Public[key] = []byte(strings.ReplaceAll(string(in2.Public[key]), "123456789012", terraform.AccountOfProvider))
			}
			c, err := terraform.Cluster(in2)
			if err != nil {
				t.Fatal(err)
			}
			p, want := parse(t, c), parse(t, known)
			bundles, wanted := p.contents(t, c), want.contents(t, known)
			if diff := cmp.Diff(wanted, bundles); diff != "" {
				t.Errorf("the bucket holds something else (-known +asked for):\n%s", diff)
			}
			for file, contents := range c.Files {
				if strings.Contains(string(contents), "123456789012") && !strings.Contains(string(known.Files[file]), "role/") {
					t.Errorf("%s has an account", file)
				}
			}
		})
	}
}

// contents returns what is put into the bucket as text, by key.
func (p *parsed) contents(t *testing.T, c *terraform.Configuration) map[string]string {
	t.Helper()
	ctx := p.evaluation(t, c)
	all := map[string]string{}
	for _, b := range p.resources {
		if content := b.Body.Attributes["content"]; content != nil {
			all[text(t, b.Body.Attributes["key"].Expr, ctx)] = text(t, content.Expr, ctx)
		}
	}
	return all
}

// TestABucketWhoseNameIsShortenedNeedsTheAccount has a name that the account's number is no part
// of.
func TestABucketWhoseNameIsShortenedNeedsTheAccount(t *testing.T) {
	f := fixtures(t, "../../examples/clusters/minimal-public.yaml")["minimal-public.minimal"]
	in := f.input(t)
	in.Cluster.AccountID, in.Cluster.Bucket = terraform.AccountOfProvider, "minimal-0a1b2c3d"
	if _, err := terraform.Cluster(in); err == nil || !strings.Contains(err.Error(), "--aws-account-id") {
		t.Errorf("it says %v", err)
	}
}

// TestConditionsNameTheIssuerInTheProvidersAccount has a bucket of the issuer, whose name has the
// account's number. The keys of conditions begin with it.
func TestConditionsNameTheIssuerInTheProvidersAccount(t *testing.T) {
	f := fixtures(t, "../../examples/clusters/private-three-slots.yaml")["private-three-slots.private"]
	in := f.input(t)
	release := releaseOf(t, "v1.36.4")
	f.cluster.Spec.Release = release.Name
	var err error
	in.Cluster, err = model.Resolve(model.Input{
		Cluster: f.cluster, Release: release, Operator: "aws-operator", AccountID: terraform.AccountOfProvider,
		Partition: "aws", DNSSuffix: "amazonaws.com", Existing: f.existing(), Alone: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := terraform.Cluster(in)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for file, contents := range c.Files {
		if !strings.Contains(file, "assume_role_policy") {
			continue
		}
		if strings.Contains(string(contents), terraform.AccountOfProvider) {
			t.Errorf("in %s, a mark stands for the account:\n%s", file, contents)
		}
		found = found || strings.Contains(string(contents), `"private-${account_id}-eu-central-1-oidc.s3.eu-central-1.amazonaws.com/oidc:aud": `)
	}
	if !found {
		t.Error("no role trusts the issuer")
	}
}
