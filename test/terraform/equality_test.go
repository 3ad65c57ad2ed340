package terraform

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/apply"
	"github.com/aws-operator/aws-operator/internal/cli/replace"
	"github.com/aws-operator/aws-operator/internal/cli/update"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/partition"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/internal/state"
	mapping "github.com/aws-operator/aws-operator/internal/terraform"
)

// difference is an intended difference.
type difference struct {
	// kind is the type of the resources with the difference, property a pattern of its path.
	kind, property string
	// why documents the reason.
	why string
}

// allowed are the differences between a cluster created by CloudFormation and one created by
// Terraform.
var allowed = []difference{
	{"AWS::IAM::Role", `Policies\[boot\]\..*`, "Without an operator, the slots keep the workers' bootstrap token in the bucket."},
	{"AWS::EC2::LaunchTemplate", `LaunchTemplateData\.UserData`, "It contains the hash of the bundle, which says where the token is."},
	{
		"AWS::EC2::LaunchTemplate",
		`LaunchTemplateData\.NetworkInterfaces\[0\]\.NetworkCardIndex`,
		"The provider sets 0, which is AWS's default.",
	},
	{
		"AWS::EC2::LaunchTemplate",
		`TagSpecifications\[launch-template\]\..*`,
		"The simulator's CloudFormation sets the stack's tags on it; AWS's does not, as the schema of the type " +
			"says (not taggable), and https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/2227.",
	},
	{"AWS::S3::Bucket", `LifecycleConfiguration\.TransitionDefaultMinimumObjectSize`, "The provider sets AWS's default."},
	{
		"AWS::ElasticLoadBalancingV2::LoadBalancer",
		`(LoadBalancer(Full)?)?Name`,
		"Both generate the name: the provider's prefixes have six letters, too few for the cluster's name.",
	},
	{"AWS::ElasticLoadBalancingV2::TargetGroup", `(TargetGroup(Full)?)?Name`, "Both generate the name, as for the load balancer."},
	{"AWS::EC2::LaunchTemplate", `LaunchTemplateName`, "Both generate the suffix."},
	{"AWS::EC2::SecurityGroup", `GroupName`, "Both generate the suffix."},
	{"AWS::IAM::ManagedPolicy", `ManagedPolicyName`, "Both generate the suffix."},
	{"AWS::IAM::Role", `RoleId`, "AWS generates it."},
	{"AWS::AutoScaling::AutoScalingGroup", `AutoScalingGroupARN`, "AWS generates a part of it."},
	{"AWS::EC2::NatGateway", `PrivateIpAddress`, "It is the next address of the subnet, which depends on the order of creation."},
}

// unread are the types for which the simulator's CloudFormation creates nothing that its other APIs
// show, so that there is nothing to compare.
var unread = []string{"AWS::IAM::OIDCProvider"}

// eksAllowed are those of a cluster whose control plane EKS runs.
var eksAllowed = []difference{
	{"AWS::EKS::Cluster", `(Arn|CertificateAuthorityData|ClusterSecurityGroupId|EncryptionConfigKeyArn|Endpoint|Id|OpenIdConnectIssuerUrl)`, "AWS generates a part of it."},
	{"AWS::EKS::AccessEntry", `AccessEntryArn`, "AWS generates a part of it."},
	{"AWS::EKS::Addon", `Arn`, "AWS generates a part of it."},
	{"AWS::EKS::PodIdentityAssociation", `Association(Arn|Id)`, "AWS generates a part of it."},
	{"AWS::EKS::Nodegroup", `Arn|Id|NodegroupName|LaunchTemplate\.Name`, "Both generate the suffix."},
	{"AWS::EC2::LaunchTemplate", `LaunchTemplateName`, "Both generate the suffix."},
	{
		"AWS::EC2::LaunchTemplate",
		`TagSpecifications\[launch-template\]\..*`,
		"The simulator's CloudFormation sets the stack's tags on it; AWS's does not, as for other clusters.",
	},
	{"AWS::EC2::LaunchTemplate", `LaunchTemplateData\.NetworkInterfaces\[0\]\.Groups\[0\]`, "EKS makes the security group."},
	{"AWS::EC2::LaunchTemplate", `LaunchTemplateData\.NetworkInterfaces\[0\]\.NetworkCardIndex`, "The provider sets 0, which is AWS's default."},
	{"AWS::IAM::Role", `RoleId`, "AWS generates it."},
}

// otherAccount is the account in which CloudFormation creates the cluster.
const otherAccount = "210987654321"

// principals is the account of the principals of an example.
const principals = "111122223333"

// TestCloudFormationAndTerraformMakeTheSameCluster creates a cluster in two accounts from the same
// manifest, by CloudFormation and by Terraform, and compares all resources, property by property,
// as CloudFormation would read them.
func TestCloudFormationAndTerraformMakeTheSameCluster(t *testing.T) {
	newCloud(t).compare("private-three-slots", "private", allowed)
}

// TestCloudFormationAndTerraformMakeTheSameClusterOfEKS does the same for a cluster whose control plane EKS runs, whose
// plan is then empty, and destroys it.
func TestCloudFormationAndTerraformMakeTheSameClusterOfEKS(t *testing.T) {
	c := newEKSCloud(t)
	applied := c.compare("eks", "managed", eksAllowed)
	applied.unchanged()
	applied.destroy()
}

// TestCloudFormationAndTerraformMakeTheSameAutoMode does the same for EKS Auto Mode.
func TestCloudFormationAndTerraformMakeTheSameAutoMode(t *testing.T) {
	c := newEKSCloud(t)
	applied := c.compare("eks-auto-mode", "automatic", slices.DeleteFunc(slices.Clone(eksAllowed), func(d difference) bool {
		return slices.Contains([]string{"AWS::EC2::LaunchTemplate", "AWS::EKS::Addon", "AWS::EKS::Nodegroup"}, d.kind) // It has none of these.
	}))
	applied.unchanged()
	applied.destroy()
}

// TestCloudFormationAndTerraformMakeTheSameSelfManagedGroup does the same for a group of EKS with an Auto Scaling group of its
// own, beside a managed one.
func TestCloudFormationAndTerraformMakeTheSameSelfManagedGroup(t *testing.T) {
	c := newEKSCloud(t)
	applied := c.compare("eks-self-managed", "eks-mixed", slices.Concat(
		slices.DeleteFunc(slices.Clone(eksAllowed), func(d difference) bool {
			return slices.Contains([]string{"AWS::EKS::Addon", "AWS::EKS::PodIdentityAssociation"}, d.kind) // It has none of these.
		}),
		slices.DeleteFunc(slices.Clone(allowed), func(d difference) bool {
			return !strings.HasPrefix(d.kind, "AWS::AutoScaling::")
		}),
		[]difference{{"AWS::EC2::LaunchTemplate", `LaunchTemplateData\.UserData`, "It has the address and the CA of the cluster's API, which EKS makes."}},
	))
	applied.unchanged()
	applied.destroy()
}

// newEKSCloud returns a cloud with the principals of the examples.
func newEKSCloud(t *testing.T) *cloud {
	t.Helper()
	c := newCloud(t)
	config := c.config()
	config.Credentials = credentials.NewStaticCredentialsProvider(principals, "secret", "")
	for _, role := range []string{"developers", "platform"} {
		simulatortest.Role(t, config, role, principals, "")
	}
	return c
}

// compare creates the cluster of an example by Terraform and by CloudFormation, and compares. It returns Terraform's.
func (c *cloud) compare(example, name string, allowed []difference) *terraform {
	c.t.Helper()
	t := c.t
	manifest := local(t, example)
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	write(t, manifest, strings.ReplaceAll(string(text), account, principals)) // neither of the two
	dir := t.TempDir()
	kept := filepath.Join(dir, "state")
	c.command(replace.Command(), "-f", manifest, "--state", kept)
	c.command(update.Command(), "cluster", name, "--state", kept, "--target", "terraform", "--out", dir, "--nodeup-dir", programs(t))
	applied := c.in(dir)
	applied.apply()

	c.use()
	t.Setenv("AWS_ACCESS_KEY_ID", otherAccount)
	c.command(
		apply.Command(), "-f", manifest, "--state", filepath.Join(t.TempDir(), "state"), "--nodeup-dir", programs(t),
		"--poll", "200ms", "--yes",
	)

	resources := slices.DeleteFunc(resourcesOf(t, kept, name), func(r mapping.Resource) bool { return slices.Contains(unread, r.Type) })
	byTerraform, byCloudFormation := c.byTerraform(applied, resources), c.byCloudFormation(otherAccount, resources)
	used := map[int]bool{}
	for i, r := range resources {
		want, got := flat(byCloudFormation[i]), flat(byTerraform[i])
		keys := maps.Clone(want)
		maps.Copy(keys, got)
		for _, property := range slices.Sorted(maps.Keys(keys)) {
			if want[property] == got[property] {
				continue
			}
			if at := meant(allowed, r, property); at >= 0 {
				used[at] = true
				continue
			}
			t.Errorf("%s/%s (%s): %s\n  CloudFormation: %s\n  Terraform:      %s", r.Stack, r.LogicalID, r.Type, property, want[property], got[property])
		}
	}
	for i, d := range allowed {
		if !used[i] && d.kind != "AWS::EC2::NatGateway" { // they may be created in the same order
			t.Errorf("there is no difference in %s of %s: remove it from the list", d.property, d.kind)
		}
	}
	t.Logf("compared %d resources", len(resources))
	return applied
}

// local returns the file of an example with a release without charts, which would be downloaded
// from the Internet.
func local(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../examples/clusters", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	of, err := environment.LocalRelease(nil)
	if err != nil {
		t.Fatal(err)
	}
	before := of.Name
	of.Name, of.APIVersion, of.Kind = "v1.36.3-test.1", "cluster-operator.aws/v1alpha1", "Release"
	text = []byte(strings.ReplaceAll(string(text), "release: "+before, "release: v1.36.3-test.1"))
	extra, err := yaml.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name+".yaml")
	write(t, file, string(text)+"\n---\n"+string(extra))
	return file
}

// meant returns the index of the allowed difference, or -1.
func meant(allowed []difference, r mapping.Resource, property string) int {
	return slices.IndexFunc(allowed, func(d difference) bool {
		return d.kind == r.Type && regexp.MustCompile("^(?:"+d.property+")$").MatchString(property)
	})
}

// resourcesOf returns the resources of a cluster of a state.
func resourcesOf(t *testing.T, dir, name string) []mapping.Resource {
	t.Helper()
	return configurationOf(t, dir, name).Resources
}

// configurationOf returns the configuration of a cluster of a state, without the hashes of what its
// machines run, and with resources renamed.
func configurationOf(t *testing.T, dir, name string, renames ...mapping.Rename) *mapping.Configuration {
	t.Helper()
	from, err := state.Open(t.Context(), dir, state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := from.Load(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	of, suffix := partition.Of(objects.Cluster.Spec.Region)
	releases, err := release.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	releases = append(objects.Releases, releases...)
	at := slices.IndexFunc(releases, func(r *v1alpha1.Release) bool { return r.Name == objects.Cluster.Spec.Release })
	cluster, err := model.Resolve(model.Input{
		Cluster: objects.Cluster, Release: releases[at], Operator: "aws-operator", AccountID: account, Partition: of, DNSSuffix: suffix,
		Alone: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	in := mapping.Input{
		Cluster: cluster, Renames: renames, CACertificate: []byte("-"),
		Nodeup: map[v1alpha1.Architecture]string{v1alpha1.AMD64: strings.Repeat("0a", 32), v1alpha1.ARM64: strings.Repeat("0b", 32)},
	}
	for _, secret := range objects.Secrets {
		if secret.Name == name+pki.SuffixCA {
			in.CACertificate = secret.Data[corev1.TLSCertKey]
		}
	}
	for _, g := range objects.Groups {
		group, err := model.ResolveGroup(cluster, g)
		if err != nil {
			t.Fatal(err)
		}
		in.Groups = append(in.Groups, group)
	}
	made, err := mapping.Cluster(in)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// byTerraform returns the properties of the resources that Terraform created.
func (c *cloud) byTerraform(p *terraform, resources []mapping.Resource) []any {
	c.t.Helper()
	var shown struct {
		Values struct {
			RootModule struct {
				Resources []struct {
					Address string
					Values  map[string]any
				}
			} `json:"root_module"`
		}
	}
	if err := json.Unmarshal([]byte(p.run("show", "-json")), &shown); err != nil {
		c.t.Fatal(err)
	}
	values := map[string]map[string]any{}
	for _, r := range shown.Values.RootModule.Resources {
		values[r.Address] = r.Values
	}
	ids := make([]string, len(resources))
	for i, r := range resources {
		of := values[r.Address]
		if of == nil {
			c.t.Fatalf("Terraform created no %s", r.Address)
		}
		switch r.Type {
		case "AWS::EC2::Route":
			ids[i] = fmt.Sprint(of["route_table_id"], "|", of["destination_cidr_block"])
		case "AWS::EC2::VPCGatewayAttachment":
			ids[i] = fmt.Sprint("IGW|", of["vpc_id"])
		case "AWS::EKS::AccessEntry":
			ids[i] = fmt.Sprint(of["principal_arn"], "|", of["cluster_name"])
		case "AWS::EKS::Addon":
			ids[i] = fmt.Sprint(of["cluster_name"], "|", of["addon_name"])
		case "AWS::EKS::Nodegroup":
			ids[i] = fmt.Sprint(of["cluster_name"], "/", of["node_group_name"])
		default:
			ids[i] = fmt.Sprint(of[r.Ref])
		}
	}
	return c.read(account, resources, ids)
}

// byCloudFormation returns the properties of the resources that CloudFormation created.
func (c *cloud) byCloudFormation(in string, resources []mapping.Resource) []any {
	c.t.Helper()
	config := c.config()
	config.Credentials = credentials.NewStaticCredentialsProvider(in, "secret", "")
	client := cloudformation.NewFromConfig(config)
	known := map[string]map[string]string{}
	ids := make([]string, len(resources))
	for i, r := range resources {
		if known[r.Stack] == nil {
			out, err := client.DescribeStackResources(c.t.Context(), &cloudformation.DescribeStackResourcesInput{StackName: &r.Stack})
			if err != nil {
				c.t.Fatal(err)
			}
			known[r.Stack] = map[string]string{}
			for _, one := range out.StackResources {
				known[r.Stack][aws.ToString(one.LogicalResourceId)] = aws.ToString(one.PhysicalResourceId)
			}
		}
		ids[i] = known[r.Stack][r.LogicalID]
	}
	return c.read(in, resources, ids)
}

// made matches the IDs that AWS generates for what is not a resource of its own.
var made = regexp.MustCompile(`eipalloc-[0-9a-f]+|[\w-]+\.elb\.[a-z0-9-]+\.amazonaws\.com`)

// read returns the properties of resources, with the IDs of other resources replaced by their
// logical IDs.
func (c *cloud) read(in string, resources []mapping.Resource, ids []string) []any {
	c.t.Helper()
	var names []string
	for i, r := range resources {
		if len(ids[i]) > 3 && r.Type != "AWS::S3::BucketPolicy" && r.Type != "AWS::Route53::RecordSet" && r.Type != "AWS::KMS::Alias" {
			names = append(names, ids[i]+"\x00{"+r.Stack+"/"+r.LogicalID+"}")
		}
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) }) // the longest first: one may be part of another
	var pairs []string
	for _, name := range names {
		id, label, _ := strings.Cut(name, "\x00")
		pairs = append(pairs, id, label)
	}
	labels := strings.NewReplacer(append(pairs, in, "{account}")...)
	all := make([]any, len(resources))
	for i, r := range resources {
		request := resource.Request{Account: in, Region: region, PhysicalID: ids[i], StackName: r.Stack, LogicalID: r.LogicalID}
		properties, err := c.simulator.Read(c.t.Context(), r.Type, request)
		if err != nil {
			c.t.Errorf("read %s/%s (%s, %s) in %s: %v", r.Stack, r.LogicalID, r.Type, ids[i], in, err)
			continue
		}
		text, err := json.Marshal(properties)
		if err != nil {
			c.t.Fatal(err)
		}
		clean := made.ReplaceAllString(labels.Replace(string(text)), "{made up}")
		if err := json.Unmarshal([]byte(clean), &all[i]); err != nil {
			c.t.Fatal(err)
		}
	}
	return all
}

// flat returns the values of properties by path. Elements of a list that have a key are identified
// by it.
func flat(properties any) map[string]string {
	all := map[string]string{}
	flatten("", properties, all)
	return all
}

func flatten(path string, value any, into map[string]string) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			flatten(strings.TrimPrefix(path+"."+key, "."), inner, into)
		}
	case []any:
		texts := make([]string, len(v))
		for i, inner := range v {
			text, _ := json.Marshal(inner)
			texts[i] = string(text)
		}
		slices.Sort(texts)
		for i, text := range texts {
			var inner any
			_ = json.Unmarshal([]byte(text), &inner)
			name := fmt.Sprint(i)
			if of, ok := inner.(map[string]any); ok {
				for _, key := range []string{"Key", "PolicyName", "LifecycleHookName", "Sid", "ResourceType"} {
					if text, ok := of[key].(string); ok {
						name = text
						break
					}
				}
			}
			if strings.HasPrefix(name, "aws:") { // CloudFormation's own tags
				continue
			}
			flatten(path+"["+name+"]", inner, into)
		}
	case string:
		if decoded, err := base64.StdEncoding.DecodeString(v); err == nil && strings.HasPrefix(string(decoded), "#!") {
			v = string(decoded)
		}
		into[path] = v
	default:
		into[path] = fmt.Sprint(v)
	}
}
