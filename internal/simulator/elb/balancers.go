package elb

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	compute "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"

	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const (
	internal       = "internal"
	internetFacing = "internet-facing"
)

func (s *Service) createLoadBalancer(ctx context.Context, in *elb.CreateLoadBalancerInput) (*elb.CreateLoadBalancerOutput, error) {
	r := s.at(ctx)
	b := &balancer{
		name: deref(in.LoadBalancerName), scheme: internetFacing, created: s.env.Clock.Now(), subnets: map[string]subnet{},
		securityGroups: slices.Clone(in.SecurityGroups), attributes: standardAttributes(),
		health: standardHealthCheck(in.Listeners), ports: map[int32]func(){},
	}
	if in.Scheme != nil {
		b.scheme = *in.Scheme
	}
	if err := b.check(in); err != nil {
		return nil, err
	}
	var err error
	if b.tags, err = tagsOf(in.Tags); err != nil {
		return nil, err
	}
	if err := tagRules.Check(nil, b.tags); err != nil {
		return nil, err
	}
	for _, l := range in.Listeners {
		if err := b.listen(l); err != nil {
			return nil, err
		}
	}
	b.dnsName = dnsName(b, r.Region)
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := r.balancers[b.name]; ok {
		if old.same(b, in.Subnets) {
			return &elb.CreateLoadBalancerOutput{DNSName: &old.dnsName}, nil
		}
		return nil, wire.Errorf(
			"DuplicateLoadBalancerName", "Load Balancer named %s already exists and it is configured with different parameters.", b.name,
		)
	}
	if err := s.within(Balancers, len(r.balancers)+1, "TooManyLoadBalancers", "load balancers"); err != nil {
		return nil, err
	}
	if err := s.within(ListenersOfBalancer, len(b.listeners), "InvalidConfigurationRequest", "listeners"); err != nil {
		return nil, err
	}
	if err := s.plug(r, b, in.Subnets); err != nil {
		return nil, err
	}
	if err := s.open(r, b); err != nil {
		b.close()
		s.unplug(r, b, sortedKeys(b.subnets))
		return nil, err
	}
	r.balancers[b.name] = b
	return &elb.CreateLoadBalancerOutput{DNSName: &b.dnsName}, nil
}

// check validates the parameters of a classic load balancer.
// https://docs.aws.amazon.com/elasticloadbalancing/2012-06-01/APIReference/API_CreateLoadBalancer.html
func (b *balancer) check(in *elb.CreateLoadBalancerInput) error {
	strange := func(c rune) bool {
		return c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}
	switch {
	case b.name == "" || len(b.name) > 32 || strings.ContainsFunc(b.name, strange) || strings.Trim(b.name, "-") != b.name:
		return validation(
			"LoadBalancer name must have 1 to 32 alphanumeric characters or hyphens, and neither begin nor end with a hyphen: '%s'", b.name,
		)
	case b.scheme != internal && b.scheme != internetFacing:
		return wire.Errorf("InvalidScheme", "The scheme '%s' is not valid", b.scheme)
	case len(in.Listeners) == 0:
		return validation("Listeners must not be empty")
	case len(in.Subnets) == 0:
		return wire.Errorf("InvalidConfigurationRequest", "The simulator has no EC2-Classic: subnets must be specified")
	}
	return nil
}

func (b *balancer) same(other *balancer, subnets []string) bool {
	return b.scheme == other.scheme && slices.Equal(sortedKeys(b.subnets), slices.Sorted(slices.Values(subnets))) &&
		slices.Equal(b.securityGroups, other.securityGroups) && len(b.listeners) == len(other.listeners)
}

func dnsName(b *balancer, region string) string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails, see crypto/rand
	name := fmt.Sprintf("%s-%d.%s.elb.amazonaws.com", b.name, binary.BigEndian.Uint32(random[:]), region)
	if b.scheme == internal {
		name = "internal-" + name
	}
	return name
}

// plug creates the interfaces of a load balancer in subnets. If it fails, it leaves nothing behind.
// The caller holds the lock.
func (s *Service) plug(r *region, b *balancer, subnets []string) error {
	made := map[string]subnet{}
	undo := func() {
		for _, n := range made {
			_ = s.options.Networks.DeleteInterface(r.Account, r.Region, n.interfaceID) // it was just created
		}
	}
	for _, id := range subnets {
		n, ok := s.options.Networks.Subnet(r.Account, r.Region, id)
		switch {
		case !ok:
			undo()
			return wire.Errorf("SubnetNotFound", "The requested subnet ID '%s' does not exist", id)
		case b.scheme == internetFacing && !n.InternetGateway:
			undo()
			return wire.Errorf("InvalidSubnet", "VPC %s has no internet gateway", n.VPCID)
		}
		i, err := s.options.Networks.NewInterface(r.Account, r.Region, id, vpc.InterfaceRequest{
			Description: "ELB " + b.name, SecurityGroups: b.securityGroups, PublicIP: b.scheme == internetFacing,
			Attachment: &vpc.Attachment{}, Type: compute.NetworkInterfaceTypeInterface, RequesterManaged: true, RequesterID: "amazon-elb",
		})
		if err != nil {
			undo()
			return wire.Errorf("InvalidSecurityGroup", "%v", err)
		}
		made[id] = subnet{zone: n.Zone, interfaceID: i.ID, private: i.PrivateIP, public: i.PublicIP}
		b.vpcID = n.VPCID
	}
	maps.Copy(b.subnets, made)
	b.move()
	return nil
}

func (s *Service) deleteLoadBalancer(ctx context.Context, in *elb.DeleteLoadBalancerInput) (*elb.DeleteLoadBalancerOutput, error) {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.balancers[deref(in.LoadBalancerName)]
	if !ok {
		return nil, nil // deleting a missing load balancer succeeds
	}
	b.close()
	s.unplug(r, b, sortedKeys(b.subnets))
	delete(r.balancers, b.name)
	return nil, nil
}

func (s *Service) unplug(r *region, b *balancer, subnets []string) {
	for _, id := range subnets {
		_ = s.options.Networks.DeleteInterface(r.Account, r.Region, b.subnets[id].interfaceID) // it may have been deleted already
		delete(b.subnets, id)
	}
	b.move()
}

func (s *Service) describeLoadBalancers(ctx context.Context, in *elb.DescribeLoadBalancersInput) (*elb.DescribeLoadBalancersOutput, error) {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	names := sortedKeys(r.balancers)
	if len(in.LoadBalancerNames) > 0 {
		for _, name := range in.LoadBalancerNames {
			if _, err := r.find(&name); err != nil {
				return nil, err
			}
		}
		names = slices.Clone(in.LoadBalancerNames)
	}
	names, next := pages.Page(names, in.Marker, in.PageSize)
	out := &elb.DescribeLoadBalancersOutput{LoadBalancerDescriptions: []types.LoadBalancerDescription{}, NextMarker: next}
	for _, name := range names {
		out.LoadBalancerDescriptions = append(out.LoadBalancerDescriptions, s.describe(r, r.balancers[name]))
	}
	return out, nil
}

func (s *Service) describe(r *region, b *balancer) types.LoadBalancerDescription {
	d := types.LoadBalancerDescription{
		LoadBalancerName: &b.name, DNSName: &b.dnsName, CanonicalHostedZoneName: &b.dnsName,
		CanonicalHostedZoneNameID: aws.String("Z215JYRZR1TBD5"),
		CreatedTime:               aws.Time(b.created), Scheme: &b.scheme, VPCId: &b.vpcID, SecurityGroups: slices.Clone(b.securityGroups),
		Subnets: sortedKeys(b.subnets), HealthCheck: b.health, Instances: ids(b.instances), Policies: &types.Policies{},
		BackendServerDescriptions: []types.BackendServerDescription{},
	}
	for _, id := range d.Subnets {
		if zone := b.subnets[id].zone; !slices.Contains(d.AvailabilityZones, zone) {
			d.AvailabilityZones = append(d.AvailabilityZones, zone)
		}
	}
	for _, l := range b.listeners {
		d.ListenerDescriptions = append(d.ListenerDescriptions, types.ListenerDescription{Listener: &l, PolicyNames: []string{}})
	}
	if len(b.securityGroups) > 0 {
		if g, ok := s.options.Networks.SecurityGroup(r.Account, r.Region, b.securityGroups[0]); ok {
			d.SourceSecurityGroup = &types.SourceSecurityGroup{GroupName: &g.Name, OwnerAlias: &r.Account}
		}
	}
	return d
}

func (s *Service) attachSubnets(
	ctx context.Context, in *elb.AttachLoadBalancerToSubnetsInput,
) (*elb.AttachLoadBalancerToSubnetsOutput, error) {
	out := &elb.AttachLoadBalancerToSubnetsOutput{}
	return out, s.on(ctx, in.LoadBalancerName, func(r *region, b *balancer) error {
		missing := slices.DeleteFunc(slices.Clone(in.Subnets), func(id string) bool { _, ok := b.subnets[id]; return ok })
		err := s.plug(r, b, missing)
		out.Subnets = sortedKeys(b.subnets)
		return err
	})
}

func (s *Service) detachSubnets(
	ctx context.Context, in *elb.DetachLoadBalancerFromSubnetsInput,
) (*elb.DetachLoadBalancerFromSubnetsOutput, error) {
	out := &elb.DetachLoadBalancerFromSubnetsOutput{}
	return out, s.on(ctx, in.LoadBalancerName, func(r *region, b *balancer) error {
		here := slices.DeleteFunc(slices.Clone(in.Subnets), func(id string) bool { _, ok := b.subnets[id]; return !ok })
		if len(here) == len(b.subnets) {
			return wire.Errorf("InvalidConfigurationRequest", "A load balancer must have at least one subnet")
		}
		s.unplug(r, b, here)
		out.Subnets = sortedKeys(b.subnets)
		return nil
	})
}

func (s *Service) applySecurityGroups(
	ctx context.Context, in *elb.ApplySecurityGroupsToLoadBalancerInput,
) (*elb.ApplySecurityGroupsToLoadBalancerOutput, error) {
	err := s.on(ctx, in.LoadBalancerName, func(r *region, b *balancer) error {
		for _, n := range b.subnets {
			if err := s.options.Networks.SetInterface(r.Account, r.Region, n.interfaceID, in.SecurityGroups, nil, nil); err != nil {
				return wire.Errorf("InvalidSecurityGroup", "%v", err)
			}
		}
		b.securityGroups = slices.Clone(in.SecurityGroups)
		return nil
	})
	return &elb.ApplySecurityGroupsToLoadBalancerOutput{SecurityGroups: in.SecurityGroups}, err
}
