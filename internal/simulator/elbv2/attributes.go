package elbv2

import (
	"context"
	"maps"
	"strconv"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

const (
	deletionProtection = "deletion_protection.enabled"
	deregistrationTime = "deregistration_delay.timeout_seconds"
	terminatesAtEnd    = "deregistration_delay.connection_termination.enabled"
	proxyProtocol      = "proxy_protocol_v2.enabled"
	stickiness         = "stickiness.enabled"
)

// balancerDefaults returns the attributes of a new load balancer. All are stored, but only deletion
// protection has an effect.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_LoadBalancerAttribute.html
func balancerDefaults(kind types.LoadBalancerTypeEnum) map[string]string {
	attributes := map[string]string{
		deletionProtection: "false", "access_logs.s3.enabled": "false", "access_logs.s3.bucket": "", "access_logs.s3.prefix": "",
		"load_balancing.cross_zone.enabled": "false", "ipv6.deny_all_igw_traffic": "false", "zonal_shift.config.enabled": "false",
	}
	if kind == types.LoadBalancerTypeEnumNetwork {
		attributes["dns_record.client_routing_policy"] = "any_availability_zone"
		attributes["secondary_ips.auto_assigned.per_subnet"] = "0"
		return attributes
	}
	maps.Copy(attributes, map[string]string{
		"load_balancing.cross_zone.enabled": "true", "idle_timeout.timeout_seconds": "60", "client_keep_alive.seconds": "3600",
		"routing.http2.enabled": "true", "routing.http.desync_mitigation_mode": "defensive",
		"routing.http.drop_invalid_header_fields.enabled": "false", "routing.http.preserve_host_header.enabled": "false",
		"routing.http.x_amzn_tls_version_and_cipher_suite.enabled": "false", "routing.http.xff_client_port.enabled": "false",
		"routing.http.xff_header_processing.mode": "append", "waf.fail_open.enabled": "false",
		"connection_logs.s3.enabled": "false", "connection_logs.s3.bucket": "", "connection_logs.s3.prefix": "",
	})
	return attributes
}

// groupDefaults returns the attributes of a new target group. All are stored, but only the
// deregistration delay and its connection termination have an effect.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_TargetGroupAttribute.html
func groupDefaults(protocol types.ProtocolEnum, target types.TargetTypeEnum) map[string]string {
	attributes := map[string]string{
		deregistrationTime: "300", stickiness: "false", "load_balancing.cross_zone.enabled": "use_load_balancer_configuration",
		"target_group_health.dns_failover.minimum_healthy_targets.count":                 "1",
		"target_group_health.dns_failover.minimum_healthy_targets.percentage":            "off",
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      "1",
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": "off",
	}
	if layer7(protocol) {
		maps.Copy(attributes, map[string]string{
			"stickiness.type": "lb_cookie", "stickiness.lb_cookie.duration_seconds": "86400", "stickiness.app_cookie.cookie_name": "",
			"stickiness.app_cookie.duration_seconds": "86400", "slow_start.duration_seconds": "0",
			"load_balancing.algorithm.type": "round_robin", "load_balancing.algorithm.anomaly_mitigation": "off",
		})
		return attributes
	}
	maps.Copy(attributes, map[string]string{
		"stickiness.type": "source_ip", terminatesAtEnd: "false", proxyProtocol: "false",
		"preserve_client_ip.enabled":                                   strconv.FormatBool(target == types.TargetTypeEnumInstance),
		"target_health_state.unhealthy.connection_termination.enabled": "true",
		"target_health_state.unhealthy.draining_interval_seconds":      "0",
	})
	return attributes
}

func layer7(p types.ProtocolEnum) bool {
	return p == types.ProtocolEnumHttp || p == types.ProtocolEnumHttps
}

// attribute is an attribute in a request or a response. The SDK has a type for each kind of
// resource.
type attribute interface {
	types.LoadBalancerAttribute | types.TargetGroupAttribute | types.ListenerAttribute
}

// attributeList returns attributes ordered by key.
func attributeList[A attribute](attributes map[string]string) []A {
	var list []A
	for _, key := range sortedKeys(attributes) {
		value := attributes[key]
		list = append(list, A(types.LoadBalancerAttribute{Key: &key, Value: &value}))
	}
	return list
}

// attributed is a resource with attributes.
type attributed interface{ values() map[string]string }

// describeAttributes returns the attributes of the resource that find returns for an ARN.
func describeAttributes[A attribute, R attributed](
	ctx context.Context, s *Service, find func(*region, *string) (R, error), arn *string,
) ([]A, error) {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	x, err := find(r, arn)
	if err != nil {
		return nil, err
	}
	return attributeList[A](x.values()), nil
}

// modifyAttributes changes attributes of the resource that find returns for an ARN, and returns all
// its attributes.
func modifyAttributes[A attribute, R interface {
	attributed
	setAttributes(changed map[string]string) error
}](ctx context.Context, s *Service, find func(*region, *string) (R, error), arn *string, list []A) ([]A, error) {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	x, err := find(r, arn)
	if err != nil {
		return nil, err
	}
	changed := map[string]string{}
	for _, a := range list {
		pair := types.LoadBalancerAttribute(a)
		changed[deref(pair.Key)] = deref(pair.Value)
	}
	if err := x.setAttributes(changed); err != nil {
		return nil, err
	}
	return attributeList[A](x.values()), nil
}

func (s *Service) describeLoadBalancerAttributes(
	ctx context.Context, in *elb.DescribeLoadBalancerAttributesInput,
) (*elb.DescribeLoadBalancerAttributesOutput, error) {
	list, err := describeAttributes[types.LoadBalancerAttribute](ctx, s, (*region).balancer, in.LoadBalancerArn)
	return &elb.DescribeLoadBalancerAttributesOutput{Attributes: list}, err
}

func (s *Service) modifyLoadBalancerAttributes(
	ctx context.Context, in *elb.ModifyLoadBalancerAttributesInput,
) (*elb.ModifyLoadBalancerAttributesOutput, error) {
	list, err := modifyAttributes(ctx, s, (*region).balancer, in.LoadBalancerArn, in.Attributes)
	return &elb.ModifyLoadBalancerAttributesOutput{Attributes: list}, err
}

func (b *balancer) values() map[string]string { return b.attributes }

func (b *balancer) setAttributes(changed map[string]string) error {
	known := balancerDefaults(b.kind)
	for _, key := range sortedKeys(changed) {
		if _, ok := known[key]; !ok {
			return validation("Load balancer attribute key '%s' is not recognized", key)
		}
	}
	maps.Copy(b.attributes, changed)
	return nil
}

func (s *Service) describeTargetGroupAttributes(
	ctx context.Context, in *elb.DescribeTargetGroupAttributesInput,
) (*elb.DescribeTargetGroupAttributesOutput, error) {
	list, err := describeAttributes[types.TargetGroupAttribute](ctx, s, (*region).group, in.TargetGroupArn)
	return &elb.DescribeTargetGroupAttributesOutput{Attributes: list}, err
}

func (s *Service) modifyTargetGroupAttributes(
	ctx context.Context, in *elb.ModifyTargetGroupAttributesInput,
) (*elb.ModifyTargetGroupAttributesOutput, error) {
	list, err := modifyAttributes(ctx, s, (*region).group, in.TargetGroupArn, in.Attributes)
	return &elb.ModifyTargetGroupAttributesOutput{Attributes: list}, err
}

func (g *targetGroup) values() map[string]string { return g.attributes }

func (g *targetGroup) setAttributes(changed map[string]string) error {
	known := groupDefaults(g.protocol, g.targetType)
	for _, key := range sortedKeys(changed) {
		value := changed[key]
		_, ok := known[key]
		switch {
		case !ok:
			return validation("Target group attribute key '%s' is not recognized", key)
		case key == proxyProtocol && value == "true":
			return unsupported("the proxy protocol")
		case key == stickiness && value == "true" && !layer7(g.protocol):
			return unsupported("sticky connections")
		case key == deregistrationTime:
			if n, err := strconv.Atoi(value); err != nil || n < 0 || n > 3600 {
				return validation("Target group attribute key '%s' must be between '0' and '3600' inclusive", key)
			}
		}
	}
	maps.Copy(g.attributes, changed)
	return nil
}
