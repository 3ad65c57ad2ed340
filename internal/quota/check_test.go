package quota_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/quota"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
)

const (
	account = "123456789012"
	region  = "eu-central-1"
)

// environment is an account of the simulator.
type environment struct {
	t        *testing.T
	sim      *simulator.Simulator
	endpoint string
	root     aws.Config
}

func newEnvironment(t *testing.T) *environment {
	t.Helper()
	sim, endpoint := simulatortest.Start(t, simulator.Options{
		Account: account, Region: region, Lag: simulator.NoLag, Quotas: map[vpc.Quota]int{vpc.VPCs: 3},
	})
	return &environment{t: t, sim: sim, endpoint: endpoint, root: simulatortest.Root(endpoint, account, region)}
}

// clients are those of a user with the policies.
func (w *environment) clients(name string, policies ...string) *awsapi.Clients {
	w.t.Helper()
	key := simulatortest.User(w.t, w.root, name, policies...)
	clients, err := awsapi.New(w.t.Context(), awsapi.Options{
		Region: region, EndpointURL: w.endpoint,
		Credentials: credentials.StaticCredentialsProvider{Value: key},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return clients
}

// check checks a new stack.
func (w *environment) check(clients *awsapi.Clients, resources string) *quota.Report {
	w.t.Helper()
	report, err := quota.Check(w.t.Context(), clients, awsapi.Target{}, []quota.Stack{{After: side(w.t, resources)}})
	if err != nil {
		w.t.Fatal(err)
	}
	return report
}

// create creates a stack, and reports whether AWS refused it, and why.
func (w *environment) create(name, resources string) (refused string) {
	w.t.Helper()
	stacks := cloudformation.NewFromConfig(w.root)
	_, err := stacks.CreateStack(w.t.Context(), &cloudformation.CreateStackInput{
		StackName: &name, TemplateBody: aws.String("Resources:\n" + resources), OnFailure: types.OnFailureDoNothing,
		Capabilities: []types.Capability{types.CapabilityCapabilityNamedIam},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		out, err := stacks.DescribeStacks(w.t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
		if err != nil {
			w.t.Fatal(err)
		}
		s := out.Stacks[0]
		if s.StackStatus == types.StackStatusCreateComplete {
			return ""
		}
		if s.StackStatus == types.StackStatusCreateFailed {
			return aws.ToString(s.StackStatusReason)
		}
	}
}

// TestAReportSaysWhatAWSRefuses creates what a report says about: AWS refuses it if, and only if, the report says that
// a quota is exceeded. The simulator has three VPCs for an account, one of which is the default VPC.
func TestAReportSaysWhatAWSRefuses(t *testing.T) {
	const (
		vpcs      = "  A: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/16}}\n"
		two       = vpcs + "  B: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/16}}\n"
		addresses = "  E1: {Type: AWS::EC2::EIP}\n  E2: {Type: AWS::EC2::EIP}\n  E3: {Type: AWS::EC2::EIP}\n"
		instance  = "  I: {Type: AWS::EC2::Instance, Properties: {InstanceType: m6i.large, ImageId: " +
			"'{{resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64}}'}}\n"
	)
	w := newEnvironment(t)
	w.sim.Instances().SetQuota(account, region, false, 3)
	clients := w.clients("planner", simulatortest.Administrator)
	for _, step := range []struct{ name, resources, want string }{
		{"one-vpc", vpcs, ""},
		{"two-more", two, "VPCs per Region: 2 of 3 VPCs are in use, and the change needs 2 more, 1 too many."},
		{"three-addresses", addresses, ""},
		{"three-more", addresses, "EC2-VPC Elastic IPs: 3 of 5 addresses are in use, and the change needs 3 more, 1 too many."},
		{"an-instance", instance, ""},
		{"another", instance, "instances: 2 of 3 vCPUs are in use, and the change needs 2 more, 1 too many."},
	} {
		report := w.check(clients, step.resources)
		text := strings.Join(report.Text(), "\n")
		if len(report.Unchecked) > 0 {
			t.Errorf("%s: not everything was checked:\n%s", step.name, text)
		}
		refused := w.create(step.name, step.resources)
		if report.Exceeded() != (step.want != "") || !strings.Contains(text, step.want) {
			t.Errorf("%s: the report is\n%s\nwant %q", step.name, text, step.want)
		}
		if (refused != "") != report.Exceeded() {
			t.Errorf("%s: AWS says %q, the report\n%s", step.name, refused, text)
		}
	}
}

// TestQuotasOfGlobalServices are in one region only, and count the resources of all.
func TestQuotasOfGlobalServices(t *testing.T) {
	w := newEnvironment(t)
	const role = "  R: {Type: AWS::IAM::Role, Properties: {AssumeRolePolicyDocument: {Version: 2012-10-17, Statement: [{Effect: Allow, " +
		"Principal: {Service: ec2.amazonaws.com}, Action: sts:AssumeRole}]}}}\n"
	report := w.check(w.clients("planner", simulatortest.Administrator), role)
	i := slices.IndexFunc(report.Findings, func(f quota.Finding) bool { return f.Code == "L-FE177D64" })
	if i < 0 || len(report.Unchecked) > 0 {
		t.Fatalf("the roles of the account were not checked: %+v", report)
	}
	if f := report.Findings[i]; f.Limit != 1000 || f.High != 1 || f.Exceeded {
		t.Errorf("got %+v", f)
	}
}

// TestWhatMayNotBeReadIsNotSufficient checks with a user who may not read quotas.
func TestWhatMayNotBeReadIsNotSufficient(t *testing.T) {
	w := newEnvironment(t)
	report := w.check(w.clients("reader"), "  E: {Type: AWS::EC2::EIP}\n")
	text := strings.Join(report.Text(), "\n")
	if len(report.Findings) > 0 || !strings.Contains(text, "Not checked: EC2-VPC Elastic IPs") || !strings.Contains(text, "servicequotas:GetServiceQuota") {
		t.Errorf("got:\n%s", text)
	}
}
