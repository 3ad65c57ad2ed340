package elbv2

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// targetGroup is a target group. Its region's lock guards it.
type targetGroup struct {
	region              *region
	arn, name, fullName string
	protocol            types.ProtocolEnum
	port                int32
	targetType          types.TargetTypeEnum
	version             string
	vpcID               string
	health              check
	attributes, tags    map[string]string
	targets             []*target
	// listeners are the listeners that forward to the group.
	listeners map[*listener]struct{}
	// next is the index of the next target.
	next int
}

// check holds the health check settings of a target group.
type check struct {
	enabled           bool
	protocol          types.ProtocolEnum
	port, path, codes string
	interval, timeout int32
	healthy, sick     int32
}

// checkDefaults returns the documented defaults.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateTargetGroup.html
func checkDefaults(protocol types.ProtocolEnum) check {
	if layer7(protocol) {
		return check{
			enabled: true, protocol: types.ProtocolEnumHttp, port: "traffic-port", path: "/", codes: "200",
			interval: 30, timeout: 5, healthy: 5, sick: 2,
		}
	}
	return check{enabled: true, protocol: types.ProtocolEnumTcp, port: "traffic-port", interval: 30, timeout: 10, healthy: 5, sick: 2}
}

// checkRequest holds the health check parameters of a call; nil and "" are not set.
type checkRequest struct {
	enabled                          *bool
	protocol                         types.ProtocolEnum
	port, path                       *string
	matcher                          *types.Matcher
	interval, timeout, healthy, sick *int32
}

// apply merges the request over the old settings and validates the result.
func (q checkRequest) apply(c check) (check, error) {
	if q.protocol != "" && q.protocol != c.protocol {
		c.protocol = q.protocol
		if layer7(q.protocol) {
			c.path, c.codes, c.timeout = "/", "200-399", 6
		}
	}
	set(&c.enabled, q.enabled)
	set(&c.port, q.port)
	set(&c.path, q.path)
	set(&c.interval, q.interval)
	set(&c.timeout, q.timeout)
	set(&c.healthy, q.healthy)
	set(&c.sick, q.sick)
	if q.matcher != nil {
		set(&c.codes, q.matcher.HttpCode)
	}
	return c, c.check()
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func (c *check) check() error {
	port, err := strconv.Atoi(c.port)
	switch {
	case c.port != "traffic-port" && (err != nil || port < 1 || port > 65535):
		return validation("Health check port '%s' must be in the range 1-65535 or 'traffic-port'", c.port)
	case c.interval < 5 || c.interval > 300:
		return validation("Health check interval must be between '5' and '300' inclusive")
	case c.timeout < 2 || c.timeout > 120:
		return validation("Health check timeout must be between '2' and '120' inclusive")
	case c.timeout > c.interval:
		return validation("Health check timeout '%d' must be smaller than or equal to the interval '%d'", c.timeout, c.interval)
	case c.healthy < 2 || c.healthy > 10 || c.sick < 2 || c.sick > 10:
		return validation("Health check thresholds must be between '2' and '10' inclusive")
	case !layer7(c.protocol) && c.protocol != types.ProtocolEnumTcp:
		return unsupported("health checks over " + string(c.protocol))
	case !layer7(c.protocol) && (c.path != "" || c.codes != ""):
		return wire.Errorf(
			"InvalidConfigurationRequest", "You cannot specify a health check path or matcher for a %s health check", c.protocol,
		)
	}
	return nil
}

func (s *Service) createTargetGroup(ctx context.Context, in *elb.CreateTargetGroupInput) (*elb.CreateTargetGroupOutput, error) {
	if err := checkTags(in.Tags); err != nil {
		return nil, err
	}
	r := s.at(ctx)
	g, err := s.newGroup(r, in)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return &elb.CreateTargetGroupOutput{TargetGroups: []types.TargetGroup{describeGroup(g)}}, nil
}

// newGroup creates a target group, or returns the one with the same name and settings.
func (s *Service) newGroup(r *region, in *elb.CreateTargetGroupInput) (*targetGroup, error) {
	name, err := nameOf(in.Name, "target group")
	if err != nil {
		return nil, err
	}
	tags, err := tagsOf(in.Tags)
	if err != nil {
		return nil, err
	}
	g := &targetGroup{
		region: r, name: name, fullName: "targetgroup/" + name + "/" + randomHex(), protocol: in.Protocol, port: deref(in.Port),
		targetType: in.TargetType, version: deref(in.ProtocolVersion), vpcID: deref(in.VpcId), tags: tags,
		listeners: map[*listener]struct{}{},
	}
	g.arn = r.arn(s, g.fullName)
	if g.targetType == "" {
		g.targetType = types.TargetTypeEnumInstance
	}
	if err := s.checkGroup(g); err != nil {
		return nil, err
	}
	g.attributes = groupDefaults(g.protocol, g.targetType)
	g.health, err = checkRequest{
		enabled: in.HealthCheckEnabled, protocol: in.HealthCheckProtocol, port: in.HealthCheckPort, path: in.HealthCheckPath,
		matcher:  in.Matcher,
		interval: in.HealthCheckIntervalSeconds, timeout: in.HealthCheckTimeoutSeconds, healthy: in.HealthyThresholdCount,
		sick: in.UnhealthyThresholdCount,
	}.apply(checkDefaults(g.protocol))
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, other := range r.groups {
		switch {
		case other.name != name:
		case other.same(g):
			return other, nil
		default:
			return nil, wire.Errorf(
				"DuplicateTargetGroupName", "A target group with the same name '%s' exists, but with different settings", name,
			)
		}
	}
	if len(r.groups) >= s.Quota(TargetGroups) {
		return nil, wire.Errorf("TooManyTargetGroups", "You've reached the limit on the number of target groups for your AWS account.")
	}
	r.groups[g.arn] = g
	return g, nil
}

func (g *targetGroup) same(other *targetGroup) bool {
	return g.protocol == other.protocol && g.port == other.port && g.vpcID == other.vpcID && g.targetType == other.targetType &&
		g.health == other.health
}

func (s *Service) checkGroup(g *targetGroup) error {
	_, known := s.options.Networks.VPC(g.region.Account, g.region.Region, g.vpcID)
	switch {
	case g.targetType != types.TargetTypeEnumInstance && g.targetType != types.TargetTypeEnumIp:
		return unsupported("targets of type " + string(g.targetType))
	case g.protocol != types.ProtocolEnumTcp && !layer7(g.protocol):
		return unsupported("target groups of protocol " + string(g.protocol))
	case g.port < 1 || g.port > 65535:
		return validation("A port must be specified, in the range 1-65535")
	case g.vpcID == "":
		return validation("A VPC ID must be specified")
	case !known:
		return validation("The VPC ID '%s' is not found", g.vpcID)
	}
	if layer7(g.protocol) && g.version == "" {
		g.version = "HTTP1"
	}
	return nil
}

func (r *region) group(arn *string) (*targetGroup, error) {
	g, ok := r.groups[deref(arn)]
	if !ok {
		return nil, wire.Errorf("TargetGroupNotFound", "One or more target groups not found")
	}
	return g, nil
}

// users returns the load balancers that forward to a target group, ordered by ARN.
func (g *targetGroup) users() []*balancer {
	var list []*balancer
	for l := range g.listeners {
		if !slices.Contains(list, l.balancer) {
			list = append(list, l.balancer)
		}
	}
	slices.SortFunc(list, func(a, b *balancer) int { return strings.Compare(a.arn, b.arn) })
	return list
}

func describeGroup(g *targetGroup) types.TargetGroup {
	h := g.health
	out := types.TargetGroup{
		TargetGroupArn: &g.arn, TargetGroupName: &g.name, Protocol: g.protocol, Port: aws.Int32(g.port), VpcId: &g.vpcID,
		TargetType:         g.targetType,
		HealthCheckEnabled: aws.Bool(h.enabled), HealthCheckProtocol: h.protocol, HealthCheckPort: aws.String(h.port),
		HealthCheckPath: wire.Optional(h.path), HealthCheckIntervalSeconds: aws.Int32(h.interval),
		HealthCheckTimeoutSeconds: aws.Int32(h.timeout),
		HealthyThresholdCount:     aws.Int32(h.healthy), UnhealthyThresholdCount: aws.Int32(h.sick),
		ProtocolVersion: wire.Optional(g.version),
		IpAddressType:   types.TargetGroupIpAddressTypeEnumIpv4, LoadBalancerArns: []string{},
	}
	if h.codes != "" {
		out.Matcher = &types.Matcher{HttpCode: aws.String(h.codes)}
	}
	for _, b := range g.users() {
		out.LoadBalancerArns = append(out.LoadBalancerArns, b.arn)
	}
	return out
}

func (s *Service) describeTargetGroups(ctx context.Context, in *elb.DescribeTargetGroupsInput) (*elb.DescribeTargetGroupsOutput, error) {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if in.LoadBalancerArn != nil {
		if _, err := r.balancer(in.LoadBalancerArn); err != nil {
			return nil, err
		}
	}
	var arns []string
	for arn, g := range r.groups {
		used := in.LoadBalancerArn == nil || slices.ContainsFunc(g.users(), func(b *balancer) bool { return b.arn == *in.LoadBalancerArn })
		if used && chosen(in.TargetGroupArns, arn) && chosen(in.Names, g.name) {
			arns = append(arns, arn)
		}
	}
	if len(arns) < len(in.TargetGroupArns) || len(arns) < len(in.Names) {
		return nil, wire.Errorf("TargetGroupNotFound", "One or more target groups not found")
	}
	arns, next := pages.Page(arns, in.Marker, in.PageSize)
	out := &elb.DescribeTargetGroupsOutput{TargetGroups: []types.TargetGroup{}, NextMarker: next}
	for _, arn := range arns {
		out.TargetGroups = append(out.TargetGroups, describeGroup(r.groups[arn]))
	}
	return out, nil
}

func (s *Service) modifyTargetGroup(ctx context.Context, in *elb.ModifyTargetGroupInput) (*elb.ModifyTargetGroupOutput, error) {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	g, err := r.group(in.TargetGroupArn)
	if err != nil {
		return nil, err
	}
	g.health, err = checkRequest{
		enabled: in.HealthCheckEnabled, protocol: in.HealthCheckProtocol, port: in.HealthCheckPort, path: in.HealthCheckPath,
		matcher:  in.Matcher,
		interval: in.HealthCheckIntervalSeconds, timeout: in.HealthCheckTimeoutSeconds, healthy: in.HealthyThresholdCount,
		sick: in.UnhealthyThresholdCount,
	}.apply(g.health)
	if err != nil {
		return nil, err
	}
	return &elb.ModifyTargetGroupOutput{TargetGroups: []types.TargetGroup{describeGroup(g)}}, nil
}

func (s *Service) deleteTargetGroup(ctx context.Context, in *elb.DeleteTargetGroupInput) (*elb.DeleteTargetGroupOutput, error) {
	return nil, s.removeGroup(s.at(ctx), deref(in.TargetGroupArn))
}

// removeGroup deletes a target group. It succeeds if the group does not exist.
func (s *Service) removeGroup(r *region, arn string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	g, ok := r.groups[arn]
	if !ok {
		return nil
	}
	if len(g.listeners) > 0 {
		return wire.Errorf("ResourceInUse", "Target group '%s' is currently in use by a listener or a rule", arn)
	}
	for _, t := range slices.Clone(g.targets) {
		g.drop(t)
	}
	delete(r.groups, arn)
	return nil
}

// delay returns the maximum time of a deregistration.
func (g *targetGroup) delay(patience time.Duration) time.Duration {
	n, err := strconv.Atoi(g.attributes[deregistrationTime])
	if err != nil {
		n = 300
	}
	return bounded(time.Duration(n)*time.Second, patience)
}

func bounded(d, patience time.Duration) time.Duration {
	if patience > 0 {
		return min(d, patience)
	}
	return d
}
