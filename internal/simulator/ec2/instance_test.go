package ec2_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awskms "github.com/aws/aws-sdk-go-v2/service/kms"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

func TestInstanceBootsItsMachine(t *testing.T) {
	w := start(t)
	in := w.request()
	in.UserData = aws.String(base64.StdEncoding.EncodeToString([]byte("#!/bin/sh\n")))
	in.TagSpecifications = []types.TagSpecification{
		{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{{Key: aws.String("Name"), Value: aws.String("one")}}},
	}
	out, err := w.RunInstances(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if state := out.Instances[0].State.Name; state != types.InstanceStateNamePending {
		t.Errorf("an instance begins %s", state)
	}
	i := w.until(*out.Instances[0].InstanceId, types.InstanceStateNameRunning)
	spec := w.host.specs[*i.InstanceId]
	if string(spec.UserData) != "#!/bin/sh\n" || spec.PrivateIP.String() != *i.PrivateIpAddress || spec.Zone != region+"a" ||
		spec.Architecture != "amd64" ||
		spec.VPCRange.String() != "10.0.0.0/16" {
		t.Errorf("booted from %+v", spec)
	}
	if want := "ip-" + strings.ReplaceAll(*i.PrivateIpAddress, ".", "-") + ".eu-central-1.compute.internal"; *i.PrivateDnsName != want ||
		spec.PrivateDNSName != want {
		t.Errorf("called %s, want %s", *i.PrivateDnsName, want)
	}
	if len(i.NetworkInterfaces) != 1 || len(i.SecurityGroups) != 1 || len(i.BlockDeviceMappings) != 1 || len(i.Tags) != 1 {
		t.Errorf("described as %+v", i)
	}
	if _, err := w.TerminateInstances(t.Context(), &awsec2.TerminateInstancesInput{InstanceIds: []string{*i.InstanceId}}); err != nil {
		t.Fatal(err)
	}
	gone := w.until(*i.InstanceId, types.InstanceStateNameTerminated)
	if *gone.StateReason.Code != "Client.UserInitiatedShutdown" || gone.SubnetId != nil || len(gone.NetworkInterfaces) > 0 {
		t.Errorf("terminated as %+v", gone)
	}
	w.eventually("the root volume to go", func() bool { return w.host.called("delete " + *i.BlockDeviceMappings[0].Ebs.VolumeId) })
	if kept := w.network.Kept(account, region); kept["network-interface"] != 0 {
		t.Errorf("left behind: %v", kept)
	}
	w.eventually("four events", func() bool { return len(w.published("EC2 Instance State-change Notification")) == 4 })
	w.eventually("four changes of state", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.states) == 4
	})
	want := []string{
		*i.InstanceId + " pending",
		*i.InstanceId + " running",
		*i.InstanceId + " shutting-down",
		*i.InstanceId + " terminated",
	}
	if !slices.Equal(w.states, want) {
		t.Errorf("watched %v", w.states)
	}
}

// Users report these error messages from AWS:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
func TestInvalidLaunchesAreRefused(t *testing.T) {
	w := start(t)
	w.service.SetQuota(account, region, false, 2)
	w.service.SetCapacity(region+"b", "m6i.large", false)
	w.service.SetOffered(region+"b", "c5.large", false)
	gone := w.image("arm64")
	w.service.RemoveImage(region, gone)
	b := aws.String(w.subnets[region+"b"])
	for _, c := range []struct {
		reason string
		change func(*awsec2.RunInstancesInput)
		code   string
		says   string
	}{
		{"a removed image", func(in *awsec2.RunInstancesInput) { in.ImageId = &gone }, "InvalidAMIID.NotFound", "The image id '[" + gone + "]' does not exist"},
		{"an image that is none", func(in *awsec2.RunInstancesInput) { in.ImageId = aws.String("ubuntu") }, "InvalidAMIID.Malformed", `Invalid id: "ubuntu" (expecting "ami-...")`},
		{"an unknown type", func(in *awsec2.RunInstancesInput) { in.InstanceType = "m99.large" }, "InvalidParameterValue", "Invalid value 'm99.large' for InstanceType."},
		{"a type of another architecture", func(in *awsec2.RunInstancesInput) { in.InstanceType = "m7g.large" }, "InvalidParameterValue", "does not match the architecture"},
		{"too many vCPUs", func(in *awsec2.RunInstancesInput) { in.InstanceType = "m6i.xlarge" }, "VcpuLimitExceeded", "your current vCPU limit of 2 allows"},
		{"no capacity in the zone", func(in *awsec2.RunInstancesInput) { in.SubnetId = b }, "InsufficientInstanceCapacity", "We currently do not have sufficient m6i.large capacity in the Availability Zone you requested (eu-central-1b). Our system will be working on provisioning additional capacity. You can currently get m6i.large capacity by not specifying an Availability Zone in your request or choosing eu-central-1a, eu-central-1c."},
		{"a type that the zone does not have", func(in *awsec2.RunInstancesInput) { in.SubnetId, in.InstanceType = b, "c5.large" }, "Unsupported", "Your requested instance type (c5.large) is not supported in your requested Availability Zone (eu-central-1b). Please retry your request by not specifying an Availability Zone or choosing eu-central-1a, eu-central-1c."},
		{"no such profile", func(in *awsec2.RunInstancesInput) {
			in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: aws.String("none")}
		}, "InvalidParameterValue", "Value (none) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name"},
		{"no such key", func(in *awsec2.RunInstancesInput) { in.KeyName = aws.String("none") }, "InvalidKeyPair.NotFound", "The key pair 'none' does not exist"},
		{"no such subnet", func(in *awsec2.RunInstancesInput) { in.SubnetId = aws.String("subnet-0123456789abcdef0") }, "InvalidSubnetID.NotFound", "does not exist"},
		{"no subnet without a default VPC", func(in *awsec2.RunInstancesInput) { in.SubnetId = nil }, "VPCIdNotSpecified", "No default VPC for this user"},
		{"too much user data", func(in *awsec2.RunInstancesInput) {
			in.UserData = aws.String(base64.StdEncoding.EncodeToString(make([]byte, 16385)))
		}, "InvalidParameterValue", "User data is limited to 16384 bytes"},
		{"a root volume smaller than its snapshot", func(in *awsec2.RunInstancesInput) {
			in.BlockDeviceMappings = []types.BlockDeviceMapping{{DeviceName: aws.String("/dev/sda1"), Ebs: &types.EbsBlockDevice{VolumeSize: aws.Int32(4)}}}
		}, "InvalidBlockDeviceMapping", "expect size>= 8GB"},
		{"what is not simulated", func(in *awsec2.RunInstancesInput) {
			in.CpuOptions = &types.CpuOptionsRequest{CoreCount: aws.Int32(1)}
		}, "UnsupportedOperation", "CpuOptions"},
		{"a dry run that would succeed", func(in *awsec2.RunInstancesInput) { in.DryRun = aws.Bool(true) }, "DryRunOperation", "Request would have succeeded"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			in := w.request()
			c.change(in)
			_, err := w.RunInstances(t.Context(), in)
			wiretest.WantCode(t, err, c.code)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("says %v", err)
			}
		})
	}
	if kept := w.network.Kept(account, region); kept["network-interface"] != 0 {
		t.Errorf("refused launches leave %v", kept)
	}
	w.launch(w.request())
	_, err := w.RunInstances(t.Context(), w.request())
	wiretest.WantCode(t, err, "VcpuLimitExceeded")
	w.service.SetQuota(account, region, false, -1)
	w.launch(w.request())
}

func TestInstanceTerminatesIfItsMachineCannotBoot(t *testing.T) {
	w := start(t)
	w.host.refuse = true
	out, err := w.RunInstances(t.Context(), w.request())
	if err != nil {
		t.Fatal(err)
	}
	i := w.until(*out.Instances[0].InstanceId, types.InstanceStateNameTerminated)
	if *i.StateReason.Code != "Server.InternalError" || *i.StateReason.Message != "Server.InternalError: Internal error on launch" {
		t.Errorf("terminated because of %+v", i.StateReason)
	}
}

// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ts-as-instancelaunchfailure.html
func TestInstanceTerminatesIfItsVolumeCannotBeEncrypted(t *testing.T) {
	w := start(t)
	keys := awskms.NewFromConfig(w.config)
	disabled, err := keys.CreateKey(t.Context(), &awskms.CreateKeyInput{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.DisableKey(t.Context(), &awskms.DisableKeyInput{KeyId: disabled.KeyMetadata.KeyId}); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"alias/none":                "Client.InternalError: Client error on launch",
		*disabled.KeyMetadata.KeyId: "Client.InvalidKMSKey.InvalidState: The KMS key provided is in an incorrect state",
	} {
		in := w.request()
		in.BlockDeviceMappings = []types.BlockDeviceMapping{{
			DeviceName: aws.String("/dev/sda1"), Ebs: &types.EbsBlockDevice{Encrypted: aws.Bool(true), KmsKeyId: &key},
		}}
		out, err := w.RunInstances(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		i := w.until(*out.Instances[0].InstanceId, types.InstanceStateNameTerminated)
		if *i.StateReason.Message != want {
			t.Errorf("%s: %s", key, *i.StateReason.Message)
		}
	}
}

func TestStateChangesTakeTimeAndTerminatedInstancesStayVisibleForAnHour(t *testing.T) {
	clk := testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	w := startWith(t, clk, func(string) time.Duration { return 20 * time.Second })
	out, err := w.RunInstances(t.Context(), w.request())
	if err != nil {
		t.Fatal(err)
	}
	id := *out.Instances[0].InstanceId
	w.until(id, types.InstanceStateNamePending)
	clk.Step(20 * time.Second)
	w.until(id, types.InstanceStateNameRunning)
	if err := w.service.Terminate(account, region, id); err != nil {
		t.Fatal(err)
	}
	w.until(id, types.InstanceStateNameShuttingDown)
	clk.Step(20 * time.Second)
	w.until(id, types.InstanceStateNameTerminated)
	clk.Step(59 * time.Minute)
	w.until(id, types.InstanceStateNameTerminated)
	clk.Step(time.Minute)
	_, err = w.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{InstanceIds: []string{id}})
	wiretest.WantCode(t, err, "InvalidInstanceID.NotFound")
}

func TestStopStartAndProtection(t *testing.T) {
	w := start(t)
	in := w.request()
	in.DisableApiTermination = aws.Bool(true)
	i := w.launch(in)
	ids := []string{*i.InstanceId}
	_, err := w.TerminateInstances(t.Context(), &awsec2.TerminateInstancesInput{InstanceIds: ids})
	wiretest.WantCode(t, err, "OperationNotPermitted")
	if _, err := w.StopInstances(t.Context(), &awsec2.StopInstancesInput{InstanceIds: ids}); err != nil {
		t.Fatal(err)
	}
	w.until(ids[0], types.InstanceStateNameStopped)
	if _, err := w.ModifyInstanceAttribute(t.Context(), &awsec2.ModifyInstanceAttributeInput{
		InstanceId: &ids[0], InstanceType: &types.AttributeValue{Value: aws.String("m6i.xlarge")},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.StartInstances(t.Context(), &awsec2.StartInstancesInput{InstanceIds: ids}); err != nil {
		t.Fatal(err)
	}
	again := w.until(ids[0], types.InstanceStateNameRunning)
	if again.InstanceType != "m6i.xlarge" || *again.PrivateIpAddress != *i.PrivateIpAddress {
		t.Errorf("started as %+v", again)
	}
	if _, err := w.ModifyInstanceAttribute(t.Context(), &awsec2.ModifyInstanceAttributeInput{
		InstanceId: &ids[0], DisableApiTermination: &types.AttributeBooleanValue{Value: aws.Bool(false)},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.TerminateInstances(t.Context(), &awsec2.TerminateInstancesInput{InstanceIds: ids}); err != nil {
		t.Fatal(err)
	}
	w.until(ids[0], types.InstanceStateNameTerminated)
}

func TestInstancesAreFoundByFilters(t *testing.T) {
	w := start(t)
	in := w.request()
	in.MaxCount = aws.Int32(7)
	in.TagSpecifications = []types.TagSpecification{
		{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{{Key: aws.String("role"), Value: aws.String("worker")}}},
	}
	out, err := w.RunInstances(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Instances) != 7 {
		t.Fatalf("%d instances", len(out.Instances))
	}
	for _, i := range out.Instances {
		w.until(*i.InstanceId, types.InstanceStateNameRunning)
	}
	filter := func(name string, values ...string) types.Filter { return types.Filter{Name: &name, Values: values} }
	for _, c := range []struct {
		reason  string
		filters []types.Filter
		want    int
	}{
		{"a tag and a state", []types.Filter{filter("tag:role", "work*"), filter("instance-state-name", "pending", "running")}, 7},
		{"another tag", []types.Filter{filter("tag:role", "master")}, 0},
		{"an address", []types.Filter{filter("private-ip-address", *out.Instances[3].PrivateIpAddress)}, 1},
		{"a name, as node names are looked up", []types.Filter{filter("private-dns-name", *out.Instances[3].PrivateDnsName)}, 1},
		{"a subnet", []types.Filter{filter("subnet-id", w.subnets[region+"b"])}, 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got, pages := 0, 0
			p := awsec2.NewDescribeInstancesPaginator(
				w.Client, &awsec2.DescribeInstancesInput{Filters: c.filters, MaxResults: aws.Int32(5)},
			)
			for p.HasMorePages() {
				page, err := p.NextPage(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				pages++
				for _, r := range page.Reservations {
					got += len(r.Instances)
				}
			}
			if got != c.want || pages != max(1, (c.want+4)/5) {
				t.Errorf("%d instances in %d pages, want %d", got, pages, c.want)
			}
		})
	}
	_, err = w.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{Filters: []types.Filter{filter("colour", "red")}})
	wiretest.WantCode(t, err, "InvalidParameterValue")
	w.service.SetImpaired(account, region, *out.Instances[0].InstanceId, true)
	status, err := w.DescribeInstanceStatus(
		t.Context(), &awsec2.DescribeInstanceStatusInput{Filters: []types.Filter{filter("instance-status.status", "impaired")}},
	)
	if err != nil || len(status.InstanceStatuses) != 1 {
		t.Errorf("impaired: %+v %v", status, err)
	}
}

// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
func TestSpotInstanceGetsNoticeBeforeInterruption(t *testing.T) {
	clk := testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	w := startWith(t, clk, nil)
	in := w.request()
	in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot}
	i := w.launch(in)
	if i.InstanceLifecycle != types.InstanceLifecycleTypeSpot || !strings.HasPrefix(aws.ToString(i.SpotInstanceRequestId), "sir-") {
		t.Errorf("described as %+v", i)
	}
	if err := w.service.RecommendRebalance(account, region, *i.InstanceId); err != nil {
		t.Fatal(err)
	}
	if err := w.service.InterruptSpot(account, region, *i.InstanceId, "terminate"); err != nil {
		t.Fatal(err)
	}
	w.eventually("the warning", func() bool { return len(w.published("EC2 Spot Instance Interruption Warning")) == 1 })
	w.eventually("the recommendation", func() bool { return len(w.published("EC2 Instance Rebalance Recommendation")) == 1 })
	if arn := w.published(
		"EC2 Spot Instance Interruption Warning",
	)[0].resources[0]; arn != "arn:aws:ec2:eu-central-1a:instance/"+*i.InstanceId {
		t.Errorf("the warning is about %s", arn)
	}
	w.until(*i.InstanceId, types.InstanceStateNameRunning)
	clk.Step(2 * time.Minute)
	gone := w.until(*i.InstanceId, types.InstanceStateNameTerminated)
	if *gone.StateReason.Code != "Server.SpotInstanceTermination" {
		t.Errorf("ended because of %+v", gone.StateReason)
	}
}

func TestImageCanBeNamedByPublicParameter(t *testing.T) {
	w := start(t)
	in := w.request()
	want := *in.ImageId
	in.ImageId = aws.String("resolve:ssm:/aws/service/canonical/ubuntu/server/24.04/stable/20260610/amd64/hvm/ebs-gp3/ami-id")
	if i := w.launch(in); *i.ImageId != want {
		t.Errorf("launched from %s", *i.ImageId)
	}
	in.ImageId, in.ClientToken = aws.String("resolve:ssm:/mine"), nil // the SDK generated a token
	_, err := w.RunInstances(t.Context(), in)
	wiretest.WantCode(t, err, "InvalidParameterValue")
}

func TestRepeatedRequestLaunchesOnce(t *testing.T) {
	w := start(t)
	in := w.request()
	in.ClientToken = aws.String("once")
	first, err := w.RunInstances(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	second, err := w.RunInstances(t.Context(), in)
	if err != nil || *first.Instances[0].InstanceId != *second.Instances[0].InstanceId {
		t.Errorf("repeated: %v %v", second, err)
	}
	in.InstanceType = "m6i.xlarge"
	_, err = w.RunInstances(t.Context(), in)
	wiretest.WantCode(t, err, "IdempotentParameterMismatch")
}
