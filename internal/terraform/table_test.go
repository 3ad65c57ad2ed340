package terraform

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
)

// mapped maps one stack of the given template and returns its blocks as text, and the module.
func mapped(t *testing.T, text string, parameters map[string]string) (string, *module, error) {
	t.Helper()
	parsed, err := template.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m := newModule("demo")
	s, err := m.add(&render.Stack{Name: "demo", Template: parsed, Parameters: parameters, Tags: map[string]string{"a": "b"}}, true)
	if err != nil {
		return "", m, err
	}
	if err := m.learn(s); err != nil {
		return "", m, err
	}
	if err := m.translate(); err != nil {
		return "", m, err
	}
	return string(write("demo", s.blocks())), m, nil
}

func TestWhatTheTableLacksIsNamed(t *testing.T) {
	const vpc = "Resources:\n  VPC:\n    Type: AWS::EC2::VPC\n    Properties:\n"
	for name, test := range map[string]struct{ template, want string }{
		"a type": {
			"Resources: {Queue: {Type: AWS::SQS::Queue}}",
			"stack demo: Queue is of type AWS::SQS::Queue, which has no counterpart",
		},
		"a property": {
			vpc + "      InstanceTenancy: default\n",
			"stack demo: VPC (AWS::EC2::VPC): InstanceTenancy: the property has no counterpart",
		},
		"a property below others": {
			"Resources: {T: {Type: AWS::EC2::LaunchTemplate, Properties: {LaunchTemplateData: {BlockDeviceMappings: [{Ebs: {Encrypted: true}}, {Ebs: {SnapshotId: s}}]}}}}",
			"LaunchTemplateData.BlockDeviceMappings[1].Ebs.SnapshotId: the property has no counterpart",
		},
		"an attribute of a load balancer": {
			"Resources: {L: {Type: AWS::ElasticLoadBalancingV2::LoadBalancer, Properties: {LoadBalancerAttributes: [{Key: deletion_protection.enabled, Value: 'true'}]}}}",
			`LoadBalancerAttributes[0]: the attribute "deletion_protection.enabled" has no counterpart`,
		},
		"an attribute of a resource": {
			vpc + "      CidrBlock: !GetAtt Other.Ipv6CidrBlocks\n  Other: {Type: AWS::EC2::VPC}\n",
			"CidrBlock: the attribute Ipv6CidrBlocks of Other (AWS::EC2::VPC) has no counterpart",
		},
		"what Ref means": {
			"Resources: {P: {Type: AWS::IAM::InstanceProfile, Properties: {Roles: [!Ref Nothing]}}}",
			"Nothing, to which Ref or Fn::GetAtt refers, cannot be resolved",
		},
		"a function": {
			vpc + "      CidrBlock: !Cidr [10.0.0.0/8, 1]\n",
			"CidrBlock: the function Fn::Cidr has no counterpart",
		},
		"a pseudo parameter": {
			vpc + "      CidrBlock: !Ref AWS::StackId\n",
			"AWS::StackId, to which Ref or Fn::GetAtt refers, cannot be resolved",
		},
		"a condition on a resource": {
			"Conditions: {Some: !Equals [a, b]}\nResources: {VPC: {Type: AWS::EC2::VPC, Condition: Some}}",
			"the condition Some has no counterpart",
		},
		"a creation policy": {
			"Resources: {VPC: {Type: AWS::EC2::VPC, CreationPolicy: {ResourceSignal: {Count: 1}}}}",
			"CreationPolicy has no counterpart",
		},
		"a snapshot of what has none": {
			"Resources: {VPC: {Type: AWS::EC2::VPC, DeletionPolicy: Snapshot}}",
			"the DeletionPolicy Snapshot has no counterpart",
		},
		"a secret parameter": {
			"Parameters: {P: {Type: String, NoEcho: true, Default: x}}\n" + vpc + "      CidrBlock: !Ref P\n",
			"the parameter P is secret, and would be in Terraform's state",
		},
		"two resources of one name": {
			"Resources: {VPC: {Type: AWS::EC2::VPC}, VPCVPC: {Type: AWS::EC2::VPC}, VpcVPC: {Type: AWS::EC2::VPC}}",
			"demo/VPCVPC and demo/VpcVPC would both be aws_vpc.demo_vpc",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := mapped(t, test.template, nil); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestFunctionsBecomeExpressions(t *testing.T) {
	const around = `
Parameters:
  Image: {Type: "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>", Default: /images/one}
  List: {Type: CommaDelimitedList, Default: "one, two"}
  Plain: {Type: String, Default: "plain"}
Mappings: {Sizes: {one: {cidr: 10.1.0.0/16}}}
Conditions:
  Big: !Equals [!Ref Plain, big]
  Both: !And [!Condition Big, !Not [!Equals [!Ref "AWS::Region", eu-central-1]]]
Outputs: {Exported: {Value: !Ref Gateway, Export: {Name: demo-gateway}}}
Resources:
  Gateway: {Type: AWS::EC2::InternetGateway}
  Address: {Type: AWS::EC2::EIP}
  VPC:
    Type: AWS::EC2::VPC
    Properties: {CidrBlock: `
	for expression, want := range map[string]string{
		`!Ref Gateway`:                           `aws_internet_gateway.demo_gateway.id`,
		`!GetAtt Address.AllocationId`:           `aws_eip.demo_address.id`,
		`!Ref Plain`:                             `"plain"`,
		`!Ref List`:                              `["one", "two"]`,
		`!Ref Image`:                             `data.aws_ssm_parameter.demo_image.insecure_value`,
		`!Ref "AWS::AccountId"`:                  `data.aws_caller_identity.current.account_id`,
		`!Ref "AWS::Region"`:                     `data.aws_region.current.id`,
		`!Ref "AWS::Partition"`:                  `data.aws_partition.current.partition`,
		`!Ref "AWS::URLSuffix"`:                  `data.aws_partition.current.dns_suffix`,
		`!Ref "AWS::StackName"`:                  `"demo"`,
		`!Sub "${Address}/32"`:                   `"${aws_eip.demo_address.public_ip}/32"`,
		`!Sub "${Address}"`:                      `aws_eip.demo_address.public_ip`,
		`!Sub ["${A}-${!B}", {A: !Ref Gateway}]`: `"${aws_internet_gateway.demo_gateway.id}-$${B}"`,
		`!Join ["-", [a, !Ref Gateway, !Sub "x${Address}"]]`: `"a-${aws_internet_gateway.demo_gateway.id}-x${aws_eip.demo_address.public_ip}"`,
		`!Join [",", !Ref List]`:                             `join(",", ["one", "two"])`,
		`!Select [1, [a, !Ref Gateway]]`:                     `aws_internet_gateway.demo_gateway.id`,
		`!Select [0, !Split [".", !Ref Address]]`:            `split(".", aws_eip.demo_address.public_ip)[0]`,
		`!If [Big, a, !Ref Gateway]`:                         `("plain" == "big") ? "a" : aws_internet_gateway.demo_gateway.id`,
		`!If [Both, a, !Ref "AWS::NoValue"]`:                 `(("plain" == "big") && !(data.aws_region.current.id == "eu-central-1")) ? "a" : null`,
		`!FindInMap [Sizes, one, cidr]`:                      `"10.1.0.0/16"`,
		`!ImportValue demo-gateway`:                          `aws_internet_gateway.demo_gateway.id`,
		`!Base64 text`:                                       `base64encode("text")`,
		`"%{ if } ${x} \"quoted\" é"`:                        `"%%{ if } $${x} \"quoted\" é"`,
	} {
		t.Run(expression, func(t *testing.T) {
			out, m, err := mapped(t, around+expression+"}\n", nil)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out, "cidr_block = "+want+"\n") {
				t.Errorf("want %s, got\n%s", want, out)
			}
			for address := range m.data {
				if !strings.Contains(want, address) {
					t.Errorf("nothing reads %s", address)
				}
			}
		})
	}
}

func TestAttributesAreTranslated(t *testing.T) {
	out, _, err := mapped(t, `
Resources:
  Kept: {Type: AWS::EC2::VPC, DeletionPolicy: Retain}
  Volume: {Type: AWS::EC2::Volume, DeletionPolicy: Snapshot}
  Bucket:
    Type: AWS::S3::Bucket
    Properties: {BucketName: b, VersioningConfiguration: {Status: Enabled}}
  Policy:
    Type: AWS::S3::BucketPolicy
    Properties: {Bucket: !Ref Bucket, PolicyDocument: {Statement: ["${text}", !GetAtt Bucket.Arn, !Sub "${Bucket.Arn}/*"]}}
  After: {Type: AWS::EC2::InternetGateway, DependsOn: [Bucket, Kept]}
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"resource \"aws_vpc\" \"demo_kept\" {\n  tags = local.demo_tags\n\n  lifecycle {\n    prevent_destroy = true\n  }\n}",
		"  final_snapshot = true\n",
		"  depends_on = [\n    aws_s3_bucket_versioning.demo,\n  ]\n",
		"  depends_on = [\n    aws_s3_bucket.demo,\n    aws_s3_bucket_versioning.demo,\n    aws_vpc.demo_kept,\n  ]\n",
		"{\n    bucket_arn = aws_s3_bucket.demo.arn\n  })",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("want %s, got\n%s", want, out)
		}
	}
}

func TestDocumentsAreTemplatesOnlyWhereTheyRefer(t *testing.T) {
	_, m, err := mapped(t, `
Resources:
  Role:
    Type: AWS::IAM::Role
    Properties: {AssumeRolePolicyDocument: {Statement: [{Sid: "${aws:username} <&>", Action: [a, b], Resource: []}]}}
  Policy:
    Type: AWS::IAM::ManagedPolicy
    Properties: {PolicyDocument: {Statement: [{Sid: "${aws:username}", Resource: !Sub "${Role.Arn}/*", Max: 5, Bool: {x: true}}]}}
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"data/demo/aws_iam_role.demo.assume_role_policy.json": `{
  "Statement": [
    {
      "Sid": "${aws:username} <&>",
      "Action": [
        "a",
        "b"
      ],
      "Resource": []
    }
  ]
}
`,
		"data/demo/aws_iam_policy.demo.policy.json": `{
  "Statement": [
    {
      "Sid": "$${aws:username}",
      "Resource": "${role_arn}/*",
      "Max": 5,
      "Bool": {
        "x": true
      }
    }
  ]
}
`,
	} {
		if got := string(m.files[file]); got != want {
			t.Errorf("%s is\n%s\nwant\n%s", file, got, want)
		}
	}
}

// TestTagsAreWhereCloudFormationPutsThem compares the table with the types' schemas.
func TestTagsAreWhereCloudFormationPutsThem(t *testing.T) {
	for name, row := range table {
		of, ok := schema.Default().Type(name)
		if !ok {
			t.Errorf("there is no type %s", name)
			continue
		}
		if takes := of.Taggable && of.TagProperty != ""; takes != row.tagged {
			t.Errorf("%s: the stack's tags are put on it: %v by CloudFormation, %v by Terraform", name, takes, row.tagged)
		}
		for property := range row.properties {
			if of.Root.Properties[property] == nil {
				t.Errorf("%s has no property %s", name, property)
			}
		}
		for attribute := range row.attributes {
			if !slices.Contains(of.Attributes(), attribute) {
				t.Errorf("%s has no attribute %s; it has %v", name, attribute, of.Attributes())
			}
		}
	}
}

func TestNames(t *testing.T) {
	for from, want := range map[string]string{
		"VPC": "vpc", "PrivateSubnetEuCentral1a": "private_subnet_eu_central_1a", "APILoadBalancer": "api_load_balancer", "S3": "s3",
		"EtcdVolume0": "etcd_volume_0", "WorkerSSHFromBastion": "worker_ssh_from_bastion",
		"AmazonSSMManagedInstanceCore": "amazon_ssm_managed_instance_core",
	} {
		if got := snake(from); got != want {
			t.Errorf("%s is %s, want %s", from, got, want)
		}
	}
	for want, got := range map[string]string{
		"demo":                              nameOf("demo", true, "VPC", "AWS::EC2::VPC"),
		"demo_control_plane":                nameOf("demo", true, "ControlPlaneRole", "AWS::IAM::Role"),
		"demo_bastion_auto_scaling_group":   nameOf("demo", true, "BastionAutoScalingGroup", "AWS::AutoScaling::AutoScalingGroup"),
		"demo_bastion":                      nameOf("demo-bastion", false, "AutoScalingGroup", "AWS::AutoScaling::AutoScalingGroup"),
		"demo_pool1_2a":                     nameOf("demo-pool1-2a", false, "LaunchTemplate", "AWS::EC2::LaunchTemplate"),
		"demo_public_subnet_eu_central_1a_": nameOf("demo", true, "PublicSubnetEuCentral1aRouteTableAssociation", "AWS::EC2::SubnetRouteTableAssociation") + "_",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestARenamedResourceIsMoved(t *testing.T) {
	m := newModule("demo")
	m.owners = map[string]string{"aws_vpc.demo": "a", "aws_iam_role.demo_control_plane": "b", "aws_iam_role.demo_worker": "c"}
	var got []string
	for _, b := range m.moved([]Rename{
		{Type: "aws_iam_role", Former: "_masters", Now: "_control_planes"},
		{Type: "aws_iam_role", Former: "_control_planes", Now: "_control_plane"},
		{Type: "aws_subnet", Former: "_a", Now: "_worker"},
	}) {
		got = append(got, strings.Join(strings.Fields(string(write("demo", []*block{b}))[len(Header("demo")):]), " "))
	}
	want := []string{
		"moved { from = aws_iam_role.demo_control_planes to = aws_iam_role.demo_control_plane }",
		"moved { from = aws_iam_role.demo_masters to = aws_iam_role.demo_control_planes }",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNoRenameNamesWhatItRenames keeps the list of renames usable: a name that is another's now
// cannot be a former one.
func TestNoRenameNamesWhatItRenames(t *testing.T) {
	known := slices.Collect(maps.Values(table))
	for _, r := range renames {
		if r.Former == r.Now || !slices.ContainsFunc(known, func(row *row) bool { return row.to == r.Type }) {
			t.Errorf("the rename %+v means nothing", r)
		}
	}
}
