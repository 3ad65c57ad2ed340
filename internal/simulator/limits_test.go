package simulator_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
)

// limited has the clients and resources for the calls that exceed limits.
type limited struct {
	aws.Config

	ctx                                     context.Context //nolint:containedctx // the test's
	ec2                                     *ec2.Client
	iam                                     *iam.Client
	elb                                     *elb.Client
	vpc, subnet, table, gateway, role, rule *string
}

const (
	quotasOfIAM            = "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html"
	quotasOfVPC            = "https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html"
	quotasOfCloudFormation = "https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html"
	quotasOfEvents         = "https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html"
)

// limit is a limit that AWS documents. The call with the number just above it is refused with the code.
// Where a code is neither documented nor reported by users, the row says so, and it is the service's code
// for invalid requests.
type limit struct {
	what  string
	most  int
	code  string
	page  string
	exact bool // the call with the limit itself must succeed
	call  func(l *limited, n int) error
}

// limits are those of IAM, EC2, stacks, and names.
var limits = []limit{
	{"characters of a managed policy", 6144, "LimitExceeded", quotasOfIAM, true, func(l *limited, n int) error {
		_, err := l.iam.CreatePolicy(l.ctx, &iam.CreatePolicyInput{PolicyName: named("p", n), PolicyDocument: policyOf(n)})
		return err
	}},
	{"characters of all inline policies of a role", 10240, "LimitExceeded", quotasOfIAM, true, func(l *limited, n int) error {
		for name, size := range map[string]int{"a": 5000, "b": n - 5000} {
			if _, err := l.iam.PutRolePolicy(
				l.ctx,
				&iam.PutRolePolicyInput{RoleName: l.role, PolicyName: &name, PolicyDocument: policyOf(size)},
			); err != nil {
				return err
			}
		}
		return nil
	}},
	{"characters of a trust policy", 2048, "LimitExceeded", quotasOfIAM, true, func(l *limited, n int) error {
		_, err := l.iam.UpdateAssumeRolePolicy(l.ctx, &iam.UpdateAssumeRolePolicyInput{RoleName: l.role, PolicyDocument: trustOf(n)})
		return err
	}},
	{"policies attached to a role", 10, "LimitExceeded", quotasOfIAM, true, func(l *limited, n int) error {
		return each(n, func(i int) error {
			_, err := l.iam.AttachRolePolicy(l.ctx, &iam.AttachRolePolicyInput{
				RoleName: l.role, PolicyArn: aws.String(fmt.Sprintf("arn:aws:iam::aws:policy/P%d", i)),
			})
			return err
		})
	}},
	{"characters of a role's name", 64, "ValidationError", quotasOfIAM, true, func(l *limited, n int) error {
		_, err := l.iam.CreateRole(l.ctx, &iam.CreateRoleInput{RoleName: long(n), AssumeRolePolicyDocument: trustOf(200)})
		return err
	}},
	{"characters of an instance profile's name", 128, "ValidationError", quotasOfIAM, true, func(l *limited, n int) error {
		_, err := l.iam.CreateInstanceProfile(l.ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: long(n)})
		return err
	}},
	{
		"characters of a target group's name",
		32,
		"ValidationError",
		"https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateTargetGroup.html",
		true,
		func(l *limited, n int) error {
			_, err := l.elb.CreateTargetGroup(l.ctx, &elb.CreateTargetGroupInput{
				Name: long(n), Protocol: elbtypes.ProtocolEnumTcp, Port: aws.Int32(443), VpcId: l.vpc,
			})
			return err
		},
	},
	{
		"characters of a load balancer's name",
		32,
		"ValidationError",
		"https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateLoadBalancer.html",
		true,
		func(l *limited, n int) error {
			_, err := l.elb.CreateLoadBalancer(l.ctx, &elb.CreateLoadBalancerInput{
				Name: long(
					n,
				),
				Type:    elbtypes.LoadBalancerTypeEnumNetwork,
				Scheme:  elbtypes.LoadBalancerSchemeEnumInternal,
				Subnets: []string{*l.subnet},
			})
			return err
		},
	},
	{
		"listeners of a load balancer", 50, "TooManyListeners",
		"https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-limits.html", true, listeners,
	},
	{
		"characters of a queue's name", 80, "InvalidParameterValue",
		"https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html", true, func(l *limited, n int) error {
			_, err := sqs.NewFromConfig(l.Config).CreateQueue(l.ctx, &sqs.CreateQueueInput{QueueName: long(n)})
			return err
		},
	},
	{
		"characters of a bucket's name", 63, "InvalidBucketName",
		"https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html", true, func(l *limited, n int) error {
			_, err := s3.NewFromConfig(l.Config, usePath).CreateBucket(l.ctx, &s3.CreateBucketInput{
				Bucket: long(n), CreateBucketConfiguration: inFrankfurt,
			})
			return err
		},
	},
	{
		"characters of a standard parameter", 4096, "ValidationException",
		"https://docs.aws.amazon.com/general/latest/gr/ssm.html", true, func(l *limited, n int) error {
			_, err := ssm.NewFromConfig(l.Config).PutParameter(l.ctx, &ssm.PutParameterInput{
				Name: named("p", n), Value: long(n), Type: ssmtypes.ParameterTypeString, Tier: ssmtypes.ParameterTierStandard,
			})
			return err
		},
	},
	{"characters of a stack's name", 128, "ValidationError", quotasOfCloudFormation, true, func(l *limited, n int) error {
		return createStack(l, long(n), `{"Resources":{"A":{"Type":"AWS::SNS::Topic"}}}`)
	}},
	{"bytes of a template in a request", 51200, "ValidationError", quotasOfCloudFormation, true, func(l *limited, n int) error {
		body := `{"Resources":{"A":{"Type":"AWS::SNS::Topic"}}}`
		return createStack(l, named("bytes", n), body+strings.Repeat(" ", n-len(body)))
	}},
	{"resources of a template", 500, "ValidationError", quotasOfCloudFormation, false, func(l *limited, n int) error {
		return createStack(l, named("resources", n), `{"Resources":{`+members(n, `"R%d":{"Type":"AWS::SNS::Topic"}`)+`}}`)
	}},
	{"parameters of a template", 200, "ValidationError", quotasOfCloudFormation, true, func(l *limited, n int) error {
		return createStack(l, named("parameters", n),
			`{"Parameters":{`+members(n, `"P%d":{"Type":"String","Default":"v"}`)+`},"Resources":{"A":{"Type":"AWS::SNS::Topic"}}}`)
	}},
	{"outputs of a template", 200, "ValidationError", quotasOfCloudFormation, true, func(l *limited, n int) error {
		return createStack(l, named("outputs", n),
			`{"Resources":{"A":{"Type":"AWS::SNS::Topic"}},"Outputs":{`+members(n, `"O%d":{"Value":"v"}`)+`}}`)
	}},
	{"tags of a stack", 50, "ValidationError", quotasOfCloudFormation, true, func(l *limited, n int) error {
		var tags []cfntypes.Tag
		for i := range n {
			tags = append(tags, cfntypes.Tag{Key: aws.String(fmt.Sprintf("t%d", i)), Value: aws.String("v")})
		}
		_, err := cloudformation.NewFromConfig(l.Config).CreateStack(l.ctx, &cloudformation.CreateStackInput{
			StackName: named("tags", n), Tags: tags, TemplateBody: aws.String(`{"Resources":{"A":{"Type":"AWS::SQS::Queue"}}}`),
		})
		return err
	}},
	{
		"tags of a resource of EC2", 50, "TagLimitExceeded",
		"https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html#tag-restrictions", true, func(l *limited, n int) error {
			var tags []ec2types.Tag
			for i := range n {
				tags = append(tags, ec2types.Tag{Key: aws.String(fmt.Sprintf("t%d", i)), Value: aws.String("v")})
			}
			_, err := l.ec2.CreateTags(l.ctx, &ec2.CreateTagsInput{Resources: []string{*l.subnet}, Tags: tags})
			return err
		},
	},
	{
		"bytes of user data", 16384, "InvalidParameterValue",
		"https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-add-user-data.html", false, func(l *limited, n int) error {
			_, err := l.ec2.RunInstances(l.ctx, &ec2.RunInstancesInput{
				MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: "t3.micro", SubnetId: l.subnet, ImageId: imageOf(l),
				UserData: aws.String(base64.StdEncoding.EncodeToString([]byte(*long(n)))),
			})
			return err
		},
	},
	{"inbound rules of a security group", 60, "RulesPerSecurityGroupLimitExceeded", quotasOfVPC, true, func(l *limited, n int) error {
		group, err := securityGroup(l, fmt.Sprintf("rules%d", n))
		if err != nil {
			return err
		}
		return each(n, func(i int) error {
			_, err := l.ec2.AuthorizeSecurityGroupIngress(l.ctx, &ec2.AuthorizeSecurityGroupIngressInput{
				GroupId:    &group,
				IpProtocol: aws.String("tcp"),
				FromPort:   aws.Int32(int32(1 + i)),
				ToPort:     aws.Int32(int32(1 + i)),
				CidrIp:     aws.String("10.0.0.0/8"),
			})
			return err
		})
	}},
	{
		"security groups of a network interface",
		5,
		"SecurityGroupsPerInterfaceLimitExceeded",
		quotasOfVPC,
		true,
		func(l *limited, n int) error {
			groups := make([]string, n)
			for i := range groups {
				var err error
				if groups[i], err = securityGroup(l, fmt.Sprintf("interface%d-%d", n, i)); err != nil {
					return err
				}
			}
			_, err := l.ec2.CreateNetworkInterface(l.ctx, &ec2.CreateNetworkInterfaceInput{SubnetId: l.subnet, Groups: groups})
			return err
		},
	},
	{"routes of a route table", 500, "RouteLimitExceeded", quotasOfVPC, false, func(l *limited, n int) error {
		return each(n, func(i int) error {
			_, err := l.ec2.CreateRoute(l.ctx, &ec2.CreateRouteInput{
				RouteTableId:         l.table,
				GatewayId:            l.gateway,
				DestinationCidrBlock: aws.String(fmt.Sprintf("172.%d.%d.0/24", 16+i/256, i%256)),
			})
			if err != nil && codeOf(err) == "RouteAlreadyExists" {
				return nil
			}
			return err
		})
	}},
	{"inbound rules of a network ACL", 20, "NetworkAclEntryLimitExceeded", quotasOfVPC, true, func(l *limited, n int) error {
		return aclEntries(l, n, false)
	}},
	{"outbound rules of a network ACL", 20, "NetworkAclEntryLimitExceeded", quotasOfVPC, true, func(l *limited, n int) error {
		return aclEntries(l, n, true)
	}},
	{
		"volumes and network interfaces of an instance", 28, "AttachmentLimitExceeded",
		"https://docs.aws.amazon.com/ebs/latest/userguide/volume_limits.html", true, func(l *limited, n int) error {
			var devices []ec2types.BlockDeviceMapping
			for i := range n - 2 { // the root volume and the interface count
				devices = append(devices, ec2types.BlockDeviceMapping{
					DeviceName: aws.String(fmt.Sprintf("/dev/xvd%c%c", 'b'+i/26, 'a'+i%26)),
					Ebs:        &ec2types.EbsBlockDevice{VolumeSize: aws.Int32(1)},
				})
			}
			_, err := l.ec2.RunInstances(l.ctx, &ec2.RunInstancesInput{
				MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: "m6i.large", SubnetId: l.subnet, ImageId: imageOf(l),
				BlockDeviceMappings: devices,
			})
			return err
		},
	},
	{"rules of an event bus", 300, "LimitExceededException", quotasOfEvents, true, func(l *limited, n int) error {
		return each(n-1, func(i int) error { // one exists
			_, err := eventbridge.NewFromConfig(l.Config).PutRule(l.ctx, &eventbridge.PutRuleInput{
				Name: aws.String(fmt.Sprintf("rule%d", i)), EventPattern: aws.String(`{"source":["s"]}`),
			})
			return err
		})
	}},
	{"targets of a rule", 5, "LimitExceededException", quotasOfEvents, true, func(l *limited, n int) error {
		var targets []eventtypes.Target
		for i := range n {
			targets = append(targets, eventtypes.Target{
				Id: aws.String(fmt.Sprint(i)), Arn: aws.String("arn:aws:sqs:eu-central-1:123456789012:q"),
			})
		}
		_, err := eventbridge.NewFromConfig(l.Config).PutTargets(l.ctx, &eventbridge.PutTargetsInput{Rule: l.rule, Targets: targets})
		return err
	}},
}

// newLimited starts a simulator with what the calls need.
func newLimited(t *testing.T) *limited {
	t.Helper()
	return newLimitedAt(t, *start(t).BaseEndpoint)
}

func newLimitedAt(t *testing.T, endpoint string) *limited {
	t.Helper()
	config := clientsOf(endpoint)
	config.Retryer = func() aws.Retryer { return aws.NopRetryer{} } // SDKs repeat calls that exceed limits
	l := &limited{
		Config: config,
		ctx:    t.Context(),
		ec2:    ec2.NewFromConfig(config),
		iam:    iam.NewFromConfig(config),
		elb:    elb.NewFromConfig(config),
	}
	l.vpc = must(t, l.ctx, l.ec2.CreateVpc, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")}).Vpc.VpcId
	l.subnet = must(
		t,
		l.ctx,
		l.ec2.CreateSubnet,
		&ec2.CreateSubnetInput{VpcId: l.vpc, CidrBlock: aws.String("10.0.0.0/20")},
	).Subnet.SubnetId
	l.table = must(t, l.ctx, l.ec2.CreateRouteTable, &ec2.CreateRouteTableInput{VpcId: l.vpc}).RouteTable.RouteTableId
	l.gateway = must(t, l.ctx, l.ec2.CreateInternetGateway, &ec2.CreateInternetGatewayInput{}).InternetGateway.InternetGatewayId
	must(t, l.ctx, l.ec2.AttachInternetGateway, &ec2.AttachInternetGatewayInput{VpcId: l.vpc, InternetGatewayId: l.gateway})
	l.role = must(
		t,
		l.ctx,
		l.iam.CreateRole,
		&iam.CreateRoleInput{RoleName: aws.String("r"), AssumeRolePolicyDocument: trustOf(200)},
	).Role.RoleName
	l.rule = aws.String("targets")
	must(
		t,
		l.ctx,
		eventbridge.NewFromConfig(config).PutRule,
		&eventbridge.PutRuleInput{Name: l.rule, EventPattern: aws.String(`{"source":["s"]}`)},
	)
	return l
}

func TestDocumentedLimitsAreRefused(t *testing.T) {
	l := newLimited(t)
	for _, limit := range slices.Concat(limits, limitsOfTemplates, limitsOfNames, limitsOfKeys, limitsOfData, limitsOfMessages) {
		t.Run(limit.what, func(t *testing.T) {
			if limit.exact {
				if err := limit.call(l, limit.most); err != nil {
					t.Errorf("%d were refused: %v (%s)", limit.most, err, limit.page)
				}
			}
			if err := limit.call(l, limit.most+1); codeOf(err) != limit.code {
				t.Errorf("%d: got %v, want %s (%s)", limit.most+1, err, limit.code, limit.page)
			}
		})
	}
}

// policyOf returns a policy of so many characters without white space.
func policyOf(n int) *string {
	return padded(`{"Version":"2012-10-17","Statement":[{"Sid":"","Effect":"Allow","Action":"s3:*","Resource":"*"}]}`, n)
}

// trustOf is policyOf for a trust policy.
func trustOf(n int) *string {
	return padded(`{"Version":"2012-10-17","Statement":[{"Sid":"","Effect":"Allow","Action":"sts:AssumeRole","Principal":"*"}]}`, n)
}

func padded(frame string, n int) *string {
	sid := strings.Repeat("a", n-len(frame))
	return aws.String(strings.Replace(frame, `"Sid":""`, ` "Sid": "`+sid+`"`, 1))
}

func long(n int) *string { return aws.String(strings.Repeat("a", n)) }

func named(prefix string, n int) *string { return aws.String(fmt.Sprintf("%s%d", prefix, n)) }

func members(n int, format string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(list, ",")
}

func each(n int, call func(i int) error) error {
	for i := range n {
		if err := call(i); err != nil {
			return err
		}
	}
	return nil
}

func createStack(l *limited, name *string, body string) error {
	_, err := cloudformation.NewFromConfig(l.Config).
		CreateStack(l.ctx, &cloudformation.CreateStackInput{StackName: name, TemplateBody: &body})
	return err
}

func securityGroup(l *limited, name string) (string, error) {
	out, err := l.ec2.CreateSecurityGroup(
		l.ctx,
		&ec2.CreateSecurityGroupInput{GroupName: &name, Description: aws.String("d"), VpcId: l.vpc},
	)
	if err != nil {
		return "", err
	}
	return *out.GroupId, nil
}

// aclEntries creates so many rules of one direction in a new network ACL that has all of the other.
func aclEntries(l *limited, n int, egress bool) error {
	made, err := l.ec2.CreateNetworkAcl(l.ctx, &ec2.CreateNetworkAclInput{VpcId: l.vpc})
	if err != nil {
		return err
	}
	create := func(number int, egress bool) error {
		_, err := l.ec2.CreateNetworkAclEntry(l.ctx, &ec2.CreateNetworkAclEntryInput{
			NetworkAclId: made.NetworkAcl.NetworkAclId, Egress: &egress, RuleNumber: aws.Int32(int32(number)),
			Protocol: aws.String("-1"), RuleAction: ec2types.RuleActionAllow, CidrBlock: aws.String("10.0.0.0/8"),
		})
		return err
	}
	if err := each(20, func(i int) error { return create(1+i, !egress) }); err != nil {
		return err
	}
	return each(n, func(i int) error { return create(1+i, egress) })
}

func imageOf(l *limited) *string {
	out, err := ssm.NewFromConfig(l.Config).GetParameter(l.ctx, &ssm.GetParameterInput{
		Name: aws.String("/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id"),
	})
	if err != nil {
		return nil
	}
	return out.Parameter.Value
}

// listeners creates so many listeners on a new load balancer.
func listeners(l *limited, n int) error {
	balancer, err := l.elb.CreateLoadBalancer(l.ctx, &elb.CreateLoadBalancerInput{
		Name: named("listeners", n), Type: elbtypes.LoadBalancerTypeEnumNetwork, Scheme: elbtypes.LoadBalancerSchemeEnumInternal,
		Subnets: []string{*l.subnet},
	})
	if err != nil {
		return err
	}
	group, err := l.elb.CreateTargetGroup(l.ctx, &elb.CreateTargetGroupInput{
		Name: named("listeners", n), Protocol: elbtypes.ProtocolEnumTcp, Port: aws.Int32(443), VpcId: l.vpc,
	})
	if err != nil {
		return err
	}
	return each(n, func(i int) error {
		_, err := l.elb.CreateListener(l.ctx, &elb.CreateListenerInput{
			LoadBalancerArn: balancer.LoadBalancers[0].LoadBalancerArn,
			Port:            aws.Int32(int32(1000 + i)),
			Protocol:        elbtypes.ProtocolEnumTcp,
			DefaultActions: []elbtypes.Action{
				{Type: elbtypes.ActionTypeEnumForward, TargetGroupArn: group.TargetGroups[0].TargetGroupArn},
			},
		})
		return err
	})
}
