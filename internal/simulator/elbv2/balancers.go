package elbv2

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	compute "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/frontend"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// balancer is a load balancer. Its region's lock guards it.
type balancer struct {
	arn, name, fullName, dnsName string
	kind                         types.LoadBalancerTypeEnum
	scheme                       types.LoadBalancerSchemeEnum
	addressType                  types.IpAddressType
	vpcID                        string
	created                      time.Time
	zones                        []zone
	securityGroups               []string
	attributes, tags             map[string]string
	listeners                    map[string]*listener
	// frontend is what clients connect to; nil if the load balancer does not forward.
	frontend *frontend.Frontend
}

// zone is a subnet of a load balancer, with the interface in it and the interface's addresses.
type zone struct {
	subnet, name, interfaceID string
	private, public           netip.Addr
}

func randomHex() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return hex.EncodeToString(b[:])
}

// wanted holds the validated parameters of a new load balancer.
type wanted struct {
	name           string
	kind           types.LoadBalancerTypeEnum
	scheme         types.LoadBalancerSchemeEnum
	subnets        []string
	securityGroups []string
	tags           map[string]string
	vpcID          string
	zones          []zone
}

func (s *Service) createLoadBalancer(ctx context.Context, in *elb.CreateLoadBalancerInput) (*elb.CreateLoadBalancerOutput, error) {
	if err := checkTags(in.Tags); err != nil {
		return nil, err
	}
	r := s.at(ctx)
	b, err := s.create(r, in)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	out := s.describe(b)
	out.State = &types.LoadBalancerState{Code: types.LoadBalancerStateEnumProvisioning}
	return &elb.CreateLoadBalancerOutput{LoadBalancers: []types.LoadBalancer{out}}, nil
}

// want validates the parameters alone, without regard to existing resources.
func want(in *elb.CreateLoadBalancerInput) (*wanted, error) {
	w := &wanted{kind: in.Type, scheme: in.Scheme, subnets: slices.Clone(in.Subnets), securityGroups: slices.Clone(in.SecurityGroups)}
	var err error
	if w.name, err = nameOf(in.Name, "load balancer"); err != nil {
		return nil, err
	}
	if w.tags, err = tagsOf(in.Tags); err != nil {
		return nil, err
	}
	if w.kind == "" {
		w.kind = types.LoadBalancerTypeEnumApplication
	}
	if w.scheme == "" {
		w.scheme = types.LoadBalancerSchemeEnumInternetFacing
	}
	for _, m := range in.SubnetMappings {
		if deref(m.AllocationId) != "" || deref(m.PrivateIPv4Address) != "" || deref(m.IPv6Address) != "" {
			return nil, unsupported("addresses of one's own for load balancers")
		}
		w.subnets = append(w.subnets, deref(m.SubnetId))
	}
	switch {
	case strings.HasPrefix(w.name, "internal-"):
		return nil, validation("The load balancer name '%s' cannot begin with 'internal-'", w.name)
	case w.kind == types.LoadBalancerTypeEnumGateway:
		return nil, unsupported("gateway load balancers")
	case in.IpAddressType != "" && in.IpAddressType != types.IpAddressTypeIpv4:
		return nil, unsupported("IPv6 load balancers")
	case len(w.subnets) == 0:
		return nil, validation("At least one subnet must be specified")
	case w.kind == types.LoadBalancerTypeEnumApplication && len(w.subnets) < 2:
		return nil, validation("At least two subnets in two different Availability Zones must be specified")
	}
	return w, nil
}

// locate finds the zones and the VPC of the wanted subnets, and the security groups.
func (s *Service) locate(r *region, w *wanted) error {
	for _, id := range w.subnets {
		n, ok := s.options.Networks.Subnet(r.Account, r.Region, id)
		switch {
		case !ok:
			return wire.Errorf("SubnetNotFound", "The subnet ID '%s' does not exist", id)
		case w.vpcID != "" && n.VPCID != w.vpcID:
			return wire.Errorf("InvalidSubnet", "All subnets must belong to the same VPC: '%s'", w.vpcID)
		case slices.ContainsFunc(w.zones, func(z zone) bool { return z.name == n.Zone }):
			return wire.Errorf(
				"InvalidConfigurationRequest", "A load balancer cannot be attached to multiple subnets in the same Availability Zone",
			)
		// AWS does not check that the subnets' routes lead to it:
		// https://github.com/openshift/installer/issues/1110
		case w.scheme == types.LoadBalancerSchemeEnumInternetFacing && !n.InternetGateway:
			return wire.Errorf("InvalidSubnet", "VPC %s has no internet gateway", n.VPCID)
		}
		w.vpcID = n.VPCID
		w.zones = append(w.zones, zone{subnet: id, name: n.Zone})
	}
	for _, id := range w.securityGroups {
		if g, ok := s.options.Networks.SecurityGroup(r.Account, r.Region, id); !ok || g.VPCID != w.vpcID {
			return wire.Errorf("InvalidSecurityGroup", "One or more security groups are invalid")
		}
	}
	return nil
}

// create creates a load balancer, or returns the one with the same name and settings.
func (s *Service) create(r *region, in *elb.CreateLoadBalancerInput) (*balancer, error) {
	w, err := want(in)
	if err != nil {
		return nil, err
	}
	if err := s.locate(r, w); err != nil {
		return nil, err
	}
	short := map[types.LoadBalancerTypeEnum]string{types.LoadBalancerTypeEnumNetwork: "net", types.LoadBalancerTypeEnumApplication: "app"}[w.kind]
	id := randomHex()
	b := &balancer{
		name: w.name, fullName: short + "/" + w.name + "/" + id, kind: w.kind, scheme: w.scheme, addressType: types.IpAddressTypeIpv4,
		vpcID: w.vpcID, created: s.now(), securityGroups: w.securityGroups, tags: w.tags, attributes: balancerDefaults(w.kind),
		listeners: map[string]*listener{},
	}
	b.arn = r.arn(s, "loadbalancer/"+b.fullName)
	if old, err := r.reserve(b, s.Quota(LoadBalancers)); err != nil || old != nil {
		return old, err
	}
	for i := range w.zones {
		if err = s.plug(r, b, &w.zones[i]); err != nil {
			s.unplug(r, w.zones[:i])
			break
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		delete(r.balancers, b.arn)
		return nil, err
	}
	b.zones = w.zones
	s.address(r, b, id)
	return b, nil
}

// reserve adds a load balancer to its region, or returns an existing equal one.
func (r *region) reserve(b *balancer, most int) (*balancer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := 0
	for _, other := range r.balancers {
		if other.name == b.name {
			if other.kind == b.kind && other.scheme == b.scheme && other.vpcID == b.vpcID {
				return other, nil
			}
			return nil, wire.Errorf(
				"DuplicateLoadBalancerName", "A load balancer with the same name '%s' exists, but with different settings", b.name,
			)
		}
		if other.kind == b.kind {
			count++
		}
	}
	if count >= most {
		return nil, wire.Errorf("TooManyLoadBalancers", "The maximum number of load balancers has been reached")
	}
	r.balancers[b.arn] = b
	return nil, nil //nolint:nilnil // no existing one and no error
}

// plug creates a load balancer's interface in a subnet. The account sees it but cannot delete it,
// and it blocks the deletion of its subnet and security groups.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/requester-managed-eni.html
func (s *Service) plug(r *region, b *balancer, z *zone) error {
	kind := compute.NetworkInterfaceTypeInterface
	if b.kind == types.LoadBalancerTypeEnumNetwork {
		kind = compute.NetworkInterfaceTypeNetworkLoadBalancer
	}
	i, err := s.options.Networks.NewInterface(r.Account, r.Region, z.subnet, vpc.InterfaceRequest{
		Description: "ELB " + b.fullName, SecurityGroups: b.securityGroups, Type: kind,
		PublicIP: b.scheme == types.LoadBalancerSchemeEnumInternetFacing, Attachment: &vpc.Attachment{},
		RequesterManaged: true, RequesterID: "amazon-elb",
	})
	if err != nil {
		return fmt.Errorf("making the interface of load balancer %s: %w", b.name, err)
	}
	z.interfaceID, z.private, z.public = i.ID, i.PrivateIP, i.PublicIP
	return nil
}

func (s *Service) unplug(r *region, zones []zone) {
	for _, z := range zones {
		_ = s.options.Networks.DeleteInterface(r.Account, r.Region, z.interfaceID) // it may have been deleted already
	}
}

func (s *Service) describe(b *balancer) types.LoadBalancer {
	out := types.LoadBalancer{
		LoadBalancerArn: &b.arn, LoadBalancerName: &b.name, DNSName: aws.String(b.dnsName), Type: b.kind, Scheme: b.scheme,
		IpAddressType: b.addressType, VpcId: &b.vpcID, CreatedTime: aws.Time(b.created), SecurityGroups: slices.Clone(b.securityGroups),
		CanonicalHostedZoneId: aws.String(b.hostedZone()), State: &types.LoadBalancerState{Code: types.LoadBalancerStateEnumActive},
	}
	if !s.active(b) {
		out.State.Code = types.LoadBalancerStateEnumProvisioning
	}
	for _, z := range b.zones {
		out.AvailabilityZones = append(out.AvailabilityZones, types.AvailabilityZone{
			SubnetId: aws.String(z.subnet), ZoneName: aws.String(z.name), LoadBalancerAddresses: []types.LoadBalancerAddress{},
		})
	}
	return out
}

func (s *Service) active(b *balancer) bool {
	return b.dnsName != "" && !s.now().Before(b.created.Add(s.options.Provisioning))
}

// hostedZone returns the hosted zone of load balancers' names, for alias records. The simulator has
// one per type, AWS one per type and region.
// https://docs.aws.amazon.com/general/latest/gr/elb.html
func (b *balancer) hostedZone() string {
	if b.kind == types.LoadBalancerTypeEnumNetwork {
		return "Z3F0SRJ5LGBH90"
	}
	return "Z215JYRZR1TBD5"
}

func (r *region) balancer(arn *string) (*balancer, error) {
	b, ok := r.balancers[deref(arn)]
	if !ok {
		return nil, wire.Errorf("LoadBalancerNotFound", "One or more load balancers not found")
	}
	return b, nil
}

func (s *Service) deleteLoadBalancer(ctx context.Context, in *elb.DeleteLoadBalancerInput) (*elb.DeleteLoadBalancerOutput, error) {
	return nil, s.remove(s.at(ctx), deref(in.LoadBalancerArn))
}

// remove deletes a load balancer with its listeners. It succeeds if the load balancer does not
// exist.
func (s *Service) remove(r *region, arn string) error {
	r.mu.Lock()
	b, ok := r.balancers[arn]
	if !ok {
		r.mu.Unlock()
		return nil
	}
	if b.attributes[deletionProtection] == "true" {
		r.mu.Unlock()
		return wire.Errorf("OperationNotPermitted", "Load balancer '%s' cannot be deleted because deletion protection is enabled", arn)
	}
	delete(r.balancers, arn)
	b.stop()
	var groups []string
	for _, l := range b.listeners {
		l.forget(r)
		groups = append(groups, l.group)
	}
	b.listeners = nil
	zones := b.zones
	r.mu.Unlock()
	s.unplug(r, zones)
	s.refresh(r, groups...)
	return nil
}

func (s *Service) describeLoadBalancers(ctx context.Context, in *elb.DescribeLoadBalancersInput) (*elb.DescribeLoadBalancersOutput, error) {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(in.LoadBalancerArns) > 0 && len(in.Names) > 0 {
		return nil, validation("Load balancer names and load balancer ARNs cannot be specified at the same time")
	}
	var arns []string
	for arn, b := range r.balancers {
		if chosen(in.LoadBalancerArns, arn) && chosen(in.Names, b.name) {
			arns = append(arns, arn)
		}
	}
	if len(arns) < len(in.LoadBalancerArns) || len(arns) < len(in.Names) {
		return nil, wire.Errorf("LoadBalancerNotFound", "One or more load balancers not found")
	}
	arns, next := pages.Page(arns, in.Marker, in.PageSize)
	out := &elb.DescribeLoadBalancersOutput{LoadBalancers: []types.LoadBalancer{}, NextMarker: next}
	for _, arn := range arns {
		out.LoadBalancers = append(out.LoadBalancers, s.describe(r.balancers[arn]))
	}
	return out, nil
}

// pages is the page size of Describe operations.
var pages = wire.PageSize{Standard: 400, Most: 400}

func chosen(list []string, item string) bool { return len(list) == 0 || slices.Contains(list, item) }

func (s *Service) setSecurityGroups(ctx context.Context, in *elb.SetSecurityGroupsInput) (*elb.SetSecurityGroupsOutput, error) {
	r := s.at(ctx)
	return &elb.SetSecurityGroupsOutput{SecurityGroupIds: in.SecurityGroups}, s.regroup(r, deref(in.LoadBalancerArn), in.SecurityGroups)
}

// regroup sets the security groups of a load balancer.
func (s *Service) regroup(r *region, arn string, groups []string) error {
	r.mu.Lock()
	b, err := r.balancer(&arn)
	if err != nil {
		r.mu.Unlock()
		return err
	}
	had, zones, vpcID, kind := b.securityGroups, slices.Clone(b.zones), b.vpcID, b.kind
	r.mu.Unlock()
	if kind == types.LoadBalancerTypeEnumNetwork && (len(had) == 0) != (len(groups) == 0) {
		return wire.Errorf(
			"InvalidConfigurationRequest",
			"You cannot add security groups to, or remove them all from, a Network Load Balancer after it was created",
		)
	}
	if err := s.locate(r, &wanted{vpcID: vpcID, securityGroups: groups}); err != nil {
		return err
	}
	for _, z := range zones {
		if err := s.options.Networks.SetInterface(r.Account, r.Region, z.interfaceID, groups, nil, nil); err != nil {
			return fmt.Errorf("changing the groups of interface %s: %w", z.interfaceID, err)
		}
	}
	r.mu.Lock()
	b.securityGroups = slices.Clone(groups)
	r.mu.Unlock()
	return nil
}

func (s *Service) setSubnets(ctx context.Context, in *elb.SetSubnetsInput) (*elb.SetSubnetsOutput, error) {
	subnets := slices.Clone(in.Subnets)
	for _, m := range in.SubnetMappings {
		subnets = append(subnets, deref(m.SubnetId))
	}
	r := s.at(ctx)
	if err := s.move(r, deref(in.LoadBalancerArn), subnets); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	b, err := r.balancer(in.LoadBalancerArn)
	if err != nil {
		return nil, err
	}
	return &elb.SetSubnetsOutput{AvailabilityZones: s.describe(b).AvailabilityZones, IpAddressType: b.addressType}, nil
}

// move sets the subnets of a load balancer and creates and deletes its interfaces accordingly.
func (s *Service) move(r *region, arn string, subnets []string) error {
	r.mu.Lock()
	b, err := r.balancer(&arn)
	if err != nil {
		r.mu.Unlock()
		return err
	}
	old := slices.Clone(b.zones)
	w := &wanted{kind: b.kind, scheme: b.scheme, subnets: subnets, vpcID: b.vpcID}
	r.mu.Unlock()
	if len(subnets) == 0 {
		return validation("At least one subnet must be specified")
	}
	if err := s.locate(r, w); err != nil {
		return err
	}
	for i, z := range w.zones {
		if j := slices.IndexFunc(old, func(o zone) bool { return o.subnet == z.subnet }); j >= 0 {
			w.zones[i] = old[j]
			old = slices.Delete(old, j, j+1)
			continue
		}
		if err = s.plug(r, b, &w.zones[i]); err != nil {
			return err
		}
	}
	r.mu.Lock()
	b.zones = w.zones
	if b.frontend != nil {
		b.frontend.Move(b.addresses())
	}
	var groups []string
	for _, l := range b.listeners {
		groups = append(groups, l.group)
	}
	r.mu.Unlock()
	s.unplug(r, old)
	s.refresh(r, groups...)
	return nil
}

func (s *Service) describeAccountLimits(context.Context, *elb.DescribeAccountLimitsInput) (*elb.DescribeAccountLimitsOutput, error) {
	most := strconv.Itoa(s.Quota(LoadBalancers))
	limit := func(name, value string) types.Limit { return types.Limit{Name: &name, Max: &value} }
	return &elb.DescribeAccountLimitsOutput{Limits: []types.Limit{
		limit("application-load-balancers", most), limit("network-load-balancers", most), limit("target-groups", strconv.Itoa(s.Quota(TargetGroups))),
		limit("listeners-per-network-load-balancer", "50"), limit("targets-per-network-load-balancer", "3000"),
	}}, nil
}
