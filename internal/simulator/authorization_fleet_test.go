package simulator_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// onlyTagged allows the creation of what has a tag only, and the rest.
const (
	onlyTagged = `{"Effect":"Allow","Action":["ec2:CreateFleet","ec2:RunInstances","ec2:CreateTags"],
		"Resource":["arn:aws:ec2:*:*:fleet/*","arn:aws:ec2:*:*:instance/*","arn:aws:ec2:*:*:volume/*","arn:aws:ec2:*:*:network-interface/*"],
		"Condition":{"StringEquals":{"aws:RequestTag/team":"blue"}}}`
	useNetwork = `{"Effect":"Allow","Action":["ec2:CreateFleet","ec2:RunInstances"],
		"Resource":["arn:aws:ec2:*::image/*","arn:aws:ec2:*:*:subnet/*","arn:aws:ec2:*:*:security-group/*"]}`
	useTemplates = `{"Effect":"Allow","Action":["ec2:CreateFleet","ec2:RunInstances"],"Resource":"arn:aws:ec2:*:*:launch-template/*",
		"Condition":{"StringEquals":{"aws:ResourceTag/team":"blue"},"StringLike":{"aws:ResourceTag/pool":"*"}}}`
	passRole = `{"Effect":"Allow","Action":"iam:PassRole","Resource":"arn:aws:iam::*:role/node",
		"Condition":{"StringEquals":{"iam:PassedToService":"ec2.amazonaws.com"}}}`
)

// A fleet, and an instance from a launch template, need the permissions for what they create, for what the
// template names, and for its role. What a fleet may not launch is an error of its response.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html
func TestLaunchesFromTemplatesNeedPermissions(t *testing.T) {
	a := newAccount(t)
	ctx := t.Context()
	compute := ec2.NewFromConfig(a.root)
	a.role("node", `{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}`)
	profile := aws.String("node")
	done(t)(a.iam.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: profile}))
	done(t)(a.iam.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: profile, RoleName: profile}))
	image, err := ssm.NewFromConfig(a.root).GetParameter(ctx, &ssm.GetParameterInput{
		Name: aws.String("/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id"),
	})
	if err != nil {
		t.Fatal(err)
	}
	blue := []types.Tag{{Key: aws.String("team"), Value: aws.String("blue")}}
	for name, tags := range map[string][]types.TagSpecification{
		// A tag without a value is a tag, too.
		"blue":  {{ResourceType: types.ResourceTypeLaunchTemplate, Tags: append([]types.Tag{{Key: aws.String("pool"), Value: aws.String("")}}, blue...)}},
		"plain": nil,
	} {
		done(t)(compute.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
			LaunchTemplateName: &name, TagSpecifications: tags,
			LaunchTemplateData: &types.RequestLaunchTemplateData{
				ImageId: image.Parameter.Value, InstanceType: types.InstanceTypeM6iLarge,
				IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: profile},
				TagSpecifications: []types.LaunchTemplateTagSpecificationRequest{
					{ResourceType: types.ResourceTypeNetworkInterface, Tags: blue},
				},
			},
		}))
	}
	subnets, err := compute.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	subnet := subnets.Subnets[0].SubnetId
	tagged := []types.TagSpecification{
		{ResourceType: types.ResourceTypeInstance, Tags: blue}, {ResourceType: types.ResourceTypeVolume, Tags: blue},
	}
	for name, test := range map[string]struct {
		statements  []string
		template    string
		tags        []types.TagSpecification
		fleet, want string // the error of the fleet, and what both lack
	}{
		"everything":              {[]string{onlyTagged, useNetwork, useTemplates, passRole}, "blue", tagged, "", ""},
		"without a tag":           {[]string{onlyTagged, useNetwork, useTemplates, passRole}, "blue", nil, "UnauthorizedOperation", "ec2:"},
		"without the role":        {[]string{onlyTagged, useNetwork, useTemplates}, "blue", tagged, "", "iam:PassRole"},
		"another team's template": {[]string{onlyTagged, useNetwork, useTemplates, passRole}, "plain", tagged, "UnauthorizedOperation", "launch-template/lt-"},
		"without the image":       {[]string{onlyTagged, useTemplates, passRole}, "blue", tagged, "UnauthorizedOperation", "ec2:"},
		"without any permission":  {nil, "blue", tagged, "UnauthorizedOperation", "ec2:"},
		"everything by wildcards": {[]string{allow(`"ec2:*"`, "*"), passRole}, "plain", nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			client := ec2.NewFromConfig(a.user("u-"+alphanumeric(name), test.statements...))
			out, err := client.CreateFleet(ctx, &ec2.CreateFleetInput{
				Type: types.FleetTypeInstant, TagSpecifications: test.tags,
				TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{TotalTargetCapacity: aws.Int32(1)},
				LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
					LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{
						LaunchTemplateName: &test.template, Version: aws.String("$Default"),
					},
					Overrides: []types.FleetLaunchTemplateOverridesRequest{{SubnetId: subnet, ImageId: image.Parameter.Value}},
				}},
			})
			switch {
			case test.fleet != "":
				wantDenied(t, "the fleet", err, test.fleet, test.want)
			case err != nil:
				t.Errorf("the fleet: %v", err)
			case test.want == "" && (len(out.Instances) != 1 || len(out.Errors) != 0):
				t.Errorf("the fleet: %+v", out)
			case test.want != "" && (len(out.Errors) != 1 || *out.Errors[0].ErrorCode != "UnauthorizedOperation"):
				t.Errorf("the fleet: %+v", out)
			}
			_, err = client.RunInstances(ctx, &ec2.RunInstancesInput{
				LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateName: &test.template}, TagSpecifications: test.tags,
				SubnetId: subnet, MinCount: aws.Int32(1), MaxCount: aws.Int32(1), DryRun: aws.Bool(true),
			})
			if test.want == "" {
				wantDenied(t, "an instance", err, "DryRunOperation", "would have succeeded")
			} else {
				wantDenied(t, "an instance", err, "UnauthorizedOperation", test.want)
			}
		})
	}
}

// alphanumeric returns a text without spaces.
func alphanumeric(text string) string {
	var out []byte
	for i := range len(text) {
		if c := text[i]; c != ' ' && c != '\'' {
			out = append(out, c)
		}
	}
	return string(out)
}
