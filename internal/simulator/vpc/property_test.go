package vpc_test

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"pgregory.net/rapid"

	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
)

// For any sequence of operations on a subnet, no address is assigned twice, and the free addresses
// are those that neither AWS reserves nor an interface has.
func TestAddressesAreUnique(t *testing.T) {
	n := start(t)
	v := n.vpc("10.0.0.0/16")
	s := n.subnet(v, "10.0.0.0/28", "a")
	rapid.Check(t, func(t *rapid.T) {
		used := map[string]string{} // id by address
		t.Repeat(map[string]func(*rapid.T){
			"make": func(t *rapid.T) {
				asked := ""
				if rapid.Bool().Draw(t, "asks") {
					asked = rapid.SampledFrom([]string{"10.0.0.3", "10.0.0.4", "10.0.0.9", "10.0.0.14", "10.0.0.15"}).Draw(t, "address")
				}
				i, err := n.service.NewInterface(
					account, region, *s, vpc.InterfaceRequest{PrivateIP: asked, PublicIP: rapid.Bool().Draw(t, "public")},
				)
				ip := i.PrivateIP.String()
				kept := asked == "10.0.0.3" || asked == "10.0.0.15"
				switch {
				case asked != "" && (kept || used[asked] != "") != (err != nil):
					t.Fatalf("asked for %s, which has %q: %v", asked, used[asked], err)
				case asked == "" && (len(used) == 11) != (err != nil):
					t.Fatalf("with %d used: %v", len(used), err)
				case err == nil && used[ip] != "":
					t.Fatalf("%s twice", ip)
				case err == nil:
					used[ip] = i.ID
				}
			},
			"remove": func(t *rapid.T) {
				if len(used) == 0 {
					t.Skip("there is none")
				}
				ip := rapid.SampledFrom(slices.Sorted(maps.Keys(used))).Draw(t, "address")
				if err := n.service.DeleteInterface(account, region, used[ip]); err != nil {
					t.Fatal(err)
				}
				delete(used, ip)
			},
			"": func(t *rapid.T) {
				if got, _ := n.service.Subnet(account, region, *s); got.Free != 11-len(used) {
					t.Fatalf("%d free with %d used", got.Free, len(used))
				}
			},
		})
		for _, id := range used {
			if err := n.service.DeleteInterface(account, region, id); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Concurrent callers have their own VPCs, in several accounts.
func TestManyAtOnce(t *testing.T) {
	n := start(t, vpc.WithQuotas(map[vpc.Quota]int{vpc.VPCs: 100}))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 3 {
				v := n.vpc("10.0.0.0/16")
				s := n.subnet(v, "10.0.0.0/24", "a")
				g := n.group(v, "g")
				i := n.eni(s, *g)
				must(n, n.DescribeNetworkInterfaces, &ec2.DescribeNetworkInterfacesInput{})
				must(n, n.DescribeTags, &ec2.DescribeTagsInput{MaxResults: aws.Int32(5)})
				n.service.Subnets(account, region, *v)
				must(n, n.DeleteNetworkInterface, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: i})
				must(n, n.DeleteSecurityGroup, &ec2.DeleteSecurityGroupInput{GroupId: g})
				must(n, n.DeleteSubnet, &ec2.DeleteSubnetInput{SubnetId: s})
				must(n, n.DeleteVpc, &ec2.DeleteVpcInput{VpcId: v})
			}
		})
	}
	wg.Wait()
	if kept := n.service.Kept(account, region); len(kept) > 0 {
		t.Errorf("left: %v", kept)
	}
	v := n.vpc("10.0.0.0/16")
	if _, ok := n.service.VPC("210987654321", region, *v); ok {
		t.Error("another account sees the VPC")
	}
	if _, ok := n.service.VPC(account, "us-east-1", *v); ok {
		t.Error("another region has the VPC")
	}
}
