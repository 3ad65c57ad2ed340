package existingvpc_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/existingvpc"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

// TestDNSOfAnExistingVPC finds the settings of a VPC with which nothing in it resolves the names of
// a private hosted zone.
func TestDNSOfAnExistingVPC(t *testing.T) {
	const region = "eu-central-1"
	_, endpoint := simulatortest.Start(t, simulator.Options{Region: region})
	access := credentials.NewStaticCredentialsProvider("123456789012", "secret", "")
	clients, err := awsapi.New(t.Context(), awsapi.Options{Region: region, EndpointURL: endpoint, Credentials: access})
	if err != nil {
		t.Fatal(err)
	}
	client := ec2.NewFromConfig(aws.Config{Region: region, BaseEndpoint: &endpoint, Credentials: access})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	on, off := &types.AttributeBooleanValue{Value: aws.Bool(true)}, &types.AttributeBooleanValue{Value: aws.Bool(false)}
	for reason, c := range map[string]struct {
		hostnames, support *types.AttributeBooleanValue
		servers            []string
		noOptions          bool
		want, wantForwards string // parts of the problem, also if the servers forward; empty for none
	}{
		"as a new VPC of a cluster":              {hostnames: on, support: on},
		"as the API makes a VPC":                 {want: "has enableDnsHostnames off", wantForwards: "has enableDnsHostnames off"},
		"no resolver":                            {hostnames: on, support: off, want: "has enableDnsSupport off", wantForwards: "has enableDnsSupport off"},
		"Amazon's name server":                   {hostnames: on, support: on, servers: []string{"AmazonProvidedDNS"}},
		"the resolver by its address":            {hostnames: on, support: on, servers: []string{"10.9.0.2"}},
		"name servers of a company":              {hostnames: on, support: on, servers: []string{"10.1.1.53", "10.1.2.53"}, want: "name the name servers 10.1.1.53, 10.1.2.53"},
		"one of a company beside the VPC's own":  {hostnames: on, support: on, servers: []string{"10.9.0.2", "10.1.1.53"}, want: "name the name servers 10.1.1.53,"},
		"no DHCP options, and so no name server": {hostnames: on, support: on, noOptions: true, want: "has no DHCP options", wantForwards: "has no DHCP options"},
	} {
		t.Run(reason, func(t *testing.T) {
			made, err := client.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.9.0.0/16")})
			must(err)
			id := made.Vpc.VpcId
			t.Cleanup(func() { _, _ = client.DeleteVpc(context.Background(), &ec2.DeleteVpcInput{VpcId: id}) }) // There may be five.
			if c.hostnames != nil {
				_, err = client.ModifyVpcAttribute(t.Context(), &ec2.ModifyVpcAttributeInput{VpcId: id, EnableDnsHostnames: c.hostnames})
				must(err)
			}
			if c.support != nil {
				_, err = client.ModifyVpcAttribute(t.Context(), &ec2.ModifyVpcAttributeInput{VpcId: id, EnableDnsSupport: c.support})
				must(err)
			}
			options := aws.String("default")
			if c.servers != nil {
				set, err := client.CreateDhcpOptions(
					t.Context(),
					&ec2.CreateDhcpOptionsInput{DhcpConfigurations: []types.NewDhcpConfiguration{
						{Key: aws.String("domain-name-servers"), Values: c.servers},
					}},
				)
				must(err)
				options = set.DhcpOptions.DhcpOptionsId
			}
			if c.servers != nil || c.noOptions {
				_, err = client.AssociateDhcpOptions(t.Context(), &ec2.AssociateDhcpOptionsInput{VpcId: id, DhcpOptionsId: options})
				must(err)
			}
			facts, err := existingvpc.Describe(t.Context(), clients.EC2(awsapi.Target{Region: region}), aws.ToString(id))
			must(err)
			for forward, want := range map[bool]string{false: c.want, true: c.wantForwards} {
				if got := facts.DNSProblem("demo.internal", forward); (got == "") != (want == "") || !strings.Contains(got, want) {
					t.Errorf("if servers forward is %t, the problem is %q, want %q", forward, got, want)
				}
			}
		})
	}
}
