package simulator_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	autoscalingtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	ecrtypes "github.com/aws/aws-sdk-go-v2/service/ecr/types"
	classic "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	classictypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/aws-operator/aws-operator/internal/patience"
)

// tags are the tags of a request.
type tags = map[string]string

// service is a service whose resources have tags, with the codes of its errors for a key that begins with
// aws:, a key or value of a wrong length, and one tag too many. Which codes and words are on record says
// the comment on the rules of the service.
type service struct {
	name, reserved, length, many string
	page                         string
	// create makes a resource with tags, unless the service takes none then, and returns what adds tags
	// to it, or nil if nothing does.
	create func(l *limited, name string, t tags) (add func(tags) error, err error)
}

var taggable = []service{
	{
		"EC2", "InvalidParameterValue", "InvalidParameterValue", "TagLimitExceeded",
		"https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html#tag-restrictions", taggedVolume,
	},
	{
		"Elastic Load Balancing", "ValidationError", "ValidationError", "TooManyTags",
		"https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_AddTags.html", taggedGroup,
	},
	{
		"Classic Load Balancers", "ValidationError", "ValidationError", "TooManyTags",
		"https://docs.aws.amazon.com/elasticloadbalancing/2012-06-01/APIReference/API_AddTags.html", taggedClassic,
	},
	{
		"Auto Scaling", "ValidationError", "ValidationError", "LimitExceeded",
		"https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html#tag_restrictions", taggedAutoScaling,
	},
	{
		"S3", "InvalidTag", "InvalidTag", "BadRequest",
		"https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketTagging.html", taggedBucket,
	},
	{
		"SQS", "InvalidParameterValue", "InvalidParameterValue", "InvalidParameterValue",
		"https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-queues.html", taggedQueue,
	},
	{
		"SNS", "InvalidParameter", "InvalidParameter", "TagLimitExceeded",
		"https://docs.aws.amazon.com/sns/latest/api/API_TagResource.html", taggedTopic,
	},
	{
		"DynamoDB", "ValidationException", "ValidationException", "ValidationException",
		"https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Tagging.Operations.html", taggedTable,
	},
	{
		"IAM", "InvalidInput", "ValidationError", "LimitExceeded",
		"https://docs.aws.amazon.com/IAM/latest/UserGuide/id_tags.html#id_tags_rules", taggedRole,
	},
	{
		"KMS", "TagException", "ValidationException", "TagException",
		"https://docs.aws.amazon.com/kms/latest/APIReference/API_TagResource.html", taggedKey,
	},
	{
		"SSM", "ValidationException", "ValidationException", "TooManyTagsError",
		"https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_AddTagsToResource.html", taggedParameter,
	},
	{
		"ECR", "InvalidTagParameterException", "InvalidParameterException", "TooManyTagsException",
		"https://docs.aws.amazon.com/AmazonECR/latest/APIReference/API_TagResource.html", taggedRepository,
	},
	{
		"EventBridge", "ValidationException", "ValidationException", "ValidationException",
		"https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-tagging.html", taggedRule,
	},
	{
		"CloudFormation", "ValidationError", "ValidationError", "ValidationError",
		"https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_Tag.html", taggedStack,
	},
	{
		"Route 53", "InvalidInput", "InvalidInput", "", // another limit comes first
		"https://docs.aws.amazon.com/Route53/latest/APIReference/API_ChangeTagsForResource.html", taggedZone,
	},
}

func TestTagsHaveLimits(t *testing.T) {
	l := newLimited(t)
	many := func(n int) tags {
		all := tags{}
		for i := range n {
			all[fmt.Sprintf("k%d", i)] = "v"
		}
		return all
	}
	for _, s := range taggable {
		t.Run(s.name, func(t *testing.T) {
			check := func(what string, err error, want string) {
				t.Helper()
				if (err != nil || want != "") && codeOf(err) != want {
					t.Errorf("%s: got %v, want %q (%s)", what, err, want, s.page)
				}
			}
			refused := []struct {
				what string
				tags tags
				want string
			}{
				{"a reserved key", tags{"aws:k": "v"}, s.reserved},
				{"a long key", tags{*long(129): "v"}, s.length},
				{"a long value", tags{"k": *long(257)}, s.length},
				{"many tags", many(51), s.many},
			}
			name := "tags-" + strings.ToLower(strings.ReplaceAll(s.name, " ", "-"))
			add, err := s.create(l, name, tags{})
			check("no tags", err, "")
			if add == nil {
				for i, c := range refused {
					_, err := s.create(l, fmt.Sprintf("%s-%d", name, i), c.tags)
					check(c.what, err, c.want)
				}
				_, err := s.create(l, name+"-longest", tags{*long(128): *long(256)})
				check("the longest key and value", err, "")
				return
			}
			check("the longest key and value", add(tags{*long(128): *long(256)}), "")
			for _, c := range refused {
				if c.want != "" {
					check(c.what, add(c.tags), c.want)
				}
			}
			if s.many == "" { // CreateHostedZone takes no tags
				return
			}
			_, err = s.create(l, name+"-2", tags{"aws:k": "v"})
			check("a reserved key in a creation", err, s.reserved)
			check("fifty tags", add(many(49)), "")
			if s.name != "S3" { // PutBucketTagging replaces all tags
				check("one tag more", add(tags{"more": "v"}), s.many)
			}
		})
	}
}

// pairs converts tags to the structures of a service.
func pairs[T any](t tags, pair func(key, value *string) T) []T {
	list := []T{}
	for _, key := range slices.Sorted(maps.Keys(t)) {
		list = append(list, pair(aws.String(key), aws.String(t[key])))
	}
	return list
}

func taggedVolume(l *limited, _ string, t tags) (func(tags) error, error) {
	of := func(t tags) []ec2types.Tag {
		return pairs(t, func(k, v *string) ec2types.Tag { return ec2types.Tag{Key: k, Value: v} })
	}
	in := &ec2.CreateVolumeInput{AvailabilityZone: aws.String("eu-central-1a"), Size: aws.Int32(1)}
	if len(t) > 0 {
		in.TagSpecifications = []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeVolume, Tags: of(t)}}
	}
	made, err := l.ec2.CreateVolume(l.ctx, in)
	return func(t tags) error {
		_, err := l.ec2.CreateTags(l.ctx, &ec2.CreateTagsInput{Resources: []string{*made.VolumeId}, Tags: of(t)})
		return err
	}, err
}

func taggedGroup(l *limited, _ string, t tags) (func(tags) error, error) {
	of := func(t tags) []elbtypes.Tag {
		return pairs(t, func(k, v *string) elbtypes.Tag { return elbtypes.Tag{Key: k, Value: v} })
	}
	made, err := l.elb.CreateTargetGroup(l.ctx, &elb.CreateTargetGroupInput{
		Name: named("tagged", len(t)), Protocol: elbtypes.ProtocolEnumTcp, Port: aws.Int32(443), VpcId: l.vpc, Tags: of(t),
	})
	return func(t tags) error {
		_, err := l.elb.AddTags(l.ctx, &elb.AddTagsInput{ResourceArns: []string{*made.TargetGroups[0].TargetGroupArn}, Tags: of(t)})
		return err
	}, err
}

func taggedClassic(l *limited, _ string, t tags) (func(tags) error, error) {
	of := func(t tags) []classictypes.Tag {
		return pairs(t, func(k, v *string) classictypes.Tag { return classictypes.Tag{Key: k, Value: v} })
	}
	client, name := classic.NewFromConfig(l.Config), named("tagged", len(t))
	_, err := client.CreateLoadBalancer(l.ctx, &classic.CreateLoadBalancerInput{
		LoadBalancerName: name, Scheme: aws.String("internal"), Subnets: []string{*l.subnet}, Tags: of(t),
		Listeners: []classictypes.Listener{{Protocol: aws.String("TCP"), LoadBalancerPort: 80, InstancePort: aws.Int32(80)}},
	})
	return func(t tags) error {
		_, err := client.AddTags(l.ctx, &classic.AddTagsInput{LoadBalancerNames: []string{*name}, Tags: of(t)})
		return err
	}, err
}

func taggedAutoScaling(l *limited, name string, t tags) (func(tags) error, error) {
	of := func(t tags) []autoscalingtypes.Tag {
		return pairs(t, func(k, v *string) autoscalingtypes.Tag {
			return autoscalingtypes.Tag{Key: k, Value: v, ResourceId: &name, ResourceType: aws.String("auto-scaling-group")}
		})
	}
	template := &ec2.CreateLaunchTemplateInput{LaunchTemplateName: &name, LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
		ImageId: imageOf(l), InstanceType: ec2types.InstanceTypeT3Micro,
	}}
	if _, err := l.ec2.CreateLaunchTemplate(l.ctx, template); err != nil {
		return nil, err
	}
	client := autoscaling.NewFromConfig(l.Config)
	_, err := client.CreateAutoScalingGroup(l.ctx, &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: &name, MinSize: aws.Int32(0), MaxSize: aws.Int32(0), VPCZoneIdentifier: l.subnet, Tags: of(t),
		LaunchTemplate: &autoscalingtypes.LaunchTemplateSpecification{LaunchTemplateName: &name},
	})
	return func(t tags) error {
		_, err := client.CreateOrUpdateTags(l.ctx, &autoscaling.CreateOrUpdateTagsInput{Tags: of(t)})
		return err
	}, err
}

func taggedBucket(l *limited, name string, t tags) (func(tags) error, error) {
	of := func(t tags) []s3types.Tag {
		return pairs(t, func(k, v *string) s3types.Tag { return s3types.Tag{Key: k, Value: v} })
	}
	client := s3.NewFromConfig(l.Config, usePath)
	settings := *inFrankfurt
	if len(t) > 0 {
		settings.Tags = of(t)
	}
	_, err := client.CreateBucket(l.ctx, &s3.CreateBucketInput{Bucket: &name, CreateBucketConfiguration: &settings})
	return func(t tags) error {
		_, err := client.PutBucketTagging(l.ctx, &s3.PutBucketTaggingInput{Bucket: &name, Tagging: &s3types.Tagging{TagSet: of(t)}})
		return err
	}, err
}

func taggedQueue(l *limited, name string, t tags) (func(tags) error, error) {
	client := sqs.NewFromConfig(l.Config)
	made, err := client.CreateQueue(l.ctx, &sqs.CreateQueueInput{QueueName: &name, Tags: t})
	return func(t tags) error {
		_, err := client.TagQueue(l.ctx, &sqs.TagQueueInput{QueueUrl: made.QueueUrl, Tags: t})
		return err
	}, err
}

func taggedTopic(l *limited, name string, t tags) (func(tags) error, error) {
	of := func(t tags) []snstypes.Tag {
		return pairs(t, func(k, v *string) snstypes.Tag { return snstypes.Tag{Key: k, Value: v} })
	}
	client := sns.NewFromConfig(l.Config)
	made, err := client.CreateTopic(l.ctx, &sns.CreateTopicInput{Name: &name, Tags: of(t)})
	return func(t tags) error {
		_, err := client.TagResource(l.ctx, &sns.TagResourceInput{ResourceArn: made.TopicArn, Tags: of(t)})
		return err
	}, err
}

func taggedTable(l *limited, name string, t tags) (func(tags) error, error) {
	of := func(t tags) []dynamodbtypes.Tag {
		return pairs(t, func(k, v *string) dynamodbtypes.Tag { return dynamodbtypes.Tag{Key: k, Value: v} })
	}
	client := dynamodb.NewFromConfig(l.Config)
	made, err := client.CreateTable(l.ctx, &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: dynamodbtypes.BillingModePayPerRequest, Tags: of(t),
		AttributeDefinitions: []dynamodbtypes.AttributeDefinition{
			{AttributeName: aws.String("k"), AttributeType: dynamodbtypes.ScalarAttributeTypeS},
		},
		KeySchema: []dynamodbtypes.KeySchemaElement{{AttributeName: aws.String("k"), KeyType: dynamodbtypes.KeyTypeHash}},
	})
	return func(t tags) error {
		_, err := client.TagResource(l.ctx, &dynamodb.TagResourceInput{ResourceArn: made.TableDescription.TableArn, Tags: of(t)})
		return err
	}, err
}

func taggedRole(l *limited, name string, t tags) (func(tags) error, error) {
	of := func(t tags) []iamtypes.Tag {
		return pairs(t, func(k, v *string) iamtypes.Tag { return iamtypes.Tag{Key: k, Value: v} })
	}
	_, err := l.iam.CreateRole(l.ctx, &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: trustOf(200), Tags: of(t)})
	return func(t tags) error {
		_, err := l.iam.TagRole(l.ctx, &iam.TagRoleInput{RoleName: &name, Tags: of(t)})
		return err
	}, err
}

func taggedKey(l *limited, _ string, t tags) (func(tags) error, error) {
	of := func(t tags) []kmstypes.Tag {
		return pairs(t, func(k, v *string) kmstypes.Tag { return kmstypes.Tag{TagKey: k, TagValue: v} })
	}
	client := kms.NewFromConfig(l.Config)
	made, err := client.CreateKey(l.ctx, &kms.CreateKeyInput{Tags: of(t)})
	return func(t tags) error {
		_, err := client.TagResource(l.ctx, &kms.TagResourceInput{KeyId: made.KeyMetadata.KeyId, Tags: of(t)})
		return err
	}, err
}

func taggedParameter(l *limited, name string, t tags) (func(tags) error, error) {
	of := func(t tags) []ssmtypes.Tag {
		return pairs(t, func(k, v *string) ssmtypes.Tag { return ssmtypes.Tag{Key: k, Value: v} })
	}
	client := ssm.NewFromConfig(l.Config)
	_, err := client.PutParameter(l.ctx, &ssm.PutParameterInput{
		Name: &name, Value: aws.String("v"), Type: ssmtypes.ParameterTypeString, Tags: of(t),
	})
	return func(t tags) error {
		_, err := client.AddTagsToResource(l.ctx, &ssm.AddTagsToResourceInput{
			ResourceType: ssmtypes.ResourceTypeForTaggingParameter, ResourceId: &name, Tags: of(t),
		})
		return err
	}, err
}

func taggedRepository(l *limited, name string, t tags) (func(tags) error, error) {
	of := func(t tags) []ecrtypes.Tag {
		return pairs(t, func(k, v *string) ecrtypes.Tag { return ecrtypes.Tag{Key: k, Value: v} })
	}
	client := ecr.NewFromConfig(l.Config)
	made, err := client.CreateRepository(l.ctx, &ecr.CreateRepositoryInput{RepositoryName: &name, Tags: of(t)})
	return func(t tags) error {
		_, err := client.TagResource(l.ctx, &ecr.TagResourceInput{ResourceArn: made.Repository.RepositoryArn, Tags: of(t)})
		return err
	}, err
}

func taggedRule(l *limited, name string, t tags) (func(tags) error, error) {
	of := func(t tags) []eventtypes.Tag {
		return pairs(t, func(k, v *string) eventtypes.Tag { return eventtypes.Tag{Key: k, Value: v} })
	}
	client := eventbridge.NewFromConfig(l.Config)
	made, err := client.PutRule(l.ctx, &eventbridge.PutRuleInput{Name: &name, EventPattern: aws.String(`{"source":["s"]}`), Tags: of(t)})
	return func(t tags) error {
		_, err := client.TagResource(l.ctx, &eventbridge.TagResourceInput{ResourceARN: made.RuleArn, Tags: of(t)})
		return err
	}, err
}

func taggedStack(l *limited, name string, t tags) (func(tags) error, error) {
	_, err := cloudformation.NewFromConfig(l.Config).CreateStack(l.ctx, &cloudformation.CreateStackInput{
		StackName: &name, TemplateBody: aws.String("{" + topicResource + "}"),
		Tags: pairs(t, func(k, v *string) cfntypes.Tag { return cfntypes.Tag{Key: k, Value: v} }),
	})
	return nil, err
}

func taggedZone(l *limited, name string, _ tags) (func(tags) error, error) {
	client := route53.NewFromConfig(l.Config)
	made, err := client.CreateHostedZone(l.ctx, &route53.CreateHostedZoneInput{
		Name: aws.String(name + ".example"), CallerReference: &name,
	})
	return func(t tags) error {
		_, err := client.ChangeTagsForResource(l.ctx, &route53.ChangeTagsForResourceInput{
			ResourceType: route53types.TagResourceTypeHostedzone,
			ResourceId:   aws.String(strings.TrimPrefix(*made.HostedZone.Id, "/hostedzone/")),
			AddTags:      pairs(t, func(k, v *string) route53types.Tag { return route53types.Tag{Key: k, Value: v} }),
		})
		return err
	}, err
}

// A stack's resources have the tags of the stack and their own, all together at most 50.
func TestResourcesOfStacksHaveLimitsOfTags(t *testing.T) {
	l := newLimited(t)
	client := cloudformation.NewFromConfig(l.Config)
	create := func(name string, ofStack int, own string) string {
		t.Helper()
		all := tags{}
		for i := range ofStack {
			all[fmt.Sprintf("k%d", i)] = "v"
		}
		if _, err := client.CreateStack(l.ctx, &cloudformation.CreateStackInput{
			StackName: &name, Tags: pairs(all, func(k, v *string) cfntypes.Tag { return cfntypes.Tag{Key: k, Value: v} }),
			TemplateBody: aws.String(`{"Resources":{"A":{"Type":"AWS::SNS::Topic","Properties":{"Tags":[` + own + `]}}}}`),
		}); err != nil {
			t.Fatal(err)
		}
		return untilSettled(t, client, name)
	}
	const tag = `{"Key":"%s","Value":"v"}`
	for name, c := range map[string]struct {
		ofStack int
		own     string
		want    cfntypes.StackStatus
	}{
		"fifty":     {49, fmt.Sprintf(tag, "own"), cfntypes.StackStatusCreateComplete},
		"overlap":   {50, fmt.Sprintf(tag, "k1"), cfntypes.StackStatusCreateComplete},
		"fifty-one": {50, fmt.Sprintf(tag, "own"), cfntypes.StackStatusRollbackComplete},
		"reserved":  {0, fmt.Sprintf(tag, "AWS:own"), cfntypes.StackStatusRollbackComplete},
	} {
		if got := create(name, c.ofStack, c.own); got != string(c.want) {
			t.Errorf("%s: the stack is %s, want %s", name, got, c.want)
		}
	}
}

// SQS supports no aws: tags, so that CloudFormation sets none.
// https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/652
func TestQueuesOfStacksHaveNoTagsOfCloudFormation(t *testing.T) {
	l := newLimited(t)
	client := cloudformation.NewFromConfig(l.Config)
	if _, err := client.CreateStack(l.ctx, &cloudformation.CreateStackInput{
		StackName: aws.String("queue"), Tags: []cfntypes.Tag{{Key: aws.String("team"), Value: aws.String("a")}},
		TemplateBody: aws.String(`{"Resources":{"A":{"Type":"AWS::SQS::Queue","Properties":{"QueueName":"q"}}}}`),
	}); err != nil {
		t.Fatal(err)
	}
	if status := untilSettled(t, client, "queue"); status != string(cfntypes.StackStatusCreateComplete) {
		t.Fatalf("the stack is %s", status)
	}
	queues := sqs.NewFromConfig(l.Config)
	url := must(t, l.ctx, queues.GetQueueUrl, &sqs.GetQueueUrlInput{QueueName: aws.String("q")}).QueueUrl
	if got := must(t, l.ctx, queues.ListQueueTags, &sqs.ListQueueTagsInput{QueueUrl: url}).Tags; !maps.Equal(got, tags{"team": "a"}) {
		t.Errorf("the queue has the tags %v", got)
	}
}

// untilSettled waits until no operation on a stack is in progress, and returns its status.
func untilSettled(t *testing.T, client *cloudformation.Client, name string) (status string) {
	t.Helper()
	patience.UntilTrue(t, "the end of the operation on "+name, func() bool {
		out := must(t, t.Context(), client.DescribeStacks, &cloudformation.DescribeStacksInput{StackName: &name})
		status = string(out.Stacks[0].StackStatus)
		return !strings.HasSuffix(status, "IN_PROGRESS")
	})
	return status
}
