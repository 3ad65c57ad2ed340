package vpc_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/patience"
	engine "github.com/aws-operator/aws-operator/internal/simulator/cloudformation"
	"github.com/aws-operator/aws-operator/internal/simulator/ec2names"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/route53"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// stacks is CloudFormation with a network and DNS behind it.
type stacks struct {
	*cloudformation.Client

	t       *testing.T
	ec2     *network
	service *vpc.Service
	names   *route53.Service
}

func startStacks(t *testing.T) *stacks {
	t.Helper()
	env := &resource.Env{Clock: clock.RealClock{}}
	s := vpc.New(env, vpc.WithNATLatency(20*time.Millisecond))
	names := route53.New(env, s)
	providers := s.Providers()
	maps.Copy(providers, names.Providers())
	e := engine.New(engine.Options{Env: env, Providers: providers})
	services := []*wire.Service{e.Service(), names.Service(), {
		Name: "ec2", Protocols: []wire.Protocol{wire.EC2Query}, APIVersion: "2016-11-15", Names: ec2names.Names(),
		Operations: s.Operations(),
	}}
	config := wiretest.Serve(t, wire.NewRouter(services, nil, env.Clock))
	return &stacks{
		Client: cloudformation.NewFromConfig(config), t: t, service: s, names: names,
		ec2: &network{Client: ec2.NewFromConfig(config), t: t, service: s},
	}
}

// settled waits until no operation is in progress and returns the stack, or nil if it no longer
// exists.
func (s *stacks) settled(name string) *cfntypes.Stack {
	s.t.Helper()
	for deadline := time.Now().Add(patience.Left(s.t)); time.Now().Before(deadline); {
		out, err := s.DescribeStacks(s.t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
		if err != nil || out.Stacks[0].StackStatus == cfntypes.StackStatusDeleteComplete {
			return nil
		}
		if !strings.HasSuffix(string(out.Stacks[0].StackStatus), "_IN_PROGRESS") {
			return &out.Stacks[0]
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.t.Fatal("the stack does not settle")
	return nil
}

// reasons returns the status reasons of the stack's events, newest first.
func (s *stacks) reasons(id string) string {
	out, err := s.DescribeStackEvents(s.t.Context(), &cloudformation.DescribeStackEventsInput{StackName: &id})
	if err != nil {
		return err.Error()
	}
	var list []string
	for _, e := range out.StackEvents {
		if e.ResourceStatusReason != nil {
			list = append(list, *e.LogicalResourceId+": "+*e.ResourceStatusReason)
		}
	}
	return strings.Join(list, "\n")
}

func (s *stacks) create(name, template string) *cfntypes.Stack {
	s.t.Helper()
	_, err := s.CreateStack(s.t.Context(), &cloudformation.CreateStackInput{
		StackName: &name, TemplateBody: &template, Tags: []cfntypes.Tag{{Key: aws.String("cluster"), Value: aws.String("demo")}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.settled(name)
}

func outputs(stack *cfntypes.Stack) map[string]string {
	m := map[string]string{}
	for _, o := range stack.Outputs {
		m[*o.OutputKey] = *o.OutputValue
	}
	return m
}

const clusterNetwork = `
Parameters:
  Port: {Type: Number, Default: 6443}
Resources:
  VPC:
    Type: AWS::EC2::VPC
    Properties: {CidrBlock: 10.0.0.0/16, EnableDnsHostnames: true, EnableDnsSupport: true, Tags: [{Key: Name, Value: demo}]}
  More: {Type: AWS::EC2::VPCCidrBlock, Properties: {VpcId: !Ref VPC, CidrBlock: 10.1.0.0/16}}
  Gateway: {Type: AWS::EC2::InternetGateway}
  Attachment: {Type: AWS::EC2::VPCGatewayAttachment, Properties: {VpcId: !Ref VPC, InternetGatewayId: !Ref Gateway}}
  Outwards: {Type: AWS::EC2::EgressOnlyInternetGateway, Properties: {VpcId: !Ref VPC}}
  Public:
    Type: AWS::EC2::Subnet
    Properties: {VpcId: !Ref VPC, CidrBlock: 10.0.0.0/24, AvailabilityZone: eu-central-1a, MapPublicIpOnLaunch: true}
  Private:
    Type: AWS::EC2::Subnet
    DependsOn: More
    Properties: {VpcId: !Ref VPC, CidrBlock: 10.1.0.0/24, AvailabilityZone: eu-central-1b}
  PublicTable: {Type: AWS::EC2::RouteTable, Properties: {VpcId: !Ref VPC}}
  PrivateTable: {Type: AWS::EC2::RouteTable, Properties: {VpcId: !Ref VPC}}
  PublicRoute:
    Type: AWS::EC2::Route
    DependsOn: Attachment
    Properties: {RouteTableId: !Ref PublicTable, DestinationCidrBlock: 0.0.0.0/0, GatewayId: !Ref Gateway}
  PrivateRoute:
    Type: AWS::EC2::Route
    Properties: {RouteTableId: !Ref PrivateTable, DestinationCidrBlock: 0.0.0.0/0, NatGatewayId: !Ref NAT}
  PublicAssociation: {Type: AWS::EC2::SubnetRouteTableAssociation, Properties: {SubnetId: !Ref Public, RouteTableId: !Ref PublicTable}}
  PrivateAssociation: {Type: AWS::EC2::SubnetRouteTableAssociation, Properties: {SubnetId: !Ref Private, RouteTableId: !Ref PrivateTable}}
  Address: {Type: AWS::EC2::EIP, DependsOn: Attachment, Properties: {Domain: vpc}}
  NAT: {Type: AWS::EC2::NatGateway, Properties: {SubnetId: !Ref Public, AllocationId: !GetAtt Address.AllocationId}}
  ControlPlane:
    Type: AWS::EC2::SecurityGroup
    Properties:
      GroupDescription: control plane
      VpcId: !Ref VPC
      SecurityGroupIngress:
        - {IpProtocol: tcp, FromPort: !Ref Port, ToPort: !Ref Port, CidrIp: 0.0.0.0/0, Description: API}
  Workers: {Type: AWS::EC2::SecurityGroup, Properties: {GroupDescription: workers, VpcId: !Ref VPC}}
  FromWorkers:
    Type: AWS::EC2::SecurityGroupIngress
    Properties: {GroupId: !GetAtt ControlPlane.GroupId, IpProtocol: "-1", SourceSecurityGroupId: !Ref Workers}
  ToWorkers:
    Type: AWS::EC2::SecurityGroupEgress
    Properties: {GroupId: !Ref ControlPlane, IpProtocol: tcp, FromPort: 10250, ToPort: 10250, DestinationSecurityGroupId: !Ref Workers}
  Interface: {Type: AWS::EC2::NetworkInterface, Properties: {SubnetId: !Ref Private, GroupSet: [!Ref Workers], PrivateIpAddress: 10.1.0.10}}
  Second: {Type: AWS::EC2::NetworkInterface, Properties: {SubnetId: !Ref Public}}
  SecondAddress: {Type: AWS::EC2::EIP, DependsOn: Attachment}
  Mapping: {Type: AWS::EC2::EIPAssociation, Properties: {AllocationId: !GetAtt SecondAddress.AllocationId, NetworkInterfaceId: !Ref Second}}
  Store:
    Type: AWS::EC2::VPCEndpoint
    Properties: {VpcId: !Ref VPC, ServiceName: !Sub "com.amazonaws.${AWS::Region}.s3", RouteTableIds: [!Ref PrivateTable]}
  Options: {Type: AWS::EC2::DHCPOptions, Properties: {DomainName: demo.internal, DomainNameServers: [AmazonProvidedDNS]}}
  OptionsOfVPC: {Type: AWS::EC2::VPCDHCPOptionsAssociation, Properties: {VpcId: !Ref VPC, DhcpOptionsId: !Ref Options}}
  Zone:
    Type: AWS::Route53::HostedZone
    Properties: {Name: demo.internal, VPCs: [{VPCId: !Ref VPC, VPCRegion: !Ref AWS::Region}]}
  Record:
    Type: AWS::Route53::RecordSet
    Properties: {HostedZoneId: !Ref Zone, Name: etcd-0.demo.internal, Type: A, TTL: "10", ResourceRecords: [!GetAtt Interface.PrimaryPrivateIpAddress]}
Outputs:
  VPC: {Value: !Ref VPC}
  Public: {Value: !Ref Public}
  Zone: {Value: !Ref Zone}
  ControlPlane: {Value: !Ref ControlPlane}
  PrivateTable: {Value: !Ref PrivateTable}
  Default: {Value: !GetAtt VPC.DefaultSecurityGroup}
`

func TestStackCreatesAndDeletesNetwork(t *testing.T) {
	s := startStacks(t)
	stack := s.create("demo", clusterNetwork)
	if stack.StackStatus != cfntypes.StackStatusCreateComplete {
		t.Fatalf("%s\n%s", stack.StackStatus, s.reasons("demo"))
	}
	out := outputs(stack)
	if n, ok := s.service.Subnet(account, region, out["Public"]); !ok || !n.InternetGateway || !n.MapPublicIP {
		t.Errorf("public subnet %+v", n)
	}
	tags := s.service.Tags(account, region).Get(out["VPC"])
	if tags["Name"] != "demo" || tags["cluster"] != "demo" || tags["aws:cloudformation:logical-id"] != "VPC" ||
		tags["aws:cloudformation:stack-name"] != "demo" {
		t.Errorf("tags %v", tags)
	}
	if got := s.names.Resolve(out["VPC"], "etcd-0.demo.internal"); len(got) != 1 || got[0].String() != "10.1.0.10" {
		t.Errorf("resolved %v", got)
	}
	// A change of a group's rule keeps the rules that are separate resources.
	changed := strings.ReplaceAll(clusterNetwork, "CidrIp: 0.0.0.0/0, Description: API", "CidrIp: 192.0.2.0/24, Description: API")
	changed = strings.ReplaceAll(changed, "{Key: Name, Value: demo}", "{Key: Name, Value: other}")
	if _, err := s.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{StackName: aws.String("demo"), TemplateBody: &changed}); err != nil {
		t.Fatal(err)
	}
	if stack = s.settled("demo"); stack.StackStatus != cfntypes.StackStatusUpdateComplete {
		t.Fatalf("%s\n%s", stack.StackStatus, s.reasons("demo"))
	}
	g := must(s.ec2, s.ec2.DescribeSecurityGroups, &ec2.DescribeSecurityGroupsInput{
		GroupIds: []string{out["ControlPlane"]},
	}).SecurityGroups[0]
	var peers []string
	for _, p := range slices.Concat(g.IpPermissions, g.IpPermissionsEgress) {
		for _, x := range p.IpRanges {
			peers = append(peers, *x.CidrIp)
		}
		for range p.UserIdGroupPairs {
			peers = append(peers, "group")
		}
	}
	slices.Sort(peers)
	if diff := cmp.Diff([]string{"0.0.0.0/0", "192.0.2.0/24", "group", "group"}, peers); diff != "" {
		t.Error(diff)
	}
	s.detect(t)
	// A foreign resource in the VPC blocks the deletion, with AWS's message.
	foreign := s.ec2.group(aws.String(out["VPC"]), "foreign")
	s.delete(t, "demo")
	stack = s.settled("demo")
	if stack == nil || stack.StackStatus != cfntypes.StackStatusDeleteFailed ||
		!strings.Contains(
			s.reasons("demo"),
			"The vpc '"+out["VPC"]+"' has dependencies and cannot be deleted. (Service: Ec2, Status Code: 400, Error Code: DependencyViolation",
		) {
		t.Fatalf("%+v\n%s", stack, s.reasons("demo"))
	}
	must(s.ec2, s.ec2.DeleteSecurityGroup, &ec2.DeleteSecurityGroupInput{GroupId: foreign})
	s.delete(t, "demo")
	if stack = s.settled("demo"); stack != nil {
		t.Fatalf("%s\n%s", stack.StackStatus, s.reasons("demo"))
	}
	s.empty(t)
}

func (s *stacks) delete(t *testing.T, name string) {
	t.Helper()
	if _, err := s.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: &name}); err != nil {
		t.Fatal(err)
	}
}

func (s *stacks) empty(t *testing.T) {
	t.Helper()
	if kept := s.service.Kept(account, region); len(kept) > 0 {
		t.Errorf("left in the network: %v", kept)
	}
	if zones, _ := s.names.Zones(account); zones > 0 {
		t.Errorf("left: %d zones", zones)
	}
	if tags := must(s.ec2, s.ec2.DescribeTags, &ec2.DescribeTagsInput{}).Tags; len(tags) > 3 { // of a deleted NAT gateway
		for _, tag := range tags {
			if tag.ResourceType != types.ResourceTypeNatgateway {
				t.Errorf("left: tag %s of %s", *tag.Key, *tag.ResourceId)
			}
		}
	}
}

// detect fails the test if a stack has drifted although its resources were not changed.
func (s *stacks) detect(t *testing.T) {
	t.Helper()
	out, err := s.DetectStackDrift(t.Context(), &cloudformation.DetectStackDriftInput{StackName: aws.String("demo")})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience.Left(t)); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		status, err := s.DescribeStackDriftDetectionStatus(
			t.Context(), &cloudformation.DescribeStackDriftDetectionStatusInput{StackDriftDetectionId: out.StackDriftDetectionId},
		)
		if err != nil {
			t.Fatal(err)
		}
		if status.DetectionStatus == cfntypes.StackDriftDetectionStatusDetectionInProgress {
			continue
		}
		drifts, err := s.DescribeStackResourceDrifts(
			t.Context(), &cloudformation.DescribeStackResourceDriftsInput{StackName: aws.String("demo")},
		)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range drifts.StackResourceDrifts {
			if d.StackResourceDriftStatus != cfntypes.StackResourceDriftStatusInSync &&
				d.StackResourceDriftStatus != cfntypes.StackResourceDriftStatusNotChecked {
				t.Errorf(
					"%s is %s: %s, not %s",
					*d.LogicalResourceId,
					d.StackResourceDriftStatus,
					aws.ToString(d.ActualProperties),
					aws.ToString(d.ExpectedProperties),
				)
			}
		}
		return
	}
	t.Fatal("drift detection does not end")
}

func TestFailedStackLeavesNothing(t *testing.T) {
	tests := []struct{ reason, template, want string }{
		{
			"a NAT gateway before the internet gateway", `
Resources:
  VPC: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/16}}
  Subnet: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref VPC, CidrBlock: 10.0.0.0/24}}
  Address: {Type: AWS::EC2::EIP}
  NAT: {Type: AWS::EC2::NatGateway, Properties: {SubnetId: !Ref Subnet, AllocationId: !GetAtt Address.AllocationId}}
`, "is in state failed and hence failed to stabilize. Detailed failure message: Network vpc-",
		},
		{
			"subnets that overlap", `
Resources:
  VPC: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/16}}
  A: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref VPC, CidrBlock: 10.0.0.0/24}}
  B: {Type: AWS::EC2::Subnet, DependsOn: A, Properties: {VpcId: !Ref VPC, CidrBlock: 10.0.0.0/20}}
`, "InvalidSubnet.Conflict",
		},
		{
			"more addresses than the account may have", `
Resources:
  A: {Type: AWS::EC2::EIP}
  B: {Type: AWS::EC2::EIP}
  C: {Type: AWS::EC2::EIP}
  D: {Type: AWS::EC2::EIP}
  E: {Type: AWS::EC2::EIP}
  F: {Type: AWS::EC2::EIP}
`, "The maximum number of addresses has been reached.",
		},
		{
			"a rule twice", `
Resources:
  VPC: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/16}}
  G:
    Type: AWS::EC2::SecurityGroup
    Properties:
      GroupDescription: g
      VpcId: !Ref VPC
      SecurityGroupIngress: [{IpProtocol: tcp, FromPort: 1, ToPort: 2, CidrIp: 10.0.0.0/8}]
  Rule: {Type: AWS::EC2::SecurityGroupIngress, Properties: {GroupId: !Ref G, IpProtocol: "6", FromPort: 1, ToPort: 2, CidrIp: 10.0.0.0/8}}
`, "already exists",
		},
		{
			"a record outside its zone", `
Resources:
  Zone: {Type: AWS::Route53::HostedZone, Properties: {Name: example.com}}
  Record: {Type: AWS::Route53::RecordSet, Properties: {HostedZoneId: !Ref Zone, Name: a.example.org, Type: A, TTL: "10", ResourceRecords: [10.0.0.1]}}
`, "RRSet with DNS name a.example.org. is not permitted in zone example.com.",
		},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			s := startStacks(t)
			stack := s.create("demo", test.template)
			if stack.StackStatus != cfntypes.StackStatusRollbackComplete || !strings.Contains(s.reasons("demo"), test.want) {
				t.Errorf("%s\n%s", stack.StackStatus, s.reasons("demo"))
			}
			s.empty(t)
		})
	}
}

func TestSubnetKeepsRouteTableDuringReplacement(t *testing.T) {
	const tables = `
Parameters:
  Address: {Type: String, Default: 10.0.0.10}
Resources:
  VPC: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/16}}
  Subnet: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref VPC, CidrBlock: 10.0.0.0/24}}
  A: {Type: AWS::EC2::RouteTable, Properties: {VpcId: !Ref VPC}}
  B: {Type: AWS::EC2::RouteTable, Properties: {VpcId: !Ref VPC}}
  Association: {Type: AWS::EC2::SubnetRouteTableAssociation, Properties: {SubnetId: !Ref Subnet, RouteTableId: !Ref A}}
  Last: {Type: AWS::EC2::NetworkInterface, DependsOn: Association, Properties: {SubnetId: !Ref Subnet, PrivateIpAddress: !Ref Address}}
Outputs:
  A: {Value: !Ref A}
  B: {Value: !Ref B}
`
	s := startStacks(t)
	out := outputs(s.create("demo", tables))
	moved := strings.Replace(tables, "RouteTableId: !Ref A", "RouteTableId: !Ref B", 1)
	using := func(table string) bool {
		t.Helper()
		found := must(
			s.ec2, s.ec2.DescribeRouteTables, &ec2.DescribeRouteTablesInput{Filters: []types.Filter{filter("association.main", "false")}},
		).RouteTables
		return len(found) == 1 && *found[0].RouteTableId == table && len(found[0].Associations) == 1
	}
	update := func(address string, want cfntypes.StackStatus) {
		t.Helper()
		_, err := s.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{
			StackName: aws.String("demo"), TemplateBody: &moved,
			Parameters: []cfntypes.Parameter{{ParameterKey: aws.String("Address"), ParameterValue: &address}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if stack := s.settled("demo"); stack.StackStatus != want {
			t.Fatalf("%s\n%s", stack.StackStatus, s.reasons("demo"))
		}
	}
	update("10.0.0.255", cfntypes.StackStatusUpdateRollbackComplete) // no interface can have this address
	if !using(out["A"]) {
		t.Error("rolled back, the subnet does not use its old table")
	}
	update("10.0.0.11", cfntypes.StackStatusUpdateComplete)
	if !using(out["B"]) {
		t.Error("the subnet does not use its new table")
	}
	s.delete(t, "demo")
	if stack := s.settled("demo"); stack != nil {
		t.Fatalf("%s\n%s", stack.StackStatus, s.reasons("demo"))
	}
	s.empty(t)
}
