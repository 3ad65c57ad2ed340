package simulator_test

import (
	"context"
	"maps"
	"regexp"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/aws-operator/aws-operator/internal/patience"
)

// shaped is a template with a resource for each shape of a name or ID. The stack's name is long, so
// that AWS truncates some.
const shaped = `
Resources:
  VPC: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.9.0.0/16}}
  Subnet: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref VPC, CidrBlock: 10.9.0.0/24}}
  Group: {Type: AWS::EC2::SecurityGroup, Properties: {GroupDescription: g, VpcId: !Ref VPC}}
  Routes: {Type: AWS::EC2::RouteTable, Properties: {VpcId: !Ref VPC}}
  Gateway: {Type: AWS::EC2::InternetGateway}
  Interface: {Type: AWS::EC2::NetworkInterface, Properties: {SubnetId: !Ref Subnet}}
  Volume: {Type: AWS::EC2::Volume, Properties: {Size: 1, AvailabilityZone: eu-central-1a}}
  Template: {Type: AWS::EC2::LaunchTemplate, Properties: {LaunchTemplateData: {ImageId: ami-0123456789abcdef0}}}
  Balancer: {Type: AWS::ElasticLoadBalancingV2::LoadBalancer, Properties: {Type: network, Scheme: internal, Subnets: [!Ref Subnet]}}
  Targets: {Type: AWS::ElasticLoadBalancingV2::TargetGroup, Properties: {Protocol: TCP, Port: 443, VpcId: !Ref VPC}}
  Listener:
    Type: AWS::ElasticLoadBalancingV2::Listener
    Properties:
      LoadBalancerArn: !Ref Balancer
      Port: 443
      Protocol: TCP
      DefaultActions: [{Type: forward, TargetGroupArn: !Ref Targets}]
  InstanceRoleOfTheControlPlane:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument:
        Statement: [{Effect: Allow, Principal: {Service: ec2.amazonaws.com}, Action: "sts:AssumeRole"}]
  Profile: {Type: AWS::IAM::InstanceProfile, Properties: {Roles: [!Ref InstanceRoleOfTheControlPlane]}}
  Bucket: {Type: AWS::S3::Bucket}
  Queue: {Type: AWS::SQS::Queue}
  Fifo: {Type: AWS::SQS::Queue, Properties: {FifoQueue: true}}
  Topic: {Type: AWS::SNS::Topic}
  Key: {Type: AWS::KMS::Key, Properties: {KeyPolicy: {Statement: [{Effect: Allow, Principal: "*", Action: "kms:*", Resource: "*"}]}}}
  Zone: {Type: AWS::Route53::HostedZone, Properties: {Name: example.com}}
  Parameter: {Type: AWS::SSM::Parameter, Properties: {Type: String, Value: v}}
  Table:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: a, AttributeType: S}]
      KeySchema: [{AttributeName: a, KeyType: HASH}]
  Repository: {Type: AWS::ECR::Repository}
  Rule: {Type: AWS::Events::Rule, Properties: {EventPattern: {source: [aws.ec2]}}}
Outputs:
  Balancer: {Value: !GetAtt Balancer.DNSName}
`

const shapedStack = "Production-clusters-of-the-Platform-team"

// Programs that parse names and IDs must accept what AWS generates: 17 hexadecimal digits, upper and
// lower case, names that are cut.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-name.html
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/resource-ids.html
func TestPhysicalIDsHaveTheShapesOfAWS(t *testing.T) {
	config := start(t)
	stacks := cloudformation.NewFromConfig(config)
	if _, err := stacks.CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName: aws.String(
			shapedStack,
		),
		TemplateBody: aws.String(shaped),
		Capabilities: []cfntypes.Capability{cfntypes.CapabilityCapabilityIam},
	}); err != nil {
		t.Fatal(err)
	}
	stack := complete(t, stacks)
	listed, err := stacks.DescribeStackResources(
		t.Context(),
		&cloudformation.DescribeStackResourcesInput{StackName: aws.String(shapedStack)},
	)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{"stack": *stack.StackId, "DNS name": *stack.Outputs[0].OutputValue}
	for _, r := range listed.StackResources {
		got[*r.LogicalResourceId] = *r.PhysicalResourceId
	}
	maps.Copy(got, others(t, config, got))

	const hex17, mixed, upper = `[0-9a-f]{17}$`, `[0-9A-Za-z]{12}$`, `[0-9A-Z]{12}$`
	const uuid = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`
	const balancing = `^arn:aws:elasticloadbalancing:eu-central-1:123456789012:`
	for of, shape := range map[string]string{
		"stack":     `^arn:aws:cloudformation:eu-central-1:123456789012:stack/` + shapedStack + `/` + uuid + `$`,
		"VPC":       `^vpc-` + hex17,
		"Subnet":    `^subnet-` + hex17,
		"Group":     `^sg-` + hex17,
		"Routes":    `^rtb-` + hex17,
		"Gateway":   `^igw-` + hex17,
		"Interface": `^eni-` + hex17,
		"Volume":    `^vol-` + hex17,
		"instance":  `^i-` + hex17,
		"snapshot":  `^snap-` + hex17,
		"address":   `^eipalloc-` + hex17,
		"image":     `^ami-` + hex17,
		"Template":  `^lt-` + hex17,
		// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_LoadBalancer.html
		"Balancer": balancing + `loadbalancer/net/Production-Balancer-[0-9A-Za-z]{12}/[0-9a-f]{16}$`,
		"Targets":  balancing + `targetgroup/Production-*-Targets-[0-9A-Za-z]{12}/[0-9a-f]{16}$`,
		"Listener": balancing + `listener/net/Production-Balancer-[0-9A-Za-z]{12}/[0-9a-f]{16}/[0-9a-f]{16}$`,
		"DNS name": `^Production-Balancer-[0-9A-Za-z]{12}-[0-9a-f]{16}\.elb\.eu-central-1\.amazonaws\.com$`,
		"template": `^Template_` + mixed,
		// A role's name has at most 64 characters.
		// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
		"InstanceRoleOfTheControlPlane": `^Production-clusters-of-th-InstanceRoleOfTheControlP-` + mixed,
		"Profile":                       `^` + shapedStack + `-Profile-` + mixed,
		// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids
		"role ID":    `^AROA[A-Z2-7]{17}$`,
		"profile ID": `^AIPA[A-Z2-7]{17}$`,
		"user ID":    `^\d{12}$`, // of the root user
		// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
		"Bucket":             `^production-clusters-of-the-platform-team-bucket-[0-9a-z]{12}$`,
		"Queue":              `^http://[^/]+/123456789012/` + shapedStack + `-Queue-` + mixed,
		"Fifo":               `^http://[^/]+/123456789012/` + shapedStack + `-Fifo-[0-9A-Za-z]{12}\.fifo$`,
		"Topic":              `^arn:aws:sns:eu-central-1:123456789012:` + shapedStack + `-Topic-` + mixed,
		"Key":                `^` + uuid + `$`,
		"Zone":               `^Z[0-9A-Z]{13,20}$`,
		"Parameter":          `^CFN-Parameter-` + mixed,
		"Table":              `^` + shapedStack + `-Table-` + upper,
		"Repository":         `^production-clusters-of-the-platform-team-repository-[0-9a-z]{12}$`,
		"Rule":               shapedStack + `-Rule-` + mixed,
		"receipt":            `^AQEB[0-9A-Za-z+/]{100,}=*$`,
		"request":            `^` + uuid + `$`,
		"request of S3":      `^[0-9A-Z]{16}$`,
		"host ID of S3":      `^[0-9A-Za-z+/]{75}=$`,
		"public name server": `^ns-\d{1,4}\.awsdns-\d\d\.(com|net|org|co\.uk)$`,
	} {
		if !regexp.MustCompile(shape).MatchString(got[of]) {
			t.Errorf("%s is %q, want %s", of, got[of], shape)
		}
	}
}

func complete(t *testing.T, stacks *cloudformation.Client) cfntypes.Stack {
	t.Helper()
	var stack cfntypes.Stack
	patience.UntilTrue(t, "the stack is complete", func() bool {
		out, err := stacks.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String(shapedStack)})
		if err != nil {
			t.Fatal(err)
		}
		if stack = out.Stacks[0]; stack.StackStatus != cfntypes.StackStatusCreateInProgress &&
			stack.StackStatus != cfntypes.StackStatusCreateComplete {
			events, err := stacks.DescribeStackEvents(
				t.Context(),
				&cloudformation.DescribeStackEventsInput{StackName: aws.String(shapedStack)},
			)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events.StackEvents {
				t.Logf("%s %s %s", aws.ToString(e.LogicalResourceId), e.ResourceStatus, aws.ToString(e.ResourceStatusReason))
			}
			t.Fatalf("the stack is %s", stack.StackStatus)
		}
		return stack.StackStatus == cfntypes.StackStatusCreateComplete
	})
	return stack
}

// others returns the names and IDs that calls return, besides those of the stack's resources.
func others(t *testing.T, config aws.Config, made map[string]string) map[string]string {
	t.Helper()
	ctx := t.Context()
	found := map[string]string{}
	machines := ec2.NewFromConfig(config)
	image := must(t, ctx, ssm.NewFromConfig(config).GetParameter, &ssm.GetParameterInput{
		Name: aws.String("/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id"),
	})
	found["image"] = *image.Parameter.Value
	run := must(t, ctx, machines.RunInstances, &ec2.RunInstancesInput{
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1), ImageId: image.Parameter.Value, InstanceType: "t3.micro",
		SubnetId: aws.String(made["Subnet"]),
	})
	found["instance"] = *run.Instances[0].InstanceId
	found["snapshot"] = *must(t, ctx, machines.CreateSnapshot, &ec2.CreateSnapshotInput{VolumeId: aws.String(made["Volume"])}).SnapshotId
	found["address"] = *must(t, ctx, machines.AllocateAddress, &ec2.AllocateAddressInput{}).AllocationId
	templates := must(
		t,
		ctx,
		machines.DescribeLaunchTemplates,
		&ec2.DescribeLaunchTemplatesInput{LaunchTemplateIds: []string{made["Template"]}},
	)
	found["template"] = *templates.LaunchTemplates[0].LaunchTemplateName

	identities := iam.NewFromConfig(config)
	found["role ID"] = *must(t, ctx, identities.GetRole, &iam.GetRoleInput{RoleName: aws.String(made["InstanceRoleOfTheControlPlane"])}).Role.RoleId
	profile := must(t, ctx, identities.GetInstanceProfile, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(made["Profile"])})
	found["profile ID"] = *profile.InstanceProfile.InstanceProfileId
	caller := must(t, ctx, sts.NewFromConfig(config).GetCallerIdentity, &sts.GetCallerIdentityInput{})
	found["user ID"] = *caller.UserId
	found["request"], _ = middleware.GetRequestIDMetadata(caller.ResultMetadata)

	queues := sqs.NewFromConfig(config)
	must(t, ctx, queues.SendMessage, &sqs.SendMessageInput{QueueUrl: aws.String(made["Queue"]), MessageBody: aws.String("m")})
	received := must(t, ctx, queues.ReceiveMessage, &sqs.ReceiveMessageInput{QueueUrl: aws.String(made["Queue"])})
	found["receipt"] = *received.Messages[0].ReceiptHandle
	buckets := must(t, ctx, s3.NewFromConfig(config).ListBuckets, &s3.ListBucketsInput{})
	found["request of S3"], _ = middleware.GetRequestIDMetadata(buckets.ResultMetadata)
	found["host ID of S3"], _ = s3.GetHostIDMetadata(buckets.ResultMetadata)
	zone := must(t, ctx, route53.NewFromConfig(config).GetHostedZone, &route53.GetHostedZoneInput{Id: aws.String(made["Zone"])})
	found["public name server"] = zone.DelegationSet.NameServers[0]
	return found
}

// must returns the output of a call that must succeed.
//
//nolint:revive // the test comes first, as in other helpers
func must[I, O, F any](t *testing.T, ctx context.Context, call func(context.Context, *I, ...F) (*O, error), in *I) *O {
	t.Helper()
	out, err := call(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
