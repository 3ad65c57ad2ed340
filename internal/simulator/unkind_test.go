package simulator_test

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// unkind is a simulator of which clients see every refusal, because they do not retry.
type unkind struct {
	clock  *testingclock.FakeClock
	sim    *simulator.Simulator
	config aws.Config
	subnet *string
}

const longestLag = 10 * time.Second

func startUnkind(t *testing.T, seed uint64, exact bool) *unkind {
	t.Helper()
	u := &unkind{clock: testingclock.NewFakeClock(time.Now())}
	lag := longestLag
	if exact {
		lag = simulator.NoLag
	}
	u.sim = simulator.New(simulator.Options{Seed: seed, Lag: lag, Clock: u.clock, Speed: 1})
	server := httptest.NewServer(u.sim.Handler())
	t.Cleanup(func() {
		u.sim.Close()
		server.Close()
	})
	u.config = aws.Config{
		Region: "eu-central-1", BaseEndpoint: aws.String(server.URL), Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		HTTPClient:  wiretest.SteadyClient{HTTPClient: awshttp.NewBuildableClient()},
		Credentials: credentials.NewStaticCredentialsProvider("123456789012", "secret", ""),
	}
	return u
}

// once repeats a call that is refused by chance, as SDKs do.
func once(t *testing.T, call func() error) {
	t.Helper()
	err := call()
	if isTransient(err) {
		err = call()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func isTransient(err error) bool {
	return retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err).Bool()
}

func codeOf(err error) string {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	return ""
}

// patiently repeats a refused call that succeeds only when a change has reached all services, and
// returns the codes that it met. The clock stands still until the first attempt has ended.
func patiently(t *testing.T, u *unkind, call func() error) (met []string) {
	t.Helper()
	for range 30 {
		err := call()
		if err == nil {
			return met
		}
		if !isTransient(err) {
			met = append(met, codeOf(err))
			u.clock.Step(time.Second)
		}
	}
	t.Fatalf("refused with %v long after the change", met)
	return nil
}

const trust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com","AWS":"123456789012"},"Action":"sts:AssumeRole"}]}`

// A role is unknown to other services for some seconds after its creation.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html#troubleshoot_general_eventual-consistency
func TestServicesKnowNewRolesLater(t *testing.T) {
	met := map[string][]string{}
	for seed := range uint64(5) {
		u := startUnkind(t, seed+1, false)
		identities, ctx := iam.NewFromConfig(u.config), t.Context()
		root := u.config.Copy()
		root.Retryer = nil // the default retries
		user := u.config.Copy()
		user.Credentials = credentials.StaticCredentialsProvider{Value: simulatortest.User(t, root, "ann", simulatortest.Administrator)}
		var arn string
		create := func(name string) {
			once(t, func() error {
				made, err := identities.CreateRole(ctx, &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: aws.String(trust)})
				if err == nil {
					arn = *made.Role.Arn
				}
				return err
			})
		}
		policy := func(resource string) *string {
			text, err := json.Marshal(map[string]any{"Statement": []any{map[string]any{
				"Effect": "Allow", "Principal": map[string]any{"AWS": []string{arn}}, "Action": "*", "Resource": resource,
			}}})
			if err != nil {
				t.Fatal(err)
			}
			return aws.String(string(text))
		}
		try := func(what string, call func() error) {
			create(what)
			for _, code := range patiently(t, u, call) {
				if !slices.Contains(met[what], code) {
					met[what] = append(met[what], code)
				}
			}
		}
		try("sts", func() error {
			_, err := sts.NewFromConfig(user).
				AssumeRole(ctx, &sts.AssumeRoleInput{RoleArn: &arn, RoleSessionName: aws.String("session")})
			return err
		})
		try("kms", func() error {
			_, err := kms.NewFromConfig(u.config).CreateKey(ctx, &kms.CreateKeyInput{Policy: policy("*")})
			return err
		})
		once(t, func() error {
			_, err := s3.NewFromConfig(u.config, usePath).CreateBucket(ctx, &s3.CreateBucketInput{
				Bucket: aws.String("b-demo"), CreateBucketConfiguration: inFrankfurt,
			})
			return err
		})
		try("s3", func() error {
			_, err := s3.NewFromConfig(u.config, usePath).PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{
				Bucket: aws.String("b-demo"), Policy: policy("arn:aws:s3:::b-demo/*"),
			})
			return err
		})
		try("ec2", func() error { return launchWith(t, u, identities) })
	}
	want := map[string][]string{
		"sts": {"AccessDenied"}, "kms": {"MalformedPolicyDocumentException"}, "s3": {"MalformedPolicy"}, "ec2": {"InvalidParameterValue"},
	}
	for service, codes := range want {
		if !slices.Equal(met[service], codes) {
			t.Errorf("%s refused new roles with %v, want %v", service, met[service], codes)
		}
	}
}

// launchWith launches an instance with the profile "ec2", which it creates first.
func launchWith(t *testing.T, u *unkind, identities *iam.Client) error {
	t.Helper()
	ctx, name := t.Context(), aws.String("ec2")
	if u.subnet == nil {
		once(t, func() error {
			_, err := identities.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: name})
			return err
		})
		once(t, func() error {
			_, err := identities.AddRoleToInstanceProfile(
				ctx,
				&iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: name},
			)
			return err
		})
	}
	var image *string
	once(t, func() error {
		out, err := ssm.NewFromConfig(u.config).GetParameter(ctx, &ssm.GetParameterInput{
			Name: aws.String("/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id"),
		})
		if err == nil {
			image = out.Parameter.Value
		}
		return err
	})
	machines := ec2.NewFromConfig(u.config)
	if u.subnet == nil {
		var vpc *string
		once(t, func() error {
			out, err := machines.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
			if err == nil {
				vpc = out.Vpc.VpcId
			}
			return err
		})
		once(t, func() error {
			out, err := machines.CreateSubnet(ctx, &ec2.CreateSubnetInput{VpcId: vpc, CidrBlock: aws.String("10.0.0.0/24")})
			if err == nil {
				u.subnet = out.Subnet.SubnetId
			}
			return err
		})
	}
	_, err := machines.RunInstances(ctx, &ec2.RunInstancesInput{
		SubnetId: u.subnet,
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1), ImageId: image, InstanceType: "t3.micro",
		IamInstanceProfile: &ec2types.IamInstanceProfileSpecification{Name: name},
	})
	return err
}

// Calls are throttled and fail with the codes of each service, and a second attempt succeeds.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
func TestSomeCallsAreRefusedByChance(t *testing.T) {
	for _, exact := range []bool{false, true} {
		u := startUnkind(t, 1, exact)
		codes := map[string]bool{}
		queues := sqs.NewFromConfig(u.config)
		buckets := s3.NewFromConfig(u.config, usePath)
		for range 1500 {
			for _, call := range []func() error{
				func() error { _, err := queues.ListQueues(t.Context(), &sqs.ListQueuesInput{}); return err },
				func() error { _, err := buckets.ListBuckets(t.Context(), &s3.ListBucketsInput{}); return err },
			} {
				err := call()
				if err != nil {
					codes[codeOf(err)] = true
					err = call()
				}
				if err != nil {
					t.Fatalf("the second attempt failed: %v", err)
				}
			}
		}
		for _, code := range []string{"RequestThrottled", "ServiceUnavailable", "SlowDown", "InternalError"} {
			if codes[code] == exact {
				t.Errorf("exact is %v; the codes were %v, and %s is one of them: %v", exact, codes, code, codes[code])
			}
		}
	}
}

// Each operation of EC2 has a bucket of tokens.
// https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html
func TestOperationsOfEC2HaveBuckets(t *testing.T) {
	u := startUnkind(t, 1, false)
	machines := ec2.NewFromConfig(u.config)
	admitted := func() (count int) {
		for {
			_, err := machines.CreateVolume(
				t.Context(),
				&ec2.CreateVolumeInput{AvailabilityZone: aws.String("eu-central-1a"), Size: aws.Int32(1)},
			)
			switch {
			case err == nil:
				count++
			case codeOf(err) == "RequestLimitExceeded" && count > 45:
				return count
			case !isTransient(err):
				t.Fatal(err)
			}
		}
	}
	if first := admitted(); first > 50 {
		t.Errorf("%d calls were admitted at once, more than 50", first)
	}
	u.clock.Step(4 * time.Second)
	count := 0
	for range 40 {
		if _, err := machines.CreateVolume(
			t.Context(),
			&ec2.CreateVolumeInput{AvailabilityZone: aws.String("eu-central-1a"), Size: aws.Int32(1)},
		); err == nil {
			count++
		}
	}
	if count < 15 || count > 20 {
		t.Errorf("%d calls were admitted after four seconds, want about 20", count)
	}
	if _, err := machines.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{}); err != nil {
		t.Errorf("another operation was throttled, too: %v", err)
	}
}

// EventBridge delivers at least once, and in any order.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rules-best-practices.html
func TestEventsArriveTwiceLateAndInAnotherOrder(t *testing.T) {
	u := startUnkind(t, 1, false)
	ctx, queues, events := t.Context(), sqs.NewFromConfig(u.config), eventbridge.NewFromConfig(u.config)
	var queue *string
	once(t, func() error {
		out, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("inbox"), Attributes: fromEvents("inbox")})
		if err == nil {
			queue = out.QueueUrl
		}
		return err
	})
	once(t, func() error {
		_, err := events.PutRule(ctx, &eventbridge.PutRuleInput{Name: aws.String("all"), EventPattern: aws.String(`{"source":["shop"]}`)})
		return err
	})
	once(t, func() error {
		_, err := events.PutTargets(ctx, &eventbridge.PutTargetsInput{Rule: aws.String("all"), Targets: []eventtypes.Target{
			{Id: aws.String("inbox"), Arn: aws.String("arn:aws:sqs:eu-central-1:123456789012:inbox")},
		}})
		return err
	})
	u.clock.Step(longestLag) // until the rule matches
	const sent = 40
	for range sent {
		once(t, func() error {
			_, err := events.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []eventtypes.PutEventsRequestEntry{
				{Source: aws.String("shop"), DetailType: aws.String("order"), Detail: aws.String("{}")},
			}})
			return err
		})
	}
	if now := delivered(t, queues, queue); now >= sent {
		t.Errorf("all %d events arrived at once", now)
	}
	u.clock.Step(longestLag)
	patience.UntilTrue(t, "more deliveries than events", func() bool { return delivered(t, queues, queue) > sent })
}

// fromEvents returns the attributes of a queue whose policy lets EventBridge send messages.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-resource-based.html#eb-sqs-permissions
func fromEvents(queue string) map[string]string {
	return map[string]string{"Policy": `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},` +
		`"Action":"sqs:SendMessage","Resource":"arn:aws:sqs:eu-central-1:123456789012:` + queue + `"}}`}
}

func delivered(t *testing.T, queues *sqs.Client, queue *string) int {
	t.Helper()
	var count int
	once(t, func() error {
		out, err := queues.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: queue, AttributeNames: approximateCount})
		if err == nil {
			count = number(t, out.Attributes["ApproximateNumberOfMessages"])
		}
		return err
	})
	return count
}

// A change of a record is PENDING first, and resolvers return what they have cached.
// https://docs.aws.amazon.com/Route53/latest/APIReference/API_ChangeInfo.html
func TestRecordsChangeLater(t *testing.T) {
	stale := false
	for seed := range uint64(5) {
		u := startUnkind(t, seed+1, false)
		names, ctx := route53.NewFromConfig(u.config), t.Context()
		var zone *string
		once(t, func() error {
			out, err := names.CreateHostedZone(
				ctx,
				&route53.CreateHostedZoneInput{Name: aws.String("example.com"), CallerReference: aws.String("r")},
			)
			if err == nil {
				zone = out.HostedZone.Id
			}
			return err
		})
		var change *string
		set := func(address string) {
			once(t, func() error {
				out, err := names.ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{
					HostedZoneId: zone, ChangeBatch: &route53types.ChangeBatch{Changes: []route53types.Change{{
						Action: route53types.ChangeActionUpsert, ResourceRecordSet: &route53types.ResourceRecordSet{
							Name: aws.String("api.example.com"), Type: route53types.RRTypeA, TTL: aws.Int64(5),
							ResourceRecords: []route53types.ResourceRecord{{Value: &address}},
						},
					}}},
				})
				if err == nil {
					change = out.ChangeInfo.Id
				}
				return err
			})
		}
		set("192.0.2.1")
		u.clock.Step(longestLag)
		set("192.0.2.2")
		found, err := u.sim.Lookup(ctx, "api.example.com")
		stale = stale || err == nil && found[0].String() == "192.0.2.1"
		u.clock.Step(5 * time.Second) // the TTL
		if found, err := u.sim.Lookup(ctx, "api.example.com"); err != nil || found[0].String() != "192.0.2.2" {
			t.Errorf("after the TTL, the name is %v, %v", found, err)
		}
		u.clock.Step(longestLag)
		once(t, func() error {
			out, err := names.GetChange(ctx, &route53.GetChangeInput{Id: change})
			if err == nil && out.ChangeInfo.Status != route53types.ChangeStatusInsync {
				t.Errorf("the change is %s", out.ChangeInfo.Status)
			}
			return err
		})
	}
	if !stale {
		t.Error("no lookup returned the old address")
	}
}

// Resources that a client just created are unknown to some of the next calls.
func TestReadsMayNotFindWhatWasJustCreated(t *testing.T) {
	met := map[string][]string{}
	for seed := range uint64(8) {
		u := startUnkind(t, seed+1, false)
		ctx, machines, keys := t.Context(), ec2.NewFromConfig(u.config), kms.NewFromConfig(u.config)
		tables := dynamodb.NewFromConfig(u.config)
		try := func(what string, create, use func() error) {
			once(t, create)
			for _, code := range patiently(t, u, use) {
				if !slices.Contains(met[what], code) {
					met[what] = append(met[what], code)
				}
			}
		}
		var id *string
		try("a security group", func() error {
			network, err := machines.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
			if err != nil {
				return err
			}
			made, err := machines.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
				GroupName: aws.String("g"), Description: aws.String("d"), VpcId: network.Vpc.VpcId,
			})
			if err == nil {
				id = made.GroupId
			}
			return err
		}, func() error {
			_, err := machines.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{*id}})
			return err
		})
		volume := func() error {
			made, err := machines.CreateVolume(
				ctx, &ec2.CreateVolumeInput{AvailabilityZone: aws.String("eu-central-1a"), Size: aws.Int32(1)},
			)
			if err == nil {
				id = made.VolumeId
			}
			return err
		}
		once(t, volume)
		u.clock.Step(longestLag)
		try("the volume of a new snapshot", func() error {
			_, err := machines.CreateSnapshot(ctx, &ec2.CreateSnapshotInput{VolumeId: id})
			return err
		}, func() error {
			_, err := machines.DescribeVolumes(ctx, &ec2.DescribeVolumesInput{VolumeIds: []string{*id}})
			return err
		})
		try("a key", func() error {
			made, err := keys.CreateKey(ctx, &kms.CreateKeyInput{})
			if err == nil {
				id = made.KeyMetadata.Arn
			}
			return err
		}, func() error {
			_, err := keys.EnableKeyRotation(ctx, &kms.EnableKeyRotationInput{KeyId: id})
			return err
		})
		try("a table", func() error {
			_, err := tables.CreateTable(ctx, &dynamodb.CreateTableInput{
				TableName: aws.String("table"), BillingMode: dynamodbtypes.BillingModePayPerRequest,
				AttributeDefinitions: []dynamodbtypes.AttributeDefinition{
					{AttributeName: aws.String("k"), AttributeType: dynamodbtypes.ScalarAttributeTypeS},
				},
				KeySchema: []dynamodbtypes.KeySchemaElement{{AttributeName: aws.String("k"), KeyType: dynamodbtypes.KeyTypeHash}},
			})
			return err
		}, func() error {
			_, err := tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("table")})
			return err
		})
	}
	want := map[string][]string{
		"a security group": {"InvalidGroup.NotFound"}, "a key": {"NotFoundException"}, "a table": {"ResourceNotFoundException"},
	}
	if d := cmp.Diff(want, met); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// A public access block takes effect later, and a rule matches events later.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/Welcome.html#ConsistencyModel
// https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutRule.html
func TestSettingsTakeEffectLater(t *testing.T) {
	refused, missed := 0, 0
	for seed := range uint64(8) {
		u := startUnkind(t, seed+1, false)
		ctx, buckets := t.Context(), s3.NewFromConfig(u.config, usePath)
		name := aws.String("b-demo")
		once(t, func() error {
			_, err := buckets.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: name, CreateBucketConfiguration: inFrankfurt})
			return err
		})
		once(t, func() error {
			_, err := buckets.DeletePublicAccessBlock(ctx, &s3.DeletePublicAccessBlockInput{Bucket: name})
			return err
		})
		refused += len(patiently(t, u, func() error {
			_, err := buckets.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: name, Policy: aws.String(
				`{"Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::b-demo/*"}]}`,
			)})
			return err
		}))

		queues, events := sqs.NewFromConfig(u.config), eventbridge.NewFromConfig(u.config)
		var queue *string
		once(t, func() error {
			out, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("inbox"), Attributes: map[string]string{
				"Policy": `{"Statement": [{"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"},` +
					` "Action": "sqs:SendMessage", "Resource": "*"}]}`,
			}})
			if err == nil {
				queue = out.QueueUrl
			}
			return err
		})
		once(t, func() error {
			_, err := events.PutRule(
				ctx, &eventbridge.PutRuleInput{Name: aws.String("all"), EventPattern: aws.String(`{"source":["shop"]}`)},
			)
			return err
		})
		once(t, func() error {
			_, err := events.PutTargets(ctx, &eventbridge.PutTargetsInput{Rule: aws.String("all"), Targets: []eventtypes.Target{
				{Id: aws.String("inbox"), Arn: aws.String("arn:aws:sqs:eu-central-1:123456789012:inbox")},
			}})
			return err
		})
		send := func() {
			once(t, func() error {
				_, err := events.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []eventtypes.PutEventsRequestEntry{
					{Source: aws.String("shop"), DetailType: aws.String("order"), Detail: aws.String("{}")},
				}})
				return err
			})
		}
		send()
		u.clock.Step(longestLag)
		u.clock.Step(longestLag) // for an event that is late
		early := delivered(t, queues, queue)
		if early == 0 {
			missed++
		}
		send()
		u.clock.Step(longestLag)
		patience.UntilTrue(t, "the event after the lag", func() bool { return delivered(t, queues, queue) > early })
	}
	if refused == 0 || missed == 0 {
		t.Errorf("%d policies were refused, and %d rules missed an event", refused, missed)
	}
}

func usePath(o *s3.Options) { o.UsePathStyle = true }

var (
	inFrankfurt      = &s3types.CreateBucketConfiguration{LocationConstraint: "eu-central-1"}
	approximateCount = []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameApproximateNumberOfMessages}
)

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
