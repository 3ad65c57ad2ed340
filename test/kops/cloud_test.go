package kops

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

const (
	account = "123456789012"
	region  = "eu-central-1"
)

// written are the IDs in the example, by their names in the template of the network.
var written = map[string]string{
	"VPC": "vpc-0123456789abcdef0", "SecurityAPI": "sg-0aaaaaaaaaaaaaaa1", "SecurityIngress": "sg-0aaaaaaaaaaaaaaa2",
	"PrivateA": "subnet-0000000000000000a", "PrivateB": "subnet-0000000000000000b", "PrivateC": "subnet-0000000000000000c",
	"UtilityA": "subnet-0000000000000001a", "UtilityB": "subnet-0000000000000001b", "UtilityC": "subnet-0000000000000001c",
	"NATA": "nat-0000000000000000a", "NATB": "nat-0000000000000000b", "NATC": "nat-0000000000000000c",
}

// cloud is a simulated AWS with fake machines, and a user's folder.
type cloud struct {
	t        *testing.T
	dir      string
	endpoint string
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	sim, endpoint := simulatortest.Start(t, simulator.Options{
		Account: account, Region: region, Machines: fake.New(fake.Options{}), Patience: 100 * time.Millisecond,
	})
	names, err := sim.ServeNames(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		awsapi.ResolverVariable: names,
		"AWS_ENDPOINT_URL":      endpoint, "AWS_ACCESS_KEY_ID": account, "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": region,
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_PROFILE": "", "AWS_SESSION_TOKEN": "",
	} {
		t.Setenv(name, value)
	}
	c := &cloud{t: t, dir: t.TempDir(), endpoint: endpoint}
	c.write(filepath.Join(c.dir, "nodeup-linux-amd64"), "fake nodeup")
	return c
}

func (c *cloud) write(file, text string) {
	c.t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// release writes a release without anything to download.
func (c *cloud) release() string {
	c.t.Helper()
	local, err := environment.LocalRelease(nil)
	if err != nil {
		c.t.Fatal(err)
	}
	local.APIVersion, local.Kind = "cluster-operator.aws/v1alpha1", "Release"
	text, err := yaml.Marshal(local)
	if err != nil {
		c.t.Fatal(err)
	}
	file := filepath.Join(c.dir, "release.yaml")
	c.write(file, string(text))
	return file
}

// command runs one of the program's commands on a state in the folder, and returns its output.
func (c *cloud) command(cmd *cobra.Command, args ...string) (out, errOut string) {
	c.t.Helper()
	var stdout, stderr bytes.Buffer
	args = append(args, "--state", filepath.Join(c.dir, "state"))
	if cmd.Flags().Lookup("nodeup-dir") != nil || cmd.Name() == "delete" {
		args = append(args, "--nodeup-dir", c.dir)
	}
	cmd.SetArgs(args)
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(c.t.Context()); err != nil {
		c.t.Fatalf("%s %v: %v\n%s\n%s", cmd.Name(), args, err, stdout.String(), stderr.String())
	}
	return stdout.String(), stderr.String()
}

func (c *cloud) config() aws.Config {
	return aws.Config{
		Region: region, BaseEndpoint: &c.endpoint, Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""),
	}
}

func (c *cloud) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// network creates what the example requires, as another owner's stack, and returns the IDs by their
// names in the template.
func (c *cloud) network() map[string]string {
	c.t.Helper()
	var body, outputs strings.Builder
	body.WriteString(`Resources:
  VPC: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 172.18.32.0/20, EnableDnsHostnames: true, EnableDnsSupport: true, Tags: [{Key: Name, Value: apps-devstg}]}}
  Gateway: {Type: AWS::EC2::InternetGateway}
  Attachment: {Type: AWS::EC2::VPCGatewayAttachment, Properties: {VpcId: !Ref VPC, InternetGatewayId: !Ref Gateway}}
  Public: {Type: AWS::EC2::RouteTable, Properties: {VpcId: !Ref VPC}}
  Out: {Type: AWS::EC2::Route, DependsOn: Attachment, Properties: {RouteTableId: !Ref Public, DestinationCidrBlock: 0.0.0.0/0, GatewayId: !Ref Gateway}}
  SecurityAPI: {Type: AWS::EC2::SecurityGroup, Properties: {VpcId: !Ref VPC, GroupDescription: VPN}}
  SecurityIngress: {Type: AWS::EC2::SecurityGroup, Properties: {VpcId: !Ref VPC, GroupDescription: The load balancer of the applications}}
`)
	for i, letter := range []string{"A", "B", "C"} {
		zone := region + strings.ToLower(letter)
		fmt.Fprintf(
			&body,
			`  Private%[1]s: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref VPC, AvailabilityZone: %[2]s, CidrBlock: 172.18.%[3]d.0/23}}
  Utility%[1]s: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref VPC, AvailabilityZone: %[2]s, CidrBlock: 172.18.%[4]d.0/23}}
  Address%[1]s: {Type: AWS::EC2::EIP, DependsOn: Attachment, Properties: {Domain: vpc}}
  NAT%[1]s: {Type: AWS::EC2::NatGateway, Properties: {SubnetId: !Ref Utility%[1]s, AllocationId: !GetAtt Address%[1]s.AllocationId}}
  Routes%[1]s: {Type: AWS::EC2::RouteTable, Properties: {VpcId: !Ref VPC}}
  Default%[1]s: {Type: AWS::EC2::Route, Properties: {RouteTableId: !Ref Routes%[1]s, DestinationCidrBlock: 0.0.0.0/0, NatGatewayId: !Ref NAT%[1]s}}
  PrivateRoutes%[1]s: {Type: AWS::EC2::SubnetRouteTableAssociation, Properties: {SubnetId: !Ref Private%[1]s, RouteTableId: !Ref Routes%[1]s}}
  UtilityRoutes%[1]s: {Type: AWS::EC2::SubnetRouteTableAssociation, Properties: {SubnetId: !Ref Utility%[1]s, RouteTableId: !Ref Public}}
`,
			letter,
			zone,
			32+2*i,
			40+2*i,
		)
	}
	outputs.WriteString("Outputs:\n")
	for name := range written {
		reference := "!Ref " + name
		if strings.HasPrefix(name, "Security") {
			reference = "!GetAtt " + name + ".GroupId"
		}
		fmt.Fprintf(&outputs, "  %s: {Value: %s}\n", name, reference)
	}
	api, name := cloudformation.NewFromConfig(c.config()), aws.String("network")
	_, err := api.CreateStack(
		c.t.Context(), &cloudformation.CreateStackInput{StackName: name, TemplateBody: aws.String(body.String() + outputs.String())},
	)
	c.must(err)
	c.must(cloudformation.NewStackCreateCompleteWaiter(api, func(o *cloudformation.StackCreateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 10*time.Millisecond, 100*time.Millisecond
	}).Wait(c.t.Context(), &cloudformation.DescribeStacksInput{StackName: name}, patience.Left(c.t)))
	found, err := api.DescribeStacks(c.t.Context(), &cloudformation.DescribeStacksInput{StackName: name})
	c.must(err)
	ids := map[string]string{}
	for _, o := range found.Stacks[0].Outputs {
		ids[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	return ids
}

// describeNetwork returns everything that EC2 reports about the network, including tags, routes,
// rules and free addresses.
func (c *cloud) describeNetwork() string {
	c.t.Helper()
	ctx, api := c.t.Context(), ec2.NewFromConfig(c.config())
	vpcs, err := api.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{})
	c.must(err)
	subnets, err := api.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{})
	c.must(err)
	routes, err := api.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{})
	c.must(err)
	gateways, err := api.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{})
	c.must(err)
	groups, err := api.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{})
	c.must(err)
	text, err := json.Marshal([]any{vpcs.Vpcs, subnets.Subnets, routes.RouteTables, gateways.NatGateways, groups.SecurityGroups})
	c.must(err)
	var all any
	c.must(json.Unmarshal(text, &all))
	text, err = json.MarshalIndent(sorted(all), "", " ")
	c.must(err)
	return string(text)
}

// sorted sorts all lists of a JSON value: EC2 returns them in any order.
func sorted(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key := range value {
			value[key] = sorted(value[key])
		}
	case []any:
		for i := range value {
			value[i] = sorted(value[i])
		}
		slices.SortFunc(value, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return value
}

// instances returns the running machines.
func (c *cloud) instances() []ec2types.Instance {
	c.t.Helper()
	found, err := ec2.NewFromConfig(c.config()).DescribeInstances(c.t.Context(), &ec2.DescribeInstancesInput{
		Filters: []ec2types.Filter{{Name: aws.String("instance-state-name"), Values: []string{"running"}}},
	})
	c.must(err)
	var all []ec2types.Instance
	for i := range found.Reservations {
		all = append(all, found.Reservations[i].Instances...)
	}
	return all
}

func tagsOf(tags []ec2types.Tag) map[string]string {
	all := map[string]string{}
	for _, tag := range tags {
		all[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return all
}

// kindOf returns the kind of a machine by its tags: a slot, a bastion, or its instance group.
func kindOf(tags map[string]string) string {
	switch name := tags["Name"]; {
	case strings.Contains(name, "control-plane"):
		return "control-plane"
	case strings.Contains(name, "bastion"):
		return "bastion"
	default:
		return strings.TrimPrefix(name, "apps-")
	}
}

// etcdVolumes returns the volumes that are not root volumes.
func (c *cloud) etcdVolumes() []ec2types.Volume {
	c.t.Helper()
	found, err := ec2.NewFromConfig(c.config()).DescribeVolumes(c.t.Context(), &ec2.DescribeVolumesInput{
		Filters: []ec2types.Filter{{Name: aws.String("tag:aws:cloudformation:stack-name"), Values: []string{"apps"}}},
	})
	c.must(err)
	return found.Volumes
}

// balancer returns the only load balancer.
func (c *cloud) balancer() elbtypes.LoadBalancer {
	c.t.Helper()
	found, err := elbv2.NewFromConfig(c.config()).DescribeLoadBalancers(c.t.Context(), &elbv2.DescribeLoadBalancersInput{})
	c.must(err)
	if len(found.LoadBalancers) != 1 {
		c.t.Fatalf("there are %d load balancers", len(found.LoadBalancers))
	}
	return found.LoadBalancers[0]
}

// open returns the ports and address ranges from which security groups allow access.
func (c *cloud) open(groups ...string) []string {
	c.t.Helper()
	found, err := ec2.NewFromConfig(c.config()).DescribeSecurityGroups(c.t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: groups})
	c.must(err)
	var all []string
	for i := range found.SecurityGroups {
		for _, rule := range found.SecurityGroups[i].IpPermissions {
			for _, from := range rule.IpRanges {
				all = append(all, fmt.Sprint(aws.ToInt32(rule.FromPort), " ", aws.ToString(from.CidrIp)))
			}
		}
	}
	slices.Sort(all)
	return all
}
